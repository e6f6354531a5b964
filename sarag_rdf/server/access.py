"""Who may do what on a server: tokens with scopes, readable graphs, and requests per minute."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sarag_rdf.base.errors import UsageError
from sarag_rdf.server.jobs import AccessibleGraphs, RequestError

Scope = Literal["read", "ask", "write"]
"""``read``: queries, searches, pages; ``ask``: answers by a language model; ``write``: writes."""
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
TOKEN_VARIABLE: Final = "SARAG_SERVE_TOKEN"  # noqa: S105 - the name of a variable, not a secret
MIN_TOKEN: Final = 16
"""The minimum length of a token, in characters."""
_MOST_CLIENTS: Final = 10_000
"""Clients whose requests are counted at the same time."""
_CHALLENGE: Final = 'Bearer realm="sarag", Basic realm="sarag", charset="UTF-8"'


@dataclass(frozen=True, slots=True)
class Access:
    """What the holder of a token may do; `per_minute` requests at most, 0 for no limit."""

    name: str
    scopes: frozenset[Scope] = frozenset(SCOPES)
    graphs: AccessibleGraphs = field(default_factory=AccessibleGraphs)
    per_minute: int = 0

    def require(self, scope: Scope) -> None:
        """Raise `RequestError` (401 without a token, else 403) if the scope is missing."""
        if scope in self.scopes:
            return
        if self.name == ANONYMOUS:
            raise unauthorized(f"this needs a token with the scope '{scope}'")
        raise RequestError(403, f"the token '{self.name}' lacks the scope '{scope}'")


ANONYMOUS: Final = "anonymous"
"""The name of requests without a token."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The tokens of a server by their SHA-256, and what requests without a token may do."""

    anonymous: Access
    tokens: Mapping[str, Access] = field(default_factory=dict, repr=False)

    @property
    def may_write(self) -> bool:
        """Whether any token has the scope ``write``."""
        return any("write" in access.scopes for access in self.tokens.values())

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
        tokens[_sha256(token)] = Access(TOKEN_VARIABLE)
    everybody = frozenset[Scope](("read", "ask")) if anonymous or (is_local and not file) else ()
    rules = AccessRules(stated or Access(ANONYMOUS, frozenset(everybody)), tokens)
    if writable and not rules.may_write:
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


class _Rights(BaseModel):
    """What requests without a token may do, in a file of tokens."""

    model_config = ConfigDict(extra="forbid")

    scopes: frozenset[Scope]
    graphs: AccessibleGraphs | None = None
    requests_per_minute: int = Field(0, ge=0, strict=True)

    def access(self, name: str) -> Access:
        graphs = self.graphs or AccessibleGraphs()
        return Access(name, self.scopes, graphs, self.requests_per_minute)


class _Token(_Rights):
    name: str = Field(pattern=r"\S")
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class _TokenFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tokens: list[_Token] | None = None
    anonymous: _Rights | None = None


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
        if not token.name.isprintable() or token.name in names or token.sha256 in tokens:
            raise _invalid(path, f"'{token.name}' needs a printable name and a hash of its own")
        tokens[token.sha256] = token.access(token.name)
    anonymous = content.anonymous
    return (anonymous.access(ANONYMOUS) if anonymous else None), tokens


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


class RateLimiter:
    """Counts requests: each client may send `per_minute` at once, and one more every 60 s / n."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, client: str, per_minute: int) -> None:
        """Count a request; raises `RequestError` (429) beyond the limit."""
        if not per_minute:
            return
        now, rate = time.monotonic(), per_minute / 60
        left, last = self._states.pop(client, (float(per_minute), now))
        left = min(float(per_minute), left + (now - last) * rate)
        admitted = left >= 1
        self._states[client] = (left - admitted, now)
        if len(self._states) > _MOST_CLIENTS:
            self._states.popitem(last=False)
        if not admitted:
            seconds = max(1, round((1 - left) / rate + 0.5))
            raise RequestError(
                429,
                f"more than {per_minute} requests a minute: wait {seconds} s",
                Retry_After=str(seconds),
            )


def required_scope(path: str) -> Scope | None:
    """The scope that every request of a path needs; None for documentation and style.

    Writes need the scope ``write`` as well, which their handlers require.
    """
    if path in ("/docs", "/openapi.json") or path.startswith("/static/"):
        return None
    return "ask" if path == "/ask" or path.startswith("/ask/") else "read"
