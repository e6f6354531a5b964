"""A cross-encoder beside activation: its scores, and what they change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.base.errors import ModelError, UsageError
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder
from sarag_rdf.plugins.rerank import DEFAULT_MODEL, CrossEncoder, cross_encoder
from sarag_rdf.testing.fakes import HashEmbedder

QUESTION = "Which river flows through the birthplace of Ada?"
TEXTS = ("Ada was born in Ulm.", "", "東京 naïve [SEP] café", "The Danube flows. " * 200, "Ulm")
SOURCES = (
    Source("Ada Brook was born in Ulm.", title="Ada Brook"),
    Source("Ulm lies on the Danube.", title="Ulm"),
    Source("The Danube flows into the Black Sea.", title="Danube"),
    Source("Bea Hill teaches in Oxford.", title="Bea Hill"),
)


def saved(folder: Path, **settings: Any) -> Path:
    """A cross-encoder with random weights; `settings` are those of its configuration."""
    from torch import manual_seed
    from transformers import BertConfig, BertForSequenceClassification

    sizes: dict[str, Any] = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(**{**sizes, "intermediate_size": 96, "num_labels": 1, **settings})
    config.initializer_range = 0.2
    manual_seed(7)
    BertForSequenceClassification(config).save_pretrained(folder)
    default = SentenceTransformerEmbedder().folder
    for name in ("tokenizer.json", "vocab.txt"):
        shutil.copy(default / name, folder / name)
    tokenizer = {"model_max_length": 64, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def kg() -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder()) as graph:
        graph.index(list(SOURCES))
        yield graph


def of_sentence_transformers(folder: Path) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    from sentence_transformers import CrossEncoder as Judge
    from torch.nn import Identity

    judge = Judge(str(folder), activation_fn=Identity(), device="cpu")
    return np.asarray(judge.predict([(QUESTION, text) for text in TEXTS]), dtype=np.float64)


def test_scores_are_those_of_sentence_transformers(model: Path) -> None:
    encoder = CrossEncoder(model)
    assert encoder._bert is not None
    scores = encoder.scores(QUESTION, TEXTS)
    np.testing.assert_allclose(scores, of_sentence_transformers(model), atol=1e-5)
    assert np.ptp(scores) > 0.01
    assert encoder.scores(QUESTION, []).shape == (0,)


def test_another_kind_of_model_is_left_to_pytorch(tmp_path: Path) -> None:
    folder = saved(tmp_path, hidden_act="relu")
    encoder = CrossEncoder(folder)
    assert encoder._bert is None
    scores = encoder.scores(QUESTION, TEXTS)
    np.testing.assert_allclose(scores, of_sentence_transformers(folder), atol=1e-5)


def test_what_is_no_cross_encoder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="with one score"):
        CrossEncoder(saved(tmp_path / "classes", num_labels=3))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="with one score"):
        CrossEncoder(tmp_path / "empty")


def test_a_model_that_is_nowhere(kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("sarag_rdf.plugins.rerank.cross_encoder", cross_encoder)
    with pytest.raises(UsageError, match=f"--retriever rerank:model={DEFAULT_MODEL}"):
        kg.search(QUESTION, retriever="rerank")
    with pytest.raises(ModelError, match="'some/other' cannot be loaded"):
        kg.search(QUESTION, retriever="rerank:model=some/other")


def test_its_score_is_a_summand(kg: KnowledgeGraph, model: Path) -> None:
    plain = {d.document.iri: d for d in kg.search(QUESTION, limit=4).documents}
    found = kg.search(
        QUESTION, retriever=f"rerank:model={model}", limit=4, depth=3, reading_gain=2.0
    )
    first = list(plain)[:3]
    texts = [f"{d.document.title}. {d.document.text}" for d in plain.values()][:3]
    scores = cross_encoder(str(model)).scores(QUESTION, texts)
    gains = 2.0 * (scores - scores.mean()) / scores.std()
    expected = dict(zip(first, gains.tolist(), strict=True))
    (rest,) = plain.keys() - expected
    expected[rest] = float(gains.min())
    assert {d.document.iri for d in found.documents} == plain.keys()
    for ranked in found.documents:
        iri = ranked.document.iri
        assert ranked.parts["reading"] == pytest.approx(expected[iri], abs=1e-6)
        assert ranked.score == pytest.approx(sum(ranked.parts.values()))
        assert ranked.score == pytest.approx(plain[iri].score + expected[iri])
        assert ranked.chain == plain[iri].chain
        assert ("reading" in ranked.measures) is (iri != rest)
    every = [ranked.score for ranked in found.documents]
    assert every == sorted(every, reverse=True)
    assert [ranked.rank for ranked in found.documents] == [1, 2, 3, 4]
    assert found.calibration["reading_mean"] == pytest.approx(scores.mean())


def test_it_reads_deeper_than_what_is_returned(kg: KnowledgeGraph, model: Path) -> None:
    every = kg.search(QUESTION, retriever=f"rerank:model={model}", limit=4, reading_gain=5.0)
    one = kg.search(QUESTION, retriever=f"rerank:model={model}", limit=1, reading_gain=5.0)
    assert [d.document.iri for d in one.documents] == [every.documents[0].document.iri]
    plain = kg.search(QUESTION, limit=4)
    same = kg.search(QUESTION, retriever=f"rerank:model={model}", limit=4, reading_gain=0.0)
    order = [d.document.iri for d in plain.documents]
    assert [d.document.iri for d in same.documents] == order
    assert [d.document.iri for d in every.documents] != order
    without_limit = kg.search(
        QUESTION, retriever=f"rerank:model={model}", limit=None, reading_gain=5.0
    )
    assert without_limit.documents[0].document.iri == every.documents[0].document.iri


def test_depth_has_a_range(kg: KnowledgeGraph) -> None:
    with pytest.raises(UsageError, match="depth"):
        kg.search(QUESTION, retriever="rerank:depth=0")
