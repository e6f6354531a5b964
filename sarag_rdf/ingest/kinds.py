"""What a graph must be seen through: which queries, which properties are names and descriptions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pyoxigraph import NamedNode

from sarag_rdf.errors import InputError
from sarag_rdf.graph.rows import GraphReader, Part
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
_NAMED = {
    "skos": f"{_SKOS}prefLabel",
    "wikibase": f"{_RDFS}label",
    "wikibase-truthy": f"{_RDFS}label",
}
_BROADER = f"{_SKOS}broader"
_OURS = tuple(SARAG[name].value for name in ("subjectMention", "descriptionOf", "mentions"))


def seen_as(reader: GraphReader, name: str, kind: str, wanted: Mapping[str, Sequence[str]]) -> Part:
    """The part that a loaded graph is read as; raises `InputError` if nothing could be seen."""
    graph = reader.minter.imported_graph(name)
    every = (_STATEMENT_PROPERTY, *_OURS, *(iri for iris in CANDIDATES.values() for iri in iris))
    uses = _uses(reader, graph, (*every, *(iri for iris in wanted.values() for iri in iris)))
    if any(uses[iri] for iri in _OURS):
        raise InputError("this is a graph that sarag made: import it with --as sarag")
    if kind == "wikibase" and not uses[_STATEMENT_PROPERTY]:
        kind = "wikibase-truthy"
    paths: dict[str, list[str]] = {}
    if kind == "rdf":
        for role, candidates in CANDIDATES.items():
            used = [iri for iri in wanted.get(role) or candidates if uses[iri]]
            if used:
                paths[role] = used
    named = paths.get("label", []) if kind == "rdf" else [_NAMED[kind]]
    if not any(uses[iri] for iri in named):
        raise InputError(_nothing(kind))
    return Part(name, kind, {"kg": graph}, reader.store, paths)


def broader_cycle(reader: GraphReader, part: Part) -> list[str]:
    """Concepts that are broader than themselves, one such circle in order; none mostly."""
    wider: defaultdict[str, list[str]] = defaultdict(list)
    for quad in reader.store.quads(part.graphs["kg"]):
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


def _uses(reader: GraphReader, graph: str, properties: Iterable[str]) -> Counter[str]:
    query = query_file("index", "property-uses")
    text = query.fill([NamedNode(iri) for iri in sorted(set(properties))], {"kg": graph})
    result = reader.store.query(text)
    assert isinstance(result, Table)  # noqa: S101 - it is a SELECT
    return Counter({property_.value: int(count.value) for property_, count in result.rows})


def _nothing(kind: str) -> str:
    if kind == "rdf":
        return (
            "nothing in it has a name: say with --label IRI which property holds names "
            "(rdfs:label, skos:prefLabel, schema:name, foaf:name, dcterms:title were looked for)"
        )
    return f"nothing in it has a name as {kind} graphs give it: is it another --as?"
