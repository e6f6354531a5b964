"""The description of a resource: the triples that dereferencing its IRI returns.

It is a concise bounded description in both directions, in terms of the graph model: the statements
about the resource and those that lead to it, complete descriptions of the nodes that only exist for
it (relationships of an entity, uses of names in a document, justifications of links), and names for
all other ends. Every part is bounded, and what was left out is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import pyoxigraph as ox

from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import (
    COMMON,
    DCTERMS,
    FOAF,
    OWL,
    PROV,
    RDF,
    RDFS,
    SARAG,
    SCHEMA,
    SKOS,
    WIKIBASE_SCHEMA,
)
from sarag_rdf.graph.texts import by_language

MAX_STATEMENTS = 50
"""Statements per property and direction, and on each page of instances."""
MAX_PROPERTIES = 200
"""Properties per direction."""
MAX_NODES = 250
"""Nodes that are described completely beside the resource."""
MAX_SCAN = 50_000
"""Statements in one direction that are counted; of resources with more, some are not seen."""
MAX_DEPTH = 4
"""Depth of nested nodes without a name of their own."""

NAMES = tuple(
    term.value
    for term in (
        SKOS.prefLabel,
        DCTERMS.title,
        RDFS.label,
        SCHEMA.name,
        WIKIBASE_SCHEMA.name,
        FOAF.name,
    )
)
"""Properties that name a resource, the first that it has."""
TYPE = RDF.type.value
_OWN_NODES = frozenset(
    term.value
    for term in (
        SARAG.subject,
        SARAG.object,
        SARAG.refersTo,
        SARAG.useOf,
        SARAG.source,
        PROV.wasDerivedFrom,
        OWL.annotatedSource,
    )
)
"""Properties of nodes that are described with the resource to which these lead."""
_ACTIVITIES = frozenset(term.value for term in (PROV.wasGeneratedBy, SARAG.extractedBy))
"""Properties to nodes that are described with the resource from which these lead."""
_GENID = "/genid/"
"""In the IRIs that stand for blank nodes."""
_VOCABULARIES = {SARAG.base: "sarag.ttl", COMMON.base: "common.ttl"}
"""Namespace -> file of the packaged ontology that defines its terms."""


@cache
def _vocabulary(file: str) -> ox.Store:
    store = ox.Store()
    store.load(path=str(ontology_path(file)), format=ox.RdfFormat.TURTLE)
    return store


@dataclass(frozen=True, slots=True)
class Group:
    """The statements of a resource with one property, in one direction.

    `count` is their number, of which `terms` are the first: the objects, or the subjects if
    `inverse`. It is a lower bound unless `is_exact`.
    """

    property: str
    inverse: bool
    terms: tuple[Any, ...]
    count: int
    is_exact: bool = True


class Resources:
    """Reads single resources from some graphs of a store; `readable` is None for all graphs."""

    def __init__(self, store: ox.Store, readable: frozenset[str] | None = None) -> None:
        self._store = store
        self._readable = readable
        self._out: dict[str, dict[str, Group]] = {}
        self._names: dict[str, tuple[str, ox.Literal] | None] = {}

    def _quads(self, subject: Any, predicate: Any, object_: Any) -> Iterator[ox.Quad]:
        """Quads in readable graphs, at most `MAX_SCAN`."""
        quads = self._store.quads_for_pattern(subject, predicate, object_, None)
        if self._readable is None:
            return islice(quads, MAX_SCAN)
        readable = self._readable
        return islice(
            (q for q in quads if getattr(q.graph_name, "value", "") in readable), MAX_SCAN
        )

    def exists(self, iri: str) -> bool:
        """Whether a statement has the IRI in any place."""
        node = ox.NamedNode(iri)
        places = ((node, None, None), (None, None, node), (None, node, None))
        if any(next(self._quads(*place), None) is not None for place in places):
            return True
        return any(
            next(store.quads_for_pattern(node, None, None, None), None) is not None
            for store in _vocabularies(iri)
        )

    def has_graph(self, iri: str) -> bool:
        """Whether there is a readable graph of this name."""
        is_readable = self._readable is None or iri in self._readable
        return is_readable and self._store.contains_named_graph(ox.NamedNode(iri))

    def below(self, iri: str) -> list[str]:
        """Sources whose IRIs are this one and a fragment: the records of a file."""
        sources = self._quads(None, RDF.type, SARAG.Source)
        iris = (getattr(quad.subject, "value", "") for quad in sources)
        return sorted(islice((s for s in iris if s.startswith(iri + "#")), MAX_STATEMENTS))

    def out(self, iri: str) -> dict[str, Group]:
        """The statements about a resource, by property; none for what is no IRI."""
        if not is_iri(iri):
            return {}
        if iri not in self._out:
            node = ox.NamedNode(iri)
            groups = _grouped((q.predicate, q.object) for q in self._quads(node, None, None))
            for store in _vocabularies(iri):
                defined = store.quads_for_pattern(node, None, None, None)
                more = _grouped((q.predicate, q.object) for q in defined)
                groups = more | groups
            self._out[iri] = groups
        return self._out[iri]

    def into(self, iri: str, page: int = 1) -> dict[str, Group]:
        """The statements that lead to a resource, by property; instances are paged."""
        node = ox.NamedNode(iri)
        pairs = ((quad.predicate, quad.subject) for quad in self._quads(None, None, node))
        return _grouped(pairs, inverse=True, page=page)

    def subjects(self, iri: str, property_: ox.NamedNode, limit: int) -> list[str]:
        """The first subjects of statements with a property and this object, in a fixed order."""
        if not is_iri(iri):
            return []
        iris: dict[str, None] = {}
        for quad in self._quads(None, property_, ox.NamedNode(iri)):
            if isinstance(quad.subject, ox.NamedNode):
                iris[quad.subject.value] = None
            if len(iris) == limit:
                break
        return sorted(iris)

    def uses(self, iri: str, page: int = 1) -> tuple[list[ox.Triple], int]:
        """A page of the statements with a property, and the number of all."""
        triples = dict.fromkeys(q.triple for q in self._quads(None, ox.NamedNode(iri), None))
        begin = (page - 1) * MAX_STATEMENTS
        return list(islice(triples, begin, begin + MAX_STATEMENTS)), len(triples)

    def name(self, iri: str) -> tuple[str, ox.Literal] | None:
        """The property and literal that name a resource best, or None if it has no name."""
        if iri not in self._names:
            self._names[iri] = self._read_name(iri)
        return self._names[iri]

    def _read_name(self, iri: str) -> tuple[str, ox.Literal] | None:
        if not is_iri(iri):
            return None
        node = ox.NamedNode(iri)
        for property_ in map(ox.NamedNode, NAMES):
            terms = [quad.object for quad in self._quads(node, property_, None)]
            for store in _vocabularies(iri) if not terms else ():
                terms += [q.object for q in store.quads_for_pattern(node, property_, None, None)]
            literals = [term for term in terms if isinstance(term, ox.Literal)]
            if literals:
                return property_.value, min(literals, key=by_language)
        return None

    def values(self, iri: str, property_: ox.NamedNode) -> tuple[Any, ...]:
        """The objects of a property of a resource, without triple terms."""
        group = self.out(iri).get(property_.value)
        return tuple(t for t in group.terms if not isinstance(t, ox.Triple)) if group else ()

    def is_split(self, mention: str) -> bool:
        """Whether a name refers to several entities by decision."""
        variants = self._quads(None, SARAG.variantOf, ox.NamedNode(mention))
        return len({quad.subject for quad in variants}) > 1

    def iri(self, iri: str, property_: ox.NamedNode) -> str:
        """The first object of a property of a resource that is an IRI; empty if there is none."""
        nodes = (t for t in self.values(iri, property_) if isinstance(t, ox.NamedNode))
        return next((node.value for node in nodes), "")

    def value(self, iri: str, property_: ox.NamedNode) -> str:
        """The first object of a property of a resource, as text; empty if it has none."""
        return next((term.value for term in self.values(iri, property_)), "")


def _vocabularies(iri: str) -> list[ox.Store]:
    return [_vocabulary(file) for base, file in _VOCABULARIES.items() if iri.startswith(base)]


def _grouped(
    pairs: Iterable[tuple[ox.NamedNode, Any]], *, inverse: bool = False, page: int = 1
) -> dict[str, Group]:
    """Groups by property, in the order of their IRIs, with their first terms in a fixed order."""
    by_property: dict[str, dict[Any, None]] = {}
    seen = 0
    for predicate, term in pairs:
        by_property.setdefault(predicate.value, {})[term] = None
        seen += 1
    groups = {}
    for property_ in sorted(by_property)[:MAX_PROPERTIES]:
        terms = by_property[property_]
        begin = (page - 1) * MAX_STATEMENTS if property_ == TYPE and inverse else 0
        chosen = islice(terms, begin, begin + MAX_STATEMENTS)
        ordered = tuple(sorted(chosen, key=str))
        groups[property_] = Group(property_, inverse, ordered, len(terms), seen < MAX_SCAN)
    return groups


@dataclass(frozen=True, slots=True)
class Description:
    """A resource with its statements in both directions, and the triples that describe it.

    `uses` are statements with the resource as property, of `use_count`.
    """

    iri: str
    out: dict[str, Group]
    into: dict[str, Group]
    uses: tuple[ox.Triple, ...]
    use_count: int
    triples: tuple[ox.Triple, ...]
    page: int = 1


def describe_resource(resources: Resources, iri: str, page: int = 1) -> Description:
    """The description of a resource, which need not exist; `page` is that of its instances."""
    out, into = resources.out(iri), resources.into(iri, page)
    uses, use_count = resources.uses(iri, page)
    triples = set(uses)
    described = {iri}
    pending = list(_own_nodes(out, into))[:MAX_NODES]
    triples.update(_statements(iri, out), _statements(iri, into))
    for depth in range(MAX_DEPTH):
        following: list[str] = []
        for node in pending:
            if node in described or len(described) > MAX_NODES:
                continue
            described.add(node)
            groups = resources.out(node)
            triples.update(_statements(node, groups))
            nested = _own_nodes(groups, {})
            following += (n for n in nested if depth == 0 or _GENID in n)
        pending = following
    ends = {
        term.value
        for triple in triples
        for term in (triple.subject, triple.object)
        if isinstance(term, ox.NamedNode)
    }
    for end in sorted(ends - described):
        named = resources.name(end)
        if named is not None:
            triples.add(ox.Triple(ox.NamedNode(end), ox.NamedNode(named[0]), named[1]))
    ordered = tuple(sorted(triples, key=lambda t: _order(t, iri)))
    return Description(iri, out, into, tuple(uses), use_count, ordered, page)


def _order(triple: ox.Triple, iri: str) -> tuple[bool, str, str, str]:
    subject = triple.subject
    return str(subject) != f"<{iri}>", str(subject), triple.predicate.value, str(triple.object)


def _statements(iri: str, groups: dict[str, Group]) -> Iterator[ox.Triple]:
    node = ox.NamedNode(iri)
    for group in groups.values():
        predicate = ox.NamedNode(group.property)
        for term in group.terms:
            ends = (term, node) if group.inverse else (node, term)
            yield ox.Triple(ends[0], predicate, ends[1])


def _own_nodes(out: dict[str, Group], into: dict[str, Group]) -> Iterator[str]:
    """Nodes that are described together with a resource of these statements."""
    for group in into.values():
        if group.property in _OWN_NODES:
            yield from (term.value for term in group.terms if isinstance(term, ox.NamedNode))
    for group in out.values():
        for term in group.terms:
            is_node = isinstance(term, ox.NamedNode)
            if is_node and (group.property in _ACTIVITIES or _GENID in term.value):
                yield term.value
