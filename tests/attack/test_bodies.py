"""Bodies that are large, slow, hidden in many fields, or sent without the token."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.requests import BODY_SECONDS, MOST_PARAMETERS, parse_parameters
from tests.sample_graph import make_graph
from tests.server.running import TOKEN, Running, serving

FORM = "application/x-www-form-urlencoded"
_MIB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    kg = make_graph(tmp_path_factory.mktemp("bodies") / "kg")
    with serving(kg, "--writable", "--max-body", "64") as running:
        yield running


def most_memory(server: Running) -> int:
    """The largest amount of memory that the server's process ever had, in bytes."""
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) << 10


@pytest.mark.parametrize("path", ["/update", "/sparql", "/rdf-graph-store?graph=urn:g"])
def test_without_the_token_no_body_is_read(server: Running, path: str) -> None:
    """The answer comes though the body never does."""
    kind = "text/turtle" if "graph" in path else "application/sparql-update"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    for said in ("", "Authorization: Bearer wrong-one-of-16-chars\r\n"):
        with socket.create_connection((server.host, server.port), timeout=60) as wire:
            wire.sendall(f"{head}{said}Content-Length: 60000000\r\n\r\n".encode())
            assert wire.recv(100).startswith(b"HTTP/1.1 401 ")


def test_a_form_without_the_token_is_as_short_as_a_query(server: Running) -> None:
    head = f"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\n"
    with socket.create_connection((server.host, server.port), timeout=60) as wire:
        wire.sendall(f"{head}Content-Length: 60000000\r\n\r\n".encode())
        assert wire.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"query=" + b"%41" * (15 * _MIB), 413),
        (b"a&" * (20 * _MIB), 400),
        (b"query=ASK{}&" + b"&" * (20 * _MIB), 400),
        (b"query=" + b"+" * (40 * _MIB), 413),
    ],
    ids=["escapes", "fields", "nothing", "blanks"],
)
def test_forms_take_memory_as_their_size_and_hold_up_nobody(
    server: Running, body: bytes, status: int
) -> None:
    before = most_memory(server)
    ends: list[int] = []

    def send() -> None:
        ends.append(server.ask("POST", "/sparql", body, token=True, Content_Type=FORM).status)

    thread = threading.Thread(target=send)
    thread.start()
    while thread.is_alive():
        assert server.ask("GET", "/openapi.json").status == 200
        thread.join(0.05)
    assert ends == [status]
    assert most_memory(server) - before < 8 * len(body) + 50 * _MIB


def test_escapes_are_decoded_wherever_they_are_cut() -> None:
    text = "ä%" * 100_000 + "Ω"
    for shift in range(4):
        plain = "x" * shift + text
        encoded = "".join(f"%{byte:02X}" for byte in plain.encode())
        assert parse_parameters(f"a={encoded}".encode()) == [("a", plain)]
    assert len(parse_parameters(b"a&" * (MOST_PARAMETERS - 1) + b"a")) == MOST_PARAMETERS
    with pytest.raises(RequestError, match="parameters"):
        parse_parameters(b"a&" * MOST_PARAMETERS + b"a")


def test_a_body_that_does_not_come_is_given_up(server: Running) -> None:
    head = "POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\n"
    begun = time.monotonic()
    with socket.create_connection((server.host, server.port), timeout=BODY_SECONDS * 10) as wire:
        wire.sendall(f"{head}Content-Length: 100\r\n\r\nASK".encode())
        answer = wire.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - begun < BODY_SECONDS * 10


def test_the_token_still_lets_updates_in(server: Running) -> None:
    text = "INSERT DATA { GRAPH <http://a.example/g> { <urn:a> <urn:b> 1 } }"
    assert server.update(text).status == 204
    got = server.ask(
        "POST",
        "/sparql",
        f"update={text}".encode(),
        Authorization=f"Bearer {TOKEN}",
        Content_Type=FORM,
    )
    assert got.status == 204
