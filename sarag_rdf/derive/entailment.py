"""What follows from statements and an ontology: subclasses, subproperties, inverses and the like.

The closure is that of OWL 2 RL (https://www.w3.org/TR/owl2-profiles/#OWL_2_RL) for these axioms:
``rdfs:subClassOf``, ``rdfs:subPropertyOf``, ``rdfs:domain``, ``rdfs:range``, ``owl:inverseOf``,
``owl:equivalentClass``, ``owl:equivalentProperty``, ``owl:SymmetricProperty`` and
``owl:TransitiveProperty``, between named terms. Axioms from which the identity of two things would
follow (functional properties, keys) are left out, since a wrong extraction would merge entities.

Once entailment is on, every write ends with `refresh_entailment`. The metadata of the graph names
the graphs that the entailed graph follows from (``prov:wasDerivedFrom``) and their revision
(``owl:versionInfo``), so that a refresh that was interrupted is noticed by the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.errors import MissingDependencyError
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.ontologies import ontology_triples
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import Change
from sarag_rdf.terms import iri_or_literal
from sarag_rdf.vocab import OWL, RDF, RDFS

_AXIOMS = frozenset(
    {
        *(RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range),
        *(OWL.inverseOf, OWL.equivalentClass, OWL.equivalentProperty),
    }
)
_CHARACTERISTICS = frozenset({OWL.SymmetricProperty, OWL.TransitiveProperty})
_OF_CLASSES = frozenset({RDFS.subClassOf, OWL.equivalentClass})
_TO_CLASSES = frozenset({RDFS.domain, RDFS.range})
_TRIVIAL = frozenset({OWL.Thing, OWL.Nothing, RDFS.Resource})
_LITERAL = "urn:sarag:literal:"
"""IRIs that stand for literals during reasoning, which therefore come back unchanged."""


class Axioms:
    """The axioms among the triples of ontologies, and the terms that something follows from."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples: set[tuple[str, str, str]] = set()
        self.classes: set[str] = set()
        self.properties: set[str] = set()
        for triple in triples:
            subject, property_, object_ = triple.subject, triple.predicate, triple.object
            if not (_is_named(subject) and _is_named(object_)):
                continue
            assert isinstance(subject, NamedNode)  # noqa: S101 - for the type checker
            assert isinstance(object_, NamedNode)  # noqa: S101
            if property_ == RDF.type and object_ in _CHARACTERISTICS:
                self.properties.add(subject.value)
            elif property_ in _OF_CLASSES and object_ not in _TRIVIAL:
                self.classes |= {subject.value, object_.value}
            elif property_ in _TO_CLASSES and object_ not in _TRIVIAL:
                self.properties.add(subject.value)
            elif property_ in _AXIOMS - _OF_CLASSES - _TO_CLASSES:
                self.properties |= {subject.value, object_.value}
            else:
                continue
            self.triples.add((subject.value, property_.value, object_.value))

    def entailed(self, statements: Iterable[Triple]) -> set[Triple]:
        """What follows from statements, without the statements themselves.

        Classes of literals and tautologies (``owl:Thing``) are left out. Raises
        `MissingDependencyError` without the extra ``entailment``.
        """
        given, rows = set(statements), set(self.triples)
        if not (given and rows):
            return set()
        nodes: set[str] = set()
        literals: dict[str, Any] = {}
        for triple in given:
            subject, object_ = _text(triple.subject), _text(triple.object)
            rows.add((subject, triple.predicate.value, object_))
            nodes.add(subject)
            if not isinstance(triple.object, NamedNode):
                literals[object_] = triple.object
            elif triple.predicate != RDF.type:
                nodes.add(object_)
        triples: set[Triple] = set()
        for subject, property_, object_ in _closure(sorted(rows)):
            is_type = property_ == RDF.type.value
            if subject in nodes and not (is_type and NamedNode(object_) in _TRIVIAL):
                value = literals.get(object_) or NamedNode(object_)
                triples.add(Triple(NamedNode(subject), NamedNode(property_), value))
        return triples - given


def _closure(rows: list[tuple[str, str, str]]) -> Iterable[tuple[str, str, str]]:
    try:
        from reasonable import PyReasoner
    except ImportError as error:
        raise MissingDependencyError(
            "entailment needs a reasoner: pip install 'sarag-rdf[entailment]'"
        ) from error
    reasoner = PyReasoner()
    reasoner.from_graph(rows)
    for subject, property_, object_ in reasoner.reason():
        yield str(subject), str(property_), str(object_)


def _is_named(term: object) -> bool:
    return isinstance(term, NamedNode) and "/genid/" not in term.value


def _text(term: object) -> str:
    """The IRI of a node, or one that stands for a literal."""
    if isinstance(term, NamedNode):
        return term.value
    return _LITERAL + sha256_hex(str(term))


def refresh_entailment(reader: GraphReader, *, deep: bool = False) -> None:
    """Bring the entailed graph up to date, if entailment is on and the revision has changed.

    With `deep`, also if the revision is the same.
    """
    graphs, revision = entailment_record(reader)
    meta = read_meta(reader.store) if graphs else None
    if meta is None or (meta.revision == revision and not deep):
        return
    version = [quad for quad in entailment_metadata(reader) if quad.predicate == OWL.versionInfo]
    apply_entailment(reader, graphs, [], version)


def entailment_errors(reader: GraphReader) -> tuple[set[Quad], set[Quad]]:
    """The entailed quads that are missing, and those in the entailed graph that do not follow."""
    return _difference(reader, entailment_record(reader)[0])


def apply_entailment(
    reader: GraphReader, graphs: Sequence[str], insert: Sequence[Quad], delete: Sequence[Quad]
) -> None:
    """Correct the entailed graph, and record the revision that it belongs to."""
    missing, surplus = _difference(reader, graphs)
    meta = read_meta(reader.store)
    revision = meta_quad(reader, OWL.versionInfo, Literal(meta.revision if meta else ""))
    reader.store.apply(Change((), (*surplus, *delete), (*missing, *insert, revision)))


def _difference(reader: GraphReader, graphs: Sequence[str]) -> tuple[set[Quad], set[Quad]]:
    triples: set[Triple] = set()
    if graphs:  # else no reasoner is needed
        axioms = axioms_of(reader, graphs)
        triples = axioms.entailed(_statements(reader, axioms, graphs))
    graph = NamedNode(reader.minter.entailed_graph)
    requested = {Quad(t.subject, t.predicate, iri_or_literal(t.object), graph) for t in triples}
    before = set(reader.store.quads(graph.value))
    return requested - before, before - requested


def entailment_record(reader: GraphReader) -> tuple[list[str], str]:
    """The graphs for which entailment is on, and the revision of the entailed graph."""
    rows = reader.select_provenance("entailment")
    revisions = {revision.value for _, _, revision in rows if revision}
    return sorted({graph.value for _, graph, _ in rows}), min(revisions, default="")


def axioms_of(reader: GraphReader, graphs: Iterable[str]) -> Axioms:
    imported = [graph for graph in graphs if graph != reader.minter.kg_graph]
    triples = [*ontology_triples(reader)]
    triples += [quad.triple for graph in imported for quad in reader.store.quads(graph)]
    return Axioms(triples)


def _statements(reader: GraphReader, axioms: Axioms, graphs: Iterable[str]) -> Iterable[Triple]:
    requested = set(graphs)
    for property_, subject, object_, graph in reader.select_provenance_for(
        "property-statements", axioms.properties
    ):
        if graph.value in requested:
            yield Triple(subject, property_, object_)
    for class_, instance, graph in reader.select_provenance_for("instances", axioms.classes):
        if graph.value in requested:
            yield Triple(instance, RDF.type, class_)


def entailment_metadata(reader: GraphReader) -> list[Quad]:
    graph = NamedNode(reader.minter.entailed_graph)
    return [q for q in reader.store.quads(reader.minter.meta_graph) if q.subject == graph]


def meta_quad(reader: GraphReader, predicate: NamedNode, value: NamedNode | Literal) -> Quad:
    graph = NamedNode(reader.minter.entailed_graph)
    return Quad(graph, predicate, value, NamedNode(reader.minter.meta_graph))
