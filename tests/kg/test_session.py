"""One session: snapshots, the cache of what is computed from them, and blocks that write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import NotAGraphError, StoreLockedError
from sarag_rdf.base.types import Source
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.session import Session
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor


def opened(folder: Path | None) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None)


def index(kg: KnowledgeGraph, text: str) -> None:
    kg.index(Source(text, "", f"{text}.txt"), extractor=CapitalExtractor())


def test_reads_share_a_snapshot_until_a_write(tmp_path: Path) -> None:
    with opened(tmp_path / "kg") as kg:
        index(kg, "Ada met Bea.")
        with kg.session.read() as first, kg.session.read() as second:
            assert first is second
            assert first.view is second.view
        with kg.session.write():
            pass
        with kg.session.read() as third:
            assert third is not first
        with kg.session.read(latest=True) as fourth:
            assert fourth is not third


def test_a_snapshot_stays_as_it_is_while_another_session_writes(tmp_path: Path) -> None:
    with opened(tmp_path / "kg") as kg, opened(tmp_path / "kg") as other:
        index(kg, "Ada met Bea.")
        before = kg.stats()["sources"]
        index(other, "Cid met Dan.")
        assert (before, kg.stats()["sources"], other.stats()["sources"]) == (1, 1, 2)
        kg.reload()
        assert kg.stats()["sources"] == 2


def test_a_graph_that_does_not_exist(tmp_path: Path) -> None:
    session = Session(tmp_path / "kg")
    with session.read(missing_ok=True) as snapshot:
        assert snapshot.reader.store.graphs() == []
    with pytest.raises(NotAGraphError), session.read():
        pass
    with pytest.raises(NotAGraphError), session.write(create=False):
        pass
    assert not (tmp_path / "kg").exists()
    with session.write() as reader:
        assert reader.journal is not None
    assert session.location.exists()


def test_there_is_one_writer(tmp_path: Path) -> None:
    first, second = Session(tmp_path / "kg"), Session(tmp_path / "kg")
    with first.write(), pytest.raises(StoreLockedError), second.write():
        pass
    with second.write():
        pass


def test_in_memory_a_writer_waits_for_readers() -> None:
    session = Session(None)
    written = threading.Event()

    def write() -> None:
        with session.write():
            written.set()

    with session.read():
        thread = threading.Thread(target=write)
        thread.start()
        assert not written.wait(0.2)
    thread.join(10)
    assert written.is_set()


def test_a_write_that_fails_drops_the_snapshot(tmp_path: Path) -> None:
    session = Session(tmp_path / "kg")
    with session.write():
        pass
    with session.read() as before:
        pass
    with pytest.raises(KeyboardInterrupt), session.write():
        raise KeyboardInterrupt
    with session.read() as after:
        assert after is not before
    with session.write():  # the lock is free again
        pass


def test_what_earlier_writers_logged_is_deleted(tmp_path: Path) -> None:
    for _ in range(3):
        with Session(tmp_path / "kg").write():
            pass
    logs = [path.name for path in (tmp_path / "kg" / "store").glob("LOG*")]
    assert logs == ["LOG"]
