"""``/search`` and ``/ask``: what ``sarag search --json`` and ``sarag ask --json`` give."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf.options import MOST_COUNT, MOST_HOPS, MOST_TOKENS
from sarag_rdf.serve.answering import error_reply
from sarag_rdf.serve.http import query_string, read_body, run, to_response
from sarag_rdf.serve.jobs import QuestionJob, RequestError


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a parameter takes: texts of at most that many characters, or numbers of a range.

    Retrievers, contexts and reasoners may take less.
    """

    kind: type
    least: float = 0
    most: float = MOST_COUNT

    def value(self, name: str, given: Any) -> Any:
        """The value that was given, as the parameter's kind; raises `RequestError` (400)."""
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            raise RequestError(400, f"'{name}' takes {_KIND[self.kind]}")
        if isinstance(given, str) and len(given) > self.most and self.kind is str:
            raise RequestError(400, f"'{name}' has at most {self.most:g} characters")
        try:
            made = self.kind(given)
        except (ValueError, OverflowError) as error:
            raise RequestError(400, f"'{name}' takes {_KIND[self.kind]}") from error
        if self.kind is int and isinstance(given, float) and made != given:
            raise RequestError(400, f"'{name}' takes a whole number")
        if self.kind is not str and not self.least <= made <= self.most:
            raise RequestError(400, f"'{name}' lies between {self.least:g} and {self.most:g}")
        return made


_KIND = {str: "a text", int: "a whole number", float: "a number"}
RETRIEVAL: dict[str, Parameter] = {
    "retriever": Parameter(str),
    "preset": Parameter(str),
    "k": Parameter(int),
    "n": Parameter(int, 0, MOST_HOPS),
    "c": Parameter(float, 0, 1),
    "limit": Parameter(int, 1),
}
REASONING: dict[str, Parameter] = {
    "reasoner": Parameter(str),
    "context": Parameter(str),
    "budget": Parameter(int, 1, MOST_TOKENS),
}
"""Parameters with their ranges. Endpoints, models and paths are none of them."""
_MOST_BODY = 1 << 20
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


async def search(request: Request) -> Response:
    """``/search?q=…``: documents and relationships for a question."""
    return await _answered(request, "search", RETRIEVAL)


async def ask(request: Request) -> Response:
    """``/ask?q=…``: an answer with its evidence, or the evidence alone without a model."""
    return await _answered(request, "ask", RETRIEVAL | REASONING)


async def _answered(
    request: Request, method: Literal["search", "ask"], takes: Mapping[str, Parameter]
) -> Response:
    try:
        given = await _given(request, takes)
        job = QuestionJob(method, given.pop("q"), given)
        return await run(request, job, pool="questions")
    except RequestError as error:
        return to_response(error_reply(error))


async def _given(request: Request, takes: Mapping[str, Parameter]) -> dict[str, Any]:
    """The question as ``q``, and the options that were given; raises `RequestError`."""
    found: dict[str, Any] = {}
    if request.method == "POST":
        found = _object(request, await read_body(request, _MOST_BODY))
    for name, value in await query_string(request):
        if name in found:
            raise RequestError(400, f"'{name}' is given more than once")
        found[name] = value
    if "question" in found and "q" not in found:
        found["q"] = found.pop("question")
    if not isinstance(found.get("q"), str) or not found["q"].strip():
        raise RequestError(400, "ask something: the question goes into 'q'")
    unknown = sorted(found.keys() - takes.keys() - {"q"})
    if unknown:
        raise RequestError(400, f"unknown: {', '.join(unknown)}; there are q, {', '.join(takes)}")
    given = {name: takes[name].value(name, found[name]) for name in takes if name in found}
    for name, value in {"q": found["q"], **given}.items():
        if isinstance(value, str) and _LONE_SURROGATE.search(value):
            raise RequestError(400, f"'{name}' holds half of a surrogate pair, which is no text")
    return {"q": found["q"], "limit": 10, **given}


def _object(request: Request, body: bytes) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RequestError(415, "send the question as application/json")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise RequestError(400, "the body is no JSON object")
    return found
