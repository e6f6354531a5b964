"""``sarag evaluate extraction``: typed statements against annotated sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.types import Relation, Value
from sarag_rdf.kg import vectors
from sarag_rdf.plugins.evaluation.gold import keys_of
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Result, Sarag

XSD = "http://www.w3.org/2001/XMLSchema#"
ONTOLOGY = """
@prefix : <urn:light:> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Lighthouse a owl:Class ; rdfs:label "lighthouse" .
:Island a owl:Class ; rdfs:label "island" .
:on a owl:ObjectProperty ; rdfs:label "on island" ; rdfs:domain :Lighthouse ; rdfs:range :Island .
:height a owl:DatatypeProperty ; rdfs:label "height" ; rdfs:domain :Lighthouse ;
    rdfs:range xsd:integer .
"""
GOLD = [
    (
        "Crane Light on Ona is 20 metres tall.",
        [("Crane Light", "on island", "Ona"), ("Crane Light", "height", "20")],
    ),
    ("Gull Light stands on Mora.", [("Gull Light", "on island", "Mora")]),
    ("Tern Light burned down.", []),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "light.ttl").write_text(ONTOLOGY)
    rows = [
        {
            "text": text,
            "statements": [
                dict(zip(("subject", "property", "object"), s, strict=True)) for s in own
            ],
        }
        for text, own in GOLD
    ]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    return tmp_path


def entities(*names: str) -> dict[str, Any]:
    found = [{"name": n, "type": "misc", "aliases": [], "information": ""} for n in names]
    return {"entities": found}


def replies(*statements: tuple[str, str, str]) -> dict[str, Any]:
    keys = ("subject", "property", "object")
    return {"classes": [], "statements": [dict(zip(keys, s, strict=True)) for s in statements]}


def evaluate(sarag: Sarag, *arguments: str) -> Result:
    options = ("--gold", "gold.jsonl", "--ontology", "light.ttl", "--concurrency", "1")
    return sarag("evaluate", "extraction", *options, *arguments)


def test_measures_worked_by_hand(
    sarag: Sarag, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three statements are right, and two of three gold ones are found."""
    llm = QueuedLLM([
        entities("Crane Light", "Ona"),
        {"relationships": []},
        replies(("Crane Light", "on island", "Ona"), ("Crane Light", "height", "20")),
        entities("Gull Light"),
        replies(("Gull Light", "on island", "Gull Light")),
        entities("Tern Light"),
        replies(),
    ])  # fmt: skip
    monkeypatch.setattr(vectors, "make_llm", lambda *_: llm)
    done = evaluate(
        sarag, "--extractor", "llm", "--base-url", "http://127.0.0.1:9/v1", "--output", "out.json"
    )
    assert done.code == 0, done
    data = json.loads((folder / "out.json").read_text())
    assert data["properties"]["height"]["f1"] == 1.0
    assert (data["all"]["gold"], data["all"]["recall"]) == (3, 0.666667)
    assert data["sentences"][1]["missing"] == [["gulllight", "on island", "mora"]]
    assert "3 sentences; figures in percent" in done.out


def test_a_literal_is_compared_by_text_and_value() -> None:
    value = Value("20 metres", "20", XSD + "integer")
    relation = Relation("Crane Light", "is", "20 metres", predicate="p:height", value=value)
    assert ("cranelight", "p:height", "20") in keys_of(relation)
    inverse = Relation("Ona", "has", "Crane Light", predicate="p:on", inverse=True)
    assert keys_of(inverse) == {("cranelight", "p:on", "ona")}


def test_a_sentence_that_fails_is_reported(
    sarag: Sarag, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sarag_rdf.base.errors import TruncatedReplyError

    llm = QueuedLLM([TruncatedReplyError("cut off")])
    monkeypatch.setattr(vectors, "make_llm", lambda *_: llm)
    arguments = ("--extractor", "llm", "--base-url", "http://127.0.0.1:9/v1", "--limit", "1")
    done = evaluate(sarag, *arguments)
    assert done.code == 0, done
    assert "1 sentence could not be extracted: cut off" in done.out


def test_wrong_files(sarag: Sarag, folder: Path) -> None:
    evaluate(sarag, "--output", "nowhere/a.json").fails(2, "nowhere/a.json")
    (folder / "gold.jsonl").write_text('{"text": "a", "statements": [{"subject": "a"}]}\n')
    evaluate(sarag).fails(1, "gold.jsonl, line 1")
    (folder / "gold.jsonl").write_text("\n")
    evaluate(sarag).fails(1, "gold.jsonl has no sentences")
