"""Endpoints over HTTP: a SPARQL 1.1 endpoint, and an OpenAI-compatible model endpoint."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.redaction import holds_password, masked, remember_url

TIMEOUT = 60.0
"""Default timeout of a request in seconds, as at the Wikidata Query Service."""

LONGEST = 86_400
"""Maximum timeout of a request, in seconds."""
MAX_REPLY = 64 << 20
"""Maximum size of a reply in bytes, by default."""
LOADING_WAIT = 60.0
"""Seconds to wait for a model server that is still loading its model, by default."""

_NOT_IN_URL = re.compile(r"[\s<>\"{}|\\^`#]")

GraphKind = Literal["", "sarag", "wikibase", "wikibase-truthy", "skos", "rdf"]

_CONVENTIONS: tuple[tuple[str, str, str], ...] = (
    (r"/query", "/update", "/store"),  # Oxigraph
    (r"/sparql", "/sparql", "/sparql-graph-crud"),  # Virtuoso
    (r"/sparql-auth", "/sparql-auth", "/sparql-graph-crud-auth"),  # Virtuoso with a password
    (r"(.*/repositories/[^/]+)", r"\1/statements", r"\1/rdf-graphs/service"),  # RDF4J, GraphDB
    (r"(/.+)/(?:query|sparql)", r"\1/update", r"\1/data"),  # Fuseki
)
"""Path of a query endpoint -> paths for update and for the Graph Store Protocol."""


@dataclass(frozen=True, slots=True)
class SparqlEndpoint:
    """A SPARQL endpoint: its URLs, its kind of graph, and the limits of requests.

    `update_url` and `store_url` (Graph Store Protocol) are for writing; left empty they follow
    from `query_url` where its path is a known one. `kind` names the folder of queries that reads
    it, empty for a graph that sarag wrote. `graph` is the IRI of the graph that is read if the
    kind is another one; empty for the endpoint's default graph. `timeout` in seconds a request,
    `max_reply` in bytes of an answer. Without `has_credentials`, those of the environment are for
    another endpoint and not sent to this one.
    """

    query_url: str
    update_url: str = ""
    store_url: str = ""
    kind: GraphKind = ""
    graph: str = ""
    timeout: float = TIMEOUT
    max_reply: int = MAX_REPLY
    has_credentials: bool = True

    def __post_init__(self) -> None:
        for url in (self.query_url, *filter(None, (self.update_url, self.store_url))):
            _check(url)
            remember_url(url)
        if not 0 < self.timeout <= LONGEST or self.max_reply < 1:
            raise UsageError(
                f"the timeout of an endpoint must be above 0 and at most {LONGEST} seconds, and "
                "max_reply at least 1 byte"
            )

    def writable(self) -> SparqlEndpoint:
        """The same with the URLs for writing filled in by convention where they are known."""
        parts = urlsplit(self.query_url)
        update, store = _by_convention(parts.path)
        return replace(
            self,
            update_url=self.update_url or (parts._replace(path=update).geturl() if update else ""),
            store_url=self.store_url or (parts._replace(path=store).geturl() if store else ""),
        )

    def beside(self, other: SparqlEndpoint) -> SparqlEndpoint:
        """The same, without credentials if it is on another host than `other`, which has them."""
        origins = [urlsplit(endpoint.query_url.lower())[:2] for endpoint in (self, other)]
        return self if origins[0] == origins[1] else replace(self, has_credentials=False)

    def cache(self) -> Path:
        """The folder of this endpoint's caches, below SARAG_CACHE_DIR or the user's cache."""
        host = re.sub(r"[^\w.-]", "-", urlsplit(self.query_url).netloc)
        digest = sha256_hex(self.query_url, self.kind, self.graph)[:16]
        return _cache_root() / "endpoints" / f"{host}-{digest}"


def is_http_url(url: str) -> bool:
    """Whether a URL has the scheme http or https, a host, and a port from 1 to 65535 if any."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_url(location: object) -> bool:
    """Whether a location is the URL of an endpoint, not a folder."""
    return isinstance(location, str) and re.match(r"https?://", location, re.IGNORECASE) is not None


def _check(url: str) -> None:
    """Raise `UsageError` for a URL that is not one of an endpoint, or contains a password."""
    if not is_http_url(url) or _NOT_IN_URL.search(url):
        raise UsageError(f"not the URL of an endpoint: '{masked(url)}': use http://HOST/PATH")
    if holds_password(url):
        raise UsageError(
            "the URL of an endpoint must not contain a password: set SARAG_SPARQL_USER and "
            "SARAG_SPARQL_PASSWORD in the environment"
        )


def _by_convention(path: str) -> tuple[str, str]:
    for pattern, update, store in _CONVENTIONS:
        match = re.fullmatch(pattern, path)
        if match:
            return match.expand(update), match.expand(store)
    return "", ""


def _cache_root() -> Path:
    named = os.environ.get("SARAG_CACHE_DIR")
    if named:
        return Path(named).expanduser()
    return user_folder("CACHE")


_USER_FOLDERS = {"CACHE": ".cache", "CONFIG": ".config", "STATE": ".local/state"}


def user_folder(kind: Literal["CACHE", "CONFIG", "STATE"]) -> Path:
    """The user's folder for files of a kind (XDG Base Directory Specification).

    A path that is not absolute is ignored, as the specification says.
    """
    named = Path(os.environ.get(f"XDG_{kind}_HOME", ""))
    return (named if named.is_absolute() else Path.home() / _USER_FOLDERS[kind]) / "sarag"


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """An OpenAI-compatible endpoint; the key comes from the environment alone.

    `timeout` in seconds a request; `concurrency` calls at a time; prices in US dollars per
    million tokens, for the cost that is reported; `temperature` of at least 0, `top_p`, the
    share of probability that is sampled from, above 0 and at most 1, and the seed of what is left
    to chance, all part of a reply's identity in the cache; `max_reply` in bytes of
    an answer; `loading_wait` in seconds for a server that is still loading its model.
    """

    base_url: str
    model: str = ""
    timeout: float = 120.0
    concurrency: int = 4
    price_in: float = 0.0
    price_out: float = 0.0
    temperature: float = 0.0
    seed: int = 0
    max_reply: int = MAX_REPLY
    loading_wait: float = LOADING_WAIT
    top_p: float = 1.0

    def __post_init__(self) -> None:
        """Raises `UsageError` for a number out of range."""
        if not 0 < self.top_p <= 1:
            raise UsageError("top_p of an endpoint must be above 0 and at most 1")
        if not 0 < self.timeout <= LONGEST:
            raise UsageError(
                f"timeout of an endpoint must be above 0 and at most {LONGEST} seconds"
            )
        for name in ("concurrency", "max_reply"):
            if not getattr(self, name) >= 1:
                raise UsageError(f"{name} of an endpoint must be at least 1")
        for name in ("temperature", "price_in", "price_out"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"{name} of an endpoint must be at least 0")
        if not 0 <= self.loading_wait <= LONGEST:
            raise UsageError(f"loading_wait of an endpoint must be between 0 and {LONGEST} seconds")

    @classmethod
    def from_environment(cls) -> ModelEndpoint | None:
        """The endpoint that SARAG_BASE_URL or OPENAI_BASE_URL names, or None."""
        url = os.environ.get("SARAG_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
        return cls(url, os.environ.get("SARAG_MODEL", "")) if url else None
