"""Texts of imported graphs name properties by the labels of the ontologies of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.texts import full_documents, statements_from, texts_of
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder

EX = "https://rail.example/terms#"
BESS = "https://rail.example/id/bess"
GRAPH = f"""@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<{BESS}> rdfs:label "Old Bess"@en ; ex:homeDepot <https://rail.example/id/dep> ; ex:lengthKm 4 .
<https://rail.example/id/dep> rdfs:label "Ostheim Depot"@en .
"""
ONTOLOGY = f"""@prefix ex: <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<https://rail.example/terms> a owl:Ontology .
ex:homeDepot a owl:ObjectProperty ; LABELS .
ex:lengthKm a owl:DatatypeProperty ; rdfs:label "length (km)"@en , "Länge"@de .
"""
STABLED = 'rdfs:label "stabled at"@en , "beheimatet in"@de'


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    file = tmp_path / "rail.ttl"
    file.write_text(GRAPH)
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(file, "rdf", name="rail")
        yield kg


def add_ontology(kg: KnowledgeGraph, folder: Path, labels: str) -> None:
    file = folder / "terms.ttl"
    file.write_text(ONTOLOGY.replace("LABELS", labels), encoding="utf-8")
    kg.ontologies.add(file, name="terms", replace=True)


def page(kg: KnowledgeGraph) -> str:
    with kg.session.read() as snapshot:
        reader = select_parts(snapshot.own, ["rail"])
    document = full_documents(reader, [BESS])[BESS]
    texts = texts_of(reader, "document")
    assert dict(zip(texts.iris, texts.texts, strict=True))[BESS] == f"Old Bess\n{document.text}"
    [statement] = statements_from(reader, [BESS])[BESS]
    assert f"{statement.text}." in document.text.splitlines()
    return document.text


def test_without_ontologies_properties_have_the_words_of_their_iris(kg: KnowledgeGraph) -> None:
    assert page(kg) == "Old Bess, length km 4.\nOld Bess home depot Ostheim Depot."


@pytest.mark.parametrize(
    ("labels", "phrase"),
    [
        (STABLED, "stabled at"),
        ('rdfs:label "beheimatet in"@de', "beheimatet in"),
        ('skos:prefLabel "stabled at"@en , "beheimatet in"@de', "stabled at"),
        ('rdfs:label "beheimatet in"@de ; skos:prefLabel "stabled at"', "stabled at"),
    ],
)
def test_labels_of_ontologies_are_preferred_in_english(
    kg: KnowledgeGraph, tmp_path: Path, labels: str, phrase: str
) -> None:
    add_ontology(kg, tmp_path, labels)
    assert page(kg) == f"Old Bess, length (km) 4.\nOld Bess {phrase} Ostheim Depot."


def test_labels_of_the_graph_itself_come_first(kg: KnowledgeGraph, tmp_path: Path) -> None:
    add_ontology(kg, tmp_path, STABLED)
    file = tmp_path / "rail.ttl"
    file.write_text(f'{GRAPH} ex:homeDepot rdfs:label "based at"@en .')
    kg.import_graph(file, "rdf", name="rail", replace=True)
    assert "Old Bess based at Ostheim Depot." in page(kg)


def test_a_change_of_an_ontology_refreshes_what_is_searched(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    def found() -> str:
        [document] = (
            d for d in kg.search("Where is Old Bess?").documents if d.document.iri == BESS
        )
        return document.document.text

    assert "home depot" in found()
    add_ontology(kg, tmp_path, STABLED)
    assert "stabled at" in found()
    add_ontology(kg, tmp_path, 'rdfs:label "kept at"@en')
    assert "kept at" in found()
    kg.ontologies.remove("terms")
    assert "home depot" in found()


def test_a_client_that_may_not_read_the_ontology_sees_no_labels_of_it(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    add_ontology(kg, tmp_path, STABLED)
    with kg.session.read() as snapshot:
        minter = snapshot.own.minter
        readable = frozenset({minter.imported_graph("rail"), minter.meta_graph})
        limited = select_parts(replace(snapshot.own, readable=readable), ["rail"])
        every = select_parts(snapshot.own, ["rail"])
    assert "home depot" in full_documents(limited, [BESS])[BESS].text
    assert (len(limited.parts[0].ontologies), len(every.parts[0].ontologies)) == (0, 1)
