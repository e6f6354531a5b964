"""--examples is the option of that name in --extractor."""

from __future__ import annotations

from pathlib import Path

import sarag_rdf
from tests.command import Sarag

SCHEMA = """
@prefix : <https://example.org/people#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Person a owl:Class . :Place a owl:Class .
:home a owl:ObjectProperty ; rdfs:label "home" ; rdfs:domain :Person ; rdfs:range :Place .
"""
EXAMPLE = (
    '{"text": "Ada Reed settled in Linz.", "statements": '
    '[{"subject": "Ada Reed", "property": "home", "object": "Linz"}]}\n'
)


def test_examples_are_part_of_the_method(sarag: Sarag, tmp_path: Path) -> None:
    (tmp_path / "people.ttl").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "examples.jsonl").write_text(EXAMPLE, encoding="utf-8")
    (tmp_path / "a.txt").write_text("Bea Holt settled in Graz.", encoding="utf-8")
    paths = (tmp_path / "a.txt", "--kg", tmp_path / "kg", "--ontology", tmp_path / "people.ttl")
    examples = ("--examples", tmp_path / "examples.jsonl")
    done = sarag("index", *paths, "--extractor", "spacy", *examples)
    assert done.code == 0, done
    again = sarag("index", *paths, "--extractor", f"learned:examples={examples[1]}", "--json")
    assert '"unchanged": 1' in again.out
    with sarag_rdf.open(tmp_path / "kg", endpoint=None) as kg:
        [method] = kg.extractors()
        assert method == "learned"


def test_examples_that_cannot_be_used(sarag: Sarag, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Bea Holt settled in Graz.", encoding="utf-8")
    (tmp_path / "people.ttl").write_text(SCHEMA, encoding="utf-8")
    ontology = ("--ontology", tmp_path / "people.ttl")
    paths = ("index", tmp_path / "a.txt", "--kg", tmp_path / "kg", *ontology)
    missing = sarag(*paths, "--extractor", "spacy", "--examples", tmp_path / "none.jsonl")
    assert missing.code != 0
    assert "none.jsonl: No such file" in missing.err
    other = sarag(*paths, "--extractor", "openie:x.json", "--examples", "some.jsonl")
    other.fails(2, "--examples is for spacy and llm")
    colon = sarag(*paths, "--extractor", "spacy", "--examples", "a:b.jsonl")
    colon.fails(1, "cannot read a:b.jsonl: No such file")
