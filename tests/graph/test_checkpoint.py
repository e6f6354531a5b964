"""Readers of a store beside a writer."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.files import LOCK
from sarag_rdf.graph.store import oxigraph
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from tests.command import ROOT, environment

FLUSHES, QUADS = 6, 50
COMMITS, NEWEST = 120, 60
_WRITER = """
import sys, pyoxigraph as ox
folder, commits, newest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
triples = " ".join(f"<a:{number}> <a:p> <a:q> ." for number in range(50))
for number in range(1, commits + 1):
    if number % 20 == 1:
        store = None
        store = ox.Store(folder)
    insert = "INSERT DATA { GRAPH <a:%d> { %s } }" % (number, triples)
    store.update("%s ; DROP SILENT GRAPH <a:%d>" % (insert, number - newest))
    store.flush()
"""
_READER = """
import os, signal, sys
from pathlib import Path
from sarag_rdf.graph.store.oxigraph import OxigraphStore
store = OxigraphStore.open(Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""
_FEW_FILES = """
import resource, sys
from pathlib import Path
from sarag_rdf.graph.store.oxigraph import OxigraphStore
resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
print(len(list(OxigraphStore.open(Path(sys.argv[1])).quads())))
"""


@pytest.fixture
def writer(tmp_path: Path) -> ox.Store:
    """A store with more tables than RocksDB opens at once."""
    (tmp_path / "kg").mkdir()
    store = ox.Store(tmp_path / "kg" / "store")
    for flush in range(FLUSHES):
        store.extend(quad(f"{flush}-{number}") for number in range(QUADS))
        store.flush()
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kg" / "store"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


def quad(name: str) -> Quad:
    return Quad(NamedNode(f"a:{name}"), NamedNode("a:p"), Literal(name), NamedNode("a:g"))


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def run(code: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(
        command, cwd=ROOT, env=environment(**env), capture_output=True, text=True, timeout=120
    )


def test_tables_that_a_writer_has_deleted_are_still_read(writer: ox.Store, folder: Path) -> None:
    reader = OxigraphStore.open(folder)
    before = set(folder.glob("*.sst"))
    writer.remove(quad("0-0"))
    writer.optimize()
    assert before - set(folder.glob("*.sst"))
    assert len(list(reader.quads())) == FLUSHES * QUADS
    assert len(list(OxigraphStore.open(folder).quads())) == FLUSHES * QUADS - 1


def test_each_state_that_is_read_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "kg" / "store"
    folder.parent.mkdir()
    ox.Store(folder).flush()
    command = [sys.executable, "-c", _WRITER, str(folder), str(COMMITS), str(NEWEST)]
    seen = set()
    with subprocess.Popen(command, stderr=subprocess.PIPE) as writing:
        while writing.poll() is None:
            reader = OxigraphStore.open(folder)
            graphs = sorted(int(graph[2:]) for graph in reader.graphs())
            last = graphs[-1] if graphs else 0
            assert graphs == list(range(max(1, last - NEWEST + 1), last + 1))
            assert len(list(reader.quads())) == 50 * len(graphs)
            seen.add(last)
        assert writing.stderr
        assert writing.returncode == 0, writing.stderr.read()
    assert len(seen) > 3


def test_what_a_reader_has_open_is_closed_with_it(
    writer: ox.Store, folder: Path, temporary: Path
) -> None:
    gc.collect()
    before = open_files()
    reader = OxigraphStore.open(folder)
    quads = reader.quads()
    next(quads)
    assert open_files() > before
    assert len(list(temporary.iterdir())) == 1
    reader.close()
    assert sum(1 for _ in quads) == FLUSHES * QUADS - 1, "it was being read"
    del reader, quads
    gc.collect()
    assert open_files() == before
    assert not list(temporary.iterdir())


def test_a_killed_reader_leaves_a_folder_that_the_next_one_deletes(
    writer: ox.Store, folder: Path, temporary: Path
) -> None:
    assert run(_READER, folder, TMPDIR=str(temporary)).returncode < 0
    (left,) = temporary.iterdir()
    assert (left / LOCK).exists()
    reader = OxigraphStore.open(folder)
    assert not left.exists()
    assert len(list(temporary.iterdir())) == 1, "that of the reader"
    assert len(reader.graphs()) == 1


@pytest.mark.parametrize("missing", ["open files", "temporary files"])
def test_what_the_system_lacks_is_done_without(
    writer: ox.Store,
    folder: Path,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
) -> None:
    if missing == "open files":
        writer.optimize()  # nothing keeps tables that are compacted while they are read
        monkeypatch.setattr(oxigraph, "_OPEN_FILES", temporary / "none")
    else:
        temporary.rmdir()
    assert len(list(OxigraphStore.open(folder).quads())) == FLUSHES * QUADS


def test_a_low_limit_of_open_files_is_raised(writer: ox.Store, folder: Path) -> None:
    assert len(list(folder.glob("*.sst"))) > 25
    done = run(_FEW_FILES, folder)
    assert done.stdout.strip() == str(FLUSHES * QUADS), done.stderr


def test_a_store_without_some_quads_has_the_same_tables(
    writer: ox.Store, folder: Path, temporary: Path
) -> None:
    snapshot = OxigraphStore.open(folder)
    absent = {quad("0-0"), quad("5-49"), quad("unknown")}
    rest = snapshot.without(absent)
    assert set(rest.quads()) == set(writer) - absent
    assert len(set(snapshot.quads())) == len(writer) == FLUSHES * QUADS
    tables = [path for path in temporary.rglob("*.sst") if path.is_symlink()]
    assert len(tables) >= 2 * FLUSHES  # of the snapshot and of the rest, none of them copied
    del snapshot, rest
    gc.collect()
    assert not [*temporary.iterdir()]
    assert len(writer) == FLUSHES * QUADS


def test_a_store_in_memory_is_copied_without_some_quads() -> None:
    store = OxigraphStore.in_memory()
    store.load([quad("a"), quad("b")])
    assert set(store.without({quad("a")}).quads()) == {quad("b")}
    assert len(list(store.quads())) == 2
