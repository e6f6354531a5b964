"""A cache whose bytes are no longer those that were written is noticed, and made anew."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sarag_rdf
from sarag_rdf.graph.vectors import vector_store
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.models.caches import SqliteCache, fault_of
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests.faults.parallel import source
from tests.sample_graph import CapitalExtractor

QUESTION = "Whom did Ada meet in Ulm?"


def found(folder: Path, retriever: str = "sarag") -> str:
    """What searching finds in a graph, with every figure of the report."""
    vector_store.forget_verified()  # as in a new process
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        return json.dumps(retrieved_to_dict(kg.search(QUESTION, retriever=retriever)))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with all its caches, and some vectors that were appended to others."""
    folder = tmp_path_factory.mktemp("clean") / "kg"
    for part in (range(12), range(12, 15)):
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            kg.index(map(source, part), extractor=CapitalExtractor())
            kg.search(QUESTION)
            kg.search(QUESTION, retriever="bm25")
    return folder


Damage = Callable[[Path], object]


def flipped(place: float) -> Damage:
    """Change one bit, at that part of the file."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(place * (len(data) - 1))] ^= 0x10
        path.write_bytes(data)

    return damage


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Damage] = {
    "head": flipped(0.0),
    "early": flipped(0.1),
    "middle": flipped(0.5),
    "late": flipped(0.9),
    "tail": flipped(1.0),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"more"),
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "folder": replaced_by_a_folder,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_results_are_those_of_a_clean_cache(clean: Path, tmp_path: Path, damage: Damage) -> None:
    want = {name: found(clean, name) for name in ("sarag", "bm25")}
    files = sorted(p.relative_to(clean) for p in (clean / "cache").rglob("*") if p.is_file())
    assert len(files) >= 10
    assert {path.suffix for path in files} >= {".sqlite", ".arrays", ".f32"}
    for file in files:
        folder = tmp_path / "kg"
        shutil.copytree(clean, folder)
        before = (folder / file).read_bytes()
        damage(folder / file)
        assert not (folder / file).is_file() or (folder / file).read_bytes() != before
        assert {name: found(folder, name) for name in want} == want, file
        assert found(folder) == want["sarag"], file
        shutil.rmtree(folder)


def test_random_bytes_of_all_caches(clean: Path, tmp_path: Path) -> None:
    """Some bytes of every file at a time, with the embeddings that the vectors are made of."""
    want = found(clean)
    chance = random.Random(0)
    for _ in range(10):
        folder = tmp_path / "kg"
        shutil.copytree(clean, folder)
        for path in (folder / "cache").rglob("*"):
            if path.is_file():
                for _ in range(3):
                    flipped(chance.random())(path)
        assert found(folder) == want
        shutil.rmtree(folder)


def test_vectors_that_were_flipped_are_told(
    clean: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "kg"
    shutil.copytree(clean, folder)
    [path] = (folder / "cache" / "vectors").glob("document-*.f32")
    flipped(0.5)(path)
    found(folder)
    assert caplog.text.count("is damaged") == 1
    assert f"wrong checksum of {path.name}" in caplog.text
    caplog.clear()
    found(folder)
    assert "is damaged" not in caplog.text


@pytest.mark.parametrize("damage", [flipped(0.5), replaced_by_a_folder], ids=["bit", "folder"])
def test_a_damaged_entry_is_reported_and_repaired(
    clean: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Damage
) -> None:
    for told in (True, False):
        folder = tmp_path / "kg"
        shutil.copytree(clean, folder)
        path = folder / "cache" / "vectors" / "document.arrays"
        damage(path)
        vector_store.forget_verified()  # the file may have the inode of one that was deleted
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            if told:
                kg.search(QUESTION)
                assert caplog.text.count("is damaged") == 1
                assert str(path) in caplog.text
            else:
                assert "document: cannot be read" in str(fsck(kg))
                assert fsck(kg, repair=True).in_order
            assert fsck(kg).in_order
        assert path.is_file()
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "said",
    [
        {"file": "../../../precious"},
        {"file": "../../store"},
        {"file": "."},
        {"file": ["a"]},
        {"file": 7},
        {"slots": -1},
        {"dimension": True},
    ],
)
def test_a_forged_entry_deletes_nothing(
    clean: Path, tmp_path: Path, said: dict[str, object]
) -> None:
    """Whoever forges an entry can forge its checksum as well."""
    folder = tmp_path / "kg"
    shutil.copytree(clean, folder)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    path = folder / "cache" / "vectors" / "document.arrays"
    line, _, rest = path.read_bytes().partition(b"\n")
    head = vector_store._head(line + b"\n")
    path.write_bytes(vector_store._head_line({**head, "table": {**head["table"], **said}}) + rest)
    assert found(folder) == found(clean)
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        assert fsck(kg, repair=True).in_order
    assert (tmp_path / "precious" / "file").is_file()
    assert (folder / "store" / "CURRENT").is_file()


@pytest.mark.parametrize("name", ["cache", "cache/vectors"])
def test_a_file_where_a_folder_of_caches_belongs(clean: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "kg"
    shutil.copytree(clean, folder)
    shutil.rmtree(folder / name)
    (folder / name).write_text("in the way", "utf-8")
    want = found(clean)
    assert found(folder) == want
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        [finding] = fsck(kg).findings
        assert "is not a folder" in str(finding)
        assert fsck(kg, repair=True).in_order
    assert (folder / "cache" / "vectors").is_dir()
    assert (folder / f"{name}.damaged-1").read_text("utf-8") == "in the way"
    assert found(folder) == want


def test_a_folder_where_a_database_belongs(clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kg"
    shutil.copytree(clean, folder)
    path = folder / "cache" / "embeddings.sqlite"
    path.unlink()
    path.mkdir()
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        [finding] = fsck(kg).findings
        assert "is not a file" in str(finding)
        assert fsck(kg, repair=True).in_order


def test_no_byte_of_a_table_gives_another_value(tmp_path: Path) -> None:
    entries = {bytes([i]) * 20: bytes([255 - i]) * 300 for i in range(60)}
    clean = tmp_path / "clean.sqlite"
    cache = SqliteCache(clean, what="cache")
    cache.put_many(entries)
    cache.close()
    data = clean.read_bytes()
    wrong = lost = 0
    for place in range(0, len(data), 61):
        path = tmp_path / f"{place}.sqlite"
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        cache = SqliteCache(path, what="cache")
        got = cache.get_many(entries)
        wrong += sum(entries[key] != value for key, value in got.items())
        lost += len(got) < len(entries)
        cache.put_many(entries)
        assert cache.get_many(entries) in ({}, entries), place
        cache.close()
    assert wrong == 0
    assert lost > 100, "most bytes are those of values"


def test_values_that_are_spoiled_are_found_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    cache = SqliteCache(path, what="cache")
    cache.put_many({b"k": b"value" * 100})
    cache.close()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"valuevalue", b"valuevolue", 1))
    assert fault_of(path) == "1 values do not match their checksums"


# ---------------------------------------------------------------------------- Checksums


def table_of(rows: int, folder: Path) -> vector_store.Table:
    vectors = np.arange(5 * rows, dtype=np.float32).reshape(rows, 5)
    _, table = vector_store.write_rows(folder / "table", [vectors])
    assert isinstance(table, vector_store.Table)
    return table


def test_checksums_of_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_store, "SEGMENT", 100)
    table = table_of(52, tmp_path)
    path = tmp_path / "table"
    data = path.read_bytes()
    assert (len(data), len(table.checksums)) == (1040, 11)
    vector_store.map_table(tmp_path, table)
    for place in (0, 99, 100, 555, 1039):
        vector_store.forget_verified()
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ValueError, match="wrong checksum of table"):
            vector_store.map_table(tmp_path, table)
    path.write_bytes(data[:-1])
    with pytest.raises(ValueError, match="table is truncated"):
        vector_store.map_table(tmp_path, table)
    path.unlink()
    with pytest.raises(OSError, match="table"):
        vector_store.map_table(tmp_path, table)


def test_what_is_appended_is_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_store, "SEGMENT", 100)
    table = table_of(12, tmp_path)
    vector_store.map_table(tmp_path, table)
    with (tmp_path / "table").open("r+b") as file:  # verified bytes are not read again
        file.write(b"other")
    first, longer = vector_store.append_rows(tmp_path, table, [np.ones((8, 5), dtype=np.float32)])
    assert (first, longer.slots) == (12, 20)
    assert longer.checksums[:2] == table.checksums[:2]
    vector_store.map_table(tmp_path, longer)
    vector_store.forget_verified()
    with pytest.raises(ValueError, match="wrong checksum of table"):
        vector_store.map_table(tmp_path, longer)
