"""What a graph must be seen through: which queries, which properties are names and descriptions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from pyoxigraph import NamedNode

from sarag_rdf.errors import InputError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.ports import Table
from sarag_rdf.resources import query_file
from sarag_rdf.vocab import SARAG

KINDS = ("wikibase", "skos", "rdf")
"""What a user can name; `wikibase-truthy` is found out."""
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
"""Properties that name and describe things in common vocabularies."""
_STATEMENT_PROPERTY = "http://wikiba.se/ontology#statementProperty"
_OF_WIKIBASE = (
    *(f"http://wikiba.se/ontology#{name}" for name in ("rank", "statements", "propertyType")),
    *(f"http://www.wikidata.org/prop/direct/{number}" for number in ("P31", "P279")),
)
"""By some of these a dump of a Wikibase is known that holds no labels."""
_NAMED = {
    "skos": f"{_SKOS}prefLabel",
    "wikibase": f"{_RDFS}label",
    "wikibase-truthy": f"{_RDFS}label",
}
_BROADER = f"{_SKOS}broader"
_OURS = tuple(SARAG[name].value for name in ("subjectMention", "descriptionOf", "mentions"))


@dataclass(frozen=True, slots=True)
class Seen:
    """How a graph is read: the folder of queries, and properties for names and descriptions."""

    kind: str
    paths: Mapping[str, Sequence[str]]
    is_named: bool = True


def asked_for(wanted: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Properties whose use in a graph decides how it is read."""
    candidates = {iri for iris in (*CANDIDATES.values(), *wanted.values()) for iri in iris}
    return frozenset({_STATEMENT_PROPERTY, *_OF_WIKIBASE, *_OURS, *candidates})


def seen_as(kind: str, used: Set[str], wanted: Mapping[str, Sequence[str]]) -> Seen:
    """How a graph is read that uses these properties; raises `InputError` if nothing is named.

    The dump of a Wikibase may leave names out: it can still be asked by SPARQL.
    """
    of_wikibase = kind == "wikibase" and not {_STATEMENT_PROPERTY, *_OF_WIKIBASE}.isdisjoint(used)
    if any(iri in used for iri in _OURS):
        raise InputError("this is a graph that sarag made: import it with --as sarag")
    if kind == "wikibase" and _STATEMENT_PROPERTY not in used:
        kind = "wikibase-truthy"
    paths: dict[str, Sequence[str]] = {}
    for role, candidates in CANDIDATES.items() if kind == "rdf" else ():
        found = [iri for iri in wanted.get(role) or candidates if iri in used]
        if found:
            paths[role] = found
    named = paths.get("label", ()) if kind == "rdf" else [_NAMED[kind]]
    is_named = any(iri in used for iri in named)
    if not (is_named or of_wikibase):
        raise InputError(_nothing(kind))
    return Seen(kind, paths, is_named)


def used_in(reader: GraphReader, graph: str, properties: Iterable[str]) -> set[str]:
    """Those of the properties that are used in a loaded graph."""
    query = query_file("index", "property-uses")
    text = query.fill([NamedNode(iri) for iri in sorted(set(properties))], {"kg": graph})
    result = reader.store.query(text)
    assert isinstance(result, Table)  # noqa: S101 - it is a SELECT
    return {property_.value for (property_,) in result.rows}


def broader_cycle(reader: GraphReader, graph: str) -> list[str]:
    """Concepts that are broader than themselves, one such circle in order; none mostly."""
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


def _nothing(kind: str) -> str:
    if kind == "rdf":
        return (
            "nothing in it has a name: say with --label IRI which property holds names "
            "(rdfs:label, skos:prefLabel, schema:name, foaf:name, dcterms:title were looked for)"
        )
    return f"nothing in it has a name as {kind} graphs give it: is it another --as?"
