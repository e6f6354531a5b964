"""Detection of the vocabulary of a graph: its folder of queries, and properties for names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from pyoxigraph import NamedNode

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import Table
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.graph_reader import GraphReader

_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_DC, _DCTERMS = "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"
_SCHEMA, _SCHEMAS = "http://schema.org/", "https://schema.org/"
_FOAF, _DBO = "http://xmlns.com/foaf/0.1/", "http://dbpedia.org/ontology/"
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "label": (
        *(f"{_RDFS}label", f"{_SKOS}prefLabel", f"{_SCHEMA}name", f"{_SCHEMAS}name"),
        *(f"{_FOAF}name", f"{_DCTERMS}title", f"{_DC}title"),
    ),
    "alias": (
        *(f"{_SKOS}altLabel", f"{_SKOS}hiddenLabel", f"{_SCHEMA}alternateName"),
        *(f"{_SCHEMAS}alternateName", f"{_FOAF}nick"),
    ),
    "description": (
        *(f"{_RDFS}comment", f"{_SKOS}definition", f"{_SCHEMA}description"),
        *(f"{_SCHEMAS}description", f"{_DCTERMS}description", f"{_DC}description"),
        f"{_DBO}abstract",
    ),
}
"""Properties for names and descriptions in common vocabularies, in order of preference."""
_STATEMENT_PROPERTY = "http://wikiba.se/ontology#statementProperty"
_WIKIBASE_PROPERTIES = (
    *(f"http://wikiba.se/ontology#{name}" for name in ("rank", "statements", "propertyType")),
    *(f"http://www.wikidata.org/prop/direct/{number}" for number in ("P31", "P279")),
)
"""A graph with one of these properties is a Wikibase dump, even without labels."""
_LABEL_PROPERTY = {
    "skos": f"{_SKOS}prefLabel",
    "wikibase": f"{_RDFS}label",
    "wikibase-truthy": f"{_RDFS}label",
}
_BROADER = f"{_SKOS}broader"
_SARAG_PROPERTIES = tuple(
    SARAG[name].value for name in ("subjectMention", "descriptionOf", "mentions")
)


@dataclass(frozen=True, slots=True)
class GraphProfile:
    """How to read a graph: the folder of its queries (`kind`), and properties by role (`paths`)."""

    kind: str
    paths: Mapping[str, Sequence[str]]
    is_named: bool = True


def profile_properties(requested: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Properties whose use in a graph determines its profile."""
    candidates = {iri for iris in (*CANDIDATES.values(), *requested.values()) for iri in iris}
    return frozenset({_STATEMENT_PROPERTY, *_WIKIBASE_PROPERTIES, *_SARAG_PROPERTIES, *candidates})


def profile_of(kind: str, used: Set[str], requested: Mapping[str, Sequence[str]]) -> GraphProfile:
    """The profile of a graph that uses these properties; raises `InputError` if it has no names.

    A Wikibase dump may have no names, as it can still be queried with SPARQL.
    """
    markers = {_STATEMENT_PROPERTY, *_WIKIBASE_PROPERTIES}
    is_wikibase = kind == "wikibase" and not markers.isdisjoint(used)
    if any(iri in used for iri in _SARAG_PROPERTIES):
        raise InputError("this is an export of sarag: import it with --as sarag")
    if kind == "wikibase" and _STATEMENT_PROPERTY not in used:
        kind = "wikibase-truthy"
    paths: dict[str, Sequence[str]] = {}
    for role, candidates in CANDIDATES.items() if kind == "rdf" else ():
        properties = [iri for iri in requested.get(role) or candidates if iri in used]
        if properties:
            paths[role] = properties
    labels = paths.get("label", ()) if kind == "rdf" else [_LABEL_PROPERTY[kind]]
    is_named = any(iri in used for iri in labels)
    if not (is_named or is_wikibase):
        raise InputError(_no_labels_message(kind))
    return GraphProfile(kind, paths, is_named)


def used_properties(reader: GraphReader, graph: str, properties: Iterable[str]) -> set[str]:
    """The properties that are used in a loaded graph."""
    query = query_file("index", "property-uses")
    text = query.fill([NamedNode(iri) for iri in sorted(set(properties))], {"kg": graph})
    result = reader.store.query(text)
    assert isinstance(result, Table)  # noqa: S101 - it is a SELECT
    return {property_.value for (property_,) in result.rows}


def broader_cycle(reader: GraphReader, graph: str) -> list[str]:
    """A cycle of concepts linked by ``skos:broader``, in order; usually empty."""
    wider: defaultdict[str, list[str]] = defaultdict(list)
    for quad in reader.store.quads(graph):
        if quad.predicate.value == _BROADER and isinstance(quad.object, NamedNode):
            wider[str(getattr(quad.subject, "value", ""))].append(quad.object.value)
    done: set[str] = set()
    for start in sorted(wider):
        path = [start]
        while path:
            further = next((n for n in wider.get(path[-1], ()) if n not in done), None)
            if further is None:
                done.add(path.pop())
            elif further in path:
                return path[path.index(further) :]
            else:
                path.append(further)
    return []


def _no_labels_message(kind: str) -> str:
    if kind == "rdf":
        return (
            "no labels found (rdfs:label, skos:prefLabel, schema:name, foaf:name, dcterms:title): "
            "give the property for labels with --label IRI"
        )
    what = "a SKOS vocabulary" if kind == "skos" else "a Wikibase dump"
    return f"no labels found: check that this is {what}, or try another --as"
