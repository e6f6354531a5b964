"""A graph that may only be read is read, with one warning at most; writing says what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Result, environment
from tests.fault_server import FaultServer, playing
from tests.faults.corpus import openie_corpus
from tests.faults.parallel import source
from tests.faults.places import read_only
from tests.faults.scenarios import OPENIE
from tests.forked import run_forked
from tests.sample_graph import CapitalExtractor, embeddings, files_of

NOBODY = 65534

READING: tuple[tuple[str, ...], ...] = (
    ("stats",),
    ("query", "ASK {}"),
    ("export",),
    ("validate",),
    ("search", "Ada"),
)
WRITING: tuple[tuple[str, ...], ...] = (
    ("index", "docs", *OPENIE),
    ("sync", "docs", "--yes", *OPENIE),
    ("delete", "0001.txt"),
    ("import", "--drop", "x"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with playing(embeddings) as server:
        yield server


@pytest.fixture
def env(server: FaultServer) -> dict[str, str]:
    return {"SARAG_BASE_URL": server.base_url, "SARAG_EMBEDDER": "openai:one"}


@pytest.fixture
def work(tmp_path: Path, env: dict[str, str]) -> Path:
    openie_corpus(tmp_path, count=5)
    done = run_forked("index", "docs", *OPENIE, cwd=tmp_path, env=env)
    assert done.code == 0, done
    openie_corpus(tmp_path, count=5, changed=5)
    return tmp_path


@contextmanager
def unprivileged(folder: Path) -> Iterator[None]:
    """This process as a user whom rights concern, who owns the folder."""
    if os.geteuid():
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, -1)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_caches_that_may_not_be_entered(caplog: pytest.LogCaptureFixture) -> None:
    def lived(name: str, *, warm: bool) -> list[object]:
        with sarag_rdf.open(Path(base, name), embedder=HashEmbedder(), endpoint=None) as kg:
            kg.index(map(source, range(5)), extractor=CapitalExtractor())
            assert kg.search("Whom did Ada meet?").documents
            (Path(base, name) / "cache").chmod(0o700 if warm else 0)
            added = kg.index(map(source, range(7)), extractor=CapitalExtractor()).added
            updated = kg.update(source(3), extractor=CapitalExtractor()).updated
            gone = kg.delete(source(6).key)
            found = [ranked.document for ranked in kg.search("Whom did Ada meet?").documents]
            assert fsck(kg).in_order
            return [added, updated, gone, found]

    with tempfile.TemporaryDirectory() as base:
        want = lived("kg", warm=True)
        caplog.clear()
        with unprivileged(Path(base)):
            assert lived("other", warm=False) == want
            assert "cannot write caches in" in caplog.text
            assert "(Permission denied)" in caplog.text
            assert "damaged" not in caplog.text
            (Path(base) / "other" / "cache").chmod(0o700)


def reads(done: Result) -> None:
    assert done.code == 0, done
    assert "Traceback" not in done.err
    assert len(done.complaints) <= 1, done.err
    for line in done.complaints:
        assert "cannot write caches in" in line


@pytest.mark.parametrize("with_caches", [True, False], ids=["caches", "none"])
def test_a_folder_that_is_mounted_read_only(
    work: Path, env: dict[str, str], with_caches: bool
) -> None:
    want = run_forked("search", "Ada", cwd=work, env=env).out
    if not with_caches:
        shutil.rmtree(work / "kg" / "cache")
    before = files_of(work / "kg")
    with read_only(work / "kg"):
        for command in READING if with_caches else READING[-1:]:
            done = run_forked(*command, cwd=work, env=env)
            reads(done)
        assert done.out == want
        for command in WRITING if with_caches else ():
            done = run_forked(*command, cwd=work, env=env)
            done.fails(1, "the graph in kg is read-only (Read-only file system)")
    assert files_of(work / "kg") == before


def test_a_folder_whose_modes_allow_no_writing(work: Path, env: dict[str, str]) -> None:
    """As root, whom modes do not stop, without the rights that let them pass."""
    without_rights: tuple[str, ...] = ()
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("optional: root needs setpriv to give up its rights")
        without_rights = (setpriv, "--bounding-set=-dac_override,-dac_read_search", "--")
    paths = [work / "kg", *(work / "kg").rglob("*")]
    for path in reversed(paths):
        path.chmod(0o555 if path.is_dir() else 0o444)

    def limited(*arguments: str) -> Result:
        done = subprocess.run(
            [*without_rights, sys.executable, "-m", "sarag_rdf", *arguments],
            cwd=work,
            env=environment(**env),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    try:
        for reading in (("stats",), ("search", "Ada")):
            reads(limited(*reading))
        for writing in (("import", "--drop", "x"), ("delete", "0001.txt")):
            done = limited(*writing)
            done.fails(1, "the graph in kg is read-only (Permission denied)")
    finally:
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
