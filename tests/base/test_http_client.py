"""Replies that are late, too large, redirected, or repeat a secret."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from sarag_rdf.base.endpoints import is_http_url
from sarag_rdf.base.http_client import (
    BoundedClient,
    DeadlineError,
    ReplySizeError,
    download,
    retry_after,
)
from tests.fault_server import FaultServer, playing, raw


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Send a byte now and then, so that no single wait is long."""
    handler.send_response(200)
    handler.end_headers()
    owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
    for _ in range(200):
        if owner.releases.wait(0.05):
            return
        handler.wfile.write(b" ")
        handler.wfile.flush()


def test_the_deadline_is_for_the_whole_reply() -> None:
    with playing(drip) as server, BoundedClient(5.0, 1 << 20, deadline=0.3) as client:
        begin = time.monotonic()
        with pytest.raises(DeadlineError):
            client.get(server.root)
        assert time.monotonic() - begin < 5.0


def test_a_reply_has_a_limit_and_an_error_page_is_cut() -> None:
    body = b"x" * 300_000
    with (
        playing(raw(200, body), raw(500, body), raw(200, b"whole")) as server,
        BoundedClient(5.0, 1000, deadline=5.0, max_error=2000) as client,
    ):
        with pytest.raises(ReplySizeError):
            client.get(server.root)
        reply = client.get(server.root)
        assert reply.status_code == 500
        assert 2000 <= len(reply.content) < len(body)
        assert client.get(server.root).content == b"whole"


def test_redirects_are_not_followed_and_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARAG_SPARQL_TOKEN", "open-sesame-2031")
    with playing(raw(200, b"")) as other:
        target = f"{other.root}/x"
        with (
            playing(raw(307, b"your open-sesame-2031", Location=target)) as server,
            BoundedClient(5.0, 1000, deadline=5.0) as client,
        ):
            reply = client.get(server.root, headers={"Authorization": "Bearer open-sesame-2031"})
        assert (reply.status_code, reply.text) == (307, "your ***")
        assert reply.headers["Location"] == target
        assert other.requests == []


def fetched(url: str, path: Path, *, deadline: float = 5.0, most: int = 1 << 20) -> bytes:
    download(url, path, seconds=5.0, deadline=deadline, most=most)
    return path.read_bytes()


def test_a_download_follows_redirects(tmp_path: Path) -> None:
    with (
        playing(raw(200, b"content")) as other,
        playing(raw(302, b"", Location=f"{other.root}/file"), raw(404, b"")) as server,
    ):
        assert fetched(server.root, tmp_path / "file") == b"content"
        with pytest.raises(httpx.HTTPStatusError):
            fetched(server.root, tmp_path / "file")


def test_a_download_has_limits(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with playing(raw(302, b"", Location="/again")) as server:
        with pytest.raises(httpx.TooManyRedirects):
            fetched(server.root, path)
        assert len(server.requests) == 6
    elsewhere = raw(302, b"x" * (8 << 20), Location="file:///etc/passwd")
    with playing(elsewhere) as server, pytest.raises(httpx.UnsupportedProtocol):
        fetched(server.root, path)
    with playing(raw(200, b"x" * 3000)) as server:
        assert len(fetched(server.root, path, most=3000)) == 3000
        with pytest.raises(ReplySizeError):
            fetched(server.root, path, most=2999)
    with playing(drip) as server, pytest.raises(DeadlineError):
        fetched(server.root, path, deadline=0.3)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8080/v1", True),
        ("https://example.org", True),
        ("ftp://example.org", False),
        ("http:///path", False),
        ("http://host:0/", False),
        ("http://host:99999/", False),
        ("example.org", False),
    ],
)
def test_urls(url: str, expected: bool) -> None:
    assert is_http_url(url) is expected


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after("2.5") == 2.5
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < (retry_after(soon) or 0) <= 100
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    assert retry_after(past) == 0.0
    assert [retry_after(value) for value in ("", "soon", "-1", "nan", "inf")] == [None] * 5
