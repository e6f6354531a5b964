"""The entailed graph, which changes in the same transaction as what it follows from.

The metadata of a graph names the graphs for which entailment is on (``prov:wasDerivedFrom``). A
writer's store is an `EntailingStore`, which extends each change of them by that of the entailed
graph, and applies neither if what follows cannot be computed. A change without statements or
ontologies from which something follows needs no reasoner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from pyoxigraph import NamedNode, Quad, Triple

from sarag_rdf.base.errors import EntailmentError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, GraphStore
from sarag_rdf.base.vocab import PROV, RDF, SARAG, VOID, iri_or_literal, text_of
from sarag_rdf.building.entailment import Axioms, check_count, require_reasoner
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.parts import COMPLETE, graph_size, recorded_graphs, stored_ontologies
from sarag_rdf.graph.valid_time import moment_of, quads_not_holding

_SOURCES = frozenset({PROV.wasDerivedFrom, SARAG.graph, SARAG.importState})
"""The properties in the metadata that say from which graphs something follows."""
Difference = tuple[set[Triple], set[Triple]]
"""The entailed triples that are missing, and those that do not follow."""
ADVICE = "turn entailment off (sarag ontology entail --off), or remove the transitive property"


class EntailingStore:
    """The store of a writer: each change is applied together with that of the entailed graph.

    All else is that of the `inner` store. Bulk loading changes nothing that is entailed, as an
    import counts once its metadata says that it is complete.
    """

    def __init__(self, inner: GraphStore, minter: Minter) -> None:
        self.inner = inner
        self.is_shared, self.max_values = inner.is_shared, inner.max_values
        self.query, self.select, self.each_row = inner.query, inner.select, inner.each_row
        self.load, self.load_ntriples = inner.load, inner.load_ntriples
        self.quads, self.graphs, self.close = inner.quads, inner.graphs, inner.close
        self._reader = GraphReader(inner, minter)
        self._axioms: Axioms | None = None
        """Those of the last change, as long as no ontology changes."""

    def apply(self, change: Change) -> None:
        """Apply a change and that of the entailed graph as one transaction.

        Raises `EntailmentError` and `MissingDependencyError` before anything is applied.
        """
        try:
            missing, surplus = self._difference(change)
        except EntailmentError as error:
            raise EntailmentError(f"{error}, so this change was not made: {ADVICE}") from error
        graph = NamedNode(self._reader.minter.entailed_graph)
        delete = (*_in_graph(surplus, graph), *change.delete)
        insert = (*change.insert, *_in_graph(missing, graph))
        self.inner.apply(replace(change, delete=delete, insert=insert))

    def _difference(self, change: Change) -> Difference:
        """The entailed triples that a change adds, and those that it removes."""
        reader, quads = self._reader, (*change.delete, *change.insert)
        before = after = _given_graphs(reader, Change())
        if any(quad.predicate in _SOURCES for quad in quads):
            after = _given_graphs(reader, change)
        if not (before or after):
            return set(), set()
        if not before and read_meta(reader.store) is None:
            return set(), set()  # an export is restored, with its entailed graph
        own = reader.minter.kg_graph
        touched = {*change.drop, *map(_graph, quads)}
        sources = {graph for graph in touched if reader.minter.kind_of(graph) == "ontologies"}
        sources |= touched & (before | after) - {own}
        if sources or before != after or own in {*change.drop} & after:
            self._axioms = None
            return _recomputed(reader, after, change)
        return self._updated(after, change) if own in touched & after else (set(), set())

    def _updated(self, graphs: frozenset[str], change: Change) -> Difference:
        """The difference by a change of statements only, computed from what is around them.

        What follows about two nodes follows from the statements with one of them and, by
        transitive properties, from those with the nodes that are joined to them.
        """
        require_reasoner()
        reader, own = self._reader, self._reader.minter.kg_graph
        axioms = self._axioms = self._axioms or axioms_of(reader, graphs)
        deleted, inserted = (
            {quad for quad in quads if _graph(quad) == own and axioms.concern(quad.triple)}
            for quads in (change.delete, change.insert)
        )
        if deleted == inserted:
            return set(), set()
        around, nodes = inserted | deleted, set[str]()
        pending = {node for quad in around for node in _nodes(quad.triple)}
        while pending:
            nodes |= pending
            rows = reader.select_provenance_for("quads-around", pending)
            around |= {Quad(*terms) for _, *terms in rows}
            joining = (quad.triple for quad in around if quad.predicate.value in axioms.joining)
            pending = {node for triple in joining for node in _nodes(triple)} - nodes
        given = {
            quad.triple
            for quad in around - (deleted - inserted)
            if _graph(quad) in graphs and axioms.concern(quad.triple)
        }
        entailed = {t for t in axioms.entailed(given) if not nodes.isdisjoint(_nodes(t))}
        stored = {q.triple for q in around if _graph(q) == reader.minter.entailed_graph}
        missing, surplus = entailed - stored, stored - entailed
        if len(missing) > len(surplus):
            count = graph_size(reader.store, reader.minter.entailed_graph)
            check_count(count + len(missing) - len(surplus))
        return missing, surplus


def _recomputed(reader: GraphReader, graphs: Collection[str], change: Change) -> Difference:
    """The difference by a change, computed from all statements."""
    if graphs:
        require_reasoner()
    stored = {quad.triple for quad in _after(reader, change, reader.minter.entailed_graph)}
    axioms = axioms_of(reader, graphs, change)
    entailed = axioms.entailed(q.triple for q in _statements(reader, axioms, graphs, change))
    return entailed - stored, stored - entailed


def entailment_errors(reader: GraphReader) -> Difference:
    """The entailed triples that are missing, and those in the entailed graph that do not follow.

    Raises `EntailmentError` and `MissingDependencyError`.
    """
    return _recomputed(reader, _given_graphs(reader, Change()), Change())


def absent_at(reader: GraphReader, at: str) -> frozenset[Quad]:
    """The quads of a graph that do not hold at a moment, with those that follow from them only.

    Raises `UsageError` for a text that is no year, month or date, `EntailmentError` and
    `MissingDependencyError`.
    """
    absent = quads_not_holding(reader, moment_of(at))
    graphs = _given_graphs(reader, Change()) if absent else frozenset()
    if not graphs:
        return absent
    _, surplus = _recomputed(reader, graphs, Change(delete=tuple(absent)))
    return absent.union(_in_graph(surplus, NamedNode(reader.minter.entailed_graph)))


def repair_entailment(reader: GraphReader) -> Change:
    """The change that corrects the entailed graph; raises what `entailment_errors` raises."""
    missing, surplus = entailment_errors(reader)
    graph = NamedNode(reader.minter.entailed_graph)
    return Change((), _in_graph(surplus, graph), _in_graph(missing, graph))


def entailment_metadata(reader: GraphReader) -> tuple[Quad, ...]:
    """The stored metadata of the entailed graph."""
    node = NamedNode(reader.minter.entailed_graph)
    return tuple(q for q in reader.store.quads(reader.minter.meta_graph) if q.subject == node)


def new_metadata(minter: Minter, graphs: Iterable[str]) -> tuple[Quad, ...]:
    """The metadata of the entailed graph if entailment is on for these graphs."""
    node, meta = NamedNode(minter.entailed_graph), NamedNode(minter.meta_graph)
    derived = (Quad(node, PROV.wasDerivedFrom, NamedNode(graph), meta) for graph in graphs)
    return (Quad(node, RDF.type, VOID.Dataset, meta), *derived)


def axioms_of(reader: GraphReader, graphs: Iterable[str], change: Change | None = None) -> Axioms:
    """The axioms of the ontologies and of imported graphs among `graphs`, after a change."""
    change = change or Change()
    inserted = {_graph(quad) for quad in change.insert}
    sources = {ontology.graph for ontology in stored_ontologies(reader)}
    sources |= {graph for graph in inserted if reader.minter.kind_of(graph) == "ontologies"}
    sources |= {*graphs} - {reader.minter.kg_graph}
    return Axioms(quad.triple for graph in sources for quad in _after(reader, change, graph))


def _statements(
    reader: GraphReader, axioms: Axioms, graphs: Collection[str], change: Change
) -> Iterator[Quad]:
    """The statements in `graphs` from which something may follow, after a change."""
    deleted = {*change.delete}
    read = {NamedNode(graph) for graph in graphs if graph not in change.drop}
    stated = reader.select_provenance_for("property-statements", axioms.properties)
    classes = reader.select_provenance_for("instances", axioms.classes)
    rows = chain(
        ((subject, property_, object_, g) for property_, subject, object_, g in stated),
        ((instance, RDF.type, class_, g) for class_, instance, g in classes),
    )
    yield from (q for row in rows if row[-1] in read and (q := Quad(*row)) not in deleted)
    yield from (q for q in change.insert if _graph(q) in graphs and axioms.concern(q.triple))


def _given_graphs(reader: GraphReader, change: Change) -> frozenset[str]:
    """The graphs for which entailment is on after a change, except incomplete imports."""
    meta = _after(reader, change, reader.minter.meta_graph)
    states = {q.subject: text_of(q.object) for q in meta if q.predicate == SARAG.importState}
    graphs = {
        text_of(q.object)
        for q in meta
        if q.predicate == SARAG.graph and states.get(q.subject) == COMPLETE
    }
    return frozenset(recorded_graphs(reader.minter, meta) & {*graphs, reader.minter.kg_graph})


def _after(reader: GraphReader, change: Change, graph: str) -> set[Quad]:
    """The quads of a graph after a change."""
    quads = set() if graph in change.drop else {*reader.store.quads(graph)}
    quads.difference_update(change.delete)
    return quads.union(quad for quad in change.insert if _graph(quad) == graph)


def _graph(quad: Quad) -> str:
    """The IRI of a quad's graph; empty for the default graph."""
    return str(getattr(quad.graph_name, "value", ""))


def _nodes(triple: Triple) -> tuple[str, ...]:
    """The subject, and the object unless it is a class or a literal."""
    if triple.predicate == RDF.type or not isinstance(triple.object, NamedNode):
        return (text_of(triple.subject),)
    return (text_of(triple.subject), triple.object.value)


def _in_graph(triples: Iterable[Triple], graph: NamedNode) -> tuple[Quad, ...]:
    quads = (Quad(t.subject, t.predicate, iri_or_literal(t.object), graph) for t in triples)
    return tuple(sorted(quads, key=str))
