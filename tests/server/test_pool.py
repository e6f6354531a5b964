"""Pools of processes, with jobs of the tests."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import sys
from pathlib import Path

import pytest

from sarag_rdf.base.errors import (
    EmptyGraphError,
    InputError,
    PluginError,
    QueryError,
    QueryTimeoutError,
    SaragError,
    StoreError,
    StoreLockedError,
    UsageError,
)
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.server.jobs import CODES, KINDS, AccessibleGraphs, JobReply, RequestError
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import Worker
from sarag_rdf.server.worker_pool import WorkerPool

ROOT = Path(__file__).parents[2]
LOADED = ("sarag_rdf.kg.graph", "sarag_rdf.plugins.http_writes.updates")


class SayWhatIsLoaded:
    """Replies whether the process has imported some modules."""

    text = "what is loaded"

    def run(self, worker: Worker) -> JobReply:
        return JobReply(200, head=str(all(name in sys.modules for name in LOADED)).encode())


def no_graph() -> KnowledgeGraph:
    raise AssertionError("no job of these tests opens a graph")


@pytest.mark.skipif(sys.platform != "linux", reason="optional: each process imports by itself")
def test_the_processes_of_every_pool_begin_with_what_jobs_need(tmp_path: Path) -> None:
    async def case() -> None:
        for _ in range(2):
            pool = WorkerPool(
                tmp_path,
                ServeSettings(tmp_path, queue=1),
                no_graph,
                size=1,
                seconds=60,
                option="--timeout",
            )
            assert (await pool.run(SayWhatIsLoaded(), AccessibleGraphs())).body() == b"True"
            pool.close()

    asyncio.run(case())


def test_errors_are_the_same_on_the_other_side_of_the_pipe() -> None:
    error = RequestError(503, "busy: try again", Retry_After="2")
    sent = pickle.loads(pickle.dumps(error))
    assert (sent.status, str(sent), sent.code) == (503, "busy: try again", "busy")
    assert sent.headers == {"Retry-After": "2"}
    assert RequestError.of(sent) is sent
    locked = RequestError.of(StoreLockedError("another process writes"))
    assert (locked.status, locked.headers) == (503, {"Retry-After": "5"})
    empty = RequestError.of(EmptyGraphError("nothing is indexed"))
    assert (empty.status, empty.code) == (409, "empty_graph")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UsageError("unknown option"), 400, "bad_request"),
        (InputError("not a table"), 400, "bad_request"),
        (QueryError("SERVICE is not permitted"), 400, "bad_request"),
        (QueryTimeoutError("too slow"), 504, "timeout"),
        (StoreError("damaged"), 500, "store"),
        (PluginError("cannot be imported"), 500, "internal"),
    ],
)
def test_a_status_says_whose_fault_it_is(error: SaragError, status: int, code: str) -> None:
    failed = RequestError.of(error)
    assert (failed.status, failed.code) == (status, code)
    reply = failed.reply()
    assert (reply.status, json.loads(reply.body())["error"]["code"]) == (status, code)


def test_the_reference_lists_all_codes() -> None:
    text = (ROOT / "docs/reference/server.md").read_text(encoding="utf-8")
    listed = re.search(r"The code is one of\n(.*?)\. Errors of other paths", text, re.DOTALL)
    assert listed is not None
    known = {*CODES.values(), *(code for _, _, code in KINDS if code), "bad_request"}
    assert set(re.findall(r"`(\w+)`", listed[1])) == known
