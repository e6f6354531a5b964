"""Processes that are killed at random moments lose nothing: `make soak`, shortened."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sarag_rdf.base.errors import NotAGraphError
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from tests.faults.scenarios import SCENARIOS
from tests.faults.soak import soaking

KILLS = int(os.environ.get("SARAG_TEST_KILLS", "1"))
"""Of each scenario."""
SHORT = ("index", "update", "delete", "import", "restore", "entailed", "caches")
SEED = int(os.environ.get("SARAG_TEST_SEED", "0"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="optional: it needs inotify")


@pytest.mark.parametrize("name", SHORT)
def test_kills_lose_nothing(name: str) -> None:
    with soaking(SEED, [scenario for scenario in SCENARIOS if scenario.name == name]) as soak:
        number = first = SHORT.index(name)  # so that each is killed at moments of its own
        while soak.tally.kills.total() < KILLS:
            soak.trial(number)
            number += 1
        assert soak.tally.completed == number - first


MAKING = """
import sys
import pyoxigraph
print("ready", flush=True)
sys.stdin.readline()
store = pyoxigraph.Store(sys.argv[1])
sys.stdin.read()
"""


def test_a_store_that_was_being_made_is_no_graph_yet(tmp_path: Path) -> None:
    """Whenever the process is killed, the store is there, or to be made again."""
    folder = tmp_path / "kg" / "store"
    for awaited in ("LOCK", "CURRENT", "MANIFEST-000005", *10 * ["OPTIONS-*"], "*.sst"):
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir()
        with subprocess.Popen(
            [sys.executable, "-c", MAKING, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            process.stdin.write("\n")
            process.stdin.flush()
            while not any(folder.glob(awaited)):
                assert process.poll() is None
            process.kill()
        try:
            store = OxigraphStore.open(folder)
        except NotAGraphError:
            store = OxigraphStore.create(folder)
        assert not list(store.quads())
        store.close()
