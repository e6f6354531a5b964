"""Bytes sent to a really started ``sarag serve``."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import run_sarag
from tests.fuzz.cases import case
from tests.fuzz.hostile import encoded, mutated
from tests.fuzz.test_imports import SEEDS
from tests.fuzz.test_queries import DEEP, QUERIES, UPDATES
from tests.sample_graph import make_graph, nquads
from tests.server.running import TOKEN, Running, serving

PATHS = (
    b"/sparql", b"/update", b"/rdf-graph-store", b"/rdf-graph-store/x", b"/search", b"/ask",
    b"/", b"/docs", b"/static/page.css", b"/static/../../etc/passwd", b"/%2e%2e/", b"//", b"*",
)  # fmt: skip
TYPES = (
    b"application/sparql-query", b"application/sparql-update", b"application/json",
    b"application/x-www-form-urlencoded", b"text/turtle", b"application/n-triples",
    b"multipart/form-data; boundary=b", b"text/turtle; charset=utf-16", b"",
)  # fmt: skip
_line = encoded.map(lambda data: data.replace(b"\r", b"").replace(b"\n", b""))
_headers = st.lists(
    st.tuples(
        st.sampled_from(
            [
                b"Accept",
                b"Host",
                b"Content-Length",
                b"Transfer-Encoding",
                b"X-A",
                b"Origin",
                b"Cookie",
            ]
        ),
        st.one_of(_line, st.sampled_from([b"-1", b"1e9", b"chunked", b"*/*;q=x", b"9" * 40])),
    ),
    max_size=2,
)
_bodies = st.one_of(
    mutated(*QUERIES),
    mutated(*QUERIES).map(lambda q: b"query=" + quote_from_bytes(q).encode()),
    mutated(b'{"q": "Ada", "limit": 2}', b'{"question": "Ada", "c": 1e400}'),
    mutated(SEEDS[".ttl"], SEEDS[".nt"], SEEDS[".rdf"], SEEDS[".jsonld"]),
    mutated(*UPDATES),
    mutated(b"--b\r\nContent-Type: text/turtle\r\n\r\n<urn:a> <urn:b> 1 .\r\n--b--\r\n"),
)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    method = draw(
        st.sampled_from([b"GET", b"POST", b"PUT", b"DELETE", b"HEAD", b"OPTIONS", b"TRACE"])
    )
    path = draw(st.sampled_from(PATHS))
    query = draw(
        st.one_of(
            st.just(b""),
            _line.map(lambda data: b"?" + data),
            mutated(*QUERIES).map(lambda q: b"?query=" + quote_from_bytes(q).encode()),
            st.sampled_from([b"?graph=urn:x", b"?default", b"?q=Ada", b"?query=%", b"?q=%ff"]),
        )
    )
    body = draw(_bodies)
    head = [method + b" " + path + query + b" HTTP/1.1", b"Host: localhost", b"Connection: close"]
    head.append(b"Content-Type: " + draw(st.sampled_from(TYPES)))
    if draw(st.booleans()):
        head.append(b"Authorization: Bearer " + TOKEN.encode())
    if draw(st.booleans()):
        head.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        head.append(b"Content-Length: %d" % len(body))
    head += [name + b": " + value for name, value in draw(_headers)]
    whole = b"\r\n".join(head) + b"\r\n\r\n" + body
    return draw(st.one_of(st.just(whole), mutated(whole)))


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as name:
        make_graph(Path(name) / "kg")
        with serving(
            Path(name) / "kg", "--writable", "--timeout", "60", "--max-body", "1"
        ) as found:
            yield found


def _answer(server: Running, data: bytes) -> bytes:
    """What the server says to these bytes, after which the client says that no more come."""
    with socket.create_connection((server.host, server.port), timeout=20) as wire:
        parts = []
        try:
            wire.sendall(data)
            wire.shutdown(socket.SHUT_WR)
            while part := wire.recv(1 << 16):
                parts.append(part)
        except (ConnectionResetError, BrokenPipeError):
            pass
    return b"".join(parts)


@given(data=requests())
@case("requests")
def test_requests(server: Running, data: bytes) -> None:
    answer = _answer(server, data)
    assert server.process.poll() is None
    assert not answer or answer.startswith(b"HTTP/1.1 "), answer[:200]
    assert b"Traceback" not in answer
    assert b"unexpected" not in answer, answer
    assert not answer.startswith(b"HTTP/1.1 500"), answer


@pytest.mark.parametrize("what", DEEP)
def test_deep_queries_end_no_worker(server: Running, what: str) -> None:
    before = _workers(server)
    got = server.ask("POST", "/sparql", DEEP[what], Content_Type="application/sparql-query")
    got.is_line(400)
    assert _workers(server) == before


def _workers(server: Running) -> set[int]:
    """Children of the server and theirs; those of workers try what is long, and may end."""
    every = {server.process.pid}
    for _ in range(2):
        for number in [*every]:
            path = Path(f"/proc/{number}/task/{number}/children")
            every |= {int(child) for child in path.read_text().split()}
    return every


def test_the_server_is_well_and_the_graph_sound(server: Running) -> None:
    """Runs behind the others."""
    assert server.query("ASK { ?s ?p ?o }").json()["boolean"] is True
    assert "Traceback" not in server.log.read_text()
    kg = server.log.parent / "kg"
    assert run_sarag("validate", "--kg", kg, cwd=kg.parent).code == 0
    assert nquads(kg)
