"""The entailed graph, which changes in the same transaction as what it follows from.

The metadata of a graph names the graphs for which entailment is on (``prov:wasDerivedFrom``). A
writer's store is an `EntailingStore`, which extends each change of them by that of the entailed
graph, and applies neither if what follows cannot be computed. A change without statements or
ontologies from which something follows needs no reasoner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from pyoxigraph import NamedNode, Quad, Triple

from sarag_rdf.base.errors import EntailmentError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, GraphStore
from sarag_rdf.base.vocab import PROV, RDF, SARAG, VOID, iri_or_literal, text_of
from sarag_rdf.building.entailment import Axioms, check_count, require_reasoner
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.parts import COMPLETE
from sarag_rdf.graph.stored_ontologies import stored_ontologies

_SOURCES = frozenset({PROV.wasDerivedFrom, SARAG.graph, SARAG.importState})
"""The properties in the metadata by which `Entailments` knows from which graphs something follows.
"""
ADVICE = "turn entailment off (sarag ontology entail --off), or remove the transitive property"


class EntailingStore:
    """The store of a writer: each change is applied together with that of the entailed graph.

    All else is that of the `inner` store. Bulk loading changes nothing that is entailed, as an
    import counts once its metadata says that it is complete.
    """

    def __init__(self, inner: GraphStore, minter: Minter) -> None:
        self.inner = inner
        self.is_shared = inner.is_shared
        self.query, self.select = inner.query, inner.select
        self.load, self.load_ntriples = inner.load, inner.load_ntriples
        self.quads, self.graphs, self.close = inner.quads, inner.graphs, inner.close
        self._reader = GraphReader(inner, minter)
        self._entailments: Entailments | None = None

    def apply(self, change: Change) -> None:
        """Apply a change and that of the entailed graph as one transaction.

        Raises `EntailmentError` and `MissingDependencyError` before anything is applied.
        """
        entailments, self._entailments = self._entailments, None  # read again after a failure
        entailments = entailments or Entailments(self._reader)
        try:
            extended = entailments.extended(change)
        except EntailmentError as error:
            raise EntailmentError(f"{error}, so this change was not made: {ADVICE}") from error
        self.inner.apply(extended)
        self._entailments = entailments


@dataclass(slots=True)
class Entailments:
    """What follows from the statements of a graph, as a writer changes them one by one."""

    reader: GraphReader
    """Reads the state before the next change."""
    _graphs: frozenset[str] = field(init=False)
    """The graphs from which something follows: those named, except incomplete imports."""
    _axioms: Axioms | None = field(init=False, default=None)
    _given: set[Quad] | None = field(init=False, default=None)
    """The statements from which something may follow; None until they are needed."""
    _statements: _ByNode = field(init=False)
    _entailed: _ByNode = field(init=False)

    def __post_init__(self) -> None:
        self._graphs = _complete(self.reader, self._meta(Change()))

    def extended(self, change: Change) -> Change:
        """A change, extended by that of the entailed graph."""
        before = self._graphs
        touched = {*change.drop, *map(_graph, _quads(change))}
        if any(quad.predicate in _SOURCES for quad in _quads(change)):
            self._graphs = _complete(self.reader, self._meta(change))
        if not (before or self._graphs):
            return change
        if not before and read_meta(self.reader.store) is None:
            return change  # an export is restored, with its entailed graph
        own = self.reader.minter.kg_graph
        sources = {g for g in touched if self.reader.minter.kind_of(g) == "ontologies"}
        sources |= touched & (before | self._graphs) - {own}
        if sources or before != self._graphs or own in {*change.drop} & self._graphs:
            missing, surplus = self.recomputed(change)
        elif own in touched & self._graphs:
            missing, surplus = self._updated(change)
        else:
            return change
        graph = NamedNode(self.reader.minter.entailed_graph)
        return replace(
            change,
            delete=(*_in_graph(surplus, graph), *change.delete),
            insert=(*change.insert, *_in_graph(missing, graph)),
        )

    def recomputed(self, change: Change) -> tuple[set[Triple], set[Triple]]:
        """The entailed triples that are missing after a change, and those that do not follow."""
        if self._graphs:
            require_reasoner()
        graph = self.reader.minter.entailed_graph
        stored = {quad.triple for quad in _after(self.reader, change, graph)}
        self._axioms, self._given = axioms_of(self.reader, self._graphs, change), None
        given = _statements(self.reader, self._axioms, self._graphs, change)
        entailed = self._axioms.entailed(quad.triple for quad in given)
        return entailed - stored, stored - entailed

    def _updated(self, change: Change) -> tuple[set[Triple], set[Triple]]:
        """The same, for a change of statements only, computed from what is around them.

        What follows about two nodes follows from the statements with one of them and, by
        transitive properties, from those with the nodes that are joined to them.
        """
        require_reasoner()
        axioms = self._axioms = self._axioms or axioms_of(self.reader, self._graphs)
        own = self.reader.minter.kg_graph
        deleted, inserted = (
            {quad for quad in quads if _graph(quad) == own and axioms.concern(quad.triple)}
            for quads in (change.delete, change.insert)
        )
        if deleted == inserted:
            return set(), set()
        given = self._given = self._read() if self._given is None else self._given
        given |= inserted
        self._statements.add(quad.triple for quad in inserted)
        changed = (quad.triple for quad in deleted | inserted)
        nodes = self._statements.joined({n for t in changed for n in _nodes(t)}, axioms.joining)
        given -= deleted - inserted
        others = [NamedNode(graph) for graph in self._graphs - {own}]
        self._statements.discard(
            quad.triple
            for quad in deleted - inserted
            if not any(
                Quad(quad.subject, quad.predicate, quad.object, other) in given for other in others
            )
        )
        before = self._entailed.around(nodes)
        after = {
            triple
            for triple in axioms.entailed(self._statements.around(nodes))
            if not nodes.isdisjoint(_nodes(triple))
        }
        self._entailed.discard(before - after)
        self._entailed.add(after - before)
        check_count(len(self._entailed))
        return after - before, before - after

    def _read(self) -> set[Quad]:
        """The statements and the entailed triples as they are stored."""
        assert self._axioms is not None  # noqa: S101 - for the type checker
        given = {*_statements(self.reader, self._axioms, self._graphs, Change())}
        self._statements = _ByNode(quad.triple for quad in given)
        stored = self.reader.store.quads(self.reader.minter.entailed_graph)
        self._entailed = _ByNode(quad.triple for quad in stored)
        return given

    def _meta(self, change: Change) -> set[Quad]:
        return _after(self.reader, change, self.reader.minter.meta_graph)


class _ByNode:
    """Triples by their nodes."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._at: defaultdict[str, set[Triple]] = defaultdict(set)
        self._count = 0
        self.add(triples)

    def __len__(self) -> int:
        return self._count

    def add(self, triples: Iterable[Triple]) -> None:
        for triple in triples:
            self._count += triple not in self._at[text_of(triple.subject)]
            for node in _nodes(triple):
                self._at[node].add(triple)

    def discard(self, triples: Iterable[Triple]) -> None:
        for triple in triples:
            self._count -= triple in self._at[text_of(triple.subject)]
            for node in _nodes(triple):
                self._at[node].discard(triple)

    def around(self, nodes: Iterable[str]) -> set[Triple]:
        """The triples with at least one of the nodes."""
        return {triple for node in nodes for triple in self._at.get(node, ())}

    def joined(self, nodes: Collection[str], properties: Collection[str]) -> set[str]:
        """The nodes, and all that are joined to them by paths of these properties."""
        joined, pending = set(nodes), list(nodes)
        while pending:
            for triple in self._at.get(pending.pop(), ()):
                if triple.predicate.value in properties:
                    new = {*_nodes(triple)} - joined
                    joined |= new
                    pending += new
        return joined


def entailment_errors(reader: GraphReader) -> tuple[set[Triple], set[Triple]]:
    """The entailed triples that are missing, and those in the entailed graph that do not follow.

    Raises `EntailmentError` and `MissingDependencyError`.
    """
    return Entailments(reader).recomputed(Change())


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


def recorded_graphs(minter: Minter, meta: Iterable[Quad]) -> set[str]:
    """The graphs for which entailment is on, according to the metadata."""
    node = NamedNode(minter.entailed_graph)
    return {
        text_of(q.object) for q in meta if q.subject == node and q.predicate == PROV.wasDerivedFrom
    }


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


def _complete(reader: GraphReader, meta: Collection[Quad]) -> frozenset[str]:
    """The graphs for which entailment is on, except incomplete imports."""
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


def _quads(change: Change) -> Iterator[Quad]:
    yield from change.delete
    yield from change.insert


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
