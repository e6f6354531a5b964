"""Questions that would run for long, wait for a model, or crowd out others."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.fault_server import FaultServer, hang, playing
from tests.sample_graph import embeddings, files_of, make_graph, remote_embedder
from tests.server.running import Got, Running, all_end, serving

SLOW = "Who waits?"
"""A question that the embedding model never answers."""
PATIENCE = 60.0


def model(handler: BaseHTTPRequestHandler) -> None:
    """Embeds all texts but one; never completes anything."""
    texts = json.loads(handler.raw).get("input", [SLOW])  # type: ignore[attr-defined]
    (hang if SLOW in texts else embeddings)(handler)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FaultServer]:
    with playing(model) as server:
        yield server


@pytest.fixture(scope="module")
def kg(endpoint: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    embedder = remote_embedder(endpoint.base_url)
    return make_graph(tmp_path_factory.mktemp("attack") / "kg", embedder=embedder)


@pytest.fixture(scope="module")
def env(endpoint: FaultServer) -> dict[str, str]:
    return endpoint.settings


@pytest.fixture(scope="module")
def server(kg: Path, env: dict[str, str]) -> Iterator[Running]:
    with serving(kg, env=env) as running:
        yield running


def search(server: Running, question: str = "Ada", **options: str | int) -> Got:
    return server.ask("GET", "/search?" + urlencode({"q": question, **options}))


def is_refused(got: Got, *words: str) -> None:
    got.is_json_error(400, "bad_request", *words)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 10**9),
        ("n", 11),
        ("n", -1),
        ("k", "1" + "0" * 400),
        ("k", 1001),
        ("c", "nan"),
        ("c", "1e400"),
    ],
)
def test_numbers_are_bounded(server: Running, name: str, value: str | int) -> None:
    got = server.ask("GET", "/search?" + urlencode({"q": "Ada", name: value}))
    is_refused(got, f"{name} of sarag must be ")


def test_the_limit_is_bounded(server: Running) -> None:
    """It is a parameter of the request, not only an option of the retriever."""
    is_refused(search(server, limit=1001), "'limit': input should be less than or equal to 1000")


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 10**7},
        {"context": "graph-walk:hops=1000000000"},
        {"context": "whole:documents=100000"},
        {"reasoner": "decompose:most=100000"},
        {"reasoner": "single:max_tokens=100000000"},
        {"retriever": "khop", "n": 11},
    ],
)
def test_options_of_parts_are_bounded(server: Running, options: dict[str, object]) -> None:
    is_refused(server.ask("GET", "/ask?" + urlencode({"q": "Ada", **options})))


@pytest.mark.parametrize(
    "body",
    [
        b'{"q": "\\ud800"}',
        b'{"q": "Ada", "\\ud800": 1}',
        b'{"q": "Ada", "retriever": "\\udfff"}',
        b'{"q": "Ada", "k": 1' + b"0" * 400 + b"}",
        b'{"q": "Ada", "k": 1e308}',
        b'{"q": "Ada", "c": NaN}',
        b'{"q": "Ada", "k": Infinity}',
    ],
)
def test_what_json_can_say_and_text_cannot(server: Running, body: bytes) -> None:
    is_refused(server.ask("POST", "/search", body, Content_Type="application/json"))


def test_a_question_that_takes_too_long_is_stopped(kg: Path, env: dict[str, str]) -> None:
    with serving(kg, "--question-timeout", "3", "--question-workers", "1", env=env) as server:
        before = server.children()
        for _ in range(2):
            got = search(server, SLOW)
            assert got.status == 504, got
            assert got.json()["error"]["code"] == "timeout"
            assert "--question-timeout" in got.json()["error"]["message"]
        assert len(server.children() - before) == 1  # those that were stopped are gone


def test_a_question_ends_when_its_client_hangs_up(
    kg: Path, env: dict[str, str], endpoint: FaultServer
) -> None:
    options = ("--question-timeout", "300", "--question-workers", "1", "--queue", "4")
    with serving(kg, *options, env=env) as server:
        assert search(server).status == 200
        before = server.children()
        asked = len(endpoint.requests)
        with socket.create_connection((server.host, server.port)) as wire:
            path = "/search?" + urlencode({"q": SLOW})
            wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            _until(lambda: len(endpoint.requests) > asked)
        assert search(server).status == 200  # by another process
        (gone,) = before - server.children()
        assert all_end({gone})


def test_others_are_answered_while_a_model_is_awaited_and_an_interrupt_ends_it(
    kg: Path, env: dict[str, str], endpoint: FaultServer
) -> None:
    with serving(kg, "--question-timeout", "300", env=env) as server:
        children = server.children()
        found: list[Got] = []
        asked = len(endpoint.requests)
        thread = threading.Thread(target=lambda: found.append(search(server, SLOW)))
        thread.start()
        _until(lambda: len(endpoint.requests) > asked)
        assert search(server).status == 200
        assert found == []
        children |= server.children()
        begun = time.monotonic()
        server.stop()
        assert time.monotonic() - begun < 30
        thread.join()
        found[0].is_json_error(503, "busy", "stopping")
        assert server.process.returncode == 0
        assert all_end(children)
        assert "Traceback" not in server.log.read_text()


def test_a_read_only_server_leaves_the_graphs_folder_as_it_is(server: Running, kg: Path) -> None:
    assert search(server).status == 200
    before = {n: c for n, c in files_of(kg).items() if not n.endswith(("-wal", "-shm"))}
    for number in range(3):
        assert search(server, f"Who is number {number}?").status == 200
    after = {n: c for n, c in files_of(kg).items() if not n.endswith(("-wal", "-shm"))}
    assert after == before


def _until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
