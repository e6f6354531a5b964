"""Consistency checks of a graph and its caches, and counts of its contents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.ports import Arrays, VectorIndex, VectorStore
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import RDF, SARAG
from sarag_rdf.building.check.validate import validate
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.ontologies import stored_ontologies
from sarag_rdf.graph.parts import COMPLETE, dangling_link_subjects, imported_graphs
from sarag_rdf.graph.texts import texts_of
from sarag_rdf.graph.vectors.graph_vectors import KINDS, Kind, arrays_key, index_key

DERIVED = "derived"
"""The check of the traversed graph."""
CACHES = "caches"
"""The check of cached indexes and arrays."""
_TOLERANCE = 1e-3
"""Maximum deviation of the length of a vector from 1."""
_BLOCK = 8192


REPAIR = "sarag fsck --repair"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem: the check that detected it, a message, a remedy, and the name of a cache."""

    check: str
    message: str
    remedy: str = ""
    cache: str = ""

    def __str__(self) -> str:
        what = f"{self.check}: {self.message}"
        return f"{what} (do: {self.remedy})" if self.remedy else what


@dataclass(frozen=True, slots=True)
class FsckReport:
    """Remaining findings, notes that are not problems, descriptions of repairs, and counts."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def in_order(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


@dataclass(frozen=True, slots=True)
class GraphSize:
    """A named graph, its number of quads, and the number of quads with blank nodes."""

    graph: str
    quads: int
    blank: int


def sizes(reader: GraphReader) -> list[GraphSize]:
    """The sizes of all named graphs, by IRI."""
    graph_sizes = [
        GraphSize(graph.value, int(quads.value), int(blank.value))
        for graph, quads, blank in reader.select_provenance("graph-sizes")
    ]
    return sorted(graph_sizes, key=lambda size: size.graph)


def check_revision(reader: GraphReader, graphs: Collection[GraphSize]) -> Iterator[Finding]:
    """Check that the graph has metadata, and that its last change was completed."""
    meta = read_meta(reader.store)
    if meta is None and graphs and not reader.store.is_shared:
        yield Finding(
            "description",
            "the store has quads, but no metadata of a graph",
            "restore the graph from an export: sarag import --as sarag",
        )
    elif meta is not None and not meta.revision:
        yield Finding("revision", "missing: the last change was interrupted", REPAIR)


def check_terms(reader: GraphReader, graphs: Iterable[GraphSize]) -> Iterator[Finding]:
    """Check that there are no blank nodes, and that the default graph is empty."""
    for size in graphs:
        if size.blank and size.graph.startswith(reader.minter.graphs):
            yield Finding(
                "blank nodes",
                f"{_count(size.blank, 'quad')} in <{size.graph}>",
                REPAIR if size.graph == reader.minter.kg_graph else _drop_command(size.graph),
            )
    if reader.store.is_shared:
        return
    table = reader.store.select("SELECT (COUNT(*) AS ?count) WHERE { ?s ?p ?o }", "count")
    if count := int(table.rows[0][0].value):
        yield Finding(
            "default graph",
            f"{_count(count, 'quad')}, which sarag does not read",
            "DELETE WHERE { ?s ?p ?o } through sarag serve --writable",
        )


def check_parts(
    reader: GraphReader,
    graphs: Iterable[GraphSize],
    sources: Collection[str],
    quarantined: Collection[str],
) -> Iterator[Finding]:
    """Check source graphs against their sources, and imports, ontologies and links.

    `sources` are the IRIs of all sources in the graph, `quarantined` of those in quarantine.
    """
    minter = reader.minter
    existing = {size.graph for size in graphs}
    source_graphs = {minter.source_graph(source): source for source in sources}
    records = {minter.quarantine_graph(source) for source in quarantined}
    for graph in sorted(existing):
        if minter.kind_of(graph) == "sources" and graph not in source_graphs:
            yield Finding("orphans", f"<{graph}> has no source", _source_remedy(reader, graph))
        if minter.kind_of(graph) == "quarantine" and graph not in records:
            yield Finding("orphans", f"<{graph}> has no quarantined source", _drop_command(graph))
    for graph, source in sorted(source_graphs.items()):
        if graph not in existing:
            yield from _misplaced(reader, source)
    imports = imported_graphs(reader)
    for imported in imports:
        if imported.state != COMPLETE:
            yield Finding(
                "imports",
                f"'{imported.name}' is not complete",
                f"the same sarag import again, or sarag import --drop {imported.name}",
            )
    for graph in sorted(existing - {imported.graph for imported in imports}):
        if minter.kind_of(graph) == "imported":
            yield Finding("orphans", f"<{graph}> is not a known import", _drop_command(graph))
    ontologies = {ontology.graph: ontology.name for ontology in stored_ontologies(reader)}
    for graph in sorted(ontologies.keys() - existing):
        name = ontologies[graph]
        remedy = f"sarag ontology remove {name}"
        yield Finding("ontologies", f"the triples of '{name}' are missing", remedy)
    for graph in sorted(existing - ontologies.keys()):
        if minter.kind_of(graph) == "ontologies":
            yield Finding("orphans", f"<{graph}> is not a known ontology", _drop_command(graph))
    for entity in dangling_link_subjects(reader):
        message = f"dangling link: <{entity}> is not an entity"
        yield Finding("links", message, f"sarag link --undo {entity}")


def check_derived(reader: GraphReader, expected: Iterable[Quad]) -> Iterator[Finding]:
    """Check that the traversed graph has the `expected` quads, derived from the evidence."""
    derived, stored = set(expected), set(reader.store.quads(reader.minter.kg_graph))
    missing, extra = derived - stored, stored - derived
    entities = sum(quad.predicate == RDF.type and quad.object == SARAG.Entity for quad in extra)
    if entities:
        text = "1 entity" if entities == 1 else f"{entities} entities"
        yield Finding("orphans", f"{text} without evidence", REPAIR)
    if missing or extra:
        text = f"{_count(len(missing), 'quad')} missing, {len(extra)} extra"
        yield Finding(DERIVED, f"the traversed graph differs from its evidence: {text}", REPAIR)


def check_shapes(reader: GraphReader) -> Iterator[Finding]:
    """Check that the graph conforms to its shapes."""
    for violation in validate(reader).violations:
        yield Finding("shapes", str(violation))


def foreign_graphs(reader: GraphReader, graphs: Iterable[GraphSize]) -> Iterator[str]:
    """Notes on graphs that sarag does not use; on an endpoint, only on those below its base IRI."""
    minter = reader.minter
    for size in graphs:
        if minter.kind_of(size.graph) is None and (
            size.graph.startswith(minter.graphs) or not reader.store.is_shared
        ):
            yield f"<{size.graph}> is not used by sarag: {_count(size.quads, 'quad')}"


def _misplaced(reader: GraphReader, source: str) -> Iterator[Finding]:
    """The graphs that describe a source without a graph of its own."""
    node = NamedNode(source)
    where = f"SELECT ?g WHERE {{ GRAPH ?g {{ {node} a {SARAG.Source} }} }}"
    for (graph,) in reader.store.select(where, "g").rows:
        remedy = f"{_drop_command(graph.value)}, and sarag index its file again"
        yield Finding("orphans", f"{node} is in {graph} instead of its own graph", remedy)


def _source_remedy(reader: GraphReader, graph: str) -> str:
    """The remedy for a source graph without its source, which its documents may refer to."""
    named = f"SELECT ?source WHERE {{ GRAPH {NamedNode(graph)} {{ ?d {SARAG.source} ?source }} }}"
    rows = reader.store.select(f"{named} GROUP BY ?source", "source").rows
    keys = [key for row in rows if (key := reader.minter.key_of_source(_value(row[0])))]
    return f"sarag index the file of {keys[0]} again" if keys else _drop_command(graph)


def _value(term: object) -> str:
    return term.value if isinstance(term, NamedNode | Literal) else ""


def _drop_command(graph: str) -> str:
    return f"DROP GRAPH <{graph}> through sarag serve --writable"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def invalid_cache(name: str, reason: str) -> Finding:
    """The finding about a cached index, array or database that is invalid."""
    return Finding(CACHES, f"{name}: {reason}", REPAIR, name)


def check_caches(
    reader: GraphReader, store: VectorStore, revision: str, model: str
) -> list[Finding]:
    """Invalid indexes and arrays of this revision.

    Those of other revisions are not used, and a writer may replace some while they are checked.
    """
    invalid: list[Finding] = []
    for name in store.names():
        key = store.key_of(name)
        current_key = (index_key if name in KINDS else arrays_key)(revision, model)
        if key in ("", current_key):
            found = list(_check_cache(reader, store, name, key))
            invalid += found if store.key_of(name) == key else ()
    return invalid


def _check_cache(reader: GraphReader, store: VectorStore, name: str, key: str) -> Iterator[Finding]:
    if key and name in KINDS:
        yield from _check_index(reader, store, name, key)
    elif not key or store.load_arrays(name, key) is None:
        yield invalid_cache(name, "cannot be read")


def check_arrays(
    store: VectorStore, expected: Mapping[str, Arrays], revision: str, model: str
) -> Iterator[Finding]:
    """Check that cached arrays are equal to those `expected`, built from the current graph."""
    for name, arrays in expected.items():
        cached = store.load_arrays(name, arrays_key(revision, model))
        if cached is None:
            continue
        equal = (np.array_equal(cached[k], arrays[k]) for k in cached.keys() & arrays.keys())
        if cached.keys() != arrays.keys() or not all(equal):
            yield invalid_cache(name, "differs from the graph")


def _check_index(reader: GraphReader, store: VectorStore, name: str, key: str) -> Iterator[Finding]:
    index = store.load(name, key)
    if index is None:
        yield invalid_cache(name, "cannot be read")
        return
    iris = [iri for iri, _ in texts_of(reader, cast("Kind", name))]
    if list(index.iris) != iris:
        different = len(set(iris) ^ set(index.iris))
        yield invalid_cache(name, f"{_count(different, 'text')} only in the graph or in the index")
    wrong = _count_non_unit_rows(index)
    if wrong:
        yield invalid_cache(name, f"{_count(wrong, 'vector')} not of unit length")


def _count_non_unit_rows(index: VectorIndex) -> int:
    wrong = 0
    for begin in range(0, len(index), _BLOCK):
        rows = index.vectors(np.arange(begin, min(begin + _BLOCK, len(index)), dtype=np.int64))
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        wrong += int(np.count_nonzero(~(np.abs(lengths - 1) <= _TOLERANCE)))
    return wrong


def stats(reader: GraphReader) -> dict[str, int]:
    """Measure -> count, in the order of ``stats.rq``."""
    rows = reader.select_provenance("stats")
    counts = {measure.value: int(count.value) for measure, count in rows}
    measures = re.findall(r'"([^"]+)" AS \?measure', query_file("index", "stats").text)
    return {measure: counts[measure] for measure in measures}
