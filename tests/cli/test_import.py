"""``sarag import``, and what other commands then make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sarag_rdf.kg import vectors
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag, environment
from tests.sample_graph import make_graph

WATERS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix w: <https://waters.example.org/> .
w:river skos:prefLabel "river"@en ; skos:definition "Water that flows."@en ; skos:broader w:water .
w:water skos:prefLabel "water"@en .
"""
GRAPH = "https://example.org/kg/graph/external/waters"


@pytest.fixture(autouse=True)
def _hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    (tmp_path / "waters.ttl").write_text(WATERS, encoding="utf-8")
    return make_graph(tmp_path / "kg")


def test_a_thesaurus(sarag: Sarag, kg: Path) -> None:
    done = sarag("import", "waters.ttl", "--as", "skos")
    assert done.code == 0, done
    assert done.out.splitlines() == [
        "waters: 4 triples imported as skos",
        f"  <{GRAPH}>; to search only this graph, use --over waters",
    ]
    again = sarag("import", "waters.ttl", "--as", "skos")
    assert again.out.startswith("waters: 4 triples already imported as skos\n")
    assert sarag("import", "--list").out == f"waters  skos  complete  <{GRAPH}>\n"
    (listed,) = json.loads(sarag("import", "--list", "--json").out)
    assert (listed["name"], listed["kind"], listed["graph"]) == ("waters", "skos", GRAPH)
    assert "imported graph          waters (skos, complete)" in sarag("stats").out

    found = json.loads(sarag("search", "water that flows", "--over", "waters", "--json").out)
    assert [d["title"] for d in found["documents"]] == ["river", "water"]
    alone = json.loads(sarag("search", "water that flows", "--over", "documents", "--json").out)
    assert "river" not in {d["title"] for d in alone["documents"]}
    both = json.loads(sarag("search", "water that flows", "--json").out)
    assert {d["title"] for d in both["documents"]} > {"river", "water"}

    assert sarag("import", "--drop", "waters").out == "dropped waters\n"
    assert sarag("import", "--list").out == "no imported graphs\n"
    sarag("search", "water", "--over", "waters").fails(2, "no such graph: 'waters'")


def test_wrong_usage(sarag: Sarag, kg: Path) -> None:
    sarag("import").fails(2, "give a FILE or URL to import, or --list, or --drop NAME")
    sarag("import", "waters.ttl", "--list").fails(2, "give a FILE or URL")
    for file, kind in (
        ("waters.ttl", "rdf (or skos, for a thesaurus)"),
        ("a/dump.json.gz", "wikibase"),
        ("rows.CSV", "table --suggest-mapping MAPPING.yml"),
        ("graph.nq", "sarag"),
    ):
        said = f"give the kind of graph: sarag import {file} --as {kind}; the kinds are rdf, "
        sarag("import", file).fails(2, said)
    sarag("import", "none.ttl", "--as", "rdf").fails(2, "no such file: none.ttl")
    sarag("import", "--drop", "waters").fails(2, "no such imported graph: 'waters'")
    sarag("import", "waters.ttl", "--as", "rdf", "--type", "Q5").fails(2, "requires --as wikibase")
    Path("waters.nt").write_text("<a:b> <a:c> <a:d> .")
    base = ("--entity-base", "https://x.example/")
    sarag("import", "waters.nt", "--as", "rdf", *base).fails(2, "requires --as wikibase")
    sarag("import", "waters.ttl", "--as", "wikibase").fails(1, "no labels found")
    sarag("import", "waters.ttl", "--as", "sarag", "--kg", "copy").fails(2, "named graphs")
    assert sarag("import", "--list").out == "no imported graphs\n"


def test_a_restored_graph_is_checked(sarag: Sarag, kg: Path, tmp_path: Path) -> None:
    assert sarag("export", "--format", "nquads", "--output", "kg.nq").code == 0
    done = sarag("import", "kg.nq", "--as", "sarag", "--kg", "copy")
    assert (done.code, done.complaints) == (0, [])
    assert done.out.endswith("quads restored\n")
    text = (tmp_path / "kg.nq").read_text("utf-8")
    lines = [line for line in text.splitlines() if "ontology#normalizedName>" not in line]
    assert len(lines) < len(text.splitlines())
    (tmp_path / "less.nq").write_text("\n".join(lines), encoding="utf-8")
    sarag("import", "less.nq", "--as", "sarag", "--kg", "less").fails(
        1, "does not conform to its shapes", "see sarag validate"
    )
    assert sarag("import", "kg.nq", "--as", "sarag", "--kg", "copy").out == done.out
    assert sarag("describe", "--title", "Other", "--kg", "copy").code == 0
    sarag("import", "kg.nq", "--as", "sarag", "--kg", "copy").fails(2, "the graph is not empty")


def test_the_environment_names_the_parts(
    sarag: Sarag, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "SARAG_OVER" not in environment()
    sarag("import", "waters.ttl", "--as", "skos")
    monkeypatch.setenv("SARAG_OVER", "waters")
    found = json.loads(sarag("search", "water", "--json").out)
    assert {d["title"] for d in found["documents"]} == {"river", "water"}
