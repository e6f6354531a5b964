"""Statements in terms of an ontology of one's own, which has labels and no phrases."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.types import Document, Extraction, Relation
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from sarag_rdf.graph.ontology.schema_reader import schema_of
from sarag_rdf.plugins.statements import made_statements
from sarag_rdf.testing.fakes import HashEmbedder

EX = "https://example.org/"
ONTOLOGY = """
@prefix : <https://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Person a owl:Class ; rdfs:label "person" . :Town a owl:Class ; rdfs:label "town" .
:Firm a owl:Class ; rdfs:label "firm" ; skos:altLabel "brewery" .
:Boat a owl:Class ; rdfs:label "boat" ; skos:altLabel "ship" .
:Work a owl:Class ; rdfs:label "works" .
:Lock a owl:Class ; rdfs:subClassOf :Work ; rdfs:label "lock" .
:Harbour a owl:Class ; rdfs:subClassOf :Work ; rdfs:label "harbour" .
:operatedBy a owl:ObjectProperty ; rdfs:label "operated by" ; rdfs:domain :Work ; rdfs:range :Firm .
:operates a owl:ObjectProperty ; rdfs:label "operates" ; owl:inverseOf :operatedBy .
:managedBy a owl:ObjectProperty ; rdfs:label "managed by" ; rdfs:domain :Work ; rdfs:range :Person .
:launched a owl:ObjectProperty ; rdfs:label "launched" ; rdfs:domain :Firm ; rdfs:range :Boat .
:capital a owl:ObjectProperty ; rdfs:label "capital" ; rdfs:range :Town .
:seat a owl:ObjectProperty ; rdfs:label "headquarters" ; rdfs:domain :Firm ; rdfs:range :Town .
:lies a owl:ObjectProperty ; rdfs:label "lies on" ; rdfs:domain :Town .
:makers a owl:ObjectProperty ; rdfs:label "founded by" ; rdfs:domain :Firm ; rdfs:range :Person .
:birth a owl:DatatypeProperty ; rdfs:label "date of birth" ; rdfs:domain :Person ;
  rdfs:range xsd:date .
:opening a owl:DatatypeProperty ; rdfs:label "opening date" ; rdfs:domain :Work ;
  rdfs:range xsd:date .
:built a owl:DatatypeProperty ; rdfs:label "year of construction" ; rdfs:domain :Work ;
  rdfs:range xsd:gYear .
:closing a owl:DatatypeProperty ; rdfs:label "closing date" ; rdfs:domain :Work ;
  rdfs:range xsd:date .
:launch a owl:DatatypeProperty ; rdfs:label "launch date" ; rdfs:domain :Boat ;
  rdfs:range xsd:gYear .
:gates a owl:DatatypeProperty ; rdfs:label "number of gates" ; rdfs:domain :Work ;
  rdfs:range xsd:integer .
:founding a owl:DatatypeProperty ; rdfs:label "founding date" ; rdfs:range xsd:date .
:speed a owl:DatatypeProperty ; rdfs:label "maximum speed" ; rdfs:domain :Boat ;
  rdfs:range xsd:integer .
:depth a owl:DatatypeProperty ; rdfs:label "depth in m" ; rdfs:domain :Work ;
  rdfs:range xsd:decimal .
:span a owl:DatatypeProperty ; rdfs:label "length" ; rdfs:domain :Boat ; rdfs:range xsd:decimal .
"""


def extractor_with(ontology: str) -> SpacyExtractor:
    """An extractor with the classes and properties of an ontology in Turtle."""
    quads = ox.parse(ontology, format=ox.RdfFormat.TURTLE)
    extractor = SpacyExtractor(schema=schema_of(quad.triple for quad in quads))
    try:
        _ = extractor.method
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return extractor


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return extractor_with(ONTOLOGY)


def extracted(extractor: SpacyExtractor, title: str, text: str) -> Extraction:
    document = Document("urn:d", "urn:s", title, text, 0, len(text))
    [extraction] = extractor.extract([document])
    assert isinstance(extraction, Extraction)
    return extraction


def stated(relations: Iterable[Relation]) -> set[str]:
    """The typed relations, as "subject property object"."""
    statements = set()
    for relation in relations:
        object_ = relation.value.lexical if relation.value else relation.object
        ends = (object_, relation.subject) if relation.inverse else (relation.subject, object_)
        if relation.predicate:
            statements.add(f"{ends[0]} {relation.predicate.removeprefix(EX)} {ends[1]}")
    return statements


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Wye Lock", "Wye Lock is operated by Tarn Navigation Ltd.",
         "Wye Lock operatedBy Tarn Navigation Ltd."),
        ("Wye Lock", "Its operator is Tarn Navigation Ltd.",
         "Tarn Navigation Ltd. operates Wye Lock"),
        ("Wye Lock", "Wye Lock is a lock. Its manager is Edda Holm.",
         "Wye Lock managedBy Edda Holm"),
        ("Wye Lock", "Wye Lock is a lock. Its deputy manager is Edda Holm.", ""),
        ("Edda Holm", "Edda Holm was born on 4 March 1961.", "Edda Holm birth 1961-03-04"),
        ("Wye Lock", "Wye Lock was opened in 1887.", "Wye Lock opening 1887"),
        ("Wye Lock", "Wye Lock was constructed in 1887.", "Wye Lock built 1887"),
        ("Wye Lock", "Wye Lock was closed on 1 May 1950.", "Wye Lock closing 1950-05-01"),
        ("Wye Lock", "Wye Lock has four gates.", "Wye Lock gates 4"),
        ("Wye Lock", "Wye Lock has more than 40 gates.", ""),
        ("Wye Lock", "The depth of Wye Lock is 3.5 m in summer.", "Wye Lock depth 3.5"),
        ("Wye Lock", "The depth of Wye Lock is 10 feet.", "Wye Lock depth 3.048"),
        ("Wye Lock", "The depth of Wye Lock is 12 kg.", ""),
        ("Heron", "Heron is a boat. It has a maximum speed of 18 km/h.", "Heron speed 18"),
        ("Heron", "Heron is a boat. It is 21.5 metres long.", "Heron span 21.5"),
        ("Tarn Brewery", "Tarn Brewery is a firm. Its headquarters are in Brookham.",
         "Tarn Brewery seat Brookham"),
        ("Brookham", "The beer comes from Tarn Brewery, whose headquarters are in Brookham.",
         "Tarn Brewery seat Brookham"),
        ("Heron", "Tarn Brewery Ltd. has Heron, which Fell Yard Ltd. launched in 1931.",
         "Heron launch 1931; Fell Yard Ltd. launched Heron"),
        ("Tarn Brewery", "It was founded by the brothers Otto Berg and Karl Berg.",
         "Tarn Brewery makers Otto Berg; Tarn Brewery makers Karl Berg"),
        ("Brookham", "Brookham harbour was opened in 1902. It is managed by Edda Holm.",
         "Brookham harbour opening 1902; Brookham harbour managedBy Edda Holm"),
        ("Wye Lock", "The depth of the harbour of Wye Lock is 9 m.", ""),
        ("Wye Lock", "The depth of the manager of Wye Lock is 2 m.", ""),
        ("Wye Lock", "Edda Holm, the manager of Wye Lock, is ill.", "Wye Lock managedBy Edda Holm"),
        ("Wye Lock", "Edda Holm, no longer the manager of Wye Lock, is ill.", ""),
        ("Ruland", "Ruland grew. The capital of Ruland is Dresk.", "Ruland capital Dresk"),
        ("Ruland", "Ruland grew. The former capital of Ruland is Dresk.", ""),
        ("Ruland", "Ruland grew. Its former capital Dresk did not.", ""),
        ("Wye Lock", "Wye Lock has a depth of 3 m and a planned depth of 5 m.",
         "Wye Lock depth 3"),
        ("Wye Lock", "Wye Lock has a depth of about 3 m.", ""),
        ("Wye Lock", "Wye Lock has two new gates.", ""),
        ("Wye Lock", "Wye Lock has about twelve gates.", ""),
        ("Wye Lock", "Wye Lock has some twelve gates.", ""),
        ("Wye Lock", "Wye Lock has roughly 12 gates.", ""),
        ("Wye Lock", "Wye Lock was built in 1887.", "Wye Lock built 1887"),
        ("Heron", "The boat Heron was launched in 1931.", "Heron launch 1931"),
        ("Heron", "The boat Heron, which Fell Yard Ltd. built in 1931, is here.", ""),
        ("Tarn Brewery", "Tarn Brewery is a firm. It was founded in 1931.",
         "Tarn Brewery founding 1931"),
        ("Tarn Brewery", "Tarn Brewery is a firm. It was launched in 1931.", ""),
    ],
)  # fmt: skip
def test_labels_are_enough(extractor: SpacyExtractor, title: str, text: str, expected: str) -> None:
    assert stated(extracted(extractor, title, text).relations) == set(
        filter(None, expected.split("; "))
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("is the manager", True),
        ("is the new manager", True),
        ("is no longer the manager", False),
        ("was nearly the manager", False),
        ("is the former manager", False),
        ("is the ex-manager", False),
        ("is the assistant manager", False),
        ("is the acting manager", False),
        ("is the interim manager", False),
        ("is the honorary manager", False),
        ("is the future manager", False),
    ],
)
def test_who_is_not_quite_the_manager_does_not_manage(
    extractor: SpacyExtractor, said: str, expected: bool
) -> None:
    text = f"Wye Lock is a lock. Edda Holm {said} of Wye Lock."
    statements = stated(extracted(extractor, "Wye Lock", text).relations)
    assert statements == ({"Wye Lock managedBy Edda Holm"} if expected else set())


@pytest.mark.parametrize("said", ["was nearly opened", "was almost opened", "was never opened"])
def test_what_nearly_happened_did_not(extractor: SpacyExtractor, said: str) -> None:
    assert not stated(extracted(extractor, "Wye Lock", f"Wye Lock {said} in 1994.").relations)
    nearly = "Nearly opened in 1994, Wye Lock is a lock."
    assert not stated(extracted(extractor, "Wye Lock", nearly).relations)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Heute verkehrt hier die Mosel Lock nach Brookham.", "Mosel Lock", "misc"),
        ("Heute wohnt hier die Clara Lock nach Brookham.", "Clara Lock", "person"),
    ],
)
def test_a_name_with_a_class_is_not_one_of_a_person(
    extractor: SpacyExtractor, text: str, name: str, expected: str
) -> None:
    types = {m.name: m.type for m in extracted(extractor, "Brookham", text).mentions}
    assert types[name] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The town of Fellbeck lies on the Tarn. Its mayor is Edda Holm.", "Fellbeck"),
        ("The boat Heron was repaired. Its owner is Edda Holm.", "Heron"),
        ("The boat 420 was repaired. Its owner is Edda Holm.", ""),
        ("The town was rebuilt. Its mayor is Edda Holm.", "Brookham"),
        ("The town of Brookham was rebuilt. Its mayor is Edda Holm.", "Brookham"),
    ],
)
def test_a_thing_that_is_named_with_its_kind_is_what_it_means(
    extractor: SpacyExtractor, text: str, expected: str
) -> None:
    text = f"Brookham is a town. {text}"
    relations = extracted(extractor, "Brookham", text).relations
    owners = {relation.object for relation in relations if relation.subject == "Edda Holm"}
    assert owners == ({expected} if expected else set())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Edda Holm walked to Brookham harbour.", True),
        ("Edda Holm walked to the Brookham harbour.", False),
        ("Edda Holm walked to Brookham harbours.", False),
        ("Edda Holm met the Brookham harbour master.", False),
        ("Edda Holm walked to the harbour Brookham.", False),
        ("Edda Holm likes Brookham cheese.", False),
    ],
)
def test_a_name_with_the_noun_of_a_class_is_another_name(
    extractor: SpacyExtractor, text: str, expected: bool
) -> None:
    names = {mention.name for mention in extracted(extractor, "Travels", text).mentions}
    assert "Brookham" in names
    assert ("Brookham harbour" in names) == expected


def test_the_packaged_ontology_is_followed_beside_another_one(tmp_path: Path) -> None:
    (tmp_path / "yard.ttl").write_text("""
        @prefix : <https://yard.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :mooredAt a owl:ObjectProperty ; rdfs:label "moored at" .
    """)
    text = "Ada Brook was born in Ulm. The Kestrel is moored at East Quay."
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.ontologies.own_schema() is None
        kg.ontologies.add("common")
        assert kg.ontologies.own_schema() is None
        kg.ontologies.add(tmp_path / "yard.ttl")
        kg.index([sarag_rdf.Source(text)], extractor="spacy")
        with kg.session.read() as snapshot:
            stated = made_statements(snapshot.own, kg.ontologies.schema())
    assert {each.label for each in stated} >= {"place of birth", "moored at"}
