"""Parses untrusted RDF files in a child process, which streams N-Triples or N-Quads back."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, Final, ParamSpec, TypeVar

import pyoxigraph as ox

from sarag_rdf.errors import InputError
from sarag_rdf.imports.files import READ_ERRORS, InputFile, PositionProgress, unpacked
from sarag_rdf.imports.options import ImportOptions, triples_of
from sarag_rdf.imports.rdf_files import RdfReadOptions, read_quads, read_triples
from sarag_rdf.ports import GraphStore, Progress
from sarag_rdf.sandbox import EndedError, Limits, half_of_memory, stream

BLOCK: Final = 20_000
"""Statements per message of the child process."""
_Item = TypeVar("_Item")
_Arguments = ParamSpec("_Arguments")


@dataclass(frozen=True, slots=True)
class StatementBlock:
    """Statements as N-Triples or N-Quads, and the number of bytes of the file read so far."""

    data: bytes
    count: int
    position: int
    predicates: frozenset[str] = frozenset()


def run_in_child(
    file: InputFile,
    seconds: float,
    function: Callable[_Arguments, Iterator[_Item]],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> Iterator[_Item]:
    """Yield the items of `function`, run in a child process with a time limit for each item.

    Raises `InputError` for a file on which the child process is killed.
    """
    limits = Limits(seconds, half_of_memory())
    try:
        yield from stream(function, limits, *arguments, **named)
    except EndedError as error:
        remedy = "raise --max-seconds, or " if error.by_time else ""
        raise InputError(f"{file.name} {error}: {remedy}convert it to N-Triples") from error


def parse_triples(
    file: InputFile, options: ImportOptions, genid: str, size: int = BLOCK
) -> Iterator[StatementBlock]:
    """The triples of `triples_of` in blocks of `size`, as N-Triples without blank nodes."""
    yield from run_in_child(file, options.max_seconds, _triples, file, options, genid, size)


def parse_quads(
    file: InputFile, options: RdfReadOptions, seconds: float
) -> Iterator[tuple[ox.Quad, int]]:
    """The quads of `read_quads`, each with the number of bytes of the file read so far."""
    for block in run_in_child(file, seconds, _quads, file, options):
        for quad in ox.parse(block.data, format=ox.RdfFormat.N_QUADS):
            yield quad, block.position


def _triples(
    file: InputFile, options: ImportOptions, genid: str, size: int
) -> Iterator[StatementBlock]:
    place = [0]
    triples = triples_of(file, options, genid, lambda position: place.__setitem__(0, position))
    while batch := list(islice(triples, size)):
        data = ox.serialize(batch, format=ox.RdfFormat.N_TRIPLES) or b""
        used = frozenset(triple.predicate.value for triple in batch)
        yield StatementBlock(data, len(batch), place[0], used)


def _quads(file: InputFile, options: RdfReadOptions) -> Iterator[StatementBlock]:
    with unpacked(file) as (content, raw):
        quads = read_quads(file, content, options)
        while batch := list(islice(quads, BLOCK)):
            data = ox.serialize(batch, format=ox.RdfFormat.N_QUADS) or b""
            yield StatementBlock(data, len(batch), raw.tell())


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
