"""``sarag ontology``, and ``sarag index --ontology``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sarag_rdf.kg import vectors
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.graph.museum import EX, MUSEUM

PACKAGED = "common: the packaged ontology, as no other is stored\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """museum.ttl and docs/ in the working folder; words are hashed instead of embedded."""
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    (tmp_path / "museum.ttl").write_text(MUSEUM, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ada.txt").write_text("Ada collected quartz. Ada married Boris.")


def test_ontologies_are_added_listed_shown_and_removed(sarag: Sarag) -> None:
    added = sarag("ontology", "add", "museum.ttl")
    assert added.out == "museum: added, 4 classes, 6 properties, 57 triples\n"
    assert added.complaints == ["sarag: 1 warning: sarag ontology check museum.ttl lists them"]
    listed = sarag("ontology", "list").out
    assert listed.startswith("museum: Museum ontology 1.2, 57 triples, added 20")
    shown = sarag("ontology", "show", "museum").out.splitlines()
    assert f"  mineral                     <{EX}Mineral>" in shown
    assert f"  person   subclass of agent  <{EX}Person>" in shown
    assert any(
        line.startswith("  hardness         mineral -> xsd:decimal") and "functional" in line
        for line in shown
    )
    assert any(
        "mineral -> group | person" in line and "inverse of collected" in line for line in shown
    )
    assert sarag("ontology", "remove", "museum").out == "1 ontology removed\n"
    assert sarag("ontology", "list").out == PACKAGED


def test_everything_can_be_printed_as_json(sarag: Sarag) -> None:
    (added,) = json.loads(sarag("ontology", "add", "museum.ttl", "--name", "m", "--json").out)
    assert (added["name"], added["classes"], added["already"]) == ("m", 4, False)
    (listed,) = json.loads(sarag("ontology", "list", "--json").out)
    assert (listed["name"], listed["triples"]) == ("m", 57)
    shown = json.loads(sarag("ontology", "show", "--json").out)
    assert [o["name"] for o in shown["ontologies"]] == ["m"]
    assert shown["properties"][0]["phrases"] == ["brought home", "collected"]
    checked = json.loads(sarag("ontology", "check", "museum.ttl", "--json").out)
    assert checked["museum.ttl"][0]["term"] == f"{EX}dateOfBirth"
    assert json.loads(sarag("ontology", "remove", "m", "--json").out) == {"removed": ["m"]}
    (packaged,) = json.loads(sarag("ontology", "list", "--json").out)
    assert (packaged["name"], packaged["graph"], packaged["added"]) == ("common", "", "")
    assert packaged["triples"] > 0
    assert json.loads(sarag("ontology", "show", "--json").out)["ontologies"] == [packaged]


def test_check_prints_findings_and_fails_on_errors(sarag: Sarag, tmp_path: Path) -> None:
    checked = sarag("ontology", "check", "museum.ttl")
    assert checked.code == 0
    assert checked.out.splitlines() == [
        f"warning: <{EX}dateOfBirth>: no label: 'date of birth' is taken from its IRI",
        "museum.ttl: 0 errors, 1 warning",
    ]
    wrong = (
        MUSEUM
        + "".join(f"ex:p{i}a a owl:ObjectProperty ." for i in range(30))
        + ("ex:Agent rdfs:subClassOf ex:Person .")
    )
    (tmp_path / "wrong.ttl").write_text(wrong)
    checked = sarag("ontology", "check", "wrong.ttl", "museum.ttl")
    lines = checked.out.splitlines()
    assert checked.code == 1
    assert lines[0] == f"error: <{EX}Agent>: a cycle of subclass axioms: Agent -> Person -> Agent"
    assert lines[1:4] == [
        f"warning: no label: it is taken from the IRI (31): <{EX}dateOfBirth>, <{EX}p0a>, "
        f"<{EX}p10a>, ...",
        f"warning: no domain or range (30): <{EX}p0a>, <{EX}p10a>, <{EX}p11a>, ...",
        "wrong.ttl: 1 error, 61 warnings (--json lists all)",
    ]
    listed = json.loads(sarag("ontology", "check", "wrong.ttl", "--json").out)["wrong.ttl"]
    assert Counter(finding["kind"] for finding in listed).most_common(1) == [
        ("no label: it is taken from the IRI", 31)
    ]
    assert lines[-1] == "museum.ttl: 0 errors, 1 warning"
    sarag("ontology", "check", "none.ttl").fails(2, "no such file: none.ttl")


def test_what_ontologies_of_the_graph_declare_is_declared(sarag: Sarag, tmp_path: Path) -> None:
    used = "ex:holds a owl:ObjectProperty ; rdfs:domain ex:Person ; rdfs:range ex:Thing ."
    labels = "ex:holds rdfs:label 'holds' ."
    (tmp_path / "more.ttl").write_text(
        MUSEUM.partition("<https://museum.example/ontology> a")[0] + used + labels
    )
    undeclared = "warning: used in an axiom, but not declared (2): "
    assert undeclared in sarag("ontology", "check", "more.ttl").out
    sarag("ontology", "add", "museum.ttl")
    warning = f"warning: <{EX}Thing>: used in an axiom, but not declared\n"
    assert sarag("ontology", "check", "more.ttl").out.startswith(warning)
    assert "sarag: 1 warning: " in sarag("ontology", "add", "more.ttl").err
    assert sarag("ontology", "check", "more.ttl").out.startswith(warning)


def test_a_name_in_use_says_what_to_do(sarag: Sarag, tmp_path: Path) -> None:
    sarag("ontology", "add", "museum.ttl")
    (tmp_path / "museum.ttl").write_text(MUSEUM.replace('"1.2"', '"1.3"'))
    sarag("ontology", "add", "museum.ttl").fails(2, "'museum' exists", "ontology add --yes")
    assert sarag("ontology", "add", "museum.ttl", "--yes").code == 0
    assert "Museum ontology 1.3" in sarag("ontology", "list").out
    sarag("ontology", "add", "museum.ttl", "other.ttl", "--name", "x").fails(2, "a single file")
    sarag("ontology", "show", "x").fails(2, "no such ontology: 'x': use one of museum")
    sarag("ontology", "remove", "x").fails(2, "no such ontology: 'x'")
    sarag("ontology", "list", "--kg", "none").fails(1, "no graph at none")


def test_index_adds_ontologies(sarag: Sarag) -> None:
    arguments = ("index", "docs", "--extractor", "spacy")
    assert "1 added" in sarag(*arguments).out
    planned = sarag(*arguments, "--ontology", "museum.ttl", "--dry-run").out
    assert "would be 0 added, 1 updated" in planned
    assert sarag("ontology", "list").out == PACKAGED
    indexed = sarag(*arguments, "--ontology", "museum.ttl")
    assert "museum: added, 4 classes, 6 properties" in indexed.out
    assert "0 added, 1 updated" in indexed.out
    assert "1 source indexed with another schema" in indexed.err
    assert "1 unchanged" in sarag(*arguments, "--ontology", "museum.ttl").out
    added = sarag("ontology", "add", "museum.ttl")
    assert "already in the graph" in added.out
    assert "another schema" not in added.out
    report = json.loads(sarag(*arguments, "--ontology", "museum.ttl", "--json").out)
    assert report["unchanged"] == 1


def test_index_stops_at_an_ontology_that_cannot_be_read(sarag: Sarag, tmp_path: Path) -> None:
    (tmp_path / "broken.ttl").write_text("<https://x.example/a> a")
    sarag("index", "docs", "--ontology", "broken.ttl").fails(1, "broken.ttl, line 1")
    sarag("index", "docs", "--ontology", "none.ttl").fails(2, "no such file: none.ttl")
    sarag("index", "docs", "--ontology", "broken.ttl", "--kg", "new").fails(1, "broken.ttl, line 1")
    assert not (tmp_path / "new").exists()
