"""Properties of phrases: suggested, reviewed in a table, accepted, and undone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.tabular import read_table, write_table
from sarag_rdf.base.types import Document, EntityType, Extraction, Mention, Method, Relation, Source
from sarag_rdf.building.decision_records import NO_PROPERTY
from sarag_rdf.kg import vectors
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.proposals import PHRASE_COLUMNS as COLUMNS
from sarag_rdf.plugins.induction import induced_ontology
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.sample_graph import derived

MINTER = Minter()
EX = "https://crafts.example/ontology#"
ONTOLOGY = f"""
@prefix ex: <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

ex:Person a owl:Class ; rdfs:label "person"@en .
ex:Place a owl:Class ; rdfs:label "place"@en .
ex:bornIn a owl:ObjectProperty ; rdfs:label "born in"@en ;
    rdfs:domain ex:Person ; rdfs:range ex:Place .
ex:taught a owl:ObjectProperty ; rdfs:label "taught"@en ;
    rdfs:domain ex:Person ; rdfs:range ex:Person .
ex:birthYear a owl:DatatypeProperty ; rdfs:label "birth year"@en ;
    rdfs:domain ex:Person ; rdfs:range xsd:gYear .
"""
SOURCES = (
    Source("Ada was born in Ulm. Ada was born in 1815. Ada studied with Boris.", "", "ada.txt"),
    Source(
        "Boris was born in Linz. Boris was born in 1790. Ulm dances with Linz.", "", "boris.txt"
    ),
    Source("Clara was born in Ulm. Clara studied with Boris.", "", "clara.txt"),
)
_TYPES: dict[str, EntityType] = {"Ulm": "geopolitical", "Linz": "geopolitical"}


class SentenceExtractor:
    """Reads sentences such as "Ada was born in Ulm."."""

    method = Method("sentences", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction]:
        for document in documents:
            triples = re.findall(r"(\w+) ([a-z ]+) (\w+)\.", document.text)
            names = dict.fromkeys(name for s, _, o in triples for name in (s, o))
            mentions = [
                Mention(n, "time" if n.isdigit() else _TYPES.get(n, "person")) for n in names
            ]
            relations = [Relation(s, p, o, f"{s} {p} {o}.") for s, p, o in triples]
            yield Extraction(tuple(mentions), tuple(relations))


@pytest.fixture
def kg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KnowledgeGraph]:
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    (tmp_path / "crafts.ttl").write_text(ONTOLOGY, encoding="utf-8")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as graph:
        graph.ontologies.add(tmp_path / "crafts.ttl")
        graph.index(SOURCES, extractor=SentenceExtractor())
        yield graph


def last_part(term: object) -> str:
    """The last part of an IRI, or the value of a literal."""
    assert isinstance(term, NamedNode | Literal)
    return re.split(r"[/#]", term.value)[-1]


def statements(kg: KnowledgeGraph) -> set[tuple[str, str, str]]:
    """Subject, property and object of the typed statements, by their last parts."""
    return {
        (last_part(q.subject), last_part(q.predicate), last_part(q.object))
        for q in derived(kg)
        if q.predicate.value.startswith(EX)
    }


def table(path: Path, *rows: dict[str, str]) -> Path:
    path.write_text(write_table(COLUMNS, rows), encoding="utf-8")
    return path


BORN = {
    "phrase": "was born in",
    "subject type": "person",
    "object type": "geopolitical",
    "property": "born in",
}


def test_phrases_are_suggested_by_importance(kg: KnowledgeGraph) -> None:
    proposals = kg.decisions.propose_phrases()
    assert [(p.phrase.signature, p.phrase.count, p.phrase.names) for p in proposals] == [
        (("was born in", "person", "geopolitical"), 3, 5),
        (("was born in", "person", "value"), 2, 4),
        (("studied with", "person", "person"), 2, 3),
        (("dances with", "geopolitical", "geopolitical"), 1, 2),
    ]
    born, year, studied, dances = proposals
    assert born.phrase.examples == (
        "Ada was born in Ulm.",
        "Boris was born in Linz.",
        "Clara was born in Ulm.",
    )
    assert born.suggestions[0].property == f"{EX}bornIn"
    assert born.suggestions[0].confidence == 0.9
    assert f"{EX}bornIn" not in {s.property for s in year.suggestions}
    assert studied.suggestions == dances.suggestions == ()


def test_a_table_is_accepted_and_undone(kg: KnowledgeGraph, tmp_path: Path) -> None:
    before = derived(kg)
    path = tmp_path / "phrases.tsv"
    path.write_text(kg.decisions.table(kg.decisions.propose_phrases(), "phrases"), encoding="utf-8")
    [first, year, *others] = read_table(path, COLUMNS)
    assert (first["property"], first["direction"], first["confidence"]) == (
        "born in",
        "forward",
        "0.90",
    )
    assert year["property"] == "birth year"
    assert not any(row["property"] for row in others)
    report = kg.decisions.accept(path, "phrases")
    assert (len(report.decisions), report.skipped) == (2, 2)
    assert (report.stated_before, report.stated) == (0, 5)
    assert statements(kg) == {
        ("ada", "bornIn", "ulm"),
        ("boris", "bornIn", "linz"),
        ("clara", "bornIn", "ulm"),
        ("ada", "birthYear", "1815"),
        ("boris", "birthYear", "1790"),
    }
    undecided = [p.phrase.signature.phrase for p in kg.decisions.propose_phrases()]
    assert undecided == ["studied with", "dances with"]
    assert len(kg.decisions.propose_phrases(all_=True)) == 4
    undone = kg.decisions.undo("was born in", "phrases")
    assert {decision.other for decision in undone} == {f"{EX}bornIn", f"{EX}birthYear"}
    assert derived(kg) == before


def test_properties_are_edited_in_both_directions_and_with_values(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    path = table(
        tmp_path / "phrases.tsv",
        {**BORN, "decision": "no"},
        {"phrase": "Was  born in", "object type": "value", "property": "birth year"},
        {"phrase": "studied with", "property": "ex:taught", "direction": "inverse"},
    )
    report = kg.decisions.accept(path, "phrases")
    assert (len(report.decisions), report.skipped, report.stated) == (2, 1, 4)
    expected = {
        ("ada", "birthYear", "1815"),
        ("boris", "birthYear", "1790"),
        ("boris", "taught", "ada"),
        ("boris", "taught", "clara"),
    }
    assert statements(kg) == expected
    kg.delete(["ada.txt"])
    assert statements(kg) == {("boris", "birthYear", "1790"), ("boris", "taught", "clara")}
    kg.index(SOURCES, extractor=SentenceExtractor())
    assert statements(kg) == expected


def test_a_later_table_replaces_decisions_about_the_same_phrases(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    kg.decisions.accept(table(tmp_path / "one.tsv", BORN), "phrases")
    kg.decisions.accept(table(tmp_path / "two.tsv", {**BORN, "property": "none"}), "phrases")
    [decision] = kg.decisions.list("phrases")
    assert decision.other == NO_PROPERTY
    assert "states nothing" in str(decision)
    assert statements(kg) == set()
    kg.decisions.accept(table(tmp_path / "three.tsv", {**BORN, "subject type": "any"}), "phrases")
    assert statements(kg) == set()  # the decision about persons takes precedence
    kg.decisions.accept(table(tmp_path / "four.tsv", BORN), "phrases")
    assert len(statements(kg)) == 3


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"phrase": ""}, "column phrase: the phrase is missing"),
        ({"property": "died in"}, "column property: no such property: 'died in'"),
        ({"subject type": "animal"}, "column subject type: unknown type 'animal'"),
        ({"subject type": "value"}, "column subject type: unknown type 'value'"),
        ({"direction": "back"}, "column direction: unknown direction 'back'"),
        ({"decision": "maybe"}, "column decision: 'maybe' is no decision"),
        ({"property": "birth year"}, "column property: the values of 'birth year' are literals"),
        (
            {"property": "birth year", "object type": "value", "direction": "inverse"},
            "column direction: the values of 'birth year' are literals",
        ),
        ({"property": "taught"}, "column property: an earlier row has another property"),
    ],
)
def test_errors_name_row_and_column(
    kg: KnowledgeGraph, tmp_path: Path, change: dict[str, str], complaint: str
) -> None:
    path = table(tmp_path / "phrases.tsv", BORN, {**BORN, **change})
    with pytest.raises(InputError, match=re.escape(f"{path}: row 3, {complaint}")):
        kg.decisions.accept(path, "phrases")
    assert kg.decisions.list("phrases") == []


def test_without_an_ontology_the_packaged_one_is_used(kg: KnowledgeGraph, tmp_path: Path) -> None:
    kg.ontologies.remove("crafts")
    [born, *_] = kg.decisions.propose_phrases()
    assert born.suggestions[0].property == "https://w3id.org/sarag/common#birthPlace"
    path = table(tmp_path / "phrases.tsv", {**BORN, "property": born.suggestions[0].property})
    assert kg.decisions.accept(path, "phrases").stated == 3


def test_on_the_command_line(kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag) -> None:
    assert sarag("ontology", "suggest", "-o", "phrases.csv").code == 0
    assert (tmp_path / "phrases.csv").read_text(encoding="utf-8-sig").startswith("decision,phrase,")
    assert sarag("ontology", "suggest", "--most", "1").out.count("\n") == 2
    [first] = json.loads(sarag("ontology", "suggest", "--most", "1", "--json").out)
    assert first["phrase"]["count"] == 3
    assert sarag("ontology", "accept", "phrases.csv").out == (
        "2 phrases accepted, 2 rows skipped; 5 relationships with a property, 0 before\n"
    )
    listed = json.loads(sarag("ontology", "accept", "--list", "--json").out)
    assert {each["decision"].partition("  states  ")[0] for each in listed} == {
        "person 'was born in' geopolitical",
        "person 'was born in' value",
    }
    for each in listed:
        assert sarag("ontology", "accept", "--undo", each["iri"]).out == "1 undone\n"
    assert sarag("ontology", "accept").complaints == [
        "sarag: give a TABLE, or one of --list, --undo"
    ]
    assert sarag("ontology", "accept", "--undo-all").complaints == [
        "sarag: no decision: see sarag ontology accept --list"
    ]
    assert sarag("ontology", "accept", "missing.tsv").code != 0
    with pytest.raises(UsageError, match="no decision about 'sang'"):
        kg.decisions.undo("sang", "phrases")


def test_an_induced_ontology_is_sound_and_is_used(
    kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag
) -> None:
    kg.ontologies.remove("crafts")
    assert sarag("induce", "-o", "induced.ttl").code == 0
    assert sarag("ontology", "check", "induced.ttl").out.endswith(": 0 errors, 0 warnings\n")
    turtle = (tmp_path / "induced.ttl").read_text(encoding="utf-8")
    assert ":bornIn a owl:ObjectProperty" in turtle
    assert '"3 relationships"@en' in turtle
    kg.ontologies.add(tmp_path / "induced.ttl")
    schema = kg.ontologies.schema()
    base = f"{MINTER.base}ontology/"
    assert {iri.removeprefix(base) for iri in schema.classes} == {"Person", "Place"}
    assert {iri.removeprefix(base) for iri in schema.properties} == {
        "bornIn",
        "bornInPerson",
        "studiedWith",
    }
    born = schema.properties[f"{base}bornIn"]
    assert (born.domains, born.ranges) == ((f"{base}Person",), (f"{base}Place",))
    assert born.phrases == ("was born in",)
    assert "Ada was born in Ulm." in born.examples
    assert schema.properties[f"{base}bornInPerson"].is_literal
    path = tmp_path / "phrases.tsv"
    path.write_text(kg.decisions.table(kg.decisions.propose_phrases(), "phrases"), encoding="utf-8")
    assert kg.decisions.accept(path, "phrases").stated == 7
    assert ("ada", "bornIn", "ulm") in {
        (last_part(q.subject), last_part(q.predicate), last_part(q.object)) for q in derived(kg)
    }


def test_a_corpus_without_frequent_phrases_gives_no_ontology(kg: KnowledgeGraph) -> None:
    with pytest.raises(UsageError, match="no phrase has 9 relationships"):
        induced_ontology(kg, least=9)
    with pytest.raises(UsageError, match="invalid namespace"):
        induced_ontology(kg, namespace="https://crafts.example/terms")
    turtle = induced_ontology(kg, namespace="https://crafts.example/terms#")
    assert "@prefix : <https://crafts.example/terms#> ." in turtle
