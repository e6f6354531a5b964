"""Consistency checks of a graph and its caches, and its counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.parts import COMPLETE, dangling_link_subjects, imported_graphs
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import texts_of
from sarag_rdf.graph.vectors import KINDS, arrays_key, index_key
from sarag_rdf.inspect.validate import validate
from sarag_rdf.ports import Arrays, VectorIndex, VectorStore
from sarag_rdf.vocab import RDF, SARAG

DERIVED = "derived"
"""The check of the traversed graph."""


@dataclass(frozen=True, slots=True)
class GraphSize:
    """A named graph and how many quads it has; how many of them have a blank node."""

    graph: str
    quads: int
    blank: int


def sizes(reader: GraphReader) -> list[GraphSize]:
    """All named graphs, by IRI."""
    found = [
        GraphSize(graph.value, int(quads.value), int(blank.value))
        for graph, quads, blank in reader.select_provenance("graph-sizes")
    ]
    return sorted(found, key=lambda size: size.graph)


def check_revision(reader: GraphReader, graphs: Collection[GraphSize]) -> Iterator[Finding]:
    """The graph is described, and its last change was not broken off."""
    meta = read_meta(reader.store)
    if meta is None and graphs and not reader.store.is_shared:
        yield Finding(
            "description",
            "there are quads, and no description says what graph this is",
            "restore the graph from an export: sarag import --kind sarag",
        )
    elif meta is not None and not meta.revision:
        yield Finding("revision", "there is none: the last change was broken off", REPAIR)


def check_terms(reader: GraphReader, graphs: Iterable[GraphSize]) -> Iterator[Finding]:
    """No blank nodes, and nothing in the default graph."""
    for size in graphs:
        if size.blank and size.graph.startswith(reader.minter.graphs):
            yield Finding(
                "blank nodes",
                f"{_count(size.blank, 'quad')} of <{size.graph}>",
                REPAIR if size.graph == reader.minter.kg_graph else _without(size.graph),
            )
    if reader.store.is_shared:
        return
    table = reader.store.select("SELECT (COUNT(*) AS ?count) WHERE { ?s ?p ?o }", "count")
    if count := int(table.rows[0][0].value):
        yield Finding(
            "default graph",
            f"{_count(count, 'quad')} in no named graph: no part of sarag reads them",
            "DELETE WHERE { ?s ?p ?o } through sarag serve --writable",
        )


def check_parts(
    reader: GraphReader,
    graphs: Iterable[GraphSize],
    sources: Collection[str],
    held: Collection[str],
) -> Iterator[Finding]:
    """Every graph of evidence has its source, every source its graph, every import is complete."""
    minter = reader.minter
    there = {size.graph for size in graphs}
    known = {minter.source_graph(source): source for source in sources}
    records = {minter.quarantine_graph(source) for source in held}
    for graph in sorted(there):
        if graph.startswith(minter.source_graphs) and graph not in known:
            yield Finding("orphans", f"<{graph}> has no source", _restored(reader, graph))
        if graph.startswith(minter.quarantine_graphs) and graph not in records:
            yield Finding("orphans", f"<{graph}> has no record of a source", _without(graph))
    for graph, source in sorted(known.items()):
        if graph not in there:
            yield from _misplaced(reader, source)
    imports = imported_graphs(reader)
    for found in imports:
        if found.state != COMPLETE:
            yield Finding(
                "imports",
                f"'{found.name}' is not complete",
                f"the same sarag import again, or sarag import --drop {found.name}",
            )
    for graph in sorted(there - {found.graph for found in imports}):
        if graph.startswith(minter.imported_graphs):
            yield Finding("orphans", f"<{graph}> is no import that is known", _without(graph))
    for entity in dangling_link_subjects(reader):
        yield Finding("links", f"<{entity}> is no entity any more", f"sarag link --undo {entity}")


def check_derived(reader: GraphReader, expected: Iterable[Quad]) -> Iterator[Finding]:
    """The traversed graph is what follows from the evidence; entities have support."""
    wanted, there = set(expected), set(reader.store.quads(reader.minter.kg_graph))
    missing, extra = wanted - there, there - wanted
    entities = sum(quad.predicate == RDF.type and quad.object == SARAG.Entity for quad in extra)
    if entities:
        text = "an entity" if entities == 1 else f"{entities} entities"
        yield Finding("orphans", f"nothing supports {text}", REPAIR)
    if missing or extra:
        text = f"{_count(len(missing), 'quad')} missing, {len(extra)} too many"
        yield Finding(DERIVED, f"the traversed graph does not follow: {text}", REPAIR)


def check_shapes(reader: GraphReader) -> Iterator[Finding]:
    """The whole graph conforms to its shapes."""
    for violation in validate(reader).violations:
        yield Finding("shapes", str(violation))


def strangers(reader: GraphReader, graphs: Iterable[GraphSize]) -> Iterator[str]:
    """Notes of graphs that are not sarag's; of those beside ours at an endpoint nothing is said."""
    minter = reader.minter
    ours = {
        *(minter.kg_graph, minter.meta_graph, minter.runs_graph),
        *(minter.links_graph, minter.decisions_graph, minter.numbers_graph),
    }
    starts = (minter.source_graphs, minter.quarantine_graphs, minter.imported_graphs)
    for size in graphs:
        if size.graph in ours or size.graph.startswith(starts):
            continue
        if size.graph.startswith(minter.graphs) or not reader.store.is_shared:
            yield f"<{size.graph}> is not known to sarag: {_count(size.quads, 'quad')}"


def _misplaced(reader: GraphReader, source: str) -> Iterator[Finding]:
    """A source that is described elsewhere than in its own graph."""
    node = NamedNode(source)
    where = f"SELECT ?g WHERE {{ GRAPH ?g {{ {node} a {SARAG.Source} }} }}"
    for (graph,) in reader.store.select(where, "g").rows:
        remedy = f"{_without(graph.value)}, and sarag index its file again"
        yield Finding("orphans", f"{node} is not in its own graph but in {graph}", remedy)


def _restored(reader: GraphReader, graph: str) -> str:
    """What to do about a graph whose source is not described: documents in it may name it."""
    named = f"SELECT ?source WHERE {{ GRAPH {NamedNode(graph)} {{ ?d {SARAG.source} ?source }} }}"
    rows = reader.store.select(f"{named} GROUP BY ?source", "source").rows
    keys = [key for row in rows if (key := reader.minter.key_of_source(_value(row[0])))]
    return f"sarag index the file of {keys[0]} again" if keys else _without(graph)


def _value(term: object) -> str:
    return term.value if isinstance(term, NamedNode | Literal) else ""


def _without(graph: str) -> str:
    return f"DROP GRAPH <{graph}> through sarag serve --writable"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


CACHES = "caches"
"""The check of what is kept."""
_TOLERANCE = 1e-3
"""How far a vector's length may be from one."""
_BLOCK = 8192


@dataclass(frozen=True, slots=True)
class Broken:
    """Something kept that is of no use, and why."""

    name: str
    why: str

    @property
    def finding(self) -> Finding:
        """As a line."""
        return Finding(CACHES, f"{self.name}: {self.why}", REPAIR)


def check_kept(reader: GraphReader, store: VectorStore, revision: str, model: str) -> list[Broken]:
    """What of the indexes and arrays is broken; those of an older revision are replaced in use."""
    broken: list[Broken] = []
    for name in store.names():
        key = store.key_of(name)
        of_index = name in KINDS
        wanted = (index_key if of_index else arrays_key)(revision, model)
        if not key:
            broken.append(Broken(name, "cannot be read"))
        elif key != wanted:
            continue
        elif of_index:
            broken += _of_index(reader, store, name, key)
        elif store.load_arrays(name, key) is None:
            broken.append(Broken(name, "cannot be read"))
    return broken


def check_arrays(
    store: VectorStore, made: Mapping[str, Arrays], revision: str, model: str
) -> Iterator[Broken]:
    """The arrays that are kept are those that are `made` of the graph as it is."""
    for name, wanted in made.items():
        kept = store.load_arrays(name, arrays_key(revision, model))
        if kept is None:
            continue
        same = (np.array_equal(kept[part], wanted[part]) for part in kept.keys() & wanted.keys())
        if kept.keys() != wanted.keys() or not all(same):
            yield Broken(name, "is not what the graph gives")


def _of_index(reader: GraphReader, store: VectorStore, name: str, key: str) -> Iterator[Broken]:
    index = store.load(name, key)
    if index is None:
        yield Broken(name, "cannot be read")
        return
    [kind] = (kind for kind in KINDS if kind == name)
    iris = [iri for iri, _ in texts_of(reader, kind)]
    if list(index.iris) != iris:
        odd = len(set(iris) ^ set(index.iris))
        yield Broken(name, f"has other texts than the graph: {odd} are in one of both alone")
    wrong = _wrong_rows(index)
    if wrong:
        yield Broken(name, f"{wrong} vectors are not of unit length")


def _wrong_rows(index: VectorIndex) -> int:
    wrong = 0
    for begin in range(0, len(index), _BLOCK):
        rows = index.vectors(np.arange(begin, min(begin + _BLOCK, len(index)), dtype=np.int64))
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        wrong += int(np.count_nonzero(~(np.abs(lengths - 1) <= _TOLERANCE)))
    return wrong


REPAIR = "sarag fsck --repair"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not in order: what was checked, what is wrong, and what to do about it."""

    check: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        what = f"{self.check}: {self.message}"
        return f"{what} (do: {self.remedy})" if self.remedy else what


@dataclass(frozen=True, slots=True)
class FsckReport:
    """Findings that are there still, notes of what is no fault, what was repaired, counts."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def in_order(self) -> bool:
        """Whether there is nothing to be done."""
        return not self.findings


MEASURES = (
    "sources",
    "quarantined sources",
    "documents",
    "descriptions",
    "mentions",
    "relationships",
    "entities",
    "persons",
    "organizations",
    "geopolitical entities",
    "other entities",
    "describes links",
    "relatedTo links",
    "named graphs",
    "quads",
)


def stats(reader: GraphReader) -> dict[str, int]:
    """Measure -> count, in the order of `MEASURES`."""
    counts = {
        measure.value: int(count.value) for measure, count in reader.select_provenance("stats")
    }
    return {measure: counts[measure] for measure in MEASURES}
