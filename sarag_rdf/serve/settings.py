"""Settings of a server."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.redaction import masked

TOKEN_VARIABLE = "SARAG_SERVE_TOKEN"  # noqa: S105 - the name of a variable, not a secret
MIN_TOKEN = 16
"""The minimum length of the token."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Options of a server. Times in seconds, `max_body` in bytes, `max_rows` 0 for no limit.

    `queue` is the length of the queue of each worker pool (queries, writes, questions). With
    `union` the default graph of queries is the union of the parts in `over`, by default of the
    documents. `token` is the bearer token for writes, empty for a read-only server. `cors` is an
    origin whose pages may read responses, or ``*``. `public_url` is the URL behind a reverse proxy.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 7878
    timeout: float = 30.0
    write_timeout: float = 600.0
    max_rows: int = 100_000
    max_body: int = 64 << 20
    workers: int = 2
    question_timeout: float = 120.0
    question_workers: int = 2
    queue: int = 16
    union: bool = True
    over: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    allow_service: bool = False
    allow_load: bool = False
    cors: str = ""
    public_url: str = ""

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return self.folder / "store"

    @property
    def writable(self) -> bool:
        return bool(self.token)

    @property
    def is_loopback(self) -> bool:
        """Whether the server accepts connections from this machine only."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def hosts(self) -> frozenset[str]:
        """Host names that are accepted in requests; empty for any."""
        if not self.is_loopback:
            return frozenset()
        public = urlsplit(self.public_url).hostname
        return frozenset({"localhost", "127.0.0.1", "::1", self.host, public or "localhost"})


def token_from_environment(*, writable: bool) -> str:
    """The bearer token; raises `UsageError` if it is missing or too short for a writable server."""
    if not writable:
        return ""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if len(token) < MIN_TOKEN or not token.isascii() or any(c.isspace() for c in token):
        raise UsageError(
            f"--writable needs a token: set {TOKEN_VARIABLE} to at least {MIN_TOKEN} ASCII "
            "characters without spaces; clients send it as  Authorization: Bearer TOKEN"
        )
    return token


def checked_public_url(url: str) -> str:
    """The URL without a trailing slash; raises `UsageError` if it is invalid."""
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        ox.NamedNode(url)
    except ValueError:
        is_valid = False
    if not is_valid or "?" in url or "#" in url or "@" in url:
        raise UsageError(
            f"invalid --public-url '{masked(url)}': give an http or https URL without '?', '#' and "
            "password"
        )
    return url.rstrip("/")
