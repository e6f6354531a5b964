"""How many documents a question returns."""

from __future__ import annotations

from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.options import DEFAULT_LIMIT
from sarag_rdf.base.types import Source
from sarag_rdf.plugins.papers.baselines import Dense
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor


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
