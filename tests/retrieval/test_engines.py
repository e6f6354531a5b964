"""Retrievers find the same by both engines of traversal, and no less for looking at less."""

from __future__ import annotations

import pytest

import sarag_rdf
from sarag_rdf.base.arrays import Rows
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.types import Query
from sarag_rdf.graph.vectors.graph_vectors import GraphVectors
from sarag_rdf.graph.vectors.vector_store import VectorStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.retrieval import sarag
from sarag_rdf.retrieval.network import StoreNetwork
from sarag_rdf.retrieval.view import Engine, GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.retrieval.graphs import QUESTIONS, larger_graph


def view_by(engine: Engine, seed: int) -> GraphView:
    reader = larger_graph(seed)
    return GraphView(
        reader, GraphVectors(reader, HashEmbedder(), VectorStore(), "1"), engine=engine
    )


@pytest.mark.parametrize("retriever", ["sarag", "sarag-paper", "khop", "ppr"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_both_engines_find_the_same(retriever: str, seed: int) -> None:
    options = {"c": 0.5} if retriever.startswith("sarag") else {}
    one, other = view_by("memory", seed), view_by("sparql", seed)
    for question in QUESTIONS:
        found, again = (
            make_retriever(retriever, view, options).retrieve(Query(question))
            for view in (one, other)
        )
        assert retrieved_to_dict(found) == retrieved_to_dict(again)
        assert found.documents or retriever == "sarag-paper"
    assert not isinstance(one.network, StoreNetwork)
    assert isinstance(other.network, StoreNetwork)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("limit", [1, 3, 8])
def test_what_cannot_be_among_the_best_is_left_out(
    question: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sarag, "CANDIDATES", 4)
    view = view_by("memory", 4)
    asked = Query(question)
    every = make_retriever("sarag", view, {"c": 0.3}).retrieve(asked)
    best = make_retriever("sarag", view, {"c": 0.3, "limit": limit}).retrieve(asked)
    told = [(d.document.iri, d.score) for d in every.documents]
    assert [(d.document.iri, d.score) for d in best.documents] == told[:limit]


def test_few_documents_are_read_where_few_can_be_among_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sarag, "CANDIDATES", 4)
    view, read = view_by("memory", 4), list[int]()
    index = view.vectors.index("document")
    vectors = index.vectors

    def counted(rows: Rows) -> Matrix:
        read.append(len(rows))
        return vectors(rows)

    monkeypatch.setattr(index, "vectors", counted)
    every = make_retriever("sarag", view, {"c": 0.3}).retrieve(Query(QUESTIONS[0]))
    most = max(read)
    read.clear()
    make_retriever("sarag", view, {"c": 0.3, "limit": 1}).retrieve(Query(QUESTIONS[0]))
    assert max(read) < most == len(every.documents)


def test_the_engine_is_chosen_where_a_graph_is_opened() -> None:
    answers = []
    engines: tuple[Engine, ...] = ("memory", "sparql")
    for engine in engines:
        with sarag_rdf.open(None, embedder=HashEmbedder(), engine=engine) as kg:
            kg.index(
                [sarag_rdf.Source("Ada Lovelace met Charles Babbage in London.", "Ada", "a.txt")]
            )
            answers.append(retrieved_to_dict(kg.search("Whom did Ada Lovelace meet?")))
    assert answers[0] == answers[1]
