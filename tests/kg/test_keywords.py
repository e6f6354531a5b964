"""The typed keyword options are those of the option dataclasses, by name and by type."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import sarag_rdf
from sarag_rdf.base.options import DEFAULT_LIMIT, declared_options
from sarag_rdf.base.plugins import load, plugins
from sarag_rdf.base.types import Source
from sarag_rdf.building.imports.importer import ImportOptions
from sarag_rdf.documents.reader import ReadOptions
from sarag_rdf.kg import keywords
from sarag_rdf.kg.export.description import DatasetMetadata
from sarag_rdf.retrieval.dense import Dense
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor
from tests.strategies import RETRIEVERS


def alternatives(hint: Any) -> set[Any]:
    return set(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else {hint}


def test_options_of_retrievers() -> None:
    expected: dict[str, set[Any]] = {"preset": {str}}
    for retriever in RETRIEVERS.values():
        for option in declared_options(retriever):
            kinds = {option.kind} | ({type(None)} if option.is_optional else set())
            expected.setdefault(option.name, set()).update(kinds)
    for kinds in expected.values():
        if float in kinds:  # takes an int as well
            kinds.discard(int)
    hints = get_type_hints(keywords.RetrieverKeywords)
    assert {name: alternatives(hint) for name, hint in hints.items()} == expected


@pytest.mark.parametrize(
    ("typed", "options", "changed"),
    [
        (keywords.DescriptionKeywords, DatasetMetadata, {}),
    ],
)
def test_options_of_dataclasses(typed: Any, options: Any, changed: dict[str, Any]) -> None:
    expected = get_type_hints(options)
    expected = {field.name: expected[field.name] for field in dataclasses.fields(options)}
    hints = get_type_hints(typed)
    assert hints.keys() == {name for name in expected if changed.get(name, ...) is not None}
    for name, hint in hints.items():
        if name not in changed:
            assert hint == expected[name], name


def settings(group: str, *names: str) -> set[str]:
    return {setting.name for name in names for setting in load(group, name).settings}


def test_options_of_importers_and_exporters() -> None:
    common = {field.name for field in dataclasses.fields(ImportOptions)} - {"kind", "own"}
    assert keywords.ImportKeywords.__annotations__.keys() == common | settings(
        "importers", *plugins("importers")
    )
    assert keywords.ExportKeywords.__annotations__.keys() == settings("exporters", "turtle")
    wikibase = ("wikibase", "wikibase-json", "quickstatements")
    own = keywords.WikibaseKeywords.__annotations__.keys()
    assert own == settings("exporters", *wikibase) - {"over"}


def test_options_of_reading() -> None:
    reading = get_type_hints(keywords.ReadingKeywords).keys()
    assert reading == {field.name for field in dataclasses.fields(ReadOptions)}
    assert get_type_hints(keywords.UpdateKeywords).keys() - reading == {"words", "overlap", "yes"}


@pytest.mark.parametrize(
    ("retriever", "options", "count"),
    [
        ("sarag", {}, DEFAULT_LIMIT),
        ("sarag", {"limit": 11}, 11),
        ("sarag", {"limit": None}, 12),
        ("dense:limit=3", {}, 3),
        ("dense:limit=3", {"limit": 2}, 2),
        (Dense(), {}, DEFAULT_LIMIT),
        (Dense(), {"limit": None}, 12),
        (Dense(), {"limit": 11}, 11),
        (Dense(limit=4), {}, 4),
    ],
)
def test_a_question_returns_ten_documents_unless_it_says_otherwise(
    retriever: Any, options: Any, count: int
) -> None:
    texts = [Source(f"Ada crossed bridge {n} of Ulm.", key=f"{n}.txt") for n in range(12)]
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(texts, extractor=CapitalExtractor())
        question = "Who crossed the bridges of Ulm?"
        assert len(kg.search(question, retriever=retriever, **options).documents) == count
        answer = kg.ask(question, retriever=retriever, **options)
        assert len(answer.retrieved.documents) == count
