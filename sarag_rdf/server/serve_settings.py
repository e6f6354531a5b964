"""Settings of a server: its options, and tokens with what their holders may do."""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, get_args
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sarag_rdf.base.endpoints import SparqlEndpoint, is_http_url
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.redaction import masked
from sarag_rdf.base.sandbox import machine_memory
from sarag_rdf.server.jobs import AccessibleGraphs, RequestError

MIN_MEMORY = 1 << 30
"""The least memory limit of a worker process that is chosen by default, in bytes."""


DEFAULT_GRAPHS: Final = ("union", "empty")
_NOT_REMOTE: Final = {
    "writable": "--writable is for a graph in a folder: write to the endpoint itself (sarag index "
    "PATH --kg {url})",
    "allow_service": "--allow-service is for a graph in a folder: by SERVICE, the endpoint would "
    "read for a client what its token may not",
}
"""Why a server of an endpoint does not have an option."""


@dataclass(frozen=True)
class ServeSettings(Options):
    """Options of a server.

    `over` are the parts that are read, by default the documents. Nobody can write unless the
    server is `writable`. `has_model` says whether a language model answers questions.
    """

    name = "a server"
    kg: Path | SparqlEndpoint
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
        "divided by the number of workers for queries and pages, but at least 1024.",
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
        128,
        "Length of the queue of each worker pool; further requests get 503. One client fills half.",
        ge=0,
    )
    default_graph: str = option(
        "union",
        "Default graph of queries: the union of the graphs of --over, or the unnamed graph.",
        choices=DEFAULT_GRAPHS,
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
    has_model: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.kg, SparqlEndpoint):
            for name, reason in _NOT_REMOTE.items():
                if getattr(self, name):
                    raise UsageError(reason.format(url=self.kg.query_url))
        object.__setattr__(self, "public_url", checked_public_url(self.public_url))

    @cached_property
    def access(self) -> AccessRules:
        """Who may do what; raises what `access_rules` raises."""
        return access_rules(
            self.tokens,
            is_local=self.is_loopback,
            anonymous=self.anonymous,
            writable=self.writable,
        )

    @property
    def union(self) -> bool:
        """Whether the default graph of queries is the union of the parts in `over`."""
        return self.default_graph == "union"

    @property
    def folder(self) -> Path:
        """The folder that is written to; only that of a folder is writable."""
        assert isinstance(self.kg, Path)  # noqa: S101 - see `__post_init__`
        return self.kg

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return self.folder / "store"

    @property
    def worker_memory(self) -> int:
        """The memory limit of a worker process, in bytes."""
        if self.max_memory is not None:
            return self.max_memory << 20
        return max(MIN_MEMORY, machine_memory() // 2 // (self.workers + 1))

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
    if not (is_http_url(url) and is_iri(url)) or any(mark in url for mark in "?#@"):
        raise UsageError(
            f"invalid --public-url '{masked(url)}': give an http or https URL without '?', '#' and "
            "password"
        )
    return url.rstrip("/")


# --------------------------------------------------------------------------------- Access


Scope = Literal["read", "ask", "write"]
"""``read``: queries, searches, pages; ``ask``: answers by a language model; ``write``: writes."""
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
TOKEN_VARIABLE: Final = "SARAG_SERVE_TOKEN"  # noqa: S105 - the name of a variable, not a secret
MIN_TOKEN: Final = 16
"""The minimum length of a token, in characters."""
_CHALLENGE: Final = 'Bearer realm="sarag", Basic realm="sarag", charset="UTF-8"'


ANONYMOUS: Final = "anonymous"
"""The name of requests without a token."""


@dataclass(frozen=True, slots=True)
class Access:
    """What the holder of a token may do, and how often; 0 for no limit."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - in a file of tokens

    scopes: frozenset[Scope]
    name: str = ANONYMOUS
    graphs: AccessibleGraphs = field(default_factory=AccessibleGraphs)
    requests_per_minute: Annotated[int, Field(ge=0, strict=True)] = 0

    def require(self, scope: Scope) -> None:
        """Raise `RequestError` (401 without a token, else 403) if the scope is missing."""
        if scope in self.scopes:
            return
        if self.name == ANONYMOUS:
            raise unauthorized(f"this needs a token with the scope '{scope}'")
        raise RequestError(403, f"the token '{self.name}' lacks the scope '{scope}'")


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The tokens of a server by their SHA-256, and what requests without a token may do."""

    anonymous: Access
    tokens: Mapping[str, Access] = field(default_factory=dict, repr=False)

    def access(self, authorization: str) -> Access:
        """The access of an Authorization header; raises `RequestError` (401) for a wrong token.

        The token is that of ``Bearer TOKEN``, or the password of Basic authentication, which
        browsers ask for; the user name is ignored. A server without tokens ignores the header,
        which clients of OpenAI's interface always send.
        """
        if not authorization.strip() or not self.tokens:
            return self.anonymous
        access = self.tokens.get(_sha256(_token_of(authorization)))
        if access is None:
            raise unauthorized("unknown token")
        return access


def unauthorized(reason: str) -> RequestError:
    """The error (401) that says how to send a token."""
    return RequestError(
        401,
        f"{reason}: send the header Authorization: Bearer TOKEN",
        WWW_Authenticate=_CHALLENGE,
    )


def _token_of(authorization: str) -> str:
    scheme, _, credentials = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    if scheme.lower() == "basic":
        try:
            decoded = base64.b64decode(credentials, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return ""
        return decoded.partition(":")[2]
    return ""


def _sha256(token: str) -> str:
    """The hash of a token, which is random and long, so that a slow hash adds nothing."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def new_token() -> tuple[str, str]:
    """A random token of 256 bits, and its SHA-256."""
    token = secrets.token_urlsafe(32)
    return token, _sha256(token)


def access_rules(
    file: Path | None = None, *, is_local: bool, anonymous: bool = False, writable: bool = False
) -> AccessRules:
    """The rules of a file of tokens, and of the token in the environment.

    On an address that only this machine reaches (`is_local`), or with `anonymous`, requests
    without a token may read and ask, unless the file says what they may do. The token in the
    environment may do everything that the server permits. Raises `UsageError` if the file is
    invalid, if no token may write though the server is `writable`, or if other machines can reach
    a server without tokens.
    """
    tokens: dict[str, Access] = {}
    stated: Access | None = None
    if file is not None:
        stated, tokens = _read_file(file)
    if token := os.environ.get(TOKEN_VARIABLE):
        if len(token) < MIN_TOKEN or not token.isascii() or any(c.isspace() for c in token):
            raise UsageError(
                f"{TOKEN_VARIABLE} is not a token: set it to at least {MIN_TOKEN} ASCII characters "
                "without spaces"
            )
        tokens[_sha256(token)] = Access(frozenset(SCOPES), TOKEN_VARIABLE)
    everybody: tuple[Scope, ...] = ("read", "ask") if anonymous or (is_local and not file) else ()
    rules = AccessRules(stated or Access(frozenset(everybody)), tokens)
    if writable and not any("write" in access.scopes for access in tokens.values()):
        raise UsageError(
            f"--writable needs a token: set {TOKEN_VARIABLE} to at least {MIN_TOKEN} ASCII "
            "characters without spaces, or name a file of tokens with --tokens; clients send it "
            "in the header Authorization: Bearer TOKEN"
        )
    if not is_local and not anonymous and not tokens and stated is None:
        raise UsageError(
            f"other machines can reach this address: set {TOKEN_VARIABLE} or name a file of tokens "
            "with --tokens, or permit access without one with --anonymous"
        )
    return rules


@dataclass(frozen=True, slots=True)
class _Token(Access):
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] = field(kw_only=True)


class _TokenFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tokens: list[_Token] | None = None
    anonymous: Access | None = None


def _read_file(path: Path) -> tuple[Access | None, dict[str, Access]]:
    """The access of requests without a token, if stated, and that of tokens by SHA-256."""
    try:
        content = _TokenFile.model_validate(yaml.safe_load(path.read_bytes()))
    except OSError as error:
        raise UsageError(f"cannot read the tokens {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not YAML: see sarag token --help") from error
    except ValidationError as error:
        raise _invalid(path, first_problem(error)) from error
    tokens: dict[str, Access] = {}
    for token in content.tokens or ():
        names = {ANONYMOUS, *(access.name for access in tokens.values())}
        is_named = token.name.strip() and token.name.isprintable() and token.name not in names
        if not is_named or token.sha256 in tokens:
            raise _invalid(path, f"'{token.name}' needs a printable name and a hash of its own")
        tokens[token.sha256] = token
    if content.anonymous and content.anonymous.name != ANONYMOUS:
        raise _invalid(path, "requests without a token have no name of their own")
    return content.anonymous, tokens


def first_problem(error: ValidationError) -> str:
    """Where a value is invalid, and why, in one line."""
    first = error.errors(include_url=False)[0]
    names = [str(each) for each in first["loc"]]
    where = ".".join(n for n in names if n.isidentifier() or n.isdigit()) or "the top level"
    if first["type"] == "missing":
        return f"'{where}' is missing"
    reason = first["msg"].removeprefix("Value error, ")
    return f"'{where}': {reason[:1].lower()}{reason[1:]}"


def _invalid(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path} is not valid: {reason}; see sarag token --help")
