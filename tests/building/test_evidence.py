"""What an extractor returns is recorded, or counted: nothing is lost without a trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pyoxigraph import Literal

import sarag_rdf
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.building.index_run import IndexReport
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag

TEXT = "Ada founded and led Ormund in 1901."
NAMES = ("Ada", "Ormund", "1901")


class Given:
    """Returns one extraction for every document."""

    method = Method("given", "by-hand")

    def __init__(self, extraction: Extraction, discarded: Mapping[str, int] | None = None) -> None:
        self._extraction = extraction
        self.discarded = discarded or {}

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        return (self._extraction for _ in documents)


def indexed(
    *relations: Relation, names: Iterable[str] = NAMES, copies: int = 1
) -> tuple[IndexReport, set[tuple[str, str, str, float]]]:
    """The report, and (subject, phrase, object, confidence) of each relationship in the graph."""
    extraction = Extraction(tuple(map(Mention, names)), relations)
    sources = [Source(TEXT, key=f"{number}.txt") for number in range(copies)]
    with sarag_rdf.open(None, endpoint=None, embedder=HashEmbedder()) as kg:
        report = kg.index(sources, extractor=Given(extraction))
        found = kg.query(
            """PREFIX sarag: <https://w3id.org/sarag/ontology#>
            SELECT ?s ?phrase ?o ?confidence {
              ?r sarag:subjectMention/sarag:normalizedName ?s ; sarag:phrase ?phrase ;
                 sarag:objectMention/sarag:normalizedName ?o ; sarag:confidence ?confidence }"""
        )
    assert isinstance(found, Table)
    values = [[t.value for t in row if isinstance(t, Literal)] for row in found.rows]
    return report, {(s, phrase, o, float(confidence)) for s, phrase, o, confidence in values}


def test_two_phrases_in_one_sentence_are_two_relationships() -> None:
    report, rows = indexed(
        Relation("Ada", "founded", "Ormund", TEXT),
        Relation("Ada", "led", "Ormund", TEXT),
        Relation("Ormund", "led", "Ada", TEXT),
    )
    assert rows == {
        ("ada", "founded", "ormund", 1.0),
        ("ada", "led", "ormund", 1.0),
        ("ormund", "led", "ada", 1.0),
    }
    assert report.relationships == 3
    assert not report.discarded


def test_a_repeated_relationship_is_counted_and_the_surest_is_recorded() -> None:
    report, rows = indexed(
        Relation("Ada", "led", "Ormund", TEXT, 0.25),
        Relation("Ada", "led", "Ormund", TEXT, 0.75),
        Relation("ADA", "led", "Ormund", TEXT, 0.5),
        copies=3,
    )
    assert rows == {("ada", "led", "ormund", 0.75)}
    assert report.relationships == 3
    assert report.discarded == {"repeated relationships": 6}


def test_what_cannot_be_recorded_is_counted_by_reason() -> None:
    report, rows = indexed(
        Relation("Ada", "led", "Ormund", TEXT),
        Relation("Ada", "led", "Bea", TEXT),
        Relation("", "led", "", TEXT),
        names=("Ada", "Ormund", " "),
    )
    assert rows == {("ada", "led", "ormund", 1.0)}
    assert report.relationships == 1
    assert report.discarded == {
        "relationships between names that were not extracted": 2,
        "mentions without a name": 1,
    }


def test_what_an_extractor_discards_is_counted_once_a_run() -> None:
    extractor = Given(Extraction())
    with sarag_rdf.open(None, endpoint=None, embedder=HashEmbedder()) as kg:
        extractor.discarded = {"names that the text does not contain": 2}
        assert not kg.index([Source(TEXT, key="1.txt")], extractor=extractor).discarded
        extractor.discarded = {}
        counting = _Counting()
        for key in ("2.txt", "3.txt"):
            report = kg.index([Source(TEXT, key=key)], extractor=counting)
            assert report.discarded == {"names that the text does not contain": 5}


class _Counting(Given):
    """Discards five names of each document."""

    def __init__(self) -> None:
        super().__init__(Extraction())
        self.discarded: dict[str, int] = {"names that the text does not contain": 0}

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for result in super().extract(documents):
            self.discarded["names that the text does not contain"] += 5
            yield result


def test_the_command_line_prints_what_was_not_recorded(sarag: Sarag, tmp_path: Path) -> None:
    document = tmp_path / "ada.txt"
    document.write_text(TEXT)
    triple = ["Ada", "led", "Ormund"]
    doc = {
        "text": TEXT,
        "extracted_entities": ["Ada"],
        "extracted_triples": [triple, triple, ["Ada"]],
    }
    extraction = tmp_path / "openie.json"
    extraction.write_text(json.dumps({"docs": [doc]}))
    done = sarag("index", document, "--kg", tmp_path / "kg", "--extractor", f"openie:{extraction}")
    reasons = "malformed triples (1), repeated relationships (1)"
    assert f"extracted but not recorded: {reasons}" in done.out.splitlines()
    again = sarag("index", document, "--kg", tmp_path / "kg", "--extractor", f"openie:{extraction}")
    assert "not recorded" not in again.out


def test_a_name_without_a_description_is_described_by_itself() -> None:
    mentions = (
        Mention("Ada", descriptions=("Ada: Ada led it.",)),
        Mention("Ormund", descriptions=("A town.", "A harbour.")),
        Mention("1901"),
    )
    with sarag_rdf.open(None, endpoint=None, embedder=HashEmbedder()) as kg:
        kg.index([Source(TEXT, key="a.txt")], extractor=Given(Extraction(mentions, ())))
        told = {name: kg.entity(name).descriptions for name in ("Ada", "Ormund", "1901")}
        stored = kg.query(
            """PREFIX sarag: <https://w3id.org/sarag/ontology#>
            SELECT ?text { ?use a sarag:NameUse ; sarag:text ?text }"""
        )
    texts = {"Ada": "Ada: Ada led it.", "Ormund": "A town. A harbour.", "1901": "1901"}
    assert told == {name: (text,) for name, text in texts.items()}
    assert isinstance(stored, Table)
    assert {term.value for (term,) in stored.rows if isinstance(term, Literal)} == {
        texts["Ada"],
        texts["Ormund"],
    }
