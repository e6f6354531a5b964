"""A clock that jumps: times are told in provenance, and nothing else depends on them."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import ROOT, run_sarag
from tests.fault_server import playing
from tests.faults.corpus import openie_corpus
from tests.faults.scenarios import OPENIE
from tests.faults.soak import graphs_of
from tests.forked import run_forked
from tests.sample_graph import embeddings, nquads

CLOCKS = ("1970-01-01 00:00:01", "2199-06-30 12:00:00", "2001-09-09 01:46:40")
_LIBRARIES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1")
_WALL_CLOCK = {"time.time", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
_MAY_ASK = {
    "graph/metadata.py": "when a run began and ended, and the day of a decision or a link",
    "graph/store/oxigraph.py": "since when a graph is being written",
    "base/http_client.py": "how long it is until the moment that a Retry-After names",
    "server/worker.py": "for how long an endpoint without a revision is taken to be the same",
    "server/guard.py": "when a request was recorded",
    "plugins/backup/backups.py": "when a backup was made",
    "plugins/agents/openai_door.py": "when a reply was made, as OpenAI's clients expect it",
}
"""Modules that ask what time it is, and for what."""


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    found = [path for pattern in _LIBRARIES for path in Path("/").glob(pattern[1:])]
    if not found:
        pytest.skip("libfaketime is not installed: apt-get install faketime")
    with playing(embeddings) as server:
        yield {
            "SARAG_BASE_URL": server.base_url,
            "SARAG_EMBEDDER": "openai:one",
            "LD_PRELOAD": str(found[0]),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


def test_runs_on_days_that_jump_give_the_same_graph(tmp_path: Path, env: dict[str, str]) -> None:
    openie_corpus(tmp_path, count=20)
    command = ("index", "docs", *OPENIE)
    asked = ("search", "Who was in Ulm?", "--json")

    def run(clock: str, *arguments: str) -> str:
        done = run_sarag(*arguments, cwd=tmp_path, env={**env, "FAKETIME": clock})
        assert (done.code, done.complaints) == (0, []), done
        return done.out

    today = {name: value for name, value in env.items() if name != "LD_PRELOAD"}
    assert run_forked(*command, cwd=tmp_path, env=today).code == 0
    found = run_forked(*asked, cwd=tmp_path, env=today).out
    want = graphs_of(tmp_path / "kg")
    shutil.rmtree(tmp_path / "kg")
    docs = sorted((tmp_path / "docs").glob("*.txt"))
    for clock, last in zip(CLOCKS, (5, 12, 20), strict=True):
        paths = [f"docs/{path.name}" for path in docs[:last]]
        run(f"@{clock}", "index", *paths, "--root", "docs", *OPENIE)
        assert f'"{clock[:10]}T' in nquads(tmp_path / "kg"), "the clock was not that"
    assert graphs_of(tmp_path / "kg") == want
    assert run(f"@{CLOCKS[0]}", *asked) == found
    assert "conforms" in run_forked("validate", cwd=tmp_path, env=today).out
    assert "20 unchanged" in run(f"@{CLOCKS[0]}", *command)


def test_nothing_but_provenance_asks_what_time_it_is() -> None:
    """Waiting and limits count in seconds that pass (time.monotonic)."""
    asking = {}
    for path in sorted((ROOT / "sarag_rdf").rglob("*.py")):
        calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        found = {name for name in map(ast.unparse, calls) if name in _WALL_CLOCK}
        if found:
            asking[str(path.relative_to(ROOT / "sarag_rdf"))] = found
    assert asking.keys() == _MAY_ASK.keys()


def test_a_clock_that_runs_backwards_leaves_a_graph_that_conforms(
    tmp_path: Path, env: dict[str, str]
) -> None:
    openie_corpus(tmp_path, count=6)
    today = {name: value for name, value in env.items() if name != "LD_PRELOAD"}
    backwards = {**env, "FAKETIME": "@2020-06-01 00:00:00 i-60.0"}
    for arguments in (("index", "docs", *OPENIE), ("delete", "0001.txt")):
        done = run_sarag(*arguments, cwd=tmp_path, env=backwards)
        assert done.code == 0, done
    times = re.findall(r'"(\d{4}-\d\d-\d\dT[^"]*)"', nquads(tmp_path / "kg"))
    assert times
    assert max(times) < "2020-06-01", "the clock did not run backwards"
    for command in ("validate", "fsck"):
        done = run_forked(command, cwd=tmp_path, env=today)
        assert done.code == 0, done
