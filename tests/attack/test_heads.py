"""What a client sends before a request is whole, or instead of one."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from sarag_rdf.server.http_server import HEAD_SECONDS, MAX_CONNECTIONS, MAX_HEAD
from tests.command import environment
from tests.sample_graph import make_graph
from tests.server.running import JSON, Running, serving

GET = b"GET /sparql?query=ASK%7B%7D HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    kg = make_graph(tmp_path_factory.mktemp("heads") / "kg")
    with serving(kg, "--max-body", "1", "--writable") as running:
        yield running


def status(answer: bytes) -> bytes:
    return answer.split(b" ")[1] if answer.startswith(b"HTTP/1.1 ") else answer[:50]


@pytest.mark.parametrize(
    "fields",
    [
        b"Accept: " + b"a/b, " * MAX_HEAD,
        b"X: 1\r\n" * MAX_HEAD,
        b"X: " + b"a" * 8 * MAX_HEAD,
    ],
    ids=["long", "many", "one"],
)
def test_large_heads_are_refused(server: Running, fields: bytes) -> None:
    assert status(server.raw(GET + fields + b"\r\n\r\n")) == b"431"
    assert server.query("ASK {}").status == 200


def test_a_large_head_that_follows_another_request_is_refused(server: Running) -> None:
    following = GET + b"X: 1\r\n" * MAX_HEAD + b"\r\n"
    answer = server.raw(GET + b"\r\n" + following)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert answer.count(b"HTTP/1.1 431") == 1


def test_long_queries_still_come_by_get(server: Running) -> None:
    assert server.query("ASK {} #" + "x" * (MAX_HEAD // 2)).status == 200


def test_accept_is_read_in_linear_time() -> None:
    """Twice as long a header takes about twice, not four times, as many steps."""
    from sarag_rdf.server.media import RESULT_TYPES, choose_media_type

    class Counted(str):
        calls = 0

        def split(self, *arguments: object) -> list[str]:
            Counted.calls += 1
            return str(self).split(",")

    found = choose_media_type(
        Counted(", ".join(f"a/b{n}" for n in range(20_000)) + ", text/csv"), RESULT_TYPES
    )
    assert found == "text/csv"
    assert Counted.calls == 1


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"400"),
        (b"Content-Encoding: gzip\r\nContent-Length: 5\r\n", b"415"),
        (b"Content-Encoding: identity\r\nContent-Length: 5\r\n", b"415"),  # of no type
        (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"400"),
        (b"Content-Length: -5\r\n", b"400"),
        (b"Transfer-Encoding: gzip, chunked\r\n", b"400"),
    ],
)
def test_ambiguous_framing_is_refused(server: Running, head: bytes, expected: bytes) -> None:
    body = b"0\r\n\r\nGET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n"
    start = b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    answer = server.raw(start + head + b"\r\n" + body)
    assert status(answer) == expected
    if expected == b"400":
        assert answer.count(b"\r\n\r\n") == 1  # what follows is not taken for a request


def test_no_host_that_a_client_names_is_redirected_to(tmp_path: Path) -> None:
    with serving(make_graph(tmp_path / "kg"), "--host", "0.0.0.0", "--anonymous") as server:
        got = server.ask("GET", "/sparql", Accept="text/html", Host="evil.example")
        assert (got.status, got.headers["location"]) == (303, "/sparql-editor")


def test_silent_connections_lock_nobody_out(server: Running) -> None:
    with ExitStack() as wires:
        silent = [
            _connected(server.port, wires, source=f"127.0.0.{2 + number % 10}")
            for number in range(MAX_CONNECTIONS + 30)
        ]
        assert server.query("ASK {}", JSON).status == 200
        for wire in silent:  # ended by then: by the time limit, or to make room
            assert _is_ended(wire)
    assert server.query("ASK {}").status == 200


@contextmanager
def offering(kg: Path, *options: str) -> Iterator[int]:
    """``sarag mcp --http`` on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sarag_rdf", "mcp", "--kg", str(kg), "--http", "--port"]
    process = subprocess.Popen([*command, str(port), *options], env=environment())
    try:
        deadline = time.monotonic() + 60
        with socket.socket() as probe:
            while probe.connect_ex(("127.0.0.1", port)):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def serving_port(kg: Path, *options: str) -> Iterator[int]:
    with serving(kg, *options) as server:
        yield server.port


@pytest.mark.parametrize("start", [serving_port, offering])
def test_a_client_has_few_connections_and_little_time_for_a_head(
    start: Callable[..., AbstractContextManager[int]], tmp_path: Path
) -> None:
    kg = make_graph(tmp_path / "kg")
    with start(kg, "--max-connections", "5") as port, ExitStack() as wires:
        begun = time.monotonic()
        other = _connected(port, wires, source="127.0.0.2")
        other.sendall(GET)
        silent = [_connected(port, wires) for _ in range(8)]
        assert all(map(_is_ended, silent[:3]))
        if time.monotonic() - begun < HEAD_SECONDS:
            assert not any(_is_ended(wire, wait=0) for wire in (other, *silent[3:]))
        assert status(other.recv(1000)) == b"408"
        assert all(map(_is_ended, silent))


def _connected(port: int, wires: ExitStack, source: str = "127.0.0.1") -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", port), source_address=(source, 0))
    wire.settimeout(HEAD_SECONDS * 10)
    return wires.enter_context(wire)


def _is_ended(wire: socket.socket, wait: float = HEAD_SECONDS * 10) -> bool:
    """Whether the server has closed a connection, or does so within that time."""
    wire.settimeout(wait)
    try:
        return wire.recv(1, socket.MSG_PEEK) == b""
    except ConnectionResetError:
        return True
    except BlockingIOError:
        return False
    finally:
        wire.settimeout(HEAD_SECONDS * 10)
