"""What a server is started with."""

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
LEAST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Options of a server; times in seconds, `max_rows` in rows or triples, 0 for no limit.

    As many as `queue` queries may wait, as many writes, and as many questions. `union` makes the
    default graph of queries the union of the parts in `over`, by default the documents; `token` is
    what a writer must show, empty for a server that is read only; `cors` is an origin that browsers
    may read from; `public_url` is where the server is reached through a proxy; `max_body` in bytes.
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
        """The folder of the store itself."""
        return self.folder / "store"

    @property
    def writable(self) -> bool:
        return bool(self.token)

    @property
    def is_loopback(self) -> bool:
        """Whether the server listens to this machine alone."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def hosts(self) -> frozenset[str]:
        """Names that a request may call the server by; empty for any."""
        if not self.is_loopback:
            return frozenset()
        public = urlsplit(self.public_url).hostname
        return frozenset({"localhost", "127.0.0.1", "::1", self.host, public or "localhost"})


def token_from_environment(*, writable: bool) -> str:
    """The token of writers; raises `UsageError` for a writable server without a good one."""
    if not writable:
        return ""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if len(token) < LEAST_TOKEN or not token.isascii() or any(c.isspace() for c in token):
        raise UsageError(
            f"--writable needs a token: set {TOKEN_VARIABLE} to at least {LEAST_TOKEN} ASCII "
            "characters without blanks; who writes sends it as  Authorization: Bearer TOKEN"
        )
    return token


def checked_public_url(url: str) -> str:
    """A public URL without a slash at its end; raises `UsageError` for one that is none."""
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        ox.NamedNode(url)
    except ValueError:
        sound = False
    if not sound or "?" in url or "#" in url or "@" in url:
        raise UsageError(
            "--public-url takes an http or https URL without '?', '#' and password, not "
            f"'{masked(url)}'"
        )
    return url.rstrip("/")
