"""Many vectors in clusters: the nearest are found among a part of them, the rest is exact."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from sarag_rdf.base.arrays import rows_of
from sarag_rdf.base.ports import Advance, Matrix, silent
from sarag_rdf.graph.vectors.files import read_arrays, write_arrays
from sarag_rdf.graph.vectors.index import (
    ClusteredIndex,
    Clusters,
    ExactIndex,
    UnclusteredIndex,
    build_clusters,
)
from sarag_rdf.graph.vectors.store import FolderVectors

COUNT, WIDTH = 20_000, 32
NAMES = [f"http://example.org/{number:06}" for number in range(COUNT)]


def points(count: int, seed: int) -> Matrix:
    """Unit vectors about fifty topics, each with subtopics of its own."""
    chance = np.random.default_rng(seed)
    topics = np.random.default_rng(1).normal(size=(50, WIDTH))
    parts = np.random.default_rng(2).normal(size=(600, WIDTH))
    one, other = chance.integers(0, 50, count), chance.integers(0, 12, count)
    mixed = topics[one] + parts[12 * one + other] + chance.normal(size=(count, WIDTH))
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)


VECTORS = points(COUNT, 3)
QUESTIONS = points(40, 4)


def recall(found: ExactIndex, exact: ExactIndex, k: int) -> float:
    shares = []
    for question in QUESTIONS:
        best = dict(exact.nearest(question, k))
        near = dict(found.nearest(question, k))
        assert len(near) == len(best)
        assert all(best[iri] == cosine for iri, cosine in near.items() if iri in best)
        shares.append(len(best.keys() & near.keys()) / k)
    return float(np.mean(shares))


def folder_of(path: Path, kind: str = "document") -> FolderVectors:
    store = FolderVectors(path, exact_up_to=1000)
    store.save(kind, "1", NAMES, [VECTORS])
    return store


def loaded(store: FolderVectors, key: str = "1", kind: str = "document") -> ExactIndex:
    index = store.load(kind, key)
    assert index is not None
    return index


def test_most_of_the_nearest_are_found_and_all_else_is_exact(tmp_path: Path) -> None:
    exact = loaded(folder_of(tmp_path / "exact"))
    store = folder_of(tmp_path / "near")
    calls: list[tuple[str, int]] = []

    def progress(what: str, total: int) -> Advance:
        assert total == COUNT
        return lambda done: calls.append((what, done))

    store.prepare("document", "1", progress)
    assert {what for what, _ in calls} == {"clustering document vectors"}
    assert sum(done for _, done in calls) == COUNT
    near = loaded(store)
    assert isinstance(near, ClusteredIndex)
    assert near.stale == 0.0
    assert recall(near, exact, 10) > 0.93
    assert recall(near, exact, 50) > 0.95
    rows = np.arange(0, COUNT, 7)
    np.testing.assert_array_equal(near.vectors(rows), VECTORS[rows])
    np.testing.assert_array_equal(
        near.cosines(QUESTIONS[0], rows), exact.cosines(QUESTIONS[0], rows)
    )
    assert near.moments(QUESTIONS[0]) == exact.moments(QUESTIONS[0])
    assert len(near.nearest(QUESTIONS[0], COUNT)) == COUNT
    # Preparing again, or another reader, changes nothing.
    files = sorted(tmp_path.rglob("*"))
    store.prepare("document", "1", silent)
    assert sorted(tmp_path.rglob("*")) == files
    again = loaded(FolderVectors(tmp_path / "near", exact_up_to=1000))
    for question in QUESTIONS[:5]:
        assert again.nearest(question, 9) == near.nearest(question, 9)


def test_a_part_of_the_vectors_is_looked_at(tmp_path: Path) -> None:
    store = folder_of(tmp_path)
    store.prepare("document", "1", silent)
    near = loaded(store)
    for k, most in ((1, 0.22), (100, 0.55)):
        rows, scores = near._scored(QUESTIONS[0], k)
        assert len(rows) == len(scores) < most * COUNT


def test_what_comes_is_found_and_what_goes_is_not(tmp_path: Path) -> None:
    store = folder_of(tmp_path)
    store.prepare("document", "1", silent)
    best = loaded(store).nearest(QUESTIONS[0], 5)
    gone = sorted(iri for iri, _ in best)
    updated = store.update(
        "document", "1", "2", [*gone, "http://example.org/x"], ["http://example.org/x"],
        [QUESTIONS[:1]],
    )  # fmt: skip
    assert isinstance(updated, ClusteredIndex)
    assert 0.0 < updated.stale < 0.001
    found = dict(updated.nearest(QUESTIONS[0], 5))
    assert found.pop("http://example.org/x") == pytest.approx(1.0)
    assert len(found) == 4
    assert found.keys().isdisjoint(gone)
    [table] = tmp_path.glob("document-*.f32")
    store.prepare("document", "2", silent)
    assert table.exists()
    # When more than a tenth is not as it was, clusters are made anew.
    come = [f"http://example.org/y{number:04}" for number in range(COUNT // 9)]
    vectors = points(len(come), 9)
    assert store.update("document", "2", "3", [], come, [vectors]) is not None
    store.prepare("document", "3", silent)
    assert not table.exists()
    index = loaded(store, "3")
    assert isinstance(index, ClusteredIndex)
    assert index.stale == 0.0
    assert list(index.iris) == sorted({*NAMES, "http://example.org/x", *come} - {*gone})
    np.testing.assert_array_equal(index.vectors(rows_of(index.iris, come)), vectors)
    np.testing.assert_array_equal(index.vectors(rows_of(index.iris, NAMES[-9:])), VECTORS[-9:])


def test_other_kinds_are_clustered_once_they_are_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = folder_of(tmp_path, "entity")
    store.prepare("entity", "1", silent)
    index = loaded(store, kind="entity")
    assert isinstance(index, UnclusteredIndex)
    assert index.moments(QUESTIONS[0])
    with caplog.at_level(logging.WARNING):
        exact = index.nearest(QUESTIONS[0], 3)
        index.nearest(QUESTIONS[1], 3)
    [record] = caplog.records
    assert "all 20000 entity vectors" in record.getMessage()
    store.prepare("entity", "1", silent)
    found = loaded(store, kind="entity")
    assert isinstance(found, ClusteredIndex)
    assert found.nearest(QUESTIONS[0], 3)[0] == exact[0]
    store.prepare("entity", "another key", silent)
    small = FolderVectors(tmp_path)
    assert type(loaded(small, kind="entity")) is ExactIndex


def test_clusters_that_are_lost_or_damaged_are_gone_without(tmp_path: Path) -> None:
    store = folder_of(tmp_path)
    store.prepare("document", "1", silent)
    assert store.names() == ["document"]
    [file] = tmp_path.glob("near-document-*.arrays")
    whole = file.read_bytes()
    good = read_arrays(file)
    centres, starts = good["centres"], good["starts"]
    for wrong in (
        {"centres": centres},
        {"centres": centres[1:], "starts": starts},
        {"centres": centres[:, 1:], "starts": starts},
        {"centres": centres, "starts": starts + 1},
        {"centres": centres, "starts": 2 * starts},
        {"centres": centres, "starts": np.concatenate([[0], starts[:0:-1]])},
        {"centres": centres.ravel(), "starts": starts},
    ):
        file.unlink()
        write_arrays(file, wrong)
        assert isinstance(loaded(store), UnclusteredIndex), wrong
    file.unlink()
    file.write_bytes(whole)
    assert isinstance(loaded(store), ClusteredIndex)
    file.unlink()
    assert isinstance(loaded(store), UnclusteredIndex)
    store.discard("document")
    assert [path.name for path in tmp_path.iterdir()] == []


def test_few_or_equal_vectors_can_be_clustered() -> None:
    alike = np.full((5, 4), 0.5, dtype=np.float32)
    clusters, rows = build_clusters(alike, np.array([4, 2, 3]), lambda _: None)
    assert sorted(rows.tolist()) == [2, 3, 4]
    assert clusters.size == 3
    again = Clusters.of_arrays(clusters.arrays())
    assert sum(part.stop - part.start for part in again.near(alike[0], 1)) == 3
