"""An imported graph with values of every datatype of Wikibase, and the ontology of its terms."""

from __future__ import annotations

from pathlib import Path

import sarag_rdf
from sarag_rdf.testing.fakes import HashEmbedder

EX = "https://rail.example/terms#"
ID = "https://rail.example/id/"
NAME = "rail"
PREFIXES = f"""
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <{EX}> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix r: <{ID}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
ONTOLOGY = f"""{PREFIXES}
<https://rail.example/terms> a owl:Ontology .
ex:Infrastructure a owl:Class ; rdfs:label "infrastructure"@en .
ex:Station a owl:Class ; rdfs:subClassOf ex:Infrastructure ; rdfs:label "station"@en ,
    "Bahnhof"@de .
ex:operatedBy a owl:ObjectProperty ; rdfs:label "operated by"@en , "betrieben von"@de .
ex:openedOn a owl:DatatypeProperty ; rdfs:label "opening date"@en ; rdfs:domain ex:Infrastructure ;
    rdfs:range xsd:date ; owl:equivalentProperty wd:P1619 .
ex:introduced a owl:DatatypeProperty ; rdfs:label "year of introduction"@en ;
    rdfs:range xsd:gYear .
ex:lengthKm a owl:DatatypeProperty ; rdfs:label "length (km)"@en ; rdfs:range xsd:decimal .
ex:code a owl:DatatypeProperty ; rdfs:label "station code"@en ; rdfs:range xsd:string ;
    rdfs:subPropertyOf dcterms:identifier .
"""
GRAPH = f"""{PREFIXES}
r:marnau a ex:Station ; rdfs:label "Marnau Central"@en , "Marnau Hbf"@de ;
    skos:altLabel "Central"@en ; rdfs:comment "The main station."@en ; ex:operatedBy r:avr ;
    ex:openedOn "1887-05-14"^^xsd:date , "in summer" ; ex:introduced 1998 ; ex:lengthKm "0.31" ;
    ex:code "MH" ; geo:asWKT "POINT(11.58 48.14)"^^geo:wktLiteral ; ex:motto "Zug um Zug"@de ;
    ex:platformCount 8 ; foaf:homepage <https://marnau.example/> ; owl:sameAs wd:Q1 ;
    ex:journeyTime "PT1H12M"^^xsd:duration .
r:avr rdfs:label "Alm Valley Railway"@en ; ex:website "https://avr.example/"^^xsd:anyURI .
ex:motto rdfs:label "motto"@en ; rdfs:comment "What a station says of itself."@en .
"""


def imported_graph(folder: Path) -> Path:
    """A graph in a folder, with the ontology and the imported graph `NAME`."""
    folder.mkdir(parents=True, exist_ok=True)
    ontology, graph = folder.parent / "rail-terms.ttl", folder.parent / "rail.ttl"
    ontology.write_text(ONTOLOGY, encoding="utf-8")
    graph.write_text(GRAPH, encoding="utf-8")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(ontology)
        kg.import_graph(graph, "rdf", name=NAME)
    return folder
