"""Queries and passages are embedded with the prompts of a model, and never taken for each other."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import ModelError, ModelMismatchError, UsageError
from sarag_rdf.base.ports import Matrix, embed_queries
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.vectors import make_embedder
from sarag_rdf.models.bert import BertEncoder
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.models.embedding_names import ModelName, Prompts, effective_prompts
from sarag_rdf.models.local_embedder import CONFIG, SentenceTransformerEmbedder
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fault_server import playing
from tests.sample_graph import embeddings
from tests.strategies import RETRIEVERS

E5 = {"query": "query: ", "passage": "passage: "}
TEXTS = ["Which river flows through Gdańsk?", "", "The Vistula flows through Gdańsk. " * 9]
SOURCES = [
    sarag_rdf.Source("The Vistula flows through Gdańsk. Jan Hevelius was born in Gdańsk."),
    sarag_rdf.Source("Jan Hevelius built an observatory. He named the moon Io Minor."),
]


@pytest.fixture
def saved(tiny_model: Path, tmp_path: Path) -> Callable[..., Path]:
    """Saves the small model with settings of prompts."""

    def save(**config: Any) -> Path:
        folder = Path(shutil.copytree(tiny_model, tmp_path / "model"))
        path = folder / CONFIG
        path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
        return folder

    return save


@pytest.mark.parametrize(
    "name",
    [
        *("e5?query=query:%20&passage=passage:%20", "e5?passage=", "openai:e5?query=Find%20it:%20"),
        *("all-MiniLM-L6-v2", "/a/folder", "x?query=100%25%20of%20A%26B:%0A"),
    ],
)
def test_a_name_with_prompts_is_written_as_it_is_read(name: str) -> None:
    assert str(ModelName.parse(name)) == name


def test_a_prompt_may_have_blanks_and_percent_signs() -> None:
    assert ModelName.parse("e5?query=100% of: ").prompts == Prompts("100% of: ")


@pytest.mark.parametrize(
    "name", ["e5?", "e5?qeury=x", "e5?query", "e5?query=a&query=b", "?query=a"]
)
def test_a_name_of_another_form(name: str) -> None:
    with pytest.raises(UsageError, match=r"write MODEL\?query=TEXT&passage=TEXT"):
        ModelName.parse(name)


@pytest.mark.parametrize(
    ("given", "config", "expected"),
    [
        (Prompts(), {}, Prompts()),
        (Prompts(), {"prompts": {"query": "", "document": ""}}, Prompts()),
        (Prompts(), {"prompts": E5}, Prompts("query: ", "passage: ")),
        (Prompts(), {"prompts": {"query": "q: ", "document": "d: ", "passage": "p: "}},
         Prompts("q: ", "d: ")),
        (Prompts(), {"prompts": {"query": "q: "}}, Prompts("q: ")),
        (Prompts(), {"prompts": {"query": "q: "}, "default_prompt_name": "query"},
         Prompts("q: ", "")),
        (Prompts(), {"prompts": {"other": "o: "}, "default_prompt_name": "other"}, Prompts()),
        (Prompts(query="my: "), {"prompts": E5}, Prompts("my: ", "passage: ")),
        (Prompts("", ""), {"prompts": E5}, Prompts()),
        (Prompts("", ""), {"prompts": E5, "default_prompt_name": "query"}, Prompts("", "")),
    ],
)  # fmt: skip
def test_what_is_given_goes_before_the_prompts_of_a_model(
    given: Prompts, config: dict[str, Any], expected: Prompts
) -> None:
    assert effective_prompts(given, config) == expected


@pytest.mark.parametrize("engine", ["NumPy", "sentence-transformers"])
@pytest.mark.parametrize("default", [None, "query", "passage"])
def test_both_engines_give_the_vectors_of_sentence_transformers(
    default: str | None, engine: str, saved: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = saved(prompts=E5, default_prompt_name=default)
    judge = SentenceTransformer(str(folder), device="cpu")
    queries = judge.encode_query(TEXTS, normalize_embeddings=True)
    passages = judge.encode(TEXTS, prompt_name="passage", normalize_embeddings=True)
    assert np.abs(queries - passages).max() > 1e-3
    if engine == "sentence-transformers":
        monkeypatch.setattr(SentenceTransformerEmbedder, "_encoder", None)
    model = SentenceTransformerEmbedder(str(folder))
    assert model.name == f"{folder}?query=query:%20&passage=passage:%20"
    for embedder in (model, CachedEmbedder(model, None)):
        assert np.abs(embedder.embed_queries(TEXTS) - queries).max() < 2e-6
        assert np.abs(embedder.embed(TEXTS) - passages).max() < 2e-6


def test_a_model_that_does_not_pool_its_prompt(saved: Callable[..., Path]) -> None:
    folder = saved(prompts=E5)
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({**json.loads(pooling.read_text()), "include_prompt": False}))
    with pytest.raises(ModelError, match="does not pool"):
        BertEncoder(folder, Prompts("query: "))
    BertEncoder(folder)


def keys_of(path: Path) -> set[bytes]:
    with closing(sqlite3.connect(path)) as database:
        return {key for (key,) in database.execute("SELECT key FROM kept")}


def test_without_prompts_the_cache_is_that_of_former_versions(tmp_path: Path) -> None:
    path = tmp_path / "embeddings.sqlite"
    cached = CachedEmbedder(HashEmbedder(), path)
    cached.embed(["a"])
    cached.embed_queries(["a", "b"])
    cached.close()
    expected = {hashlib.sha256(f"hash-64\0{text}".encode()).digest() for text in "ab"}
    assert keys_of(path) == expected


class Roles(HashEmbedder):
    """Embeds queries as the negatives of passages; remembers both. Names no prompts."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.passages: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.passages += texts
        return super().embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        self.queries += texts
        return -super().embed(texts)


class Prompted(Roles):
    prompts = Prompts("query: ")


@pytest.mark.parametrize("make", [Roles, Prompted])
def test_query_and_passage_of_one_text_are_two_in_the_cache(
    make: type[Roles], tmp_path: Path
) -> None:
    model = make()
    for keep in (True, False):
        cached = CachedEmbedder(model, tmp_path / "embeddings.sqlite", keep=keep)
        for _ in range(2):
            np.testing.assert_array_equal(cached.embed(["a"]), -cached.embed_queries(["a"]))
    assert (model.passages, model.queries) == (["a"], ["a"])


def test_passages_without_a_prompt_are_found_again_when_queries_get_one(tmp_path: Path) -> None:
    path = tmp_path / "embeddings.sqlite"
    CachedEmbedder(HashEmbedder(), path).embed(["a"])
    model = Prompted()
    cached = CachedEmbedder(model, path)
    cached.embed(["a"])
    cached.embed_queries(["a"])
    assert (model.passages, model.queries) == ([], ["a"])


def test_an_embedder_that_makes_no_difference() -> None:
    expected = HashEmbedder().embed(["a"])
    np.testing.assert_array_equal(embed_queries(HashEmbedder(), ["a"]), expected)


QUESTION = "Who was born in Gdańsk?"


@pytest.fixture(scope="module")
def indexed() -> Any:
    """A graph in memory, and what its model was asked."""
    model = Roles()
    with sarag_rdf.open(None, embedder=model, endpoint=None) as kg:
        kg.index(SOURCES)
        yield kg, model


def test_the_texts_of_a_graph_are_passages(indexed: tuple[KnowledgeGraph, Roles]) -> None:
    _, model = indexed
    assert "Vistula flows through Gdańsk" in model.passages
    assert {source.text for source in SOURCES} <= set(model.passages)


@pytest.mark.parametrize("retriever", sorted({*RETRIEVERS} - {"bm25"}))
def test_every_retriever_embeds_the_question_as_query(
    retriever: str, indexed: tuple[KnowledgeGraph, Roles]
) -> None:
    kg, model = indexed
    mark = f"asked of {retriever}"
    question = f"{QUESTION[:-1]}, {mark}?"
    kg.search(question, retriever=retriever)
    asked = {text for text in model.queries if mark in text}
    assert asked, "the question was not embedded as a query"
    assert not {text for text in model.passages if mark in text}


def test_selected_sentences_are_passages(
    indexed: tuple[KnowledgeGraph, Roles],
) -> None:
    kg, model = indexed
    kg.ask(QUESTION, context="selected")
    assert QUESTION in model.queries
    assert QUESTION not in model.passages


def test_a_search_uses_the_prompts_of_the_graph(saved: Callable[..., Path], tmp_path: Path) -> None:
    folder = saved()
    with sarag_rdf.open(tmp_path / "kg", embedder=f"{folder}?query=q: ", endpoint=None) as kg:
        kg.index(SOURCES)
        recorded = kg.meta().embedding_model
        score = kg.search(QUESTION, retriever="dense").documents[0].score
    assert recorded == f"{folder}?query=q:%20"
    for name in (None, str(folder), recorded):
        with sarag_rdf.open(tmp_path / "kg", embedder=name, endpoint=None) as kg:
            assert kg.search(QUESTION, retriever="dense").documents[0].score == score
    other = f"{folder}?query=other"
    with (
        sarag_rdf.open(tmp_path / "kg", embedder=other, endpoint=None) as kg,
        pytest.raises(ModelMismatchError, match="re-embed"),
    ):
        kg.search(QUESTION)


def test_a_graph_that_was_embedded_without_prompts_stays_so(
    saved: Callable[..., Path], tmp_path: Path
) -> None:
    """Graphs of former versions name the model alone, whatever prompts it brings along."""
    folder = saved()
    with sarag_rdf.open(tmp_path / "kg", embedder=str(folder), endpoint=None) as kg:
        kg.index(SOURCES)
        score = kg.search(QUESTION, retriever="dense").documents[0].score
    (folder / CONFIG).write_text(json.dumps({"prompts": E5}))
    with sarag_rdf.open(tmp_path / "kg", endpoint=None) as kg:
        assert kg.search(QUESTION, retriever="dense").documents[0].score == score
    with sarag_rdf.open(tmp_path / "kg", embedder=str(folder), endpoint=None) as kg:
        with pytest.raises(ModelMismatchError):
            kg.search(QUESTION)
        kg.index(SOURCES)
        assert kg.meta().embedding_model.endswith("?query=query:%20&passage=passage:%20")
        assert kg.search(QUESTION, retriever="dense").documents[0].score != score


def test_an_endpoint_is_sent_the_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with playing(embeddings) as server:
        endpoint = ModelEndpoint(server.base_url)
        model = make_embedder("openai:e5?query=query: &passage=passage: ", endpoint)
        assert model.name == "openai:e5?query=query:%20&passage=passage:%20"
        cached = CachedEmbedder(model, None)
        cached.embed(["a", "bb"])
        cached.embed_queries(["a"])
        assert [body["input"] for body in server.bodies] == [
            ["passage: bb", "passage: a"],
            ["query: a"],
        ]
        make_embedder("openai:e5", endpoint).embed(["a"])
        assert server.bodies[-1]["input"] == ["a"]
