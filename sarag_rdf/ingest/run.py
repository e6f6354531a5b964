"""Imports a file into a named graph of its own, in batches that an interrupted run goes on from.

``file -> triples -> named graph -> how it is read``

The graph can be read once it is complete. A file that turns out to be broken leaves nothing; what
was imported under the same name before stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO

from pyoxigraph import NamedNode, Quad, Triple

from sarag_rdf.errors import InputError, UsageError
from sarag_rdf.graph.parts import COMPLETE
from sarag_rdf.graph.revision import revised
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.ingest.files import InputFile, input_file, unpacked
from sarag_rdf.ingest.kinds import KINDS, asked_for, broader_cycle, seen_as, used_in
from sarag_rdf.ingest.registry import Entry, entry_of, import_name, stored
from sarag_rdf.ingest.triples import Reading, read_triples
from sarag_rdf.ports import Change, Progress, silent

BATCH = 500_000
"""Triples between two points from which an interrupted import goes on."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be imported, and how.

    format: of RDF, by name, where the suffix does not tell it. base_iri: of relative IRIs.
    languages: of texts that are kept, beside those without one; none means all. types, properties:
    of the entities and statements of a JSON dump that are kept, by their last part (Q5, P19).
    label, alias, description: IRIs of the properties that say so in RDF of no known kind.
    """

    kind: str
    name: str | None = None
    replace: bool = False
    format: str | None = None
    base_iri: str | None = None
    languages: Sequence[str] = ()
    types: Sequence[str] = ()
    properties: Sequence[str] = ()
    label: Sequence[str] = ()
    alias: Sequence[str] = ()
    description: Sequence[str] = ()

    @property
    def settings(self) -> str:
        """All that the imported triples depend on beside the file."""
        return (
            f"format={self.format or ''}; base={self.base_iri or ''}; "
            f"languages={','.join(sorted(self.languages))}; "
            f"types={','.join(sorted(self.types))}; properties={','.join(sorted(self.properties))}"
        )

    @property
    def reading(self) -> Reading:
        """How RDF is read."""
        return Reading(self.format, self.base_iri, tuple(self.languages))

    @property
    def paths(self) -> dict[str, Sequence[str]]:
        """Properties by what they say."""
        return {"label": self.label, "alias": self.alias, "description": self.description}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported: `already` if the same file stood there under the same name."""

    name: str
    kind: str
    graph: str
    triples: int
    already: bool = False
    warnings: tuple[str, ...] = ()


def run_import(
    reader: GraphReader, where: str, order: Order, progress: Progress = silent
) -> ImportReport:
    """Import a file or what a URL gives. Raises `InputError`, `UsageError`, `StoreError`."""
    if order.kind not in KINDS:
        raise UsageError(f"unknown kind '{order.kind}': choose one of {', '.join(KINDS)}, sarag")
    with input_file(where) as file:
        name = import_name(order.name, file.name)
        entry = Entry(name, order.kind, file.origin, file.sha256, order.settings)
        before = entry_of(stored(reader, name), name)
        graph = reader.minter.imported_graph(name)
        if before is not None and before.state == COMPLETE:
            if before.same_as(entry):
                return ImportReport(name, before.kind, graph, before.triples, already=True)
            if not order.replace:
                raise UsageError(
                    f"another graph is imported as '{name}' already: give --name another name, "
                    "or --replace it"
                )
            _read_through(reader, file, order, progress)
            before = None
        done = _resumed(reader, before, entry)
        try:
            return _loaded(reader, file, order, replace(entry, state=str(done)), progress)
        except (InputError, UsageError):
            _write(reader, name, None, drop=graph)
            raise


def forget_import(reader: GraphReader, name: str) -> None:
    """Drop an imported graph and what is said of it; raises `UsageError` for an unknown name."""
    if not stored(reader, name):
        raise UsageError(f"there is no imported graph '{name}' here")
    _write(reader, name, None, drop=reader.minter.imported_graph(name))


def _resumed(reader: GraphReader, before: Entry | None, entry: Entry) -> int:
    """How many triples of this very import are there; what another left behind goes."""
    if before is not None and before.state != COMPLETE and before.same_as(entry):
        return int(before.state)
    _write(reader, entry.name, entry, drop=reader.minter.imported_graph(entry.name))
    return 0


def _read_through(reader: GraphReader, file: InputFile, order: Order, progress: Progress) -> None:
    """Read a file to its end, so that one that is broken or of no use replaces nothing."""
    with unpacked(file) as (stream, raw):
        advance = progress("checking bytes", file.path.stat().st_size)
        triples = _counted(_triples(reader, file, stream, order), raw, advance)
        used = {triple.predicate.value for triple in triples}
    if not used:
        raise InputError(f"{file.name} holds no triples")
    seen_as(order.kind, used, order.paths)


def _loaded(
    reader: GraphReader, file: InputFile, order: Order, entry: Entry, progress: Progress
) -> ImportReport:
    graph = NamedNode(reader.minter.imported_graph(entry.name))
    done = int(entry.state)
    with unpacked(file) as (stream, raw):
        advance = progress("importing bytes", file.path.stat().st_size)
        triples = _counted(_triples(reader, file, stream, order), raw, advance)
        for _ in islice(triples, done):
            pass
        while True:
            batch = _Batch(islice(triples, BATCH), graph)
            reader.store.load(batch)
            if not batch.count:
                break
            done += batch.count
            _write(reader, entry.name, replace(entry, state=str(done)))
    if not done:
        raise InputError(f"{file.name} holds no triples")
    used = used_in(reader, graph.value, asked_for(order.paths))
    seen = seen_as(order.kind, used, order.paths)
    complete = replace(
        entry, kind=seen.kind, state=COMPLETE, triples=_size(reader, entry.name), paths=seen.paths
    )
    _write(reader, entry.name, complete)
    warnings = []
    circle = broader_cycle(reader, graph.value) if seen.kind == "skos" else []
    if circle:
        shown = " -> ".join(f"<{node}>" for node in [*circle, circle[0]])
        warnings.append(f"skos:broader leads in a circle: {shown}")
    return ImportReport(
        entry.name, seen.kind, graph.value, complete.triples, warnings=tuple(warnings)
    )


class _Batch(Iterator[Quad]):
    """Triples as quads of one graph, counted."""

    def __init__(self, triples: Iterator[Triple], graph: NamedNode) -> None:
        self._triples, self._graph, self.count = triples, graph, 0

    def __next__(self) -> Quad:
        triple = next(self._triples)
        self.count += 1
        return Quad(triple.subject, triple.predicate, triple.object, self._graph)


def _counted(
    triples: Iterator[Triple], raw: IO[bytes], advance: Callable[[int], None]
) -> Iterator[Triple]:
    """The triples, with progress in bytes of the file."""
    told = 0
    for number, triple in enumerate(triples):
        if number % 10_000 == 0:
            position = raw.tell()
            advance(position - told)
            told = position
        yield triple
    advance(raw.tell() - told)


def _triples(
    reader: GraphReader, file: InputFile, stream: IO[bytes], order: Order
) -> Iterator[Triple]:
    return read_triples(file, stream, order.reading, f"{reader.minter.base}genid/")


def _size(reader: GraphReader, name: str) -> int:
    return sum(1 for _ in reader.store.quads(reader.minter.imported_graph(name)))


def _write(reader: GraphReader, name: str, entry: Entry | None, *, drop: str = "") -> None:
    """Replace what is said of an imported graph, and change the revision."""
    change = Change(
        (drop,) if drop else (),
        tuple(stored(reader, name)),
        tuple(entry.quads(reader)) if entry else (),
    )
    reader.store.apply(revised(reader, change))
