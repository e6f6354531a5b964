"""Statements of one thing that cannot hold together, and what is decided about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.tabular import read_table, write_table
from sarag_rdf.base.vocab import COMMON, SKOS
from sarag_rdf.plugins.contradictions import Contradiction, find_contradictions
from sarag_rdf.testing.fakes import HashEmbedder
from tests.building.test_joined import link
from tests.command import Sarag

SOURCES = (
    Source(
        "Ole Lund (born 3 May 1871) was a Danish engineer. Ole Lund died in 1950.",
        "Ole Lund",
        "lund.txt",
    ),
    Source("Ole Lund was born in 1874 and died in 1850 in Odense.", "", "history.txt"),
    Source("Ole Lund was born in May 1871.", "", "letter.txt"),
    Source("Ann Bo was born in 1900. Ann Bo died in 1980.", "Ann Bo", "bo.txt"),
)
BIRTH, DEATH = COMMON.birthDate.value, COMMON.deathDate.value
DISJOINT = """
@prefix ex: <https://example.org/ns#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Town a owl:Class ; rdfs:label "town"@en .
ex:Stream a owl:Class ; rdfs:label "stream"@en .
ex:Brook a owl:Class ; rdfs:label "brook"@en ; rdfs:subClassOf ex:Stream .
ex:Village a owl:Class ; rdfs:label "village"@en .
[] a owl:AllDisjointClasses ; owl:members ( ex:Town ex:Stream ) .
"""


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    folder = tmp_path / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.index(SOURCES, extractor="spacy")
    return folder


def found(folder: Path) -> list[Contradiction]:
    with sarag_rdf.open(folder) as graph, graph.session.read() as snapshot:
        return find_contradictions(snapshot.own)


def short(each: Contradiction) -> tuple[str, ...]:
    values = (side.object.partition("^^")[0].strip('"') for side in (each.first, each.second))
    return each.kind, each.name, *values


def test_values_that_differ_and_values_in_the_wrong_order(kg: Path) -> None:
    """A month that contains the other date is no contradiction, and Ann Bo has none."""
    assert {short(each) for each in found(kg)} == {
        ("value", "Ole Lund", "1871-05-03", "1874"),
        ("value", "Ole Lund", "1850", "1950"),
        ("order", "Ole Lund", "1871-05-03", "1850"),
        ("order", "Ole Lund", "1874", "1850"),
    }


def test_both_sides_have_their_sentences_and_sources(kg: Path) -> None:
    [each] = [c for c in found(kg) if short(c) == ("value", "Ole Lund", "1850", "1950")]
    assert each.first.property == each.second.property == DEATH
    assert each.first.texts == ("Ole Lund was born in 1874 and died in 1850 in Odense.",)
    assert (each.first.sources, each.second.sources) == (("history.txt",), ("lund.txt",))


def test_a_decision_takes_the_other_statement_out_and_can_be_undone(
    kg: Path, tmp_path: Path, sarag: Sarag
) -> None:
    review = tmp_path / "review.tsv"
    assert sarag("contradictions", "--kg", kg, "--review", review).code == 0
    rows = [dict(row.cells) for row in read_table(review, ("decision",))]
    for row in rows:
        if row["kind"] == "value":
            row["decision"] = "second" if row["property"] == DEATH else "first"
    review.write_text(write_table(list(rows[0]), rows))
    done = sarag("contradictions", "--kg", kg, "--accept", review)
    assert (done.code, done.out) == (0, "0 statements preferred, 2 statements deprecated\n")
    assert found(kg) == []
    assert sarag("contradictions", "--kg", kg).out == "0 contradictions\n"
    listed = sarag("contradictions", "--list", "--kg", kg)
    assert listed.out.count("  deprecated  [contradiction, ") == 2
    assert listed.out.count("contradicts") == 2
    assert sarag("quarantine", "statements", "--kg", kg).out == ""
    assert sarag("contradictions", "--undo-all", "--kg", kg).out == "2 undone\n"
    assert len(found(kg)) == 4


def test_contradictions_are_listed_with_sentences_and_exit_code_1(kg: Path, sarag: Sarag) -> None:
    done = sarag("contradictions", "--kg", kg)
    assert done.code == 1
    sentence = "Ole Lund was born in 1874 and died in 1850 in Odense."
    assert f"  deathDate 1850: {sentence} (history.txt)\n" in done.out
    assert done.out.endswith("4 contradictions\n")
    listed = json.loads(sarag("contradictions", "--kg", kg, "--json").out)
    assert {each["kind"] for each in listed} == {"value", "order"}


def test_a_word_that_is_no_decision_changes_nothing(kg: Path, tmp_path: Path, sarag: Sarag) -> None:
    review = tmp_path / "review.tsv"
    sarag("contradictions", "--kg", kg, "--review", review)
    text = review.read_text()
    review.write_text(text.replace("\n\tvalue", "\nperhaps\tvalue"))
    sarag("contradictions", "--kg", kg, "--accept", review).fails(
        1, "'perhaps' is no decision: write first or second"
    )
    assert len(found(kg)) == 4


def test_a_thing_in_disjoint_classes(tmp_path: Path) -> None:
    (tmp_path / "classes.ttl").write_text(DISJOINT)
    folder = tmp_path / "kg"
    sources = (
        Source("Elm is a town in Hesse. Oak is a town.", "Elm", "town.txt"),
        Source("Elm is a brook in Hesse. Oak is a village.", "Elm", "brook.txt"),
    )
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.ontologies.add(tmp_path / "classes.ttl")
        graph.index(sources, extractor="spacy")
    [each] = found(folder)
    assert (each.kind, each.name) == ("class", "Elm")
    assert {each.first.object, each.second.object} == {
        "<https://example.org/ns#Brook>",
        "<https://example.org/ns#Town>",
    }


LUND = """
@prefix ex: <https://people.example/> . @prefix c: <https://w3id.org/sarag/common#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:bo a c:Person ; rdfs:label "Ann Bo" ; c:birthDate "1901-01-02"^^xsd:date ;
    c:deathDate "1981-05-06"^^xsd:date , "1982-05-06"^^xsd:date ; c:birthPlace ex:odense .
ex:kit a c:Person ; rdfs:label "Kit" ; c:birthDate "1800-01-01"^^xsd:date .
"""


def test_documents_and_linked_imported_graphs_are_compared(
    kg: Path, tmp_path: Path, sarag: Sarag
) -> None:
    """Two values that only the imported graph has are its own affair."""
    (tmp_path / "people.ttl").write_text(LUND)
    with sarag_rdf.open(kg, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.import_graph(tmp_path / "people.ttl", "rdf", name="people")
        entity = Minter().entity("ann bo")
    before = json.loads(sarag("contradictions", "--kg", kg, "--json").out)
    link(kg, (entity, SKOS.exactMatch, "https://people.example/bo"))
    table = tmp_path / "review.tsv"
    assert sarag("contradictions", "--kg", kg, "--review", table).code == 0
    rows = [dict(row.cells) for row in read_table(table, ()) if row["name"] == "Ann Bo"]
    assert len(read_table(table, ())) == len(before) + len(rows)
    values = {(row["first"][1:11].rstrip('"^<ht'), row["second"][1:11]) for row in rows}
    assert values == {
        *(("1900", "1901-01-02"), ("1980", "1981-05-06"), ("1980", "1982-05-06")),
    }
    assert {row["second_sources"] for row in rows} == {"imported graph people"}
    for row in rows:
        row["decision"] = "second" if row["first"].startswith('"1900') else "first"
    names = list(rows[0])
    table.write_text(write_table(names, rows))
    done = sarag("contradictions", "--kg", kg, "--accept", table)
    done.fails(1, "the second statement is one of the imported graph people: correct it")
    table.write_text(write_table(names, rows[:1]))
    assert "1 statement deprecated" in sarag("contradictions", "--kg", kg, "--accept", table).out
    after = json.loads(sarag("contradictions", "--kg", kg, "--json").out)
    assert len(after) == len(before) + 2
    ended = [row | {"decision": "second"} for row in rows if row["first"].startswith('"1980')]
    table.write_text(write_table(names, ended))
    assert len(ended) == 2, "two rows about one statement"
    assert "1 statement deprecated" in sarag("contradictions", "--kg", kg, "--accept", table).out


def test_equivalent_properties_are_compared(kg: Path, tmp_path: Path, sarag: Sarag) -> None:
    (tmp_path / "people.ttl").write_text(LUND.replace("c:birthDate", "ex:born"))
    (tmp_path / "same.ttl").write_text(
        LUND + "@prefix owl: <http://www.w3.org/2002/07/owl#> . c:birthDate rdfs:label 'born' ;"
        "a owl:DatatypeProperty , owl:FunctionalProperty ; owl:equivalentProperty ex:born ."
    )
    with sarag_rdf.open(kg, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.import_graph(tmp_path / "people.ttl", "rdf", name="people")
        link(kg, (Minter().entity("ann bo"), SKOS.exactMatch, "https://people.example/bo"))
        before = sarag("contradictions", "--kg", kg).out
        graph.ontologies.add(tmp_path / "same.ttl")
    after = sarag("contradictions", "--kg", kg).out
    assert "born 1901-01-02 (imported graph people)" in after
    assert "born 1901-01-02" not in before
