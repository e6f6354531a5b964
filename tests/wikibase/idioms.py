"""Queries as people write them for Wikidata, with the namespace of an export in the prefixes."""

from __future__ import annotations

from sarag_rdf.base.iris import DEFAULT_BASE
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.plugins.wikibase.vocabulary import Vocabulary

VOCABULARY = Vocabulary(f"{DEFAULT_BASE}wikibase/entity/")
"""That of an export of the sample graph."""
Rows = set[tuple[str, ...]]


def prefixed(query: str) -> str:
    names = {**PREFIXES, **VOCABULARY.prefixes()}
    return "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in names.items()) + query


IDIOMS: dict[str, tuple[str, Rows]] = {
    "a path of direct values": (
        'SELECT ?name { ?boris rdfs:label "Boris"@en ; wdt:P1+/rdfs:label ?name }',
        {("Ada",), ("Tulcea",), ("Orbis",), ("Ulm",), ("Danube",)},
    ),
    "the class of a thing": (
        'SELECT ?class { ?item rdfs:label "Orbis"@en ; wdt:P2/rdfs:label ?class }',
        {("named thing",)},
    ),
    "a statement with its rank": (
        'SELECT ?name ?rank { ?item rdfs:label "Orbis"@en ; p:P1 ?statement . '
        "?statement ps:P1/rdfs:label ?name ; wikibase:rank ?rank ; a wikibase:BestRank }",
        {("Ulm", "http://wikiba.se/ontology#NormalRank")},
    ),
    "qualifiers": (
        'SELECT ?text ?sure { ?item rdfs:label "Orbis"@en ; p:P1 ?statement . '
        "?statement pq:P3 ?text ; pqv:P5/wikibase:quantityAmount ?amount ; pq:P5 ?amount . "
        'BIND(IF(?amount = 1, "1", "0") AS ?sure) }',
        {("Orbis has its seat in Ulm.", "1")},
    ),
    "references": (
        'SELECT ?title { ?item rdfs:label "Orbis"@en . '
        "?item p:P1/prov:wasDerivedFrom/pr:P6/rdfs:label ?title }",
        {("Ada",)},
    ),
    "labels of properties": (
        'SELECT ?label ?name { ?item rdfs:label "Orbis"@en ; ?direct ?value . '
        "?property wikibase:directClaim ?direct ; rdfs:label ?label . ?value rdfs:label ?name }",
        {("related to", "Ulm"), ("instance of", "named thing")},
    ),
    "properties by datatype": (
        "SELECT ?label { ?property wikibase:propertyType wikibase:Url ; rdfs:label ?label }",
        {("document",), ("exact match",), ("original IRI",)},
    ),
    "the IRI in the graph": (
        'SELECT ?original { ?item schema:description "source: ulm.txt"@en ; '
        "?direct ?original . ?property wikibase:directClaim ?direct ; "
        "owl:equivalentProperty prov:alternateOf }",
        {(f"{DEFAULT_BASE}source/ulm.txt",)},
    ),
    "documents about items": (
        'SELECT ?count { ?item rdfs:label "Boris"@en ; schema:description ?text . '
        "?page schema:about ?item ; wikibase:statements ?count . "
        'FILTER(STRSTARTS(?text, "source")) }',
        {("2",)},
    ),
}
"""Name -> query for the sample graph, and the rows that it gives."""
