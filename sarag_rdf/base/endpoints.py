"""Endpoints over HTTP: a SPARQL 1.1 endpoint, and an OpenAI-compatible model endpoint."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.redaction import holds_password, masked, public_origin, remember_url

TIMEOUT = 60.0
"""Default timeout of a request in seconds, as at the Wikidata Query Service."""

LONGEST = 86_400
"""Maximum timeout of a request, in seconds."""

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


def _max_reply() -> Any:
    return option(64, "Maximum size of a response from an endpoint, in MiB.", ge=1)


@dataclass(frozen=True)
class SparqlEndpoint(Options):
    """A SPARQL endpoint: its URLs, its kind of graph, and the limits of requests.

    The URLs for writing follow from `query_url` where its path is a known one. `kind` names the
    folder of queries that reads it. Without `has_credentials`, those of the environment are for
    another endpoint and not sent to this one.
    """

    name = "an endpoint"
    query_url: str = option("", "URL for SPARQL queries.")
    update_url: str = option("", "URL of the endpoint for SPARQL Update.")
    store_url: str = option("", "URL of the endpoint for the Graph Store Protocol.")
    kind: GraphKind = option(
        "",
        "Kind of graph at the endpoint. Default: a graph that sarag wrote.",
        choices=("sarag", "wikibase", "wikibase-truthy", "skos", "rdf"),
        harmless=True,
    )
    graph: str = option(
        "",
        "IRI of the graph that is read there; default: the endpoint's default graph. Not for "
        "sarag, which names its graphs.",
        harmless=True,
    )
    timeout: float = option(
        TIMEOUT,
        "Time limit of a request to the SPARQL endpoint, in seconds.",
        gt=0,
        le=LONGEST,
        harmless=True,
    )
    max_reply: int = _max_reply()
    has_credentials: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for url in (self.query_url, *filter(None, (self.update_url, self.store_url))):
            check_url(url, "SARAG_SPARQL_USER and SARAG_SPARQL_PASSWORD")
            remember_url(url)

    def writable(self) -> SparqlEndpoint:
        """The same with the URLs for writing filled in by convention where they are known."""
        parts = urlsplit(self.query_url)
        for pattern, *paths in _CONVENTIONS:
            if match := re.fullmatch(pattern, parts.path):
                update, store = (parts._replace(path=match.expand(p)).geturl() for p in paths)
                return replace(
                    self,
                    update_url=self.update_url or update,
                    store_url=self.store_url or store,
                )
        return self

    def beside(self, other: SparqlEndpoint) -> SparqlEndpoint:
        """The same, without credentials if it is on another host than `other`, which has them."""
        origins = [urlsplit(endpoint.query_url.lower())[:2] for endpoint in (self, other)]
        return self if origins[0] == origins[1] else replace(self, has_credentials=False)

    def cache(self) -> Path:
        """The folder of this endpoint's caches, below SARAG_CACHE_DIR or the user's cache."""
        host = re.sub(r"[^\w.-]", "-", urlsplit(self.query_url).netloc)
        digest = sha256_hex(self.query_url, self.kind, self.graph)[:16]
        named = os.environ.get("SARAG_CACHE_DIR")
        root = Path(named).expanduser() if named else user_folder("CACHE")
        return root / "endpoints" / f"{host}-{digest}"


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


def check_url(url: str, variables: str, *, is_valid: bool = True) -> None:
    """Raise `UsageError` for a URL that is not one of an endpoint, or contains a password.

    `variables` are those of the environment that take the place of a password.
    """
    if holds_password(url):
        raise UsageError(
            f"the URL of an endpoint must not contain a password: set {variables} in the "
            "environment"
        )
    if not (is_valid and is_http_url(url)) or _NOT_IN_URL.search(url):
        shown = public_origin(masked(url))
        raise UsageError(f"not the URL of an endpoint: '{shown}': use http://HOST/PATH")


_USER_FOLDERS = {"CACHE": ".cache", "CONFIG": ".config", "STATE": ".local/state"}


def user_folder(kind: Literal["CACHE", "CONFIG", "STATE"]) -> Path:
    """The user's folder for files of a kind (XDG); a path that is not absolute is ignored."""
    named = Path(os.environ.get(f"XDG_{kind}_HOME", ""))
    return (named if named.is_absolute() else Path.home() / _USER_FOLDERS[kind]) / "sarag"


@dataclass(frozen=True)
class ModelEndpoint(Options):
    """An OpenAI-compatible endpoint; its key comes from the environment alone."""

    name = "an endpoint"
    base_url: str = option(
        "",
        "URL of an OpenAI-compatible endpoint. Its key is read from SARAG_API_KEY or "
        "OPENAI_API_KEY.",
    )
    model: str = option("", "Model at the endpoint; default: its only one.")
    timeout: float = option(
        120.0, "Time limit of a request to it, in seconds.", gt=0, le=LONGEST, harmless=True
    )
    concurrency: int = option(4, "Number of concurrent calls.", ge=1, harmless=True)
    price_in: float = option(
        0.0, "Price of a million input tokens, in US dollars.", ge=0, harmless=True
    )
    price_out: float = option(
        0.0, "Price of a million output tokens, in US dollars.", ge=0, harmless=True
    )
    temperature: float = option(0.0, "Sampling temperature of the model.", ge=0, harmless=True)
    seed: int = option(0, "Random seed of the model.", harmless=True)
    max_reply: int = _max_reply()
    loading_wait: float = option(
        60.0,
        "Time to wait for a server that is loading its model, in seconds.",
        ge=0,
        le=LONGEST,
        harmless=True,
    )
    top_p: float = option(
        1.0, "Share of probability that the model samples from.", gt=0, le=1, harmless=True
    )

    @classmethod
    def from_environment(cls) -> ModelEndpoint | None:
        """The endpoint that SARAG_BASE_URL or OPENAI_BASE_URL names, or None."""
        url = os.environ.get("SARAG_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
        return cls(url, os.environ.get("SARAG_MODEL", "")) if url else None
