"""``sarag serve`` as a command: how it starts, what it refuses, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Thread

import pytest

from tests.command import Sarag, run_sarag
from tests.sample_graph import make_graph
from tests.server.running import all_end, serving
from tests.server.test_query import HEAVY


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    return make_graph(tmp_path / "kg")


def test_a_missing_graph(sarag: Sarag, tmp_path: Path) -> None:
    sarag("serve", "--kg", tmp_path / "none").fails(1, "no graph at", "sarag index")


def test_a_part_that_there_is_not(sarag: Sarag, kg: Path) -> None:
    done = sarag("serve", "--kg", kg, "--port", "0", "--over", "rivers")
    done.fails(2, "no such graph: 'rivers'", "documents")


def test_the_default_graph_is_that_of_the_server(kg: Path) -> None:
    for choice, found in (("union", "true"), ("empty", "false")):
        with serving(kg, "--default-graph", choice) as server:
            assert server.query("ASK { ?s ?p ?o }", "text/csv").text.strip() == found


def test_a_port_in_use(sarag: Sarag, kg: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sarag("serve", "--kg", kg, "--port", str(port)).fails(2, str(port), "in use", "--port")


def test_a_temporary_folder_with_a_long_path(kg: Path) -> None:
    """The processes listen on a socket in it, whose path may have some 100 characters."""
    folder = kg.parent / ("long" * 30)
    folder.mkdir()
    done = run_sarag("serve", "--kg", kg, "--port", "0", cwd=kg.parent, env={"TMPDIR": str(folder)})
    done.fails(1, "cannot start a worker process", "TMPDIR")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7", "x" * 300, "a b"])
def test_a_bad_host(sarag: Sarag, kg: Path, host: str) -> None:
    done = sarag("serve", "--kg", kg, "--host", host, "--port", "0", "--anonymous")
    done.fails(2, host)


@pytest.mark.parametrize("token", ["", "short", "with blanks in between", "ä" * 20])
def test_writing_needs_a_good_token(
    sarag: Sarag, kg: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARAG_SERVE_TOKEN", token)
    done = sarag("serve", "--kg", kg, "--writable")
    done.fails(2, "SARAG_SERVE_TOKEN", "at least 16")
    assert not token or token not in done.err


@pytest.mark.parametrize("url", ["kg.example.org", "ftp://a/", "https://", "https://a/?b"])
def test_a_bad_public_url(sarag: Sarag, kg: Path, url: str) -> None:
    sarag("serve", "--kg", kg, "--public-url", url).fails(2, "--public-url")


@pytest.mark.parametrize("is_forked", [False, True])
def test_it_tells_where_it_is_and_ends_with_its_processes(kg: Path, *, is_forked: bool) -> None:
    with serving(kg, is_forked=is_forked) as server:
        children = server.children()
        assert len(children) >= 2
        server.stop()
        assert server.process.returncode == 0
        assert server.stdout is not None
        said = server.stdout.read()
        for path in ("/sparql", "/rdf-graph-store", "/search?q=", "/docs", "/openapi.json"):
            assert server.url + path in said
        lines = server.log.read_text().splitlines()
        assert lines[-1] == "sarag: stopped"
        assert "Traceback" not in server.log.read_text()
        assert all_end(children)


def test_it_ends_in_the_middle_of_a_query(kg: Path) -> None:
    with serving(kg, "--timeout", "300") as server:
        children = server.children()
        ends: list[object] = []

        def ask() -> None:
            try:
                ends.append(server.query(HEAVY).status)
            except (OSError, HTTPException) as error:
                ends.append(error)

        thread = Thread(target=ask)
        thread.start()
        time.sleep(1)
        server.stop()
        assert server.process.returncode == 0
        assert all_end(children)
        assert "Traceback" not in server.log.read_text()
        thread.join()
        assert ends != [200]


def test_workers_end_with_a_server_that_is_killed(kg: Path) -> None:
    with serving(kg, is_forked=False) as server:
        children = server.children()
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        assert all_end(children)


def test_so_does_a_worker_that_is_at_work(kg: Path) -> None:
    with serving(kg, "--timeout", "60", "--workers", "1", is_forked=False) as server:
        children = server.children()

        def ask() -> None:
            with suppress(OSError, HTTPException):
                server.query(HEAVY)

        thread = Thread(target=ask)
        thread.start()
        time.sleep(1)
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        thread.join()
        assert all_end(children)


def test_through_a_proxy_the_public_url_is_named(kg: Path) -> None:
    with serving(kg, "--public-url", "https://data.example.org/kg/") as server:
        got = server.ask("GET", "/sparql", Host="data.example.org")
        assert server.port > 0
        assert "sd:endpoint <https://data.example.org/kg/sparql>" in got.text
        assert server.ask("GET", "/", Host="data.example.org").status == 200
        sent = server.ask("GET", "/sparql", Accept="text/html", Host="data.example.org")
        assert sent.headers["location"] == "https://data.example.org/kg/sparql-editor"
        assert server.ask("GET", "/", Host="other.example.org").status == 421
