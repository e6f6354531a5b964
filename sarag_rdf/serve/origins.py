"""Which pages may ask: those of this server, of origins that it was told, and no others.

A browser says where a request comes from, in ``Sec-Fetch-Site`` and ``Origin``, and a page can
change neither. Programs that are no browsers send neither and are not concerned.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.types import Scope

from sarag_rdf.serve.settings import ServeSettings

_NO_WORK = ("/docs", "/openapi.json", "/static/")
_PAID = "/ask"
"""Costs money where a model is paid for: not for any page whatever."""
REFUSAL = (
    "pages of other origins may not ask here: see --cors; if you followed a link, paste its URL "
    "into the address bar"
)


def may_ask(scope: Scope, headers: Mapping[bytes, bytes], settings: ServeSettings) -> bool:
    """Whether a request comes from no page, from one of this server, or from one that may ask."""
    path: str = scope["path"]
    if path == "/" or path.startswith(_NO_WORK) or not _is_foreign(headers, settings):
        return True
    if path == "/sparql" and not scope["query_string"] and _is_link(scope, headers):
        return True  # leads to the editor page
    if settings.cors == "*":
        return path != _PAID
    return bool(settings.cors) and headers.get(b"origin") == settings.cors.encode()


def _is_foreign(headers: Mapping[bytes, bytes], settings: ServeSettings) -> bool:
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is not None and not _is_own(origin, headers.get(b"host", b""), settings)


def _is_own(origin: bytes, host: bytes, settings: ServeSettings) -> bool:
    """By host and port: behind a proxy the scheme is another."""
    try:
        named = urlsplit(origin.decode("ascii")).netloc.lower()
    except (UnicodeDecodeError, ValueError):
        return False
    public = urlsplit(settings.public_url).netloc.lower()
    return bool(named) and named in (host.decode("latin-1").lower(), public)


def _is_link(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    return (
        bool(scope["method"] == "GET")
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )
