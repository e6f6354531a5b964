"""Parses the results of a SPARQL endpoint; an incomplete result is an error."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pyoxigraph as ox

from sarag_rdf.errors import RemoteStoreError, RemoteTimeoutError, RemoteTruncatedError
from sarag_rdf.ports import Table, Triples
from sarag_rdf.rdf.sparql_client import Response, summarize
from sarag_rdf.sandbox import EndedError, Limits, half_of_memory, run
from sarag_rdf.terms import DEEPEST_TERM, is_deep

ROWS = "application/sparql-results+json"
TRIPLES = "application/n-triples"
ACCEPT_ROWS = f"{ROWS}, application/json;q=0.5"
ACCEPT_TRIPLES = f"{TRIPLES}, text/turtle;q=0.5"

_SYNTAXES = {
    TRIPLES: ox.RdfFormat.N_TRIPLES,
    "text/plain": ox.RdfFormat.N_TRIPLES,
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/x-turtle": ox.RdfFormat.TURTLE,
}
_CANCELLED = re.compile(r"cancell?ed|time(d)?[ -]?out|time limit|exception", re.IGNORECASE)
_TAIL = 2000
"""Bytes at the end of a response that are searched for an error message."""
_VIRTUOSO_ASK = "__ASK_RETVAL"
"""The variable of the table that Virtuoso returns for ASK."""


def announced_limit(response: Response) -> int | None:
    """The number of rows at which the endpoint has truncated the result, if it says so."""
    value = response.headers.get("X-SPARQL-MaxRows", "")
    return int(value) if value.isdecimal() else None


def read_rows(response: Response) -> Table | bool:
    """A SELECT or ASK result; raises `RemoteTruncatedError` or another `RemoteStoreError`."""
    _reject_partial(response)
    if response.media_type not in (ROWS, "application/json"):
        raise _media_type_error(response)
    try:
        data = json.loads(response.body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _syntax_error(response) from error
    try:
        return parse_json_results(data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RemoteStoreError(
            f"{response.url} returned JSON that is not a SPARQL result: check that this is the "
            "query endpoint"
        ) from error


def read_triples(response: Response) -> Triples:
    """A CONSTRUCT or DESCRIBE result; raises what `read_rows` raises."""
    _reject_partial(response)
    syntax = _SYNTAXES.get(response.media_type)
    if syntax is None:
        raise _media_type_error(response)
    if not response.has_length:
        raise RemoteTruncatedError(
            f"{response.url} does not announce the length of its responses, so missing triples "
            "cannot be detected: use SELECT instead"
        )
    try:
        return Triples(parse_in_sandbox(response.body, syntax))
    except (SyntaxError, ValueError) as error:
        raise _syntax_error(response) from error
    except EndedError as error:
        raise RemoteStoreError(
            f"{response.url} returned data that {error}: request less, or use SELECT"
        ) from error


def parse_json_results(data: Any) -> Table | bool:
    """A SELECT or ASK result in the SPARQL JSON format.

    Raises KeyError, TypeError, AttributeError or ValueError for other data.
    """
    if "boolean" in data:
        if not isinstance(data["boolean"], bool):
            raise TypeError
        return data["boolean"]
    variables = tuple(map(str, data["head"]["vars"]))
    rows = [
        tuple(_term(row[name]) if name in row else None for name in variables)
        for row in data["results"]["bindings"]
    ]
    if variables == (_VIRTUOSO_ASK,):
        return [str(row[0].value) for row in rows if row[0]] not in ([], ["0"], ["false"])
    return Table(variables, rows)


def parse_tsv_results(text: str) -> Table | bool:
    """A SELECT or ASK result in the SPARQL TSV format; raises SyntaxError or ValueError."""
    parsed = ox.parse_query_results(text.encode(), format=ox.QueryResultsFormat.TSV)
    if isinstance(parsed, ox.QueryBoolean):
        return bool(parsed)
    if not isinstance(parsed, ox.QuerySolutions):
        raise ValueError("neither rows nor a boolean")  # noqa: TRY004 - as documented
    variables = tuple(variable.value for variable in parsed.variables)
    return Table(variables, [tuple(row) for row in parsed])


def _term(value: dict[str, Any], depth: int = 0) -> Any:
    """A term of the SPARQL JSON format, or ``typed-literal`` of Virtuoso.

    `depth` counts the enclosing triple terms; raises ValueError if there are too many.
    """
    kind, text = value["type"], value["value"]
    if kind == "uri":
        return ox.NamedNode(text)
    if kind == "bnode":
        return ox.BlankNode(re.sub(r"\W", "-", text).strip("-") or "b")
    if kind == "triple":
        if depth == DEEPEST_TERM:
            raise ValueError("triple terms are nested too deeply")
        parts = ("subject", "predicate", "object")
        return ox.Triple(*(_term(text[part], depth + 1) for part in parts))
    if kind not in ("literal", "typed-literal"):
        raise ValueError(kind)
    if "xml:lang" in value:
        return ox.Literal(text, language=value["xml:lang"])
    if "datatype" in value:
        return ox.Literal(text, datatype=ox.NamedNode(value["datatype"]))
    return ox.Literal(text)


def _reject_partial(response: Response) -> None:
    """Raise if Virtuoso reports, in a header, a partial result after its time limit."""
    state = response.headers.get("X-SQL-State")
    if state is not None:
        message = summarize(response.headers.get("X-SQL-Message", state))
        raise RemoteTruncatedError(
            f"{response.url} returned a partial result: {message}: request less"
        )


def _media_type_error(response: Response) -> RemoteStoreError:
    if response.media_type in ("text/html", "application/xhtml+xml"):
        return RemoteStoreError(
            f"{response.url} returned a web page instead of results: give the URL of the query "
            "endpoint itself"
        )
    return RemoteStoreError(
        f"{response.url} returned the unexpected media type {response.media_type}: check that this "
        "is a SPARQL query endpoint"
    )


def _syntax_error(response: Response) -> RemoteStoreError:
    tail = response.body[-_TAIL:].decode("utf-8", "replace")
    match = _CANCELLED.search(tail)
    if match:
        message = summarize(tail[max(0, match.start() - 80) : match.end() + 80])
        return RemoteTimeoutError(f"{response.url} cancelled its response: {message}: request less")
    return RemoteTruncatedError(
        f"{response.url} returned an incomplete or damaged response: try again, or request less"
    )


_SAFE_SIZE: Final = 2_000
"""Data of up to this many bytes cannot be nested deeply enough to crash a process."""
_SECONDS: Final = 120.0


def parse_in_sandbox(data: bytes, syntax: ox.RdfFormat) -> list[ox.Triple]:
    """The triples of `data`, in order, parsed in a child process.

    Raises SyntaxError and ValueError as the parser does, also for triple terms that are nested too
    deeply, and `EndedError` for data on which the parser crashes or exceeds its limits.
    """
    if len(data) > _SAFE_SIZE:
        limits = Limits(_SECONDS, half_of_memory())
        data, syntax = run(_as_ntriples, limits, data, syntax.media_type), ox.RdfFormat.N_TRIPLES
    return [quad.triple for quad in ox.parse(data, syntax)]


def _as_ntriples(data: bytes, media_type: str) -> bytes:
    triples = [quad.triple for quad in ox.parse(data, ox.RdfFormat.from_media_type(media_type))]
    if any(map(is_deep, triples)):
        raise ValueError("triple terms are nested too deeply")
    return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
