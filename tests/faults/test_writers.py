"""One writer, many readers: who is writing is told, and what is read is one revision."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import StoreLockedError
from sarag_rdf.graph.store import oxigraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT, environment
from tests.fault_server import hang, playing
from tests.faults.corpus import openie_corpus
from tests.faults.parallel import DOCUMENTS, derived_is_true, source
from tests.faults.scenarios import OPENIE
from tests.forked import Forked, run_forked, start
from tests.sample_graph import CapitalExtractor, make_graph
from tests.server.running import Got, serving

INDEX = ("index", "docs", *OPENIE)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a graph in ./kg and a document in ./docs."""
    make_graph(tmp_path / "kg")
    openie_corpus(tmp_path, count=1)
    return tmp_path


@contextmanager
def writing(work: Path) -> Iterator[Forked]:
    """A real ``sarag index`` that holds the lock, because its embedder does not answer."""
    with playing(hang) as server:
        env = {"SARAG_BASE_URL": server.base_url, "SARAG_EMBEDDER": "openai:new"}
        with Path(os.devnull).open("w") as none:
            process = start(INDEX, work, env, none.fileno(), none.fileno())
        try:
            wait_for(lambda: bool(server.requests))
            yield process
        finally:
            process.kill()
            process.wait()


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_second_writer_is_told_who_holds_the_graph(work: Path) -> None:
    with writing(work) as first:
        done = run_forked("import", "--drop", "nothing", cwd=work)
        done.fails(1, "kg is locked by 'sarag index docs' (process ", str(first.pid))
        assert re.search(r", since \d\d:\d\d\): wait until it has finished, or stop it$", done.err)
        assert run_forked("stats", cwd=work).code == 0
    assert (work / "kg" / oxigraph.WRITER_FILE).exists(), "a process that is killed leaves its note"
    with sarag_rdf.open(work / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([source(1)], extractor=CapitalExtractor())
    assert not (work / "kg" / oxigraph.WRITER_FILE).exists()


def test_what_a_killed_writer_left_goes_with_the_next(work: Path) -> None:
    """RocksDB writes its options to a file of another name first, which it never removes."""
    store = work / "kg" / "store"
    left = [store / "OPTIONS-000009.dbtmp", store / "bulk-1.sst", work / "kg" / "write-1" / "a"]
    left[-1].parent.mkdir()
    for path in left:
        path.write_bytes(b"left")
    with sarag_rdf.open(work / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.stats()
        assert all(path.exists() for path in left), "whoever reads removes nothing"
        kg.index([source(1)], extractor=CapitalExtractor())
    assert not any(path.exists() for path in left)
    assert [path for path in store.glob("OPTIONS-*") if path.suffix != ".dbtmp"]
    assert not list(store.glob("*.dbtmp"))


def test_a_note_that_was_left_names_nobody(work: Path) -> None:
    with writing(work):
        pass
    code = "import pyoxigraph, sys; s = pyoxigraph.Store(sys.argv[1]); print(flush=True); input()"
    locking = subprocess.Popen(
        [sys.executable, "-c", code, work / "kg" / "store"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert locking.stdin
    assert locking.stdout
    try:
        locking.stdout.readline()
        done = run_forked("import", "--drop", "nothing", cwd=work)
        done.fails(1, "another process is writing to kg: wait until it has finished")
    finally:
        locking.kill()
        locking.communicate()


def test_the_same_process_counts_too(work: Path) -> None:
    class Meanwhile(CapitalExtractor):
        def extract(self, documents):  # type: ignore[no-untyped-def]
            with sarag_rdf.open(work / "kg", embedder=HashEmbedder(), endpoint=None) as other:
                other.index([source(2)], extractor=CapitalExtractor())
            yield from super().extract(documents)

    with sarag_rdf.open(work / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        with pytest.raises(StoreLockedError, match="is locked by this process itself"):
            kg.index([source(1)], extractor=Meanwhile())
        assert kg.index([source(1)], extractor=CapitalExtractor()).added == 1


def test_a_server_tells_who_is_writing_and_is_named_itself(work: Path) -> None:
    with serving(work / "kg", "--writable") as server:
        with writing(work) as first:
            got = server.update("CLEAR GRAPH <a:b>")
            got.is_line(503, "is locked by 'sarag index docs'", str(first.pid))
        lines = "\n".join(f"<a:{number}> <a:b> <a:c> ." for number in range(200_000))

        def put() -> Got:
            kind = "application/n-triples"
            return server.ask(
                "PUT", "/rdf-graph-store?graph=a:g", lines, token=True, Content_Type=kind
            )

        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(put)
            wait_for(lambda: "serve" in note(work) or answer.done())
            told = run_forked("import", "--drop", "nothing", cwd=work)
            assert answer.result().status in (200, 201, 204)
        if "nothing" not in told.err:  # else the server was done before
            told.fails(1, "kg is locked by 'sarag serve' (process ")
        assert not note(work)


def note(work: Path) -> str:
    try:
        return (work / "kg" / oxigraph.WRITER_FILE).read_text()
    except FileNotFoundError:
        return ""


def test_options_of_a_command_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/sarag", "index", "docs", "--base-url", "http://secret"])
    oxigraph.record_holder(tmp_path)
    found = oxigraph.holder_of(tmp_path)
    assert found is not None
    assert (found.command, found.pid) == ("sarag index docs", os.getpid())
    assert "secret" not in (tmp_path / oxigraph.WRITER_FILE).read_text()


READERS, READS, WRITES = 3, 20, 40


def test_readers_see_whole_sources_while_a_writer_commits(tmp_path: Path) -> None:
    folder = tmp_path / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([source(9999)], extractor=CapitalExtractor(), words=6, overlap=0)
    commands = [("write", WRITES), *[("read", READS)] * READERS]
    started = [started_beside(folder, what, count) for what, count in commands]
    ended = [(process.communicate(timeout=500), process.returncode) for process in started]
    for (_, errors), code in ended:
        assert code == 0, errors
    lines = [[json.loads(line) for line in out.splitlines()] for (out, _), _ in ended[1:]]
    assert [len(of_one) for of_one in lines] == [READS] * READERS
    seen = set()
    for of_one in lines:
        counts = [line["stats"][0] for line in of_one]
        assert counts == sorted(counts), "what was read once is there when read again"
        seen |= set(counts)
        for line in of_one:
            whole = [line["stats"][0], DOCUMENTS * line["stats"][0]]
            assert line["stats"] == line["sparql"] == whole
            assert line["found"] <= whole[1]
            assert line["conforms"]
    assert len(seen) > 2, "nothing was written meanwhile"
    assert derived_is_true(folder)


def started_beside(folder: Path, what: str, count: int) -> subprocess.Popen[str]:
    arguments: Sequence[str] = ("-m", "tests.faults.parallel", what, str(folder), str(count))
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
