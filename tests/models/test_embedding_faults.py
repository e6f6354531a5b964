"""What an endpoint of embeddings can do wrong: each is a typed error with one line."""

from __future__ import annotations

import gzip
import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import (
    EndpointDownError,
    EndpointError,
    EndpointTimeoutError,
    ModelError,
    RateLimitError,
    SaragError,
)
from sarag_rdf.models.client import OpenAIEmbedder
from sarag_rdf.models.openai_llm import OpenAILLM
from tests.fault_server import FaultServer, Play, data, failure, hang, playing, raw, reset
from tests.sample_graph import embeddings

SCHEMA = {"type": "object"}


def vectors(*rows: Any, **more: Any) -> Play:
    """A well-formed list of embeddings, whatever they hold."""
    listed = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    listed = [{**item, **more} for item in listed]
    body = {"object": "list", "model": "m", "data": listed, "usage": {}}
    return raw(200, json.dumps(body).encode())


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Send a byte of the body now and then, so that no single wait is long."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    _slowly(handler, b" " * 400)


def drip_headers(handler: BaseHTTPRequestHandler) -> None:
    """Send a byte of the headers now and then."""
    _slowly(handler, b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 400)


def _slowly(handler: BaseHTTPRequestHandler, sent: bytes) -> None:
    owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
    try:
        for byte in sent:
            if owner.releases.wait(0.05):
                return
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
    except OSError:  # the client has gone
        handler.close_connection = True


BOMB = gzip.compress(b" " * (64 << 20))
TWO = 2
ONCE, RETRIED = 1, 2
FAULTS: list[tuple[str, Play, type[SaragError], str, int]] = [
    ("reset", reset, EndpointDownError, "no connection", RETRIED),
    ("429", failure(429, "slow", Retry_After="0.05"), RateLimitError, "429", RETRIED),
    ("429 for long", failure(429, "no", Retry_After="9" * 30), RateLimitError, "429", ONCE),
    ("429 until", failure(429, "no", Retry_After="Fri, 31 Dec 2999 23:59:59 GMT"),
     RateLimitError, "429", ONCE),
    ("500", failure(500, "out of order"), EndpointDownError, "out of order", RETRIED),
    ("502", failure(502, "bad gateway"), EndpointDownError, "502", RETRIED),
    ("503", failure(503, "busy"), EndpointDownError, "503", RETRIED),
    ("hang", hang, EndpointTimeoutError, "in time", RETRIED),
    ("drip", drip, EndpointTimeoutError, "in time", ONCE),
    ("drip of headers", drip_headers, EndpointTimeoutError, "in time", ONCE),
    ("truncated", raw(200, b'{"data": [{"emb'), EndpointError, "base URL", ONCE),
    ("no JSON", raw(200, b"<html></html>", Content_Type="text/html"), SaragError, "", ONCE),
    ("empty", raw(200, b""), EndpointError, "base URL", ONCE),
    ("other JSON", raw(200, b'{"a": 1}'), ModelError, "no embeddings for 2", ONCE),
    ("null", raw(200, b"null"), SaragError, "", ONCE),
    ("too few", vectors([1.0]), ModelError, "1 embeddings for 2", ONCE),
    ("two lengths", vectors([1.0], [1.0, 2.0]), ModelError, "no vectors of one length", ONCE),
    ("no numbers", vectors(["a"], ["b"]), ModelError, "no vectors", ONCE),
    ("not a number", vectors([float("nan")], [1.0]), ModelError, "no vectors", ONCE),
    ("no vectors", vectors(None, None), ModelError, "no vectors", ONCE),
    ("empty vectors", vectors([], []), ModelError, "no vectors", ONCE),
    ("one place", vectors([1.0], [2.0], index=0), ModelError, "one for each text", ONCE),
    ("too large", raw(200, b" " * (3 << 20)), EndpointError, "more than 2 MiB", ONCE),
    ("bomb", raw(200, BOMB, Content_Encoding="gzip"), EndpointError, "more than 2 MiB", ONCE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("act", "kind", "told", "calls"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_each_fault_of_embeddings(act: Play, kind: type[SaragError], told: str, calls: int) -> None:
    with playing(act) as server:
        embedder = OpenAIEmbedder(
            ModelEndpoint(server.base_url, "m", timeout=0.4, max_reply=2), max_retries=1
        )
        with pytest.raises(kind) as caught:
            embedder.embed(["one", "two"])
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(server.requests) == calls


@pytest.mark.parametrize("act", [drip, drip_headers], ids=["body", "headers"])
def test_a_chat_that_drips(act: Play) -> None:
    with playing(act) as server:
        llm = OpenAILLM(ModelEndpoint(server.base_url, "m", timeout=0.4), max_retries=1)
        with pytest.raises(EndpointTimeoutError):
            llm.complete("Say.", SCHEMA, name="word", max_tokens=8)


@pytest.mark.parametrize("body", [b" " * (3 << 20), BOMB], ids=["large", "bomb"])
def test_a_chat_that_never_stops(body: bytes) -> None:
    more = {"Content_Encoding": "gzip"} if body is BOMB else {}
    with playing(raw(200, body, **more)) as server:
        llm = OpenAILLM(ModelEndpoint(server.base_url, "m", max_reply=2))
        with pytest.raises(EndpointError, match=r"more than 2 MiB.*--max-reply"):
            llm.complete("Say.", SCHEMA, name="word", max_tokens=8)
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_is_sent_where_an_endpoint_redirects(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("SARAG_API_KEY", "sk-secret-of-the-test")
    with playing(data({})) as other:
        target = other.base_url.replace("127.0.0.1", "localhost") + "/chat/completions"
        with playing(raw(status, b"", Location=f"{target}?key=sk-secret")) as server:
            llm = OpenAILLM(ModelEndpoint(server.base_url, "m"))
            with pytest.raises(EndpointError, match="redirects to http://localhost") as caught:
                llm.complete("Say.", SCHEMA, name="word", max_tokens=8)
            with pytest.raises(EndpointError, match="redirects"):
                OpenAIEmbedder(ModelEndpoint(server.base_url, "m")).embed(["one"])
        assert not other.requests
        assert "sk-secret" not in str(caught.value)


def test_what_was_embedded_is_in_order_and_of_length_one() -> None:
    with playing(embeddings) as server:
        found = OpenAIEmbedder(ModelEndpoint(server.base_url, "m"), batch_size=TWO).embed(
            ["a b", "c", "a b"]
        )
        assert len(server.requests) == 2
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0)
    assert np.array_equal(found[0], found[2])
    assert not np.array_equal(found[0], found[1])
