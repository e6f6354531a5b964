"""What follows from statements and an ontology: subclasses, subproperties, inverses and the like.

The closure is that of OWL 2 RL (https://www.w3.org/TR/owl2-profiles/#OWL_2_RL) for these axioms:
``rdfs:subClassOf``, ``rdfs:subPropertyOf``, ``rdfs:domain``, ``rdfs:range``, ``owl:inverseOf``,
``owl:equivalentClass``, ``owl:equivalentProperty``, ``owl:SymmetricProperty`` and
``owl:TransitiveProperty``, between named terms. Axioms from which the identity of two things would
follow (functional properties, keys) are left out, since a wrong extraction would merge entities.

The reasoner runs in a child process with limits, as the closure of a transitive property grows with
the square of the statements. Every other rule has one statement as its premise, so that statements
which no transitive property joins are reasoned about in batches.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, TypeGuard

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base.errors import EntailmentError, MissingDependencyError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.sandbox import EndedError, Limits, run
from sarag_rdf.base.vocab import OWL, RDF, RDFS

MAX_TRIPLES = 1_000_000
"""Entailed triples of a graph."""
LIMITS: Final = Limits(seconds=60, memory=2 << 30)
"""The limits of reasoning about statements that a transitive property joins, or about a batch."""
BATCH = 20_000
"""Statements that are reasoned about at once, unless a transitive property joins more."""

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
_TYPE: Final = RDF.type.value
_LITERAL = "urn:sarag:literal:"
"""IRIs that stand for literals during reasoning, which therefore come back unchanged."""

_Row = tuple[str, str, str]


class Axioms:
    """The axioms among the triples of ontologies, and the terms that something follows from."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples: set[_Row] = set()
        self.classes: set[str] = set()
        self.properties: set[str] = set()
        for triple in triples:
            subject, property_, object_ = triple.subject, triple.predicate, triple.object
            if not (_is_named(subject) and _is_named(object_)):
                continue
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

    @cached_property
    def joining(self) -> frozenset[str]:
        """The properties from which statements with a transitive property follow, and these."""
        joining = {s for s, _, o in self.triples if o == OWL.TransitiveProperty.value}
        upwards = {(o, s) for s, p, o in self.triples if p == RDFS.subPropertyOf.value}
        for property_ in (OWL.inverseOf.value, OWL.equivalentProperty.value):
            pairs = {(s, o) for s, p, o in self.triples if p == property_}
            upwards |= pairs | {pair[::-1] for pair in pairs}
        while further := {below for above, below in upwards if above in joining} - joining:
            joining |= further
        return frozenset(joining)

    def concern(self, triple: Triple) -> bool:
        """Whether anything may follow from a statement."""
        if triple.predicate == RDF.type:
            return getattr(triple.object, "value", None) in self.classes
        return triple.predicate.value in self.properties

    def entailed(self, statements: Iterable[Triple]) -> set[Triple]:
        """What follows from statements, without the statements themselves.

        Classes of literals and tautologies (``owl:Thing``) are left out. Raises `EntailmentError`
        beyond a limit, and `MissingDependencyError` without the extra ``entailment``.
        """
        given = set(statements)
        if not (given and self.triples):
            return set()
        require_reasoner()
        entailed: set[Triple] = set()
        for batch in self._batches(given):
            entailed |= self._closure(batch, MAX_TRIPLES + 1 - len(entailed))
            check_count(len(entailed))
        return entailed - given

    def _batches(self, statements: Iterable[Triple]) -> Iterator[list[Triple]]:
        """Statements in parts, each of which can be reasoned about by itself."""
        import networkx as nx

        batch: list[Triple] = []
        joining = nx.MultiGraph()
        for triple in statements:
            if triple.predicate.value in self.joining:
                joining.add_edge(_text(triple.subject), _text(triple.object), triple=triple)
            else:
                batch.append(triple)
        while len(batch) > BATCH:
            yield batch[:BATCH]
            del batch[:BATCH]
        for nodes in nx.connected_components(joining):
            part = [triple for _, _, triple in joining.edges(nodes, data="triple")]
            if batch and len(batch) + len(part) > BATCH:
                yield batch
                batch = []
            batch += part
        if batch:
            yield batch

    def _closure(self, statements: Iterable[Triple], most: int) -> set[Triple]:
        """What follows from statements, computed in a child process."""
        literals: dict[str, Literal] = {}
        rows = []
        for triple in statements:
            object_ = _text(triple.object)
            rows.append((_text(triple.subject), triple.predicate.value, object_))
            if isinstance(triple.object, Literal):
                literals[object_] = triple.object
        try:
            rows_entailed = run(closure, LIMITS, sorted(self.triples), sorted(rows), most)
        except EndedError as error:
            memory = f"{LIMITS.memory >> 20} MiB of memory"
            limit = f"{LIMITS.seconds:g} seconds" if error.by_time else memory
            raise EntailmentError(f"the entailments need more than {limit}") from error
        return {
            Triple(NamedNode(s), NamedNode(p), literals.get(o) or NamedNode(o))
            for s, p, o in rows_entailed
        }


def check_count(count: int) -> None:
    """Raise `EntailmentError` for more entailed triples than a graph may have."""
    if count > MAX_TRIPLES:
        raise EntailmentError(f"there are more than {MAX_TRIPLES:,} entailed triples")


def require_reasoner() -> None:
    """Raise `MissingDependencyError` without the extra ``entailment``."""
    if importlib.util.find_spec("reasonable") is None:
        raise MissingDependencyError(
            "entailment needs a reasoner: pip install 'sarag-rdf[entailment]', or do without: "
            "sarag ontology entail --off"
        )


def closure(axioms: list[_Row], statements: list[_Row], most: int) -> list[_Row]:
    """At most `most` rows that follow about the nodes of statements; runs in a child process.

    Raises `MissingDependencyError`.
    """
    try:
        from reasonable import PyReasoner
    except ImportError as error:
        raise MissingDependencyError(f"the reasoner cannot be loaded: {error}") from error
    given = set(statements)
    nodes = {subject for subject, _, _ in given}
    nodes |= {o for _, p, o in given if p != _TYPE and not o.startswith(_LITERAL)}
    properties = {s for s, _, _ in axioms} | {o for _, _, o in axioms} | {_TYPE}
    trivial = {(_TYPE, term.value) for term in _TRIVIAL}
    reasoner = PyReasoner()
    reasoner.from_graph([*axioms, *statements])
    entailed = []
    for term in reasoner.reason():
        row = (str(term[0]), str(term[1]), str(term[2]))
        if row[0] in nodes and row[1] in properties and row[1:] not in trivial and row not in given:
            entailed.append(row)
            if len(entailed) == most:
                break
    return entailed


def _is_named(term: object) -> TypeGuard[NamedNode]:
    return isinstance(term, NamedNode) and "/genid/" not in term.value


def _text(term: object) -> str:
    """The IRI of a node, or one that stands for a literal."""
    if isinstance(term, NamedNode):
        return term.value
    return _LITERAL + sha256_hex(str(term))
