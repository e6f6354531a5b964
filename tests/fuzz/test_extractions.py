"""What files of open information extraction hold, and what language models reply."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import ExtractionFormatError
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.models.json_reply import parse_reply
from sarag_rdf.plugins.llm.extractor import LLMExtractor, entities_schema, relationships_schema
from sarag_rdf.plugins.openie import OpenIEExtractor
from sarag_rdf.testing.fakes import QueuedLLM
from tests.fuzz.cases import case
from tests.fuzz.hostile import assert_sound, evidence, graph, mutated, texts, values

TEXT = "Ada founded Orbis. Orbis has its seat in Ulm. The Danube flows by."
names = st.one_of(st.sampled_from(["Ada", "Orbis", "Ulm", "the Danube", "seat"]), texts)
_docs = st.fixed_dictionaries(
    {
        "passage": st.one_of(st.just(f"Ada\n{TEXT}"), st.just(TEXT), texts, values),
        "extracted_entities": st.one_of(st.lists(names, max_size=5), values),
        "extracted_triples": st.one_of(
            st.lists(st.one_of(st.lists(names, min_size=3, max_size=3), values), max_size=4),
            values,
        ),
    },
    optional={"title": st.one_of(st.just("Ada"), texts, values), "text": st.one_of(texts, values)},
)
_whole = json.dumps(
    {
        "docs": [
            {
                "title": "Ada",
                "passage": f"Ada\n{TEXT}",
                "extracted_entities": ["Ada", "Ulm"],
                "extracted_triples": [["Ada", "founded", "Orbis"]],
            }
        ]
    }
).encode()
files = st.one_of(
    st.builds(
        lambda docs: json.dumps({"docs": docs}).encode(), st.lists(_docs, min_size=1, max_size=3)
    ),
    values.map(lambda value: json.dumps(value).encode()),
    mutated(_whole),
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(data=files)
@case("openie")
def test_extraction_files(folder: Path, data: bytes) -> None:
    path = folder / "openie.json"
    path.write_bytes(data)
    try:
        extractor = OpenIEExtractor(path)
    except ExtractionFormatError as error:
        assert "\n" not in str(error)
        return
    with graph() as kg:
        before = evidence(kg)
        report = kg.index(Source(TEXT, "Ada", "a.txt"), extractor=extractor)
        assert report.added + len(report.problems) == 1
        assert_sound(kg, before)


_entities = st.fixed_dictionaries(
    {
        "name": names,
        "type": st.sampled_from(["person", "place", "misc", "organization"]),
        "aliases": st.lists(names, max_size=3),
        "information": st.one_of(st.just(TEXT), texts),
    }
)
_replies = st.fixed_dictionaries({"entities": st.lists(_entities, max_size=5)})
_links = st.fixed_dictionaries(
    {
        "subject": names,
        "phrase": texts,
        "object": names,
        "sentence": st.one_of(texts, st.just(TEXT)),
    }
)
_reply = json.dumps(
    {"entities": [{"name": "Ada", "type": "person", "aliases": ["A."], "information": TEXT}]}
).encode()


@given(
    text=st.one_of(
        mutated(_reply, b"<think>{}</think>```json\n" + _reply + b"\n```"),
        _replies.map(lambda reply: json.dumps(reply).encode()),
        values.map(lambda value: json.dumps({"entities": value}).encode()),
    ),
    links=st.lists(_links, max_size=4),
)
@case("replies")
def test_replies_of_models(text: bytes, links: list[dict[str, str]]) -> None:
    schema = entities_schema()
    try:
        found = parse_reply(text.decode("utf-8", "surrogateescape"), schema)
    except ValueError as error:
        assert len(str(error)) < 500
        return
    second = {"relationships": links}
    llm = QueuedLLM([found, *_fitting(found, second)])
    with graph() as kg:
        before = evidence(kg)
        report = kg.index(Source(TEXT, "Ada", "a.txt"), extractor=LLMExtractor(llm, 1))
        assert report.added + len(report.problems) == 1
        assert_sound(kg, before)


def _fitting(found: dict[str, Any], links: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A reply to the second question, parsed as the first is; an empty one if it does not fit."""
    known = [entity["name"] for entity in found["entities"]] or ["Ada"]
    try:
        yield parse_reply(json.dumps(links), relationships_schema(known))
    except ValueError:
        yield {"relationships": []}


class _Given:
    """An extractor of a program: whatever it gives, no check of a schema stands before it."""

    method = Method("given", "none")

    def __init__(self, extraction: Extraction) -> None:
        self._extraction = extraction

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for _ in documents:
            yield self._extraction


_mentions = st.builds(
    Mention,
    names,
    st.one_of(st.just("misc"), texts),
    st.lists(names, max_size=2).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
)
_extractions = st.builds(
    Extraction,
    st.lists(_mentions, max_size=4).map(tuple),
    st.lists(st.builds(Relation, names, texts, names, texts), max_size=3).map(tuple),
)


@given(extraction=_extractions)
@case("extractions")
def test_extractions_of_programs(extraction: Extraction) -> None:
    with graph() as kg:
        before = evidence(kg)
        report = kg.index(Source(TEXT, "Ada", "a.txt"), extractor=_Given(extraction))
        assert report.added + len(report.problems) == 1
        assert_sound(kg, before)
