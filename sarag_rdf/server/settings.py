"""Settings of a server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyoxigraph as ox

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.redaction import masked
from sarag_rdf.base.sandbox import machine_memory
from sarag_rdf.server.access import ANONYMOUS, Access, AccessRules

MIN_MEMORY = 1 << 30
"""The least memory limit of a worker process that is chosen by default, in bytes."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Options of a server. Times in seconds; `max_body` and `max_memory` in bytes.

    `max_memory` is that of each worker process; 0 for half of the machine's memory divided by
    `workers`, but at least `MIN_MEMORY`. `max_connections` is that of one address. `max_rows` is 0
    for no limit. `queue` is the length of the queue of each worker pool (queries, writes,
    questions). With `union` the default graph of queries is the union of the parts in `over`, by
    default of the documents. `access` says who may do what; nobody can write unless the server is
    `writable`. `audit` is a file to which requests are recorded. `cors` is an origin whose pages
    may read responses, or ``*``. `public_url` is the URL behind a reverse proxy. `has_model` says
    whether questions are answered by a language model.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 7878
    timeout: float = 30.0
    write_timeout: float = 600.0
    max_rows: int = 100_000
    max_body: int = 64 << 20
    max_memory: int = 0
    max_connections: int = 100
    workers: int = 2
    question_timeout: float = 120.0
    question_workers: int = 2
    queue: int = 16
    union: bool = True
    over: tuple[str, ...] = ()
    access: AccessRules = field(default_factory=lambda: AccessRules(Access(ANONYMOUS)))
    writable: bool = False
    audit: Path | None = None
    allow_service: bool = False
    allow_load: bool = False
    cors: str = ""
    public_url: str = ""
    has_model: bool = False

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return self.folder / "store"

    @property
    def worker_memory(self) -> int:
        """The memory limit of a worker process, in bytes."""
        return self.max_memory or max(MIN_MEMORY, machine_memory() // 2 // self.workers)

    @property
    def is_loopback(self) -> bool:
        """Whether the server accepts connections from this machine only."""
        return is_loopback(self.host)

    def accepts_host(self, host: str) -> bool:
        """Whether a request may name this host.

        A server for this machine has the names of this machine, and that of its `public_url`;
        another one has any name.
        """
        if not self.is_loopback or is_loopback(host):
            return True
        return bool(host) and host == urlsplit(self.public_url).hostname


def is_loopback(host: str) -> bool:
    """Whether an address accepts connections from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
