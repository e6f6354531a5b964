"""Parses the results of an endpoint into terms: the whole answer, or an error."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pyoxigraph as ox

from sarag_rdf.errors import RemoteStoreError, RemoteTimeoutError, RemoteTruncatedError
from sarag_rdf.ports import Table, Triples
from sarag_rdf.rdf.sparql_client import Response, brief
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
_ASKED = "__ASK_RETVAL"
"""What Virtuoso calls the only cell of the table that it answers an ASK with."""


def announced_limit(response: Response) -> int | None:
    """The number of rows at which the endpoint says that it has cut the result."""
    value = response.headers.get("X-SPARQL-MaxRows", "")
    return int(value) if value.isdecimal() else None


def read_rows(response: Response) -> Table | bool:
    """A SELECT or ASK result; raises `RemoteTruncatedError` and its siblings."""
    _refuse_partial(response)
    if response.media_type not in (ROWS, "application/json"):
        raise _unexpected(response)
    try:
        data = json.loads(response.body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _broken(response) from error
    try:
        return _result(data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RemoteStoreError(
            f"{response.url} gave JSON that is no SPARQL result: is it the query endpoint?"
        ) from error


def read_triples(response: Response) -> Triples:
    """A CONSTRUCT or DESCRIBE result; raises what `read_rows` raises."""
    _refuse_partial(response)
    syntax = _SYNTAXES.get(response.media_type)
    if syntax is None:
        raise _unexpected(response)
    if not response.framed:
        raise RemoteTruncatedError(
            f"{response.url} does not tell how long its answer is, so that nothing shows whether "
            "the triples are all there: select rows instead"
        )
    try:
        return Triples(parse_apart(response.body, syntax))
    except (SyntaxError, ValueError) as error:
        raise _broken(response) from error
    except EndedError as error:
        raise RemoteStoreError(
            f"{response.url} gave an answer that {error}: ask for less, or for rows"
        ) from error


def _result(data: Any) -> Table | bool:
    if "boolean" in data:
        if not isinstance(data["boolean"], bool):
            raise TypeError
        return data["boolean"]
    variables = tuple(map(str, data["head"]["vars"]))
    rows = [
        tuple(_term(row[name]) if name in row else None for name in variables)
        for row in data["results"]["bindings"]
    ]
    if variables == (_ASKED,):
        return [str(row[0].value) for row in rows if row[0]] not in ([], ["0"], ["false"])
    return Table(variables, rows)


def _term(value: dict[str, Any], depth: int = 0) -> Any:
    """A term of the SPARQL results in JSON; Virtuoso has a type of its own for typed literals.

    It stands in so many triple terms; raises ValueError if these are too many.
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


def _refuse_partial(response: Response) -> None:
    """Virtuoso tells in a header that it gave what it had when its time was over."""
    state = response.headers.get("X-SQL-State")
    if state is not None:
        told = brief(response.headers.get("X-SQL-Message", state))
        raise RemoteTruncatedError(f"{response.url} gave only a part: {told}: ask for less")


def _unexpected(response: Response) -> RemoteStoreError:
    if response.media_type in ("text/html", "application/xhtml+xml"):
        return RemoteStoreError(
            f"{response.url} answered with a web page, not with results: name the URL of the "
            "query endpoint itself"
        )
    return RemoteStoreError(
        f"{response.url} answered as {response.media_type}, which is not what was asked for: is "
        "it a SPARQL query endpoint?"
    )


def _broken(response: Response) -> RemoteStoreError:
    tail = response.body[-_TAIL:].decode("utf-8", "replace")
    found = _CANCELLED.search(tail)
    if found:
        told = brief(tail[max(0, found.start() - 80) : found.end() + 80])
        return RemoteTimeoutError(
            f"{response.url} broke its answer off, and says: {told}: ask for less"
        )
    return RemoteTruncatedError(
        f"{response.url} gave an answer that ends in the middle or is damaged: try again, or ask "
        "for less"
    )


_SHORT: Final = 2_000
"""Bytes in which nothing nests deeply enough to end a process."""
_SECONDS: Final = 120.0


def parse_apart(data: bytes, syntax: ox.RdfFormat) -> list[ox.Triple]:
    """The triples of `data`, in order.

    Raises SyntaxError and ValueError as the parser does, also for triple terms that are nested too
    deeply, and `EndedError` for data on which the parser crashes or does not end.
    """
    if len(data) > _SHORT:
        limits = Limits(_SECONDS, half_of_memory())
        data, syntax = run(_as_ntriples, limits, data, syntax.media_type), ox.RdfFormat.N_TRIPLES
    return [quad.triple for quad in ox.parse(data, syntax)]


def _as_ntriples(data: bytes, media_type: str) -> bytes:
    triples = [quad.triple for quad in ox.parse(data, ox.RdfFormat.from_media_type(media_type))]
    if any(map(is_deep, triples)):
        raise ValueError("triple terms are nested too deeply")
    return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
