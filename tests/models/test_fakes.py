from __future__ import annotations

import numpy as np
import pytest

from sarag_rdf.base.errors import UnparsableReplyError
from sarag_rdf.base.ports import LLM, Embedder
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM

SCHEMA = {"type": "object", "required": ["a"]}


def test_queued_replies_in_order() -> None:
    fake = QueuedLLM([{"a": 1}, KeyError("x"), {"b": 2}])
    llm: LLM = fake
    assert llm.complete("one two", SCHEMA, name="n", max_tokens=5).usage.tokens_in == 2
    with pytest.raises(KeyError):
        llm.complete("p", SCHEMA, name="n", max_tokens=5)
    with pytest.raises(UnparsableReplyError, match="'a' is a required property"):
        llm.complete("p", SCHEMA, name="n", max_tokens=5)
    with pytest.raises(AssertionError, match="no reply is left for call 4"):
        llm.complete("q", SCHEMA, name="n", max_tokens=5)
    assert fake.prompts == ["one two", "p", "p", "q"]


def test_hash_embedder() -> None:
    embedder: Embedder = HashEmbedder()
    texts = ["the river Danube", "Danube, a RIVER", "", "???", "quartz"]
    matrix = embedder.embed(texts)
    assert matrix.shape == (5, 64)
    assert matrix.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, rtol=1e-6)
    assert matrix[0] @ matrix[1] >= 2 / 3 - 1e-6
    assert matrix[0] @ matrix[4] == 0
    np.testing.assert_array_equal(matrix, HashEmbedder().embed(texts))
    assert embedder.embed([]).shape == (0, 64)
    assert embedder.name == "hash-64"
