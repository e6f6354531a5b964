"""Parses untrusted RDF files in a child process, which streams N-Triples or N-Quads back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, ParamSpec, TypeVar

import pyoxigraph as ox

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.sandbox import EndedError, Limits, half_of_memory, stream
from sarag_rdf.graph.store.files import InputFile, unpacked
from sarag_rdf.graph.store.parse import RdfReadOptions, read_quads, read_triples

BLOCK: Final = 20_000
"""Statements per message of the child process."""
_Item = TypeVar("_Item")
_Arguments = ParamSpec("_Arguments")


@dataclass(frozen=True, slots=True)
class StatementBlock:
    """Statements as N-Triples or N-Quads, and the number of bytes of the file read so far.

    `warnings` are about all statements up to here.
    """

    data: bytes
    count: int
    position: int
    predicates: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


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


def parse_quads(file: InputFile, options: RdfReadOptions) -> Iterator[tuple[ox.Quad, int]]:
    """The quads of `read_quads`, each with the number of bytes of the file read so far."""
    for block in run_in_child(file, options.max_seconds, _quads, file, options):
        for quad in ox.parse(block.data, format=ox.RdfFormat.N_QUADS):
            yield quad, block.position


def parse_triples(file: InputFile, options: RdfReadOptions, genid: str) -> Iterator[ox.Triple]:
    """The triples of `read_triples`."""
    for block in run_in_child(file, options.max_seconds, _triples, file, options, genid):
        for quad in ox.parse(block.data, format=ox.RdfFormat.N_TRIPLES):
            yield quad.triple


def triple_blocks(
    triples: Iterable[ox.Triple], size: int, position: Callable[[], int]
) -> Iterator[StatementBlock]:
    """The triples in blocks of `size`, each with the `position` in the file after it."""
    remaining = iter(triples)
    while batch := list(islice(remaining, size)):
        data = ox.serialize(batch, format=ox.RdfFormat.N_TRIPLES) or b""
        used = frozenset(triple.predicate.value for triple in batch)
        yield StatementBlock(data, len(batch), position(), used)


def _quads(file: InputFile, options: RdfReadOptions) -> Iterator[StatementBlock]:
    with unpacked(file) as (content, raw):
        quads = read_quads(file, content, options)
        while batch := list(islice(quads, BLOCK)):
            data = ox.serialize(batch, format=ox.RdfFormat.N_QUADS) or b""
            yield StatementBlock(data, len(batch), raw.tell())


def _triples(file: InputFile, options: RdfReadOptions, genid: str) -> Iterator[StatementBlock]:
    with unpacked(file) as (content, raw):
        yield from triple_blocks(read_triples(file, content, options, genid), BLOCK, raw.tell)
