"""``sarag query`` ends: by a time limit, by Ctrl-C, with one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import QueryError, QueryTimeoutError
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag, interruptible
from tests.sample_graph import make_graph

ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n1 ?o }"
NAMES = "SELECT DISTINCT ?name { ?e skos:prefLabel ?name } ORDER BY ?name"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("limited") / "kg")


def test_a_query_ends_at_its_time_limit(sarag: Sarag, folder: Path) -> None:
    query = ("query", "--kg", folder, "--timeout", "0.2", ENDLESS)
    sarag(*query).fails(1, "the query took more than 0.2 seconds", "--timeout")


def test_results_are_those_without_a_limit(folder: Path) -> None:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        for query in (NAMES, "ASK { ?a a sarag:Entity }"):
            plain = kg.query(query)
            assert kg.query(query, timeout=60) == kg.query(query, timeout=0) == plain
        with pytest.raises(QueryTimeoutError):
            kg.query(ENDLESS, timeout=0.1)
        with pytest.raises(QueryError, match="does not parse"):
            kg.query("SELECT", timeout=60)
        with pytest.raises(QueryError):
            kg.query("SELECT * { SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } }", timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_ends_a_query(folder: Path) -> None:
    command = [sys.executable, "-m", "sarag_rdf", "query", "--kg", str(folder)]
    process = subprocess.Popen(
        [*command, "--timeout", "0", ENDLESS],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    timers = [threading.Timer(s, os.kill, (process.pid, signal.SIGINT)) for s in (3, 10, 20)]
    for timer in timers:
        timer.start()
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        for timer in timers:
            timer.cancel()
        process.kill()
    assert process.returncode == 130, errors
    assert len(errors.strip().splitlines()) == 1, errors


def test_json_is_the_format_json(sarag: Sarag, folder: Path) -> None:
    flag = sarag("query", "--kg", folder, "--json", NAMES)
    assert flag.out == sarag("query", "--kg", folder, "--format", "json", NAMES).out
    assert json.loads(flag.out)["head"] == {"vars": ["name"]}
    assert sarag("query", "--kg", folder, "--json", "--format", "json", NAMES).code == 0
    both = ("query", "--kg", folder, "--json", "--format", "csv", NAMES)
    sarag(*both).fails(2, "--json", "--format csv")
