"""The middleware: which requests are admitted, headers of all responses, and what is recorded."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from sarag_rdf.base.errors import SaragError, UsageError, one_line
from sarag_rdf.base.redaction import masked
from sarag_rdf.server.jobs import JSON, RequestError
from sarag_rdf.server.openapi import JSON_ERRORS, Door
from sarag_rdf.server.requests import HEALTH_PATH, RECORD, RequestRecord, to_response
from sarag_rdf.server.serve_settings import ANONYMOUS, Access, ServeSettings
from sarag_rdf.server.serve_settings import Scope as TokenScope

log = logging.getLogger(__name__)
MAX_REQUESTS: Final = 256
"""The maximum number of concurrent requests; idle connections do not count."""
_MOST_CLIENTS: Final = 10_000
"""Clients whose requests are counted at the same time."""
UNKNOWN: Final = "unknown"
"""Who sent a request that was rejected before its token was read, or that needs none."""
_MAX_LOGGED_PATH: Final = 200
_PAGES: Final = ("/", "/sparql-editor")
_STATIC_PATHS: Final = ("/docs", "/openapi.json", "/static/")
_METHODS: Final = ("GET", "HEAD", "PUT", "POST", "DELETE")
_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

MAX_WHAT: Final = 2000
"""The maximum length of a query or question in the audit log, in characters."""
BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Upper bounds of the histogram of durations, in seconds."""
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def error_response(
    path: str, error: SaragError, doors: Sequence[Door], accept: str = ""
) -> Response:
    """An error as clients of a path expect it: as its door says, as JSON, or as a line of text."""
    failed = RequestError.of(error)
    door = next((door for door in doors if door.has(path)), None)
    if door and door.error:
        return door.error(failed)
    if path in JSON_ERRORS or JSON in accept:
        return to_response(failed.reply())
    return PlainTextResponse(f"{one_line(str(failed))}\n", failed.status, failed.headers)


class Guard:
    """Rejects invalid and forbidden requests by their headers, adds headers, and logs."""

    def __init__(
        self, app: Starlette, settings: ServeSettings, is_linked: Callable[[str], bool]
    ) -> None:
        """`is_linked` says of a path whether it may be followed from pages of other origins."""
        self._app, self._settings, self._access = app, settings, settings.access
        self._is_linked = is_linked
        self.doors: Sequence[Door] = app.state.doors
        self._audit, self._limiter = AuditLog(settings.audit), RateLimiter()
        self._metrics: Metrics = app.state.metrics
        self._labels = frozenset(_first_segment(getattr(route, "path", "")) for route in app.routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.monotonic(), 0
        response: Response | None = None
        record = scope[RECORD] = RequestRecord(Access(frozenset(), UNKNOWN))

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers()]
            await send(message)

        self._metrics.active += 1
        try:
            try:
                response = self._response(scope, record)
                if response is None:
                    await self._app(scope, receive, send_with_headers)
            except RequestError as error:
                response = error_response(scope["path"], error, self.doors)
            except asyncio.CancelledError:  # by uvicorn, some time after an interrupt
                text = "the server is stopping: try again later"
                stopped = RequestError(503, text, Connection="close")
                response = error_response(scope["path"], stopped, self.doors)
            except Exception:  # the application has answered with status 500
                log.exception("a request failed")
            if response and not status:
                await response(scope, receive, send_with_headers)
        finally:
            self._metrics.active -= 1
            self._log(scope, record, status, time.monotonic() - begin)

    def _log(self, scope: Scope, record: RequestRecord, status: int, seconds: float) -> None:
        method, path = scope["method"], scope["path"][:_MAX_LOGGED_PATH]
        path = path.encode("unicode_escape").decode()
        log.info("%s %s %d %.3f s", method, path, status, seconds)
        label = _first_segment(scope["path"])
        label = label if label in self._labels else "other"
        self._metrics.count(method, label, status, seconds, record.rows)
        self._audit.record(
            who=record.access.name,
            client=scope["client"][0] if scope.get("client") else None,
            method=method,
            path=path,
            what=record.what,
            status=status,
            seconds=round(seconds, 3),
            rows=record.rows,
        )

    def _response(self, scope: Scope, record: RequestRecord) -> Response | None:
        """The response to OPTIONS; None for a request that the application answers.

        Raises `RequestError` for one that is not admitted. Writes and their scope are up to the
        handlers, since a query may be sent by POST.
        """
        headers, path = dict(scope["headers"]), scope["path"]
        if self._metrics.active > MAX_REQUESTS:
            raise RequestError(
                503, "too many concurrent requests: try again later", Retry_After="2"
            )
        self._check_host(headers)
        if b"transfer-encoding" in headers and b"content-length" in headers:
            raise RequestError(
                400,
                "the request has both Content-Length and Transfer-Encoding: send one of them",
                Connection="close",
            )
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise RequestError(
                415, "unsupported Content-Encoding: send the body without compression"
            )
        door = next((door for door in self.doors if door.has(path)), None)
        if not self._is_origin_allowed(scope, headers, door):
            raise RequestError(
                403,
                "requests from pages of other origins are not allowed: see --cors; if you followed "
                "a link, paste its URL into the address bar",
            )
        methods = self._methods(scope) if scope["method"] == "OPTIONS" else ""
        if methods:
            allowed = {"Allow": f"{methods}, OPTIONS"}
            if self._settings.cors and b"access-control-request-method" in headers:
                allowed["Access-Control-Allow-Methods"] = methods
                allowed["Access-Control-Allow-Headers"] = "Accept, Authorization, Content-Type"
                allowed["Access-Control-Max-Age"] = "86400"
            return Response(status_code=204, headers=allowed)
        needed = door.scope if door else required_scope(path)
        if needed is not None:
            authorization = headers.get(b"authorization", b"").decode("latin-1")
            record.access = access = self._access.access(authorization)
            client = scope["client"][0] if scope.get("client") else ""
            who = f"{ANONYMOUS} {client}" if access.name == ANONYMOUS else access.name
            self._limiter.admit(who, access.requests_per_minute)
            access.require(needed)
        return None

    def _check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Raise `RequestError` (421) for a host name that is not this server's (DNS rebinding)."""
        try:
            host = urlsplit(f"//{headers.get(b'host', b'').decode('ascii')}").hostname
        except (UnicodeDecodeError, ValueError):
            host = None
        if not self._settings.accepts_host(host or ""):
            raise RequestError(
                421,
                "wrong host name: this server accepts names of the local machine only, such as "
                "localhost; start it with --host or --public-url for others",
            )

    def _is_origin_allowed(
        self, scope: Scope, headers: Mapping[bytes, bytes], door: Door | None
    ) -> bool:
        """Whether a request is from this server's pages, an allowed origin, or outside a page."""
        path: str = scope["path"]
        cors = self._settings.cors
        if path in _PAGES or path.startswith(_STATIC_PATHS) or not self._is_cross_origin(headers):
            return True
        is_editor = path == "/sparql" and not scope["query_string"]  # redirects to that page
        if (self._is_linked(path) or is_editor) and _is_link(scope, headers):
            return True
        if cors == "*":  # opens nothing that may call a model, which costs money
            return not door.may_cost if door else required_scope(path) != "ask"
        return bool(cors) and headers.get(b"origin") == cors.encode()

    def _is_cross_origin(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request comes from a page of another origin, as far as a browser says.

        Only host and port are compared, because the scheme may differ behind a proxy.
        """
        site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
        if site is not None or origin is None:
            return site not in (None, b"same-origin", b"none")
        try:
            netloc = urlsplit(origin.decode("ascii")).netloc.lower()
        except (UnicodeDecodeError, ValueError):
            return True
        own = headers.get(b"host", b"").decode("latin-1").lower()
        return not netloc or netloc not in (own, urlsplit(self._settings.public_url).netloc.lower())

    def _methods(self, scope: Scope) -> str:
        """The methods of a path; none of an unknown one."""
        methods: set[str] = set()
        for route in self._app.routes:
            if route.matches(scope)[0] is not Match.NONE:
                methods |= getattr(route, "methods", None) or {"GET", "HEAD"}
        return ", ".join(name for name in _METHODS if name in methods)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        """Security and CORS headers of all responses."""
        headers = [
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
        ]
        if cors := self._settings.cors:
            headers.append((b"access-control-allow-origin", cors.encode()))
            exposed = b"X-SPARQL-MaxRows, X-SPARQL-Truncated, Location"
            headers.append((b"access-control-expose-headers", exposed))
            if cors != "*":
                headers.append((b"vary", b"Origin"))
        return headers


def _first_segment(path: str) -> str:
    return "/" + path.removeprefix("/").partition("/")[0]


def _is_link(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser follows a link."""
    return (
        bool(scope["method"] == "GET")
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )


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


def required_scope(path: str) -> TokenScope | None:
    """The scope that every request of a path needs; None for documentation, style and health.

    Writes need the scope ``write`` as well, which their handlers require.
    """
    if path in ("/docs", "/openapi.json", HEALTH_PATH) or path.startswith("/static/"):
        return None
    return "ask" if path == "/ask" or path.startswith("/ask/") else "read"


# ------------------------------------------------------------------------ What is recorded


class AuditLog:
    """Appends a line of JSON for each request; the file can be moved away at any time."""

    def __init__(self, path: Path | None) -> None:
        """Raises `UsageError` if the file cannot be written."""
        self._path = path
        try:
            self._append("")
        except OSError as error:
            raise UsageError(
                f"cannot write the audit log {path}: {error.strerror}; choose another --audit"
            ) from error

    def _append(self, text: str) -> None:
        """Append a text to the file, if there is one, which only its owner may read."""
        if self._path is not None:
            opener = partial(os.open, mode=0o600)
            with open(self._path, "a", encoding="utf-8", opener=opener) as stream:
                stream.write(text)

    def record(self, what: str, **values: Any) -> None:
        """Append the values that are not None, with the time; a failure is logged."""
        if self._path is None:
            return
        entry = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **values}
        entry["what"] = masked(what)[:MAX_WHAT] or None
        known = {name: value for name, value in entry.items() if value is not None}
        try:
            self._append(json.dumps(known, ensure_ascii=False) + "\n")
        except (OSError, UnicodeEncodeError) as error:
            log.warning("the audit log %s was not written: %s", self._path, error)


class Metrics:
    """Counts requests, seconds and rows in the format of Prometheus.

    Without the package prometheus-client nothing is counted.
    """

    def __init__(self) -> None:
        self.active = 0
        """The number of requests that are being answered."""
        self.is_available = find_spec("prometheus_client") is not None
        if not self.is_available:
            return
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        path = ("path",)
        self._requests = Counter(
            "sarag_requests", "Requests.", ("method", *path, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "sarag_request_seconds", "Durations.", path, buckets=BUCKETS, registry=self._registry
        )
        self._rows = Counter("sarag_rows", "Rows of results.", path, registry=self._registry)
        self._active = Gauge("sarag_active_requests", "Active requests.", registry=self._registry)
        self._waiting = Gauge(
            "sarag_waiting_requests", "Queued requests.", ("pool",), registry=self._registry
        )

    def count(self, method: str, path: str, status: int, seconds: float, rows: int | None) -> None:
        """Count a request of a path."""
        if not self.is_available:
            return
        self._requests.labels(method, path, status).inc()
        self._seconds.labels(path).observe(seconds)
        if rows:
            self._rows.labels(path).inc(rows)

    def text(self, waiting: Mapping[str, int]) -> bytes:
        """All metrics, with the numbers of queued requests by pool; raises `RequestError` (404)."""
        if not self.is_available:
            raise RequestError(404, "no metrics: install them: pip install 'sarag-rdf[metrics]'")
        from prometheus_client import generate_latest

        self._active.set(self.active)
        for pool, number in waiting.items():
            self._waiting.labels(pool).set(number)
        return generate_latest(self._registry)
