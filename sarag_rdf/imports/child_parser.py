"""Parses untrusted RDF files in a child process, which streams N-Triples or N-Quads back."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, Final, ParamSpec, TypeVar

import pyoxigraph as ox

from sarag_rdf.errors import InputError
from sarag_rdf.imports.files import BROKEN, InputFile, Told, unpacked
from sarag_rdf.imports.options import ImportOptions, triples_of
from sarag_rdf.imports.rdf_files import Reading, read_quads, read_triples
from sarag_rdf.ports import GraphStore, Progress
from sarag_rdf.sandbox import EndedError, Limits, half_of_memory, stream

BLOCK: Final = 20_000
"""Statements that the child sends at a time."""
_Item = TypeVar("_Item")
_Arguments = ParamSpec("_Arguments")


@dataclass(frozen=True, slots=True)
class Block:
    """Statements of a file as N-Triples or N-Quads; `position` bytes of it have been read."""

    data: bytes
    count: int
    position: int
    predicates: frozenset[str] = frozenset()


def apart(
    file: InputFile,
    seconds: float,
    function: Callable[_Arguments, Iterator[_Item]],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> Iterator[_Item]:
    """The items of `function`, made in a child; each may take so many seconds.

    Raises `InputError` for a file on which the child ends.
    """
    limits = Limits(seconds, half_of_memory())
    try:
        yield from stream(function, limits, *arguments, **named)
    except EndedError as error:
        remedy = "raise --max-seconds, or " if error.by_time else ""
        raise InputError(f"{file.name} {error}: {remedy}export it anew, as N-Triples") from error


def triples_apart(
    file: InputFile, order: ImportOptions, genid: str, size: int = BLOCK
) -> Iterator[Block]:
    """The triples that `triples_of` gives, `size` at a time, as N-Triples without blank nodes."""
    yield from apart(file, order.max_seconds, _triples, file, order, genid, size)


def quads_apart(file: InputFile, reading: Reading, seconds: float) -> Iterator[tuple[ox.Quad, int]]:
    """The quads that `read_quads` gives, each with how many bytes of the file have been read."""
    for block in apart(file, seconds, _quads, file, reading):
        for quad in ox.parse(block.data, format=ox.RdfFormat.N_QUADS):
            yield quad, block.position


def _triples(file: InputFile, order: ImportOptions, genid: str, size: int) -> Iterator[Block]:
    place = [0]
    triples = triples_of(file, order, genid, lambda position: place.__setitem__(0, position))
    while batch := list(islice(triples, size)):
        data = ox.serialize(batch, format=ox.RdfFormat.N_TRIPLES) or b""
        used = frozenset(triple.predicate.value for triple in batch)
        yield Block(data, len(batch), place[0], used)


def _quads(file: InputFile, reading: Reading) -> Iterator[Block]:
    with unpacked(file) as (content, raw):
        quads = read_quads(file, content, reading)
        while batch := list(islice(quads, BLOCK)):
            data = ox.serialize(batch, format=ox.RdfFormat.N_QUADS) or b""
            yield Block(data, len(batch), raw.tell())


SLICE = 1 << 25
"""Bytes between two points from which an interrupted import goes on."""
_BLANK = b"_:"


@dataclass(frozen=True, slots=True)
class _Slice:
    """Lines that end at byte `end` of a file's content; `position` bytes of the file were read."""

    data: bytes
    end: int
    position: int


def is_plain(file: InputFile, order: ImportOptions) -> bool:
    """Whether a file is loaded by slices: N-Triples, with nothing left out."""
    format_ = order.format or {".nt": "ntriples"}.get(file.suffix)
    return format_ == "ntriples" and not (order.is_filtered or order.entity_base)


def load_lines(
    store: GraphStore,
    file: InputFile,
    order: ImportOptions,
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
