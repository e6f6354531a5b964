"""What an endpoint's HTTP error means: one typed error with one line."""

from __future__ import annotations

import html
import re
import urllib.error
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from sarag_rdf.errors import (
    QueryError,
    RemoteAuthError,
    RemoteDownError,
    RemoteRateLimitError,
    RemoteRequestSizeError,
    RemoteStoreError,
    RemoteTimeoutError,
    StoreError,
)
from sarag_rdf.redaction import redacted_remark

_TOO_LATE = re.compile(
    r"time(d)?[ -]?out|time limit|cancell?ed|TimeoutException|S1T00", re.IGNORECASE
)
_TOO_LARGE = re.compile(
    r"too (large|long|big|many)|exceeds? the (maximum|limit)|10000 lines|Max row length",
    re.IGNORECASE,
)
_SYNTAX = re.compile(r"syntax|parse|malformed|lexical|expected|SP0", re.IGNORECASE)
_SHOWN = 300


def failure(url: str, error: urllib.error.HTTPError, body: str) -> StoreError:
    """The error that stands for an HTTP status with what the endpoint told."""
    told = brief(body)
    said = f": {told}" if told else ""
    match error.code:
        case 300 | 301 | 302 | 303 | 307 | 308:
            target = redacted_remark(error.headers.get("Location", "another place"))
            return RemoteStoreError(
                f"{url} redirects to {target}: nothing is sent there unasked; if it is the "
                "endpoint, name that URL"
            )
        case 401 | 403 | 407:
            return RemoteAuthError(
                f"{url} refused access ({error.code}){said}; credentials are taken from "
                "SARAG_SPARQL_USER and SARAG_SPARQL_PASSWORD, or SARAG_SPARQL_TOKEN"
            )
        case 404 | 405 | 406 | 410 | 415 | 501:
            return RemoteStoreError(
                f"{url} is no endpoint for this request ({error.code}){said}: is its path right?"
            )
        case 408 | 504:
            return _late(url, error.code, said)
        case 413 | 414:
            return RemoteRequestSizeError(f"{url} takes no request of this size{said}")
        case 429 | 503:
            return RemoteRateLimitError(
                f"{url} has no capacity ({error.code}){_when(error)}{said}: try again later"
            )
    if _TOO_LATE.search(told):
        return _late(url, error.code, said)
    if _TOO_LARGE.search(told):
        return RemoteRequestSizeError(f"{url} takes no request of this size{said}")
    if error.code == 400 or (error.code == 500 and _SYNTAX.search(told)):
        return QueryError(f"{url} does not take the SPARQL{said or ' (400)'}")
    return RemoteDownError(f"{url} failed ({error.code}){said}")


def brief(body: str) -> str:
    """The first of what an error page or message says, on one line, without markup."""
    if re.search(r"<html|<!doctype", body, re.IGNORECASE):
        body = re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>", " ", body)
        body = html.unescape(body)
    line = " ".join(body.partition("SPARQL query:")[0].split())  # Virtuoso repeats the query
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


def waiting_time(error: object) -> float | None:
    """Seconds of a Retry-After, a number or a date; None without one."""
    if not isinstance(error, urllib.error.HTTPError):
        return None
    value = (error.headers.get("Retry-After") or "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _when(error: urllib.error.HTTPError) -> str:
    wait = waiting_time(error)
    return "" if wait is None else f" for {wait:.0f} s"


def _late(url: str, status: int, said: str) -> RemoteTimeoutError:
    return RemoteTimeoutError(f"{url} ran out of time ({status}){said}: ask for less")
