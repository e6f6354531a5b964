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
from typing import Any, Final, Literal, get_args

import yaml

from sarag_rdf.base.errors import UsageError
from sarag_rdf.server.jobs import AccessibleGraphs, RequestError

Scope = Literal["read", "ask", "write"]
"""``read``: queries, searches, pages; ``ask``: answers by a language model; ``write``: writes."""
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
TOKEN_VARIABLE: Final = "SARAG_SERVE_TOKEN"  # noqa: S105 - the name of a variable, not a secret
MIN_TOKEN: Final = 16
"""The minimum length of a token, in characters."""
MAX_FILE: Final = 1 << 20
"""The maximum size of a file of tokens, in bytes."""
_MOST_CLIENTS: Final = 10_000
"""Clients whose requests are counted at the same time."""
_CHALLENGE: Final = 'Bearer realm="sarag", Basic realm="sarag", charset="UTF-8"'
_KEYS: Final = frozenset({"name", "sha256", "scopes", "graphs", "requests_per_minute"})


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
        f"{reason}: send the header  Authorization: Bearer TOKEN",
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
    if os.environ.get(TOKEN_VARIABLE):
        tokens[_sha256(_environment_token())] = Access(TOKEN_VARIABLE)
    everybody = frozenset[Scope](("read", "ask")) if anonymous or (is_local and not file) else ()
    rules = AccessRules(stated or Access(ANONYMOUS, frozenset(everybody)), tokens)
    if writable and not rules.may_write:
        raise UsageError(
            f"--writable needs a token: set {TOKEN_VARIABLE} to at least {MIN_TOKEN} ASCII "
            "characters without spaces, or name a file of tokens with --tokens; clients send it as"
            "  Authorization: Bearer TOKEN"
        )
    if not is_local and not anonymous and not tokens and stated is None:
        raise UsageError(
            f"other machines can reach this address: set {TOKEN_VARIABLE} or name a file of tokens "
            "with --tokens, or permit access without one with --anonymous"
        )
    return rules


def _environment_token() -> str:
    token = os.environ[TOKEN_VARIABLE]
    if len(token) < MIN_TOKEN or not token.isascii() or any(c.isspace() for c in token):
        raise UsageError(
            f"{TOKEN_VARIABLE} is no token: set it to at least {MIN_TOKEN} ASCII characters "
            "without spaces"
        )
    return token


def _read_file(path: Path) -> tuple[Access | None, dict[str, Access]]:
    """The access of requests without a token, if stated, and that of tokens by SHA-256."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot read the tokens {path}: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise UsageError(f"{path} has more than {MAX_FILE >> 20} MiB: it is no file of tokens")
    try:
        content = yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not YAML: see  sarag token --help") from error
    if not isinstance(content, dict) or content.keys() - {"anonymous", "tokens"}:
        raise _invalid(path, "the top level has the keys 'tokens' and 'anonymous', and no others")
    anonymous = content.get("anonymous")
    entries = content.get("tokens") or []
    if not isinstance(entries, list):
        raise _invalid(path, "'tokens' is a list")
    tokens: dict[str, Access] = {}
    names: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        where = f"token {number}"
        hash_, access = _entry(path, where, entry)
        if hash_ in tokens or access.name in names:
            raise _invalid(path, f"{where} has the name or hash of another one")
        tokens[hash_] = access
        names.add(access.name)
    if anonymous is None:
        return None, tokens
    if not isinstance(anonymous, dict) or anonymous.keys() & {"name", "sha256"}:
        raise _invalid(path, "'anonymous' has scopes, graphs and requests_per_minute")
    return _access(path, ANONYMOUS, {"name": ANONYMOUS, **anonymous}), tokens


def _entry(path: Path, where: str, entry: Any) -> tuple[str, Access]:
    if not isinstance(entry, dict):
        raise _invalid(path, f"{where} is no mapping")
    hash_ = entry.get("sha256")
    if not isinstance(hash_, str) or len(hash_) != 64 or set(hash_) - set("0123456789abcdef"):
        raise _invalid(path, f"{where} lacks the key sha256: make one with  sarag token NAME")
    access = _access(path, where, entry)
    if access.name == ANONYMOUS:
        raise _invalid(path, f"{where} cannot be called '{ANONYMOUS}'")
    return hash_, access


def _access(path: Path, where: str, entry: Mapping[str, Any]) -> Access:
    unknown = sorted(map(str, entry.keys() - _KEYS))
    if unknown:
        raise _invalid(path, f"{where} has the unknown key '{unknown[0]}'")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise _invalid(path, f"{where} needs a name")
    scopes = entry.get("scopes")
    if not isinstance(scopes, list) or set(map(str, scopes)) - set(SCOPES):
        raise _invalid(path, f"the scopes of {where} are a list of {', '.join(SCOPES)}")
    rate = entry.get("requests_per_minute", 0)
    if isinstance(rate, bool) or not isinstance(rate, int) or rate < 0:
        raise _invalid(path, f"requests_per_minute of {where} is a whole number, 0 for no limit")
    graphs = entry.get("graphs") or {}
    if not isinstance(graphs, dict) or graphs.keys() - {"allow", "deny"}:
        raise _invalid(path, f"the graphs of {where} have the keys 'allow' and 'deny'")
    lists = {key: _names(path, where, key, graphs.get(key)) for key in ("allow", "deny")}
    allow = None if graphs.get("allow") is None else lists["allow"]
    return Access(name, frozenset(scopes), AccessibleGraphs(allow, lists["deny"]), rate)


def _names(path: Path, where: str, key: str, values: Any) -> tuple[str, ...]:
    values = [] if values is None else values
    if not isinstance(values, list) or not all(isinstance(v, str) and v for v in values):
        raise _invalid(path, f"'{key}' of {where} is a list of names of graphs or IRIs")
    return tuple(values)


def _invalid(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path} is not valid: {reason}")


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
