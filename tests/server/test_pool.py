"""Pools of processes, with targets of the tests."""

from __future__ import annotations

import asyncio
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from sarag_rdf.server.jobs import JobReply
from sarag_rdf.server.pool import WorkerPool

LOADED = "sarag_rdf.kg.graph"


def say_what_is_loaded(pipe: Connection, folder: str) -> None:
    """Reply to jobs with whether this process has imported a module."""
    assert folder
    pipe.send("ready")
    while True:
        pipe.recv()
        pipe.send(JobReply(200, head=str(LOADED in sys.modules).encode()))


@pytest.mark.skipif(sys.platform != "linux", reason="optional: each process imports by itself")
def test_the_processes_of_every_pool_begin_with_what_questions_need(tmp_path: Path) -> None:
    async def case() -> None:
        for _ in range(2):
            pool = WorkerPool(
                say_what_is_loaded,
                tmp_path,
                size=1,
                queue=1,
                seconds=60,
                option="--timeout",
                max_memory=1 << 30,
            )
            assert (await pool.run("a job")).head == b"True"
            pool.close()

    asyncio.run(case())
