"""Parses RDF files of imports in a child process, which streams N-Triples back."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import pyoxigraph as ox

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import GraphStore, Progress
from sarag_rdf.building.imports.options import ImportOptions, triples_of
from sarag_rdf.graph.store.child_parser import BLOCK, StatementBlock, run_in_child, triple_blocks
from sarag_rdf.graph.store.files import READ_ERRORS, InputFile, PositionProgress, unpacked
from sarag_rdf.graph.store.parse import RdfReadOptions, read_triples
from sarag_rdf.plugins.tables.table import table_blocks


def parse_triples(
    file: InputFile, options: ImportOptions, genid: str, size: int = BLOCK
) -> Iterator[StatementBlock]:
    """The triples of `triples_of` in blocks of `size`, as N-Triples without blank nodes."""
    yield from run_in_child(file, options.max_seconds, _triples, file, options, genid, size)


def _triples(
    file: InputFile, options: ImportOptions, genid: str, size: int
) -> Iterator[StatementBlock]:
    if options.mapping is not None:
        yield from table_blocks(file, options.mapping, genid, size)
        return
    place = [0]
    triples = triples_of(file, options, genid, lambda position: place.__setitem__(0, position))
    yield from triple_blocks(triples, size, lambda: place[0])


SLICE = 1 << 25
"""Bytes between two checkpoints from which an interrupted import resumes."""
_BLANK = b"_:"


@dataclass(frozen=True, slots=True)
class _Slice:
    """Lines up to byte `end` of the content; `position` is the number of bytes of the file read."""

    data: bytes
    end: int
    position: int


def is_line_based(file: InputFile, options: ImportOptions) -> bool:
    """Whether a file is loaded in slices of lines: unfiltered N-Triples."""
    if options.mapping is not None:
        return False
    format_ = options.format or {".nt": "ntriples"}.get(file.suffix)
    return format_ == "ntriples" and not (options.is_filtered or options.entity_base)


def load_lines(
    store: GraphStore,
    file: InputFile,
    options: ImportOptions,
    graph: str,
    genid: str,
    done: int,
    progress: Progress,
) -> Iterator[int]:
    """Load a file from byte `done` of its content; yields the number of bytes loaded so far.

    Raises `InputError` with the line and column in the whole file.
    """
    report_position = PositionProgress(progress("importing bytes", file.path.stat().st_size))
    for slice_ in run_in_child(
        file, options.max_seconds, _validated_slices, file, genid, done, SLICE
    ):
        if slice_.data:
            store.load_ntriples(slice_.data, graph)
            yield slice_.end
        report_position(slice_.position)


def _validated_slices(file: InputFile, genid: str, done: int, size: int) -> Iterator[_Slice]:
    """Valid slices without blank nodes; those before byte `done` have only their end."""
    lines = end = 0
    with unpacked(file) as (stream, raw):
        for data in _slices(file, stream, size):
            end += len(data)
            valid = _validated(file, data, genid, lines) if end > done else b""
            yield _Slice(valid, end, raw.tell())
            lines += data.count(b"\n")


def _slices(file: InputFile, stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Whole lines, in slices of about `size` bytes."""
    try:
        while data := stream.read(size):
            yield data + stream.readline()
    except READ_ERRORS as error:
        raise InputError(f"{file.name} is damaged or truncated ({error}): get it again") from error


def _validated(file: InputFile, data: bytes, genid: str, lines: int) -> bytes:
    options = RdfReadOptions("ntriples", first_line=lines)
    triples = read_triples(file, io.BytesIO(data), options, genid)
    if _BLANK in data:
        return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
    for _ in triples:
        pass
    return data
