"""Precision and recall of the extractor on short texts of five kinds, marked by hand.

The names, types and classes were written down before the rules were tuned, but the rules were then
tuned on them: this is development material, and the floors are no estimate for other texts. Those
of `articles.toml`, `collections.toml` and `notes.toml` were written after the rules, one for each
rule that no other text needs.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import VALUE_TYPES, Document, Extraction, Mention, Relation
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor

MARKED = Path(__file__).parent / "marked"
COMMON = "https://w3id.org/sarag/common#"


@dataclass(frozen=True)
class Score:
    """Shares in [0, 1]: of the names, and of the types and classes of the names that are right.

    `statements` is the share of the marked typed statements that are found; one that the text does
    not say ("unstated") counts as a marked one that is missing.
    """

    precision: float
    recall: float
    types: float
    classes: float
    statements: float = 1.0


# Before the rules: news .94 .96 .89 .83, films .97 .97 .92 .83, documentation .92 .95 .59 1.
FLOORS = {
    "news": Score(0.97, 0.98, 1.0, 1.0),
    "films": Score(1.0, 1.0, 0.98, 1.0),
    "documentation": Score(1.0, 0.96, 0.96, 1.0),
    "articles": Score(0.99, 1.0, 0.94, 1.0),
    "collections": Score(1.0, 1.0, 1.0, 1.0),
    "notes": Score(1.0, 1.0, 1.0, 1.0),
}


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    extractor = SpacyExtractor()
    try:
        assert extractor.method.extractor == "spacy"
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return extractor


def statement_of(relation: Relation) -> str:
    """As the marked files write it: "subject | property | object"."""
    ends = [relation.subject, relation.value.lexical if relation.value else relation.object]
    subject, object_ = reversed(ends) if relation.inverse else ends
    return f"{subject} | {relation.predicate.removeprefix(COMMON)} | {object_}"


def measured(extractor: SpacyExtractor, kind: str) -> tuple[Score, list[str]]:
    """The score of one file, and what is wrong in it."""
    marked = tomllib.loads((MARKED / f"{kind}.toml").read_text("utf-8"))["documents"]
    assert len(marked) >= 2
    documents = [
        Document(f"urn:{n}", "urn:source", item["title"], item["text"], 0, len(item["text"]))
        for n, item in enumerate(marked)
    ]
    right = found = expected = types = classes = classified = stated = to_state = 0
    wrong: list[str] = []
    for item, extraction in zip(marked, extractor.extract(documents), strict=True):
        assert isinstance(extraction, Extraction)
        things = {
            normalize_name(fields[0]): fields
            for fields in (line.split(" | ") for line in item["things"])
        }
        title = normalize_name(item["title"])
        mentions: dict[str, Mention] = {
            key: m
            for m in extraction.mentions
            if m.type not in VALUE_TYPES
            and ((key := normalize_name(m.name)) in things or key != title)
        }  # the titles of texts that are no things are not counted
        expected += len(things)
        found += len(mentions)
        wrong += [
            f"{item['title']}: no thing: {m.name}" for k, m in mentions.items() if k not in things
        ]
        for key, (name, type_, *class_) in things.items():
            if key not in mentions:
                wrong.append(f"{item['title']}: not found: {name}")
                continue
            mention = mentions[key]
            right += 1
            types += mention.type == type_
            if mention.type != type_:
                wrong.append(f"{item['title']}: {name}: {mention.type}, not {type_}")
            if class_:
                classified += 1
                is_right = f"{COMMON}{class_[0]}" in mention.classes
                classes += is_right
                if not is_right:
                    wrong.append(f"{item['title']}: {name}: {mention.classes}, not {class_[0]}")
        statements = {statement_of(r) for r in extraction.relations if r.predicate}
        missing = set(item.get("statements", ())) - statements
        beyond = set(item.get("unstated", ())) & statements
        wrong += [f"{item['title']}: not stated: {line}" for line in sorted(missing)]
        wrong += [f"{item['title']}: stated: {line}" for line in sorted(beyond)]
        to_state += len(item.get("statements", ())) + len(beyond)
        stated += len(item.get("statements", ())) - len(missing)
    score = Score(
        right / found,
        right / expected,
        types / right,
        classes / max(classified, 1),
        stated / to_state if to_state else 1.0,
    )
    return score, wrong


@pytest.mark.parametrize("kind", FLOORS)
def test_names_types_and_classes_of_marked_texts(extractor: SpacyExtractor, kind: str) -> None:
    score, wrong = measured(extractor, kind)
    floor = FLOORS[kind]
    assert score.precision >= floor.precision, wrong
    assert score.recall >= floor.recall, wrong
    assert score.types >= floor.types, wrong
    assert score.classes >= floor.classes, wrong
    assert score.statements >= floor.statements, wrong
