"""N-Triples of which everything is kept, by the slice: the engine reads them itself.

Only a slice that may hold blank nodes is read triple by triple.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

from pyoxigraph import NamedNode, Quad

from sarag_rdf.errors import InputError
from sarag_rdf.guarded import check_lines
from sarag_rdf.ingest.files import BROKEN, InputFile, unpacked
from sarag_rdf.ingest.order import Order
from sarag_rdf.ingest.triples import Reading, complaint, read_triples
from sarag_rdf.ports import GraphStore, Progress

SLICE = 1 << 25
"""Bytes between two points from which an interrupted import goes on."""
_BLANK = b"_:"


def is_plain(file: InputFile, order: Order) -> bool:
    """Whether a file is loaded by slices: N-Triples, with nothing left out."""
    format_ = order.format or {".nt": "ntriples"}.get(file.suffix)
    return format_ == "ntriples" and not (order.is_filtered or order.entity_base)


def load_lines(
    store: GraphStore,
    file: InputFile,
    order: Order,  # noqa: ARG001 - all is kept
    graph: str,
    genid: str,
    done: int,
    progress: Progress,
) -> Iterator[int]:
    """Load a file from byte `done` of its content on; yields how many bytes have been loaded.

    Raises `InputError`, with the line and column in the whole file.
    """
    advance = progress("importing bytes", file.path.stat().st_size)
    lines = told = position = 0
    with unpacked(file) as (stream, raw):
        for data in _slices(file, stream):
            position += len(data)
            if position > done:
                _load(store, file, data, graph, genid, lines)
                yield position
            lines += data.count(b"\n")
            advance(raw.tell() - told)
            told = raw.tell()


def _slices(file: InputFile, stream: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, about `SLICE` bytes of them at a time."""
    try:
        while data := stream.read(SLICE):
            yield data + stream.readline()
    except BROKEN as error:
        raise InputError(
            f"{file.name} is damaged or ends in the middle ({error}): get it again"
        ) from error


def _load(
    store: GraphStore, file: InputFile, data: bytes, graph: str, genid: str, lines: int
) -> None:
    check_lines(data, file.name)
    try:
        if _BLANK not in data:
            store.load_ntriples(data, graph)
            return
        reading = Reading("ntriples", first_line=lines)
        node = NamedNode(graph)
        triples = read_triples(file, io.BytesIO(data), reading, genid)
        store.load(Quad(t.subject, t.predicate, t.object, node) for t in triples)
    except SyntaxError as error:
        raise complaint(file, error, lines) from error
