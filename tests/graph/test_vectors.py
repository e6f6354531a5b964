"""Vector indexes: the port's promises, and files that may be deleted or damaged at any time."""

from __future__ import annotations

import logging
import os
import random
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, rows_of
from sarag_rdf.base.ports import Matrix
from sarag_rdf.graph.vectors import vector_store
from sarag_rdf.graph.vectors.search_indexes import BLOCK, SAMPLE, ExactIndex, VectorIndex
from sarag_rdf.graph.vectors.vector_store import FolderVectors, VectorStore
from sarag_rdf.plugins.vector_engines.engine import EngineVectors
from sarag_rdf.plugins.vector_engines.qdrant import QdrantEngine

IRIS = ["http://example.org/a", "http://example.org/b", "http://example.org/c"]
A, B, C = IRIS
MATRIX: Matrix = np.array([[0.6, 0.8], [1, 0], [0.6, 0.8]], dtype=np.float32)
EAST: Matrix = np.array([1, 0], dtype=np.float32)
"""Its cosines with the rows: .6, 1, .6."""


@pytest.fixture(params=["memory", "folder", "engine"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> VectorStore:
    if request.param == "memory":
        return VectorStore()
    here = FolderVectors(tmp_path / "vectors")
    if request.param == "folder":
        return here
    return EngineVectors(QdrantEngine(":memory:"), "test", here)


def check(index: VectorIndex) -> None:
    """All that holds for the three rows above."""
    assert len(index) == 3
    assert list(index.iris) == IRIS
    nearest = index.nearest(EAST, 2)
    assert [iri for iri, _ in nearest] == [B, A]  # A and C are equally near: by IRI.
    assert [cosine for _, cosine in nearest] == pytest.approx([1.0, 0.6])
    assert [iri for iri, _ in index.nearest(EAST, 9)] == [B, A, C]
    assert index.nearest(EAST, 0) == []
    np.testing.assert_allclose(index.similarities(EAST, [C, B, C]), [0.6, 1, 0.6], rtol=1e-6)
    assert index.similarities(EAST, []).shape == (0,)
    with pytest.raises(KeyError):
        index.similarities(EAST, [A, "http://example.org/z"])
    # Of .6, .6, 1: the median is .6, and the .75-quantile lies half way from .6 to 1.
    assert index.quantile(EAST, 0.5) == pytest.approx((0.6, 1.0))
    assert index.quantile(EAST, 0.75) == pytest.approx((0.8, 1.0))
    # Mean 2.2 / 3; the deviation of two at -.4 / 3 and one at .8 / 3 is .4 * sqrt 2 / 3.
    assert index.moments(EAST) == pytest.approx((2.2 / 3, 0.4 * 2**0.5 / 3))
    # Positions are those of the IRIs in ascending order; vectors come in the order asked for.
    assert rows_of(index.iris, IRIS).tolist() == [0, 1, 2]
    assert rows_of(index.iris, [C, A, C]).tolist() == [2, 0, 2]
    assert rows_of(index.iris, []).tolist() == []
    with pytest.raises(KeyError):
        rows_of(index.iris, [A, "http://example.org/z"])
    vectors = index.vectors(rows_of(index.iris, [C, B, B]))
    np.testing.assert_array_equal(vectors, MATRIX[[2, 1, 1]])
    assert vectors.dtype == np.float32
    assert index.vectors(rows_of(index.iris, [])).shape == (0, 2)
    # Another question is another question, though the last one is remembered.
    assert index.nearest(np.array([0, 1], dtype=np.float32), 1)[0][0] == A
    assert index.nearest(EAST, 1)[0][0] == B


def test_what_is_saved_can_be_searched(store: VectorStore) -> None:
    check(store.save("document", "key", IRIS, [MATRIX]))


def test_an_empty_index(store: VectorStore) -> None:
    index = store.save("document", "key", [], [np.zeros((0, 2), dtype=np.float32)])
    assert len(index) == 0
    assert index.nearest(EAST, 3) == []
    assert index.quantile(EAST, 0.9) == (0.0, 0.0)
    assert index.moments(EAST) == (0.0, 0.0)
    assert index.similarities(EAST, []).shape == (0,)
    assert rows_of(index.iris, []).tolist() == []
    assert index.vectors(np.zeros(0, dtype=np.int64)).shape == (0, 2)


def test_a_folder_keeps_indexes_by_kind_and_key(tmp_path: Path) -> None:
    store = FolderVectors(tmp_path / "deep" / "vectors")
    assert store.load("document", "key") is None
    store.save("document", "key", IRIS, [MATRIX])
    store.save("entity", "key", [], [np.zeros((0, 2), dtype=np.float32)])
    again = FolderVectors(tmp_path / "deep" / "vectors")
    index = again.load("document", "key")
    assert index is not None
    check(index)
    empty = again.load("entity", "key")
    assert empty is not None
    assert len(empty) == 0
    assert again.load("document", "another key") is None
    assert again.load("description", "key") is None

    store.save("document", "another key", IRIS[:1], [MATRIX[:1]])
    assert again.load("document", "key") is None
    newer = again.load("document", "another key")
    assert newer is not None
    assert len(newer) == 1
    files = (path.name for path in (tmp_path / "deep" / "vectors").iterdir())
    assert sorted(re.sub(r"-\d+-\w+", "", name) for name in files) == [
        f"{kind}.{suffix}" for kind in ("document", "entity") for suffix in ("arrays", "f32")
    ]
    check(index)  # What was loaded before is still whole.


def test_a_folder_keeps_arrays_by_name_and_key(tmp_path: Path) -> None:
    store = FolderVectors(tmp_path / "vectors")
    store.save_arrays("network", "1", {"ends": np.arange(4), "bytes": np.zeros(0, dtype=np.uint8)})
    found = store.load_arrays("network", "1")
    assert found is not None
    assert found.keys() == {"ends", "bytes"}
    assert found["ends"].tolist() == [0, 1, 2, 3]
    assert store.load_arrays("network", "2") is None
    assert store.load_arrays("texts", "1") is None
    assert VectorStore().load_arrays("network", "1") is None
    [file] = (tmp_path / "vectors").glob("*.arrays")
    whole = file.read_bytes()
    for broken in (b"", whole[:60], whole[:-1], whole[:20] + b"\xff" * 20 + whole[40:], b"PK"):
        replace(file, broken)
        assert store.load_arrays("network", "1") is None, broken
    store.save_arrays("network", "2", {"ends": np.arange(2)})
    assert store.load_arrays("network", "1") is None
    assert [*(tmp_path / "vectors").iterdir()] == [file]
    assert found["ends"].tolist() == [0, 1, 2, 3]  # What was loaded before is still whole.


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.arange(6.0).reshape(3, 2)[::2],
        np.zeros((0, 2), dtype=np.float32),
        np.array([True, False]),
    ],
)
def test_an_array_comes_back_as_it_was(array: NDArray[Any], tmp_path: Path) -> None:
    FolderVectors(tmp_path).save_arrays("some", "key", {"one": array, "other": np.arange(3)})
    found = FolderVectors(tmp_path).load_arrays("some", "key")
    assert found is not None
    assert (found["one"].dtype, found["one"].shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found["one"], array)
    assert not found["other"].flags.writeable


def replace(file: Path, data: bytes) -> None:
    """Other bytes in a new file of that name: what is mapped must not be cut off."""
    file.unlink(missing_ok=True)
    file.write_bytes(data)


def test_memory_keeps_nothing() -> None:
    store = VectorStore()
    store.save("document", "key", IRIS, [MATRIX])
    assert store.load("document", "key") is None


def test_damaged_files_count_as_absent(tmp_path: Path) -> None:
    store = FolderVectors(tmp_path)
    store.save("document", "key", IRIS, [MATRIX])
    [table], [rows] = tmp_path.glob("*.f32"), tmp_path.glob("*.arrays")
    whole = {file: file.read_bytes() for file in (table, rows)}

    def head(**changes: object) -> bytes:
        """The file with other values in its first line, and the checksum of that line."""
        line, _, rest = whole[rows].partition(b"\n")
        read = vector_store._head(line + b"\n")
        return vector_store._head_line({**read, "table": {**read["table"], **changes}}) + rest

    damages: list[tuple[Path, bytes | None]] = [
        *((file, None) for file in whole),
        *((file, b"") for file in whole),
        *((file, data[:-1]) for file, data in whole.items()),
        (rows, whole[rows] + b" "),
        (rows, b"PK" + whole[rows][2:]),
        (rows, whole[rows].replace(b'"<i4"', b'"|O8"')),
        (rows, whole[rows].replace(b"[3]", b"[2]")),
        (rows, b"\xff" + whole[rows]),
        (rows, head(slots=2)),
        (rows, head(slots=-3)),
        (rows, head(slots="3")),
        (rows, head(dimension=3)),
        (rows, head(file=f"../{tmp_path.name}/{table.name}")),
    ]
    for file, damaged in damages:
        assert damaged != whole[file]
        file.unlink() if damaged is None else replace(file, damaged)
        assert store.load("document", "key") is None, (file.name, damaged)
        replace(file, whole[file])
        assert store.load("document", "key") is not None


def test_wrong_bytes_raise_nothing(tmp_path: Path) -> None:
    store = FolderVectors(tmp_path)
    store.save("document", "key", IRIS, [MATRIX])
    [file] = tmp_path.glob("*.arrays")
    whole = file.read_bytes()
    chance = random.Random(1)
    loaded = []
    for _ in range(500):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] = chance.choice(b"\x00\n0123456789()[]{},:'\"<>Tf")
        replace(file, bytes(damaged))
        loaded.append(store.load("document", "key") is not None)
    assert {True, False} == set(loaded)  # Some bytes are only padding.


def test_a_save_that_is_broken_off_changes_nothing(tmp_path: Path) -> None:
    store = FolderVectors(tmp_path)
    store.save("document", "1", IRIS, [MATRIX])
    before = sorted(tmp_path.iterdir())

    def failing() -> Iterator[Matrix]:
        yield MATRIX[:1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.save("document", "2", IRIS, failing())
    assert sorted(tmp_path.iterdir()) == before
    index = store.load("document", "1")
    assert index is not None
    check(index)


def test_what_a_process_that_is_no_more_left_is_deleted(tmp_path: Path) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    names = [f"document-{done.pid}-ab.f32", ".document.arrays.ab.part"]
    others = ["entity-1-ab.f32", f"document-{os.getpid()}-ab.f32"]
    for name in names + others:
        (tmp_path / name).write_bytes(b"left")
    FolderVectors(tmp_path).save("document", "1", IRIS, [MATRIX])
    left = {path.name for path in tmp_path.iterdir()}
    assert left.isdisjoint(names)
    assert left.issuperset(others)


def test_a_disk_that_is_full_is_gone_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Files of this process may not grow beyond the first block of vectors."""
    store = FolderVectors(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12, before[1]))
    try:
        index = store.save("document", "key", IRIS, (MATRIX[row : row + 1] for row in range(3)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    check(index)
    assert "cannot write caches in" in caplog.text
    assert "(the file size limit is exceeded)" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_gone_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    store = FolderVectors(tmp_path / "file" / "vectors")
    with caplog.at_level(logging.WARNING):
        check(store.save("document", "key", IRIS, [MATRIX]))
    assert "cannot write caches" in caplog.text
    assert store.load("document", "key") is None


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=20),
    st.integers(1, 25),
)
def test_the_nearest_are_those_of_a_plain_sort(points: list[tuple[int, int]], k: int) -> None:
    matrix = np.array(points, dtype=np.float32)
    names = [f"http://example.org/{number:02}" for number in range(len(points))]
    index = ExactIndex(IriList.of(names), matrix)
    plain = sorted(zip(names, points, strict=True), key=lambda item: (-item[1][0], item[0]))
    assert index.nearest(EAST, k) == [(name, float(point[0])) for name, point in plain[:k]]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.randoms(), st.integers(1, 35))
def test_where_vectors_stand_makes_no_difference(
    angles: list[int], chance: random.Random, k: int
) -> None:
    """Rows in any order of slots, between slots that do not count."""
    points = np.stack((np.cos(angles), np.sin(angles)), axis=1).astype(np.float32)
    names = IriList.of(f"http://example.org/{number:02}" for number in range(len(points)))
    slots = chance.sample(range(2 * len(points)), len(points))
    matrix = np.ones((2 * len(points), 2), dtype=np.float32)
    matrix[slots] = points
    plain, other = ExactIndex(names, points), ExactIndex(names, matrix, np.array(slots))
    assert other.nearest(EAST, k) == plain.nearest(EAST, k)
    assert other.quantile(EAST, 0.3) == plain.quantile(EAST, 0.3)
    assert other.moments(EAST) == plain.moments(EAST)
    rows = np.array(chance.choices(range(len(points)), k=9))
    np.testing.assert_array_equal(other.vectors(rows), plain.vectors(rows))
    np.testing.assert_array_equal(other.cosines(EAST, rows), plain.cosines(EAST, rows))
    asked = [names[int(row)] for row in rows]
    np.testing.assert_array_equal(other.similarities(EAST, asked), plain.cosines(EAST, rows))


def test_more_vectors_than_are_copied_at_a_time() -> None:
    names, matrix, cosines = many(BLOCK + 10)
    index = ExactIndex(IriList.of(names), matrix)
    rows = np.arange(len(names))
    np.testing.assert_allclose(index.cosines(EAST, rows), cosines, rtol=1e-6)
    assert len(index.nearest(EAST, len(names))) == len(names)
    assert (
        rows_of(index.iris, index.iris).tolist()
        == rows_of(index.iris, names).tolist()
        == rows.tolist()
    )
    alike = ExactIndex(IriList.of(names), np.ones((len(names), 2), dtype=np.float32))
    assert [iri for iri, _ in alike.nearest(EAST, 3)] == names[:3]


def test_positions_follow_each_index() -> None:
    index = ExactIndex(IriList.of(IRIS[1:]), MATRIX[1:])
    assert rows_of(index.iris, [C, B]).tolist() == [1, 0]
    assert rows_of(index.iris, [B, C]).tolist() == [0, 1]
    with pytest.raises(KeyError):
        rows_of(index.iris, [A, B])


# ---------------------------------------------------------------------------- Samples


def many(count: int) -> tuple[list[str], Matrix, NDArray[np.float64]]:
    """IRIs, unit vectors of which half are far from `EAST`, and their cosines with it."""
    chance = np.random.default_rng(5)
    angles = np.where(
        np.arange(count) % 2, chance.normal(1.5, 0.2, count), chance.normal(0.7, 0.3, count)
    )
    matrix = np.stack((np.cos(angles), np.sin(angles)), axis=1).astype(np.float32)
    names = [f"http://example.org/{number:06}" for number in range(count)]
    return names, matrix, np.asarray(matrix[:, 0], dtype=np.float64)


def test_up_to_the_size_of_the_sample_all_vectors_count() -> None:
    names, matrix, cosines = many(SAMPLE)
    index = ExactIndex(IriList.of(names), matrix)
    assert index.quantile(EAST, 0.98) == (np.quantile(cosines, 0.98), cosines.max())
    assert index.moments(EAST) == pytest.approx((cosines.mean(), cosines.std()), abs=1e-12)


def test_a_sample_is_near_the_whole() -> None:
    names, matrix, cosines = many(5 * SAMPLE)
    index = ExactIndex(IriList.of(names), matrix)
    # Errors of a sample of n: of the mean deviation / sqrt n; of the share of the cosines below
    # the q-quantile sqrt(q (1 - q) / n), so .0022 at .98. Four of them are not exceeded.
    mean, deviation = index.moments(EAST)
    error = cosines.std() / SAMPLE**0.5
    assert abs(mean - cosines.mean()) < 4 * error
    assert abs(deviation - cosines.std()) < 4 * error
    assert (mean, deviation) != (cosines.mean(), cosines.std())  # It is a sample.
    for q in (0.1, 0.5, 0.9, 0.98):
        found, greatest = index.quantile(EAST, q)
        below = float((cosines <= found).mean())
        assert abs(below - q) < 4 * (q * (1 - q) / SAMPLE) ** 0.5
        assert found <= greatest <= cosines.max()
    # The nearest are still those of all vectors.
    assert index.nearest(EAST, 1)[0][1] == cosines.max()


def test_every_run_takes_the_same_sample(tmp_path: Path) -> None:
    names, matrix, _ = many(SAMPLE + 100)
    store = FolderVectors(tmp_path)
    kept = store.save("document", "key", names, [matrix[:1000], matrix[1000:]])
    loaded = store.load("document", "key")
    assert loaded is not None
    asked = ExactIndex(IriList.of(names), matrix)
    asked.quantile(np.array([0, 1], dtype=np.float32), 0.5)  # An earlier question changes nothing.
    for q in (0.0, 0.5, 0.98):
        results = {index.quantile(EAST, q) for index in (kept, loaded, asked)}
        assert len(results) == 1
    assert len({index.moments(EAST) for index in (kept, loaded, asked)}) == 1
