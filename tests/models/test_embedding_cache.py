"""Embeddings are made once for each text and model, and kept as far as they were made."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sarag_rdf.base.ports import Embedder, Matrix
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.testing.fakes import HashEmbedder


class Counting(HashEmbedder):
    """Remembers what it was asked for; may stop working after some requests."""

    def __init__(self, name: str = "counting", *, requests: int = 1000) -> None:
        self.slices: list[list[str]] = []
        self._name = name
        self._left = requests

    @property
    def name(self) -> str:
        return self._name

    @property
    def texts(self) -> list[str]:
        return [text for slice_ in self.slices for text in slice_]

    def embed(self, texts: Sequence[str]) -> Matrix:
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        self.slices.append(list(texts))
        return super().embed(texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "embeddings.sqlite"


def test_the_vectors_are_those_of_the_embedder_in_the_order_of_the_texts() -> None:
    texts = ["a river", "the longest text of all of these", "", "Zürich", "a river", "x\ud800"]
    embedder: Embedder = CachedEmbedder(HashEmbedder(), None)
    for _ in range(2):
        found = embedder.embed(texts)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, HashEmbedder().embed(texts))
    assert embedder.name == "hash-64"


def test_a_text_is_embedded_once(path: Path) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, path)
    cached.embed(["a", "b", "a"])
    cached.embed(["b", "c"])
    assert sorted(inner.texts) == ["a", "b", "c"]
    cached.close()
    later = Counting()
    np.testing.assert_array_equal(
        CachedEmbedder(later, path).embed(["c", "a"]), HashEmbedder().embed(["c", "a"])
    )
    assert later.texts == []


def test_models_do_not_share(path: Path) -> None:
    CachedEmbedder(Counting("one"), path).embed(["a"])
    other = Counting("two")
    CachedEmbedder(other, path).embed(["a"])
    assert other.texts == ["a"]


def test_without_a_path_it_is_kept_in_memory_only() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, None)
    cached.embed(["a"])
    cached.embed(["a"])
    CachedEmbedder(inner, None).embed(["a"])
    assert inner.texts == ["a", "a"]


def test_no_texts(path: Path) -> None:
    assert CachedEmbedder(HashEmbedder(), path).embed([]).shape == (0, 64)


def test_texts_of_like_length_go_together() -> None:
    inner = Counting()
    CachedEmbedder(inner, None, slice_size=2).embed(["a", "bbbb", "cc", "dddd", "e"])
    slices = [[len(text) for text in slice_] for slice_ in inner.slices]
    assert slices == [[4, 4], [2, 1], [1]]


def test_progress_counts_every_text_once() -> None:
    cached = CachedEmbedder(Counting(), None, slice_size=2)
    for texts in (["a", "b", "c"], ["a", "b", "c", "d"], ["a", "a"], ["e", "e", "f"], []):
        done: list[int] = []
        cached.embed(texts, done.append)
        assert sum(done) == len(texts), texts


def test_what_was_done_before_an_interruption_is_kept(path: Path) -> None:
    texts = [f"text {number:02}" for number in range(10)]
    first = Counting(requests=2)
    cached = CachedEmbedder(first, path, slice_size=3)
    with pytest.raises(KeyboardInterrupt):
        cached.embed(texts)
    cached.close()
    second = Counting()
    CachedEmbedder(second, path, slice_size=3).embed(texts)
    assert len(first.texts) == 6
    assert sorted(first.texts + second.texts) == texts


def test_a_damaged_cache_is_set_aside(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 100)
    with caplog.at_level(logging.WARNING):
        found = CachedEmbedder(HashEmbedder(), path).embed(["a"])
    np.testing.assert_array_equal(found, HashEmbedder().embed(["a"]))
    assert "embedding cache" in caplog.text
    assert "is damaged" in caplog.text
    assert [file.name for file in path.parent.glob("*damaged*")] == ["embeddings.sqlite.damaged-1"]


def test_a_cache_that_cannot_be_written_is_gone_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        cached = CachedEmbedder(HashEmbedder(), tmp_path / "file" / "embeddings.sqlite")
        found = cached.embed(["a", "b"])
    np.testing.assert_array_equal(found, HashEmbedder().embed(["a", "b"]))
    assert "cannot write caches" in caplog.text
