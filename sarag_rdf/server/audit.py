"""What a server records of its requests: an audit log in JSON lines, and Prometheus metrics."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.redaction import masked
from sarag_rdf.server.jobs import RequestError

log = logging.getLogger(__name__)
MAX_WHAT: Final = 2000
"""The maximum length of a query or question in the audit log, in characters."""
BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Upper bounds of the histogram of durations, in seconds."""
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_NO_LABEL: Final = re.compile(r"[^A-Za-z0-9_./-]")


class AuditLog:
    """Appends a line of JSON for each request; the file can be moved away at any time."""

    def __init__(self, path: Path | None) -> None:
        """Raises `UsageError` if the file cannot be written."""
        self._path = path
        if path is not None:
            try:
                self._open().close()
            except OSError as error:
                raise UsageError(
                    f"cannot write the audit log {path}: {error.strerror}; choose another --audit"
                ) from error

    def _open(self) -> IO[str]:
        assert self._path is not None  # noqa: S101 - checked by the callers
        return open(  # the opener keeps others from reading the file
            self._path, "a", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o600)
        )

    def record(self, **values: Any) -> None:
        """Append the values that are not None, with the time; a failure is logged."""
        if self._path is None:
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        known = {name: value for name, value in values.items() if value not in (None, "")}
        if "what" in known:
            known["what"] = masked(str(known["what"]))[:MAX_WHAT]
        try:
            with self._open() as stream:
                stream.write(json.dumps({"time": time, **known}, ensure_ascii=False) + "\n")
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


def route_label(path: str, known: frozenset[str]) -> str:
    """The first segment of a path, as a label; ``other`` for an unknown one."""
    first = "/" + _NO_LABEL.sub("", path.removeprefix("/").partition("/")[0])
    return first if first in known else "other"
