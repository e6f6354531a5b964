"""A graph of typed statements: sources, an extractor that types what it reads, an ontology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox

import sarag_rdf
from sarag_rdf.base.ports import Change
from sarag_rdf.base.types import (
    Document,
    EntityType,
    Extraction,
    Mention,
    Method,
    Relation,
    Source,
    Value,
)
from sarag_rdf.base.vocab import XSD
from sarag_rdf.graph.metadata import with_revision
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder

EX = "https://example.org/people#"
TURTLE = f"""
@prefix ex: <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix vann: <http://purl.org/vocab/vann/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://example.org/people> a owl:Ontology ;
    vann:preferredNamespacePrefix "ex" ; vann:preferredNamespaceUri "{EX}" .
ex:Person a owl:Class ; rdfs:label "person"@en .
ex:Chemist a owl:Class ; rdfs:subClassOf ex:Person ; rdfs:label "chemist"@en .
ex:Place a owl:Class ; rdfs:label "place"@en .
ex:birthPlace a owl:ObjectProperty ; rdfs:label "birth place"@en ;
    rdfs:domain ex:Person ; rdfs:range ex:Place .
ex:teacher a owl:ObjectProperty ; rdfs:label "teacher"@en ;
    rdfs:domain ex:Person ; rdfs:range ex:Person .
ex:birthDate a owl:DatatypeProperty ; rdfs:label "birth date"@en ; rdfs:domain ex:Person .
ex:height a owl:DatatypeProperty ; rdfs:label "height"@en .
"""

SOURCES = (
    Source("Ilse Brandt was born in Linz. Ilse Brandt was born on 7 May 1901.", key="ilse.txt"),
    Source("Emil Sand was born in Linz. Emil Sand taught Ilse Brandt.", key="emil.txt"),
    Source("Ilse Brandt, a chemist, was 169 cm tall. Ilse Brandt met Emil Sand.", key="tall.txt"),
)
_DATE = Value("7 May 1901", "1901-05-07", XSD.date.value)
_HEIGHT = Value("169 cm", "169", XSD.integer.value, "http://qudt.org/vocab/unit/CentiM")
_PHRASES: dict[str, tuple[str, bool, Value | None]] = {
    "was born in": ("birthPlace", False, None),
    "was born on": ("birthDate", False, _DATE),
    "taught": ("teacher", True, None),
    "was": ("height", False, _HEIGHT),
    "met": ("", False, None),
}
_STATEMENTS = {
    "Ilse Brandt was born in Linz.": ("Ilse Brandt", "was born in", "Linz"),
    "Emil Sand was born in Linz.": ("Emil Sand", "was born in", "Linz"),
    "Ilse Brandt was born on 7 May 1901.": ("Ilse Brandt", "was born on", "7 May 1901"),
    "Emil Sand taught Ilse Brandt.": ("Emil Sand", "taught", "Ilse Brandt"),
    "Ilse Brandt, a chemist, was 169 cm tall.": ("Ilse Brandt", "was", "169 cm"),
    "Ilse Brandt met Emil Sand.": ("Ilse Brandt", "met", "Emil Sand"),
}


class TypedExtractor:
    """Reads the sentences of `SOURCES`; the date is a mention, the height is only a value."""

    method = Method("typed", "none")

    def __init__(self, *, typed: bool = True) -> None:
        """Without `typed`, it returns no classes, properties and values."""
        self._typed = typed

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            mentions: list[Mention] = []
            relations: list[Relation] = []
            for sentence, (subject, phrase, object_) in _STATEMENTS.items():
                if sentence not in document.text:
                    continue
                property_, inverse, value = _PHRASES[phrase]
                classes = (EX + "Chemist",) if "chemist" in sentence else ()
                mentions.append(Mention(subject, "person", classes=classes))
                if object_ != _HEIGHT.text:
                    mentions.append(Mention(object_, _type(object_)))
                relations.append(
                    Relation(
                        *(subject, phrase, object_, sentence, 0.9),
                        predicate=EX + property_ if property_ else "",
                        inverse=inverse,
                        value=value,
                    )
                )
            if not self._typed:
                mentions = [replace(mention, classes=()) for mention in mentions]
                relations = [replace(r, predicate="", inverse=False, value=None) for r in relations]
            yield Extraction(tuple(mentions), tuple(relations))


def _type(name: str) -> EntityType:
    if name == _DATE.text:
        return "time"
    return "geopolitical" if name == "Linz" else "person"


def add_ontology(kg: KnowledgeGraph, turtle: str = TURTLE, name: str = "people") -> None:
    """Store an ontology in its named graph."""
    with kg.session.write() as reader:
        graph = ox.NamedNode(reader.minter.ontology_graph(name))
        triples = ox.parse(turtle.encode(), ox.RdfFormat.TURTLE)
        quads = tuple(ox.Quad(t.subject, t.predicate, t.object, graph) for t in triples)
        reader.store.apply(with_revision(reader, Change((), (), quads)))


def typed_graph(folder: Path | None, *, typed: bool = True) -> KnowledgeGraph:
    """An open graph of `SOURCES` with the ontology, in memory if there is no folder."""
    kg = sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None)
    extractor = TypedExtractor(typed=typed)
    kg.index(SOURCES[:0], extractor=extractor)
    add_ontology(kg)
    kg.index(SOURCES, extractor=extractor)
    return kg


def index_people(kg: KnowledgeGraph, folder: Path) -> None:
    """Store the ontology, from a file in the folder, and index the sources by it."""
    path = folder / "people.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    kg.ontologies.add(path)
    kg.index(SOURCES, extractor=TypedExtractor())
