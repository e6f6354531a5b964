"""Vector indexes that follow changes answer as those made afresh, whatever was before."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, rows_of
from sarag_rdf.base.ports import Matrix
from sarag_rdf.graph.vectors import search_indexes
from sarag_rdf.graph.vectors.search_indexes import ExactIndex, VectorIndex
from sarag_rdf.graph.vectors.vector_store import FolderVectors, VectorStore

Angles = dict[str, int]
"""IRI -> where its vector points to; few directions, so that many are equally near."""


def unit(angle: float) -> NDArray[np.float32]:
    return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


def matrix(angles: Angles) -> Matrix:
    rows = [unit(angles[iri]) for iri in sorted(angles)]
    return np.array(rows, dtype=np.float32).reshape(-1, 2)


def same(found: VectorIndex, angles: Angles) -> None:
    """Everything that an index tells, held against one that was made of these vectors."""
    fresh = ExactIndex(IriList.of(angles), matrix(angles))
    assert list(found.iris) == sorted(angles)
    assert len(found) == len(angles)
    for question in (unit(0.3), unit(2)):
        for k in (1, 3, len(angles), len(angles) + 1):
            assert found.nearest(question, k) == fresh.nearest(question, k)
        assert found.quantile(question, 0.7) == fresh.quantile(question, 0.7)
        assert found.moments(question) == fresh.moments(question)
        iris = sorted(angles)[::-2]
        np.testing.assert_array_equal(
            found.similarities(question, iris), fresh.similarities(question, iris)
        )
        np.testing.assert_array_equal(
            found.vectors(rows_of(found.iris, iris)), fresh.vectors(rows_of(fresh.iris, iris))
        )


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_indexes, "SAMPLE", 4)


names = st.integers(0, 20).map(lambda number: f"http://example.org/{number:02}")
changes = st.lists(
    st.tuples(st.dictionaries(names, st.integers(0, 4), max_size=5), st.sets(names, max_size=5)),
    min_size=1,
    max_size=6,
)


@given(st.dictionaries(names, st.integers(0, 4), max_size=20), changes, st.booleans())
def test_any_history_ends_as_one_made_afresh(
    angles: Angles, history: list[tuple[Angles, set[str]]], broken_off: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = FolderVectors(Path(folder))
        read = store.save("entity", "0", sorted(angles), [matrix(angles)])
        for number, (come, gone) in enumerate(history):
            before = dict(angles)
            angles = {k: v for k, v in angles.items() if k not in gone} | come
            if broken_off:
                for file in Path(folder).glob("*.f32"):
                    file.write_bytes(file.read_bytes() + b"half a row"[: 5 + number])
            updated = store.update(
                "entity", str(number), str(number + 1), sorted(gone | come.keys()), sorted(come),
                (matrix({iri: come[iri]}) for iri in sorted(come)),
            )  # fmt: skip
            assert updated is not None
            same(updated, angles)
            same(read, before)  # What was read before is still whole.
            loaded = FolderVectors(Path(folder)).load("entity", str(number + 1))
            assert loaded is not None
            same(loaded, angles)
            assert store.load("entity", str(number)) is None
            read = loaded
        assert len(list(Path(folder).iterdir())) == 2


A, B, C = (f"http://example.org/{name}" for name in "abc")
FEW: Angles = {A: 1, C: 2}


def saved(folder: Path) -> FolderVectors:
    store = FolderVectors(folder)
    store.save("entity", "0", sorted(FEW), [matrix(FEW)])
    return store


def test_an_update_writes_no_vector_again(tmp_path: Path) -> None:
    many = {f"http://example.org/{number}": number % 7 for number in range(100)}
    store = FolderVectors(tmp_path)
    store.save("entity", "0", sorted(many), [matrix(many)])
    [table] = tmp_path.glob("*.f32")
    whole = table.read_bytes()
    index = store.update("entity", "0", "1", [A, f"{A}/none"], [A], [matrix({A: 1})])
    assert index is not None
    same(index, many | {A: 1})
    assert table.read_bytes() == whole + matrix({A: 1}).tobytes()
    # A change that concerns no vector writes nothing but the key.
    files = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert store.update("entity", "1", "2", ["http://example.org/none"], [], []) is not None
    assert {f.name for f in tmp_path.iterdir() if f.stat().st_mtime_ns != files[f]} == {
        "entity.arrays"
    }
    # When too many slots are dead, the rest moves to a new file.
    gone = sorted(many)[:40]
    index = store.update("entity", "2", "3", gone, [], [])
    assert index is not None
    same(index, {iri: v for iri, v in (many | {A: 1}).items() if iri not in gone})
    assert not table.exists()
    [table] = tmp_path.glob("*.f32")
    assert table.stat().st_size == 61 * 8


def test_what_is_not_there_cannot_be_updated(tmp_path: Path) -> None:
    store = saved(tmp_path)
    change = ("1", "2", [B], [B], [matrix({B: 1})])
    assert store.update("entity", *change) is None
    assert store.update("document", *change) is None
    assert VectorStore().update("entity", *change) is None
    VectorStore().rekey("entity", "1", "2")
    store.rekey("entity", "1", "2")
    store.rekey("document", "1", "2")
    index = store.load("entity", "0")
    assert index is not None
    same(index, FEW)


def failing() -> Iterator[Matrix]:
    yield matrix({B: 1})
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(lambda: [np.ones((1, 3), dtype=np.float32)], id="another dimension"),
        pytest.param(list, id="no vectors"),
        pytest.param(lambda: [matrix(FEW)], id="too many"),
    ],
)
def test_wrong_vectors_change_nothing(blocks: Callable[[], list[Matrix]], tmp_path: Path) -> None:
    store = saved(tmp_path)
    assert store.update("entity", "0", "1", [B], [B], blocks()) is None
    index = store.load("entity", "0")
    assert index is not None
    same(index, FEW)


def test_an_update_that_is_broken_off_changes_nothing(tmp_path: Path) -> None:
    store = saved(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        store.update("entity", "0", "1", [B], [B, f"{B}/2"], failing())
    index = store.load("entity", "0")
    assert index is not None
    same(index, FEW)
    index = store.update("entity", "0", "1", [B], [B], [matrix({B: 3})])
    assert index is not None
    same(index, FEW | {B: 3})


def test_a_file_that_was_damaged_is_not_updated(tmp_path: Path) -> None:
    store = saved(tmp_path)
    [table] = tmp_path.glob("*.f32")
    table.unlink()
    assert store.update("entity", "0", "1", [B], [B], [matrix({B: 3})]) is None


def test_arrays_get_another_key(tmp_path: Path) -> None:
    store = FolderVectors(tmp_path)
    store.save_arrays("names", "1", {"numbers": np.arange(3)})
    files = set(tmp_path.iterdir())
    store.rekey("names", "1", "2")
    assert store.load_arrays("names", "1") is None
    found = store.load_arrays("names", "2")
    assert found is not None
    assert found["numbers"].tolist() == [0, 1, 2]
    assert set(tmp_path.iterdir()) == files
