"""What is embedded beside other work is in the cache, and nothing depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event

import sarag_rdf
from sarag_rdf.base.ports import Matrix
from sarag_rdf.models import caches
from sarag_rdf.models.caches import EmbeddingPrefetcher
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import SOURCES, CapitalExtractor


def test_each_lot_is_embedded_once_and_texts_of_like_length_together() -> None:
    got: list[list[str]] = []
    done = Event()

    def embed(texts: Sequence[str]) -> None:
        got.append(list(texts))
        if "last" in texts:
            done.set()

    working = EmbeddingPrefetcher(embed)
    working.take(["a", "ccc", "bb", "a"])
    working.take(["last"])
    assert done.wait(20)
    working.close()
    assert got == [["ccc", "bb", "a"], ["last"]]


def test_what_waits_is_dropped_when_it_is_closed_and_no_more_than_so_much_waits() -> None:
    begun, go = Event(), Event()
    got: list[str] = []

    def embed(texts: Sequence[str]) -> None:
        begun.set()
        assert go.wait(20)
        got.extend(texts)

    working = EmbeddingPrefetcher(embed)
    working.take(["first"])
    assert begun.wait(20)
    for number in range(2 * caches.WAITING):
        working.take([str(number)])
    working._closed.set()
    go.set()
    working.close()
    assert got == ["first"]


def test_an_error_ends_it_and_is_left_to_those_who_need_the_texts() -> None:
    failed = Event()

    def embed(texts: Sequence[str]) -> None:
        failed.set()
        raise ValueError(texts)

    working = EmbeddingPrefetcher(embed)
    working.take(["a"])
    assert failed.wait(20)
    working.take(["b"])
    working.close()


class Counting(HashEmbedder):
    """Counts how often each text is embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return super().embed(texts)


def test_indexing_embeds_each_text_once_and_finds_what_it_found(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        model = Counting()
        with sarag_rdf.open(tmp_path / name, embedder=model, endpoint=None) as kg:
            kg.index(SOURCES, extractor=CapitalExtractor())
            found.append([d.document.iri for d in kg.search("Who founded Orbis?").documents])
        assert len(model.texts) == len(set(model.texts))
    assert found[0] == found[1] != []
