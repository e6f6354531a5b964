"""Settings of a server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyoxigraph as ox

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.redaction import masked
from sarag_rdf.base.sandbox import machine_memory
from sarag_rdf.server.access import ANONYMOUS, Access, AccessRules

MIN_MEMORY = 1 << 30
"""The least memory limit of a worker process that is chosen by default, in bytes."""


@dataclass(frozen=True)
class ServeSettings(Options):
    """Options of a server.

    `over` are the parts that are read, by default the documents. `access` says who may do what;
    nobody can write unless the server is `writable`. `has_model` says whether questions are
    answered by a language model.
    """

    name = "a server"
    folder: Path
    host: str = option("127.0.0.1", "Address to listen on.")
    port: int = option(7878, "Port to listen on; 0 for any free port.", ge=0, le=65535)
    timeout: float = option(30.0, "Time limit of a query, in seconds.", gt=0)
    write_timeout: float = option(600.0, "Time limit of an update, in seconds.", gt=0)
    max_rows: int = option(
        100_000, "Maximum number of rows or triples of a result; 0 for no limit.", ge=0
    )
    max_body: int = option(64, "Maximum size of a request body, in MiB.", ge=1)
    max_memory: int | None = option(
        None,
        "Maximum memory of each worker process, in MiB. Default: half of the machine's memory "
        "divided by the number of workers for queries, but at least 1024.",
        ge=64,
    )
    max_connections: int = option(
        100,
        "Maximum number of connections from one address. A reverse proxy has one address: set as "
        "many as it may open.",
        ge=1,
    )
    workers: int = option(2, "Number of worker processes for queries.", ge=1, le=256)
    question_timeout: float = option(
        120.0, "Time limit of a request to /search or /ask, in seconds.", gt=0
    )
    question_workers: int = option(
        2, "Number of worker processes for questions; each loads its own models.", ge=1, le=256
    )
    queue: int = option(
        16, "Length of the queue of each worker pool; further requests get 503.", ge=0
    )
    default_graph: str = option(
        "union",
        "Default graph of queries: the union of the graphs of --over, or the unnamed graph.",
        choices=("union", "empty"),
    )
    writable: bool = option(False, "Accept writes from clients whose token permits them.")
    tokens: Path | None = option(
        None,
        "YAML file of tokens and their permissions (see sarag token --help). The token in "
        "SARAG_SERVE_TOKEN may do everything.",
    )
    anonymous: bool = option(
        False,
        "Permit reading and asking without a token. Without --tokens, this is the default on this "
        "machine.",
    )
    audit: Path | None = option(
        None,
        "Append a line of JSON for each request to this file: client, operation, time, rows.",
    )
    allow_service: bool = option(False, "Permit SERVICE, which sends requests to other servers.")
    allow_load: bool = option(False, "Permit LOAD, which sends requests to other servers.")
    cors: str = option("", "Allow pages of this origin to read responses; * for any origin.")
    public_url: str = option("", "URL of the server behind a reverse proxy.")
    over: tuple[str, ...] = ()
    access: AccessRules = field(default_factory=lambda: AccessRules(Access(ANONYMOUS)))
    has_model: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "public_url", checked_public_url(self.public_url))

    @property
    def union(self) -> bool:
        """Whether the default graph of queries is the union of the parts in `over`."""
        return self.default_graph == "union"

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return self.folder / "store"

    @property
    def worker_memory(self) -> int:
        """The memory limit of a worker process, in bytes."""
        if self.max_memory is not None:
            return self.max_memory << 20
        return max(MIN_MEMORY, machine_memory() // 2 // self.workers)

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
