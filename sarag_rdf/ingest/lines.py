"""N-Triples of which everything is kept, by the slice: what a child has parsed is loaded as it is.

Only a slice that may hold blank nodes is written anew.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import pyoxigraph as ox

from sarag_rdf.errors import InputError
from sarag_rdf.ingest.apart import apart
from sarag_rdf.ingest.files import BROKEN, InputFile, Told, unpacked
from sarag_rdf.ingest.order import Order
from sarag_rdf.ingest.triples import Reading, read_triples
from sarag_rdf.ports import GraphStore, Progress

SLICE = 1 << 25
"""Bytes between two points from which an interrupted import goes on."""
_BLANK = b"_:"


@dataclass(frozen=True, slots=True)
class _Slice:
    """Lines that end at byte `end` of a file's content; `position` bytes of the file were read."""

    data: bytes
    end: int
    position: int


def is_plain(file: InputFile, order: Order) -> bool:
    """Whether a file is loaded by slices: N-Triples, with nothing left out."""
    format_ = order.format or {".nt": "ntriples"}.get(file.suffix)
    return format_ == "ntriples" and not (order.is_filtered or order.entity_base)


def load_lines(
    store: GraphStore,
    file: InputFile,
    order: Order,
    graph: str,
    genid: str,
    done: int,
    progress: Progress,
) -> Iterator[int]:
    """Load a file from byte `done` of its content on; yields how many bytes have been loaded.

    Raises `InputError`, with the line and column in the whole file.
    """
    told = Told(progress("importing bytes", file.path.stat().st_size))
    for slice_ in apart(file, order.max_seconds, _checked_slices, file, genid, done, SLICE):
        if slice_.data:
            store.load_ntriples(slice_.data, graph)
            yield slice_.end
        told(slice_.position)


def _checked_slices(file: InputFile, genid: str, done: int, size: int) -> Iterator[_Slice]:
    """Slices that parse, without blank nodes; of those before byte `done` only where they end."""
    lines = end = 0
    with unpacked(file) as (stream, raw):
        for data in _slices(file, stream, size):
            end += len(data)
            found = _checked(file, data, genid, lines) if end > done else b""
            yield _Slice(found, end, raw.tell())
            lines += data.count(b"\n")


def _slices(file: InputFile, stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Whole lines, about `size` bytes of them at a time."""
    try:
        while data := stream.read(size):
            yield data + stream.readline()
    except BROKEN as error:
        raise InputError(
            f"{file.name} is damaged or ends in the middle ({error}): get it again"
        ) from error


def _checked(file: InputFile, data: bytes, genid: str, lines: int) -> bytes:
    reading = Reading("ntriples", first_line=lines)
    triples = read_triples(file, io.BytesIO(data), reading, genid)
    if _BLANK in data:
        return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
    for _ in triples:
        pass
    return data
