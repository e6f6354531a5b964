"""Which requests are admitted by their headers: host, origin, and token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from sarag_rdf.server.access import ANONYMOUS, Access, RateLimiter
from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.settings import ServeSettings

ORIGIN_ERROR: Final = "requests from pages of other origins are not allowed"


def check_host(headers: Mapping[bytes, bytes], settings: ServeSettings) -> None:
    """Raise `RequestError` (421) for a host name that is not this server's (DNS rebinding)."""
    try:
        host = urlsplit(f"//{headers.get(b'host', b'').decode('ascii')}").hostname
    except (UnicodeDecodeError, ValueError):
        host = None
    if not settings.accepts_host(host or ""):
        raise RequestError(
            421,
            "wrong host name: this server accepts names of the local machine only, such as "
            "localhost; start it with --host or --public-url for others",
        )


def is_cross_origin(headers: Mapping[bytes, bytes], settings: ServeSettings) -> bool:
    """Whether a request comes from a page of another origin, as far as a browser says."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is not None and not _is_own(origin, headers.get(b"host", b""), settings)


def _is_own(origin: bytes, host: bytes, settings: ServeSettings) -> bool:
    """Compares host and port only, because the scheme may differ behind a proxy."""
    try:
        netloc = urlsplit(origin.decode("ascii")).netloc.lower()
    except (UnicodeDecodeError, ValueError):
        return False
    public = urlsplit(settings.public_url).netloc.lower()
    return bool(netloc) and netloc in (host.decode("latin-1").lower(), public)


class Admission:
    """Admits clients by their tokens, and limits their requests."""

    def __init__(self, settings: ServeSettings) -> None:
        self._rules = settings.access
        self._limiter = RateLimiter()

    def access(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Access:
        """What a client may do; raises `RequestError` (401, 429)."""
        access = self._rules.access(headers.get(b"authorization", b"").decode("latin-1"))
        who = access.name
        if who == ANONYMOUS and scope.get("client"):
            who = f"{who} {scope['client'][0]}"
        self._limiter.admit(who, access.per_minute)
        return access
