"""Queries that are small and need much memory: one error each, and the next one is answered."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from sarag_rdf.base.sandbox import _resident, machine_memory, process_memory
from sarag_rdf.server.serve_settings import MIN_MEMORY, ServeSettings
from tests.sample_graph import make_graph
from tests.server.running import Running, serving

MEMORY = 400
"""MiB that a worker may use."""
QUADS = 100_000
LARGE = {
    "minus": "SELECT * { ?a ?b ?c . ?d ?e ?f MINUS { ?a ?x ?y . ?d ?z ?w } }",
    "order": "SELECT * { ?a ?b ?c . ?d ?e ?f } ORDER BY ?c ?f",
    "group": "SELECT ?c ?f (GROUP_CONCAT(?a) AS ?n) { ?a ?b ?c . ?d ?e ?f } GROUP BY ?c ?f",
    "replace": """SELECT (STRLEN(REPLACE(REPLACE(REPLACE(?s, ".", ?s), ".", ?s), ".", ?s)) AS ?r)
        { VALUES ?s { "%s" } }"""
    % ("x" * 400),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    kg = make_graph(tmp_path_factory.mktemp("memory") / "kg")
    store = ox.Store(kg / "store")
    graph = ox.NamedNode("urn:large")
    store.bulk_extend(
        ox.Quad(
            ox.NamedNode(f"urn:s{number}"),
            ox.NamedNode(f"urn:p{number % 7}"),
            ox.Literal(f"text {number}"),
            graph,
        )
        for number in range(QUADS)
    )
    del store
    options = ("--max-memory", str(MEMORY), "--workers", "1", "--writable")
    with serving(kg, *options, "--timeout", "300", "--write-timeout", "300") as running:
        yield running


@pytest.mark.parametrize("name", LARGE)
def test_a_query_that_needs_too_much_memory_is_one_error(server: Running, name: str) -> None:
    server.query(LARGE[name]).is_line(507, f"memory limit of {MEMORY} MiB", "--max-memory")
    assert server.query("ASK {}").status == 200
    assert all(process_memory(child) < MEMORY << 20 for child in server.children())


def test_an_update_that_needs_too_much_memory_writes_nothing(server: Running) -> None:
    where = LARGE["minus"].partition("*")[2]
    update = f"INSERT {{ GRAPH <urn:own> {{ ?a ?b ?f }} }} WHERE {{ GRAPH <urn:large> {where} }}"
    server.update(update).is_line(507, f"memory limit of {MEMORY} MiB")
    assert server.values("SELECT ?s { GRAPH <urn:own> { ?s ?p ?o } }") == []
    assert server.update("INSERT DATA { GRAPH <urn:own> { <urn:a> <urn:b> <urn:c> } }").status < 300


def test_a_worker_that_crashes_is_another_error(tmp_path: Path) -> None:
    with serving(make_graph(tmp_path / "kg"), "--workers", "1") as server:
        for cause, status in ((signal.SIGSEGV, 500), (signal.SIGKILL, 507)):
            _signal_workers(server, cause)
            got = server.query("ASK {}")
            got.is_line(status, "the worker process", "SIGSEGV" if status == 500 else "memory")
            assert server.query("ASK {}").status == 200


def _signal_workers(server: Running, number: int) -> None:
    """Send a signal to the processes that have been forked to run jobs."""
    for child in server.children():
        parent = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1]
        if int(parent) != server.process.pid:
            os.kill(child, number)


def test_memory_is_known_without_proc() -> None:
    own = process_memory(os.getpid())
    resident = _resident(os.getpid())
    assert 0 < own < resident < machine_memory()
    assert process_memory(1 << 30) == _resident(1 << 30) == 0


def test_the_limit_follows_from_the_machine_and_the_workers(tmp_path: Path) -> None:
    two, many = (ServeSettings(tmp_path, workers=n).worker_memory for n in (2, 256))
    assert two >= many == MIN_MEMORY
    assert ServeSettings(tmp_path, max_memory=64, workers=9).worker_memory == 64 << 20
