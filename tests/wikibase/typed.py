"""A graph of typed statements with values of every datatype of Wikibase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source, Value
from sarag_rdf.base.vocab import XSD
from sarag_rdf.testing.fakes import HashEmbedder

EX = "https://museum.example/terms#"
GEO = "http://www.opengis.net/ont/geosparql#"
ONTOLOGY = f"""
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <{EX}> .
@prefix geo: <{GEO}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://museum.example/terms> a owl:Ontology .
ex:Agent a owl:Class ; rdfs:label "agent"@en .
ex:Person a owl:Class ; rdfs:subClassOf ex:Agent ; rdfs:label "person"@en , "Mensch"@de ;
    skos:definition "A human being."@en ; owl:equivalentClass wd:Q5 .
ex:Place a owl:Class ; rdfs:label "place"@en ; skos:closeMatch wd:Q2221906 .
ex:bornIn a owl:ObjectProperty ; rdfs:label "place of birth"@en , "Geburtsort"@de ;
    skos:altLabel "birthplace"@en ; skos:definition "Where a person was born."@en ;
    rdfs:domain ex:Person ; rdfs:range ex:Place ; skos:exactMatch wd:P19 .
ex:dateOfBirth a owl:DatatypeProperty ; rdfs:label "date of birth"@en ; rdfs:domain ex:Person ;
    rdfs:range xsd:date ; owl:equivalentProperty wd:P569 .
ex:height a owl:DatatypeProperty ; rdfs:label "height"@en ; rdfs:range xsd:decimal .
ex:price a owl:DatatypeProperty ; rdfs:label "price"@en ; rdfs:range xsd:decimal .
ex:position a owl:DatatypeProperty ; rdfs:label "position"@en ; rdfs:range geo:wktLiteral .
ex:orcid a owl:DatatypeProperty ; rdfs:label "ORCID"@en ; rdfs:range xsd:string ;
    rdfs:subPropertyOf dcterms:identifier .
ex:website a owl:DatatypeProperty ; rdfs:label "website"@en ; rdfs:range xsd:anyURI .
ex:nationality a owl:DatatypeProperty ; rdfs:label "nationality"@en ; rdfs:range xsd:string ;
    skos:closeMatch wd:P27 .
"""
CM, EUR = "http://qudt.org/vocab/unit/CentiM", "http://qudt.org/vocab/currency/EUR"
STATEMENTS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "Ilse was born in Linz.": ("Ilse", "bornIn", "Linz", ()),
    "The birthplace of Ilse is Linz.": ("Ilse", "bornIn", "Linz", ()),
    "Ilse was born on 7 May 1901.": ("Ilse", "dateOfBirth", "7 May 1901", ("1901-05-07", "date")),
    "Ilse was born in 1901.": ("Ilse", "dateOfBirth", "1901", ("1901", "gYear")),
    "Ilse was born early.": ("Ilse", "dateOfBirth", "early", ("early", "string")),
    "Cato was born in 44 BC.": ("Cato", "dateOfBirth", "44 BC", ("-0043", "gYear")),
    "Cato was born in May 45 BC.": ("Cato", "dateOfBirth", "May 45 BC", ("-0044-05", "gYearMonth")),
    "Ilse was 169 cm tall.": ("Ilse", "height", "169 cm", ("169", "integer", CM)),
    "Ilse paid 2.50 euros.": ("Ilse", "price", "2.50 euros", ("2.5", "decimal", EUR)),
    "Linz lies at 48.3, 14.2833.": (
        *("Linz", "position", "48.3, 14.2833"),
        ("POINT(14.2833 48.3)", GEO + "wktLiteral"),
    ),
    "Ilse has the ORCID 0000-0002-1825-0097.": (
        *("Ilse", "orcid", "0000-0002-1825-0097"),
        ("0000-0002-1825-0097", "string"),
    ),
    "Linz is at https://linz.example/a.": (
        *("Linz", "website", "https://linz.example/a"),
        ("https://linz.example/a", "anyURI"),
    ),
    "Ilse was Austrian.": ("Ilse", "nationality", "Austrian", ("Austrian", "string")),
}
"""Sentence -> subject, property, object, and (lexical form, datatype, unit) of a value."""
SOURCES = (
    Source(" ".join(list(STATEMENTS)[::2]), "Even", "even.txt"),
    Source(" ".join([*list(STATEMENTS)[1::2], "Ilse was born in Linz."]), "Odd", "odd.txt"),
)


class StatementExtractor:
    """Reads the sentences of `STATEMENTS`; the birthplace is stated the other way round."""

    method = Method("statements", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            mentions: dict[str, Mention] = {}
            relations: list[Relation] = []
            for sentence, (subject, property_, object_, value) in STATEMENTS.items():
                if sentence not in document.text:
                    continue
                mentions[subject] = Mention(
                    subject, "geopolitical" if subject == "Linz" else "person"
                )
                inverse = sentence.startswith("The birthplace")
                if not value:
                    mentions[object_] = Mention(object_, "geopolitical")
                ends = (object_, subject) if inverse else (subject, object_)
                relations.append(
                    Relation(
                        *(ends[0], "states", ends[1], sentence),
                        confidence=0.8 if inverse else 0.9,
                        predicate=EX + property_,
                        inverse=inverse,
                        value=_value(object_, value) if value else None,
                    )
                )
            yield Extraction(tuple(mentions.values()), tuple(relations))


def _value(text: str, value: tuple[str, ...]) -> Value:
    lexical, datatype, *unit = value
    return Value(text, lexical, datatype if ":" in datatype else XSD[datatype].value, *unit)


def typed_values_graph(folder: Path) -> Path:
    """A graph of `SOURCES` with the ontology, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    ontology = folder.parent / "museum.ttl"
    ontology.write_text(ONTOLOGY, encoding="utf-8")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(ontology)
        kg.index(SOURCES, extractor=StatementExtractor())
    return folder
