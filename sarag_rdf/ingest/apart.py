"""Foreign files, read in a child process that sends them on as N-Triples or N-Quads.

Native parsers crash on hostile nesting, and some input keeps them busy for ever. What the engine
of this process parses is therefore only what a child has parsed before, with no deep terms in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, ParamSpec, TypeVar

import pyoxigraph as ox

from sarag_rdf.errors import InputError
from sarag_rdf.ingest.files import InputFile, unpacked
from sarag_rdf.ingest.order import Order, triples_of
from sarag_rdf.ingest.triples import Reading, read_quads
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


def triples_apart(file: InputFile, order: Order, genid: str, size: int = BLOCK) -> Iterator[Block]:
    """The triples that `triples_of` gives, `size` at a time, as N-Triples without blank nodes."""
    yield from apart(file, order.max_seconds, _triples, file, order, genid, size)


def quads_apart(file: InputFile, reading: Reading, seconds: float) -> Iterator[tuple[ox.Quad, int]]:
    """The quads that `read_quads` gives, each with how many bytes of the file have been read."""
    for block in apart(file, seconds, _quads, file, reading):
        for quad in ox.parse(block.data, format=ox.RdfFormat.N_QUADS):
            yield quad, block.position


def _triples(file: InputFile, order: Order, genid: str, size: int) -> Iterator[Block]:
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
