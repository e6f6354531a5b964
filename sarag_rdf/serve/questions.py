"""``/search`` and ``/ask``: what ``sarag search --json`` and ``sarag ask --json`` give."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sarag_rdf.context.report import answer_to_dict, retrieved_to_dict
from sarag_rdf.errors import (
    EmptyGraphError,
    EndpointError,
    ModelError,
    SaragError,
    StoreError,
    UsageError,
)
from sarag_rdf.knowledge_graph import KnowledgeGraph
from sarag_rdf.serve.exchange import body_of, query_string
from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Stamp, stamp_of

log = logging.getLogger(__name__)

RETRIEVAL: dict[str, type] = {
    "retriever": str, "preset": str, "k": int, "n": int, "c": float, "limit": int,
}  # fmt: skip
REASONING: dict[str, type] = {"reasoner": str, "context": str, "budget": int}
"""Parameters and their types. Endpoints, models and paths are none of them."""
_MOST_LIMIT = 1000
_MOST_BODY = 1 << 20

Give = Callable[[KnowledgeGraph, str, dict[str, Any]], dict[str, Any]]


class Desk:
    """Answers questions one after the other in a thread of its own; models are loaded once.

    The graph is read anew when its files have changed.
    """

    def __init__(self, kg: KnowledgeGraph, settings: ServeSettings) -> None:
        self._kg = kg
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="questions")
        self._stamp: Stamp | None = None
        self._waiting = 0

    async def run(self, give: Give, question: str, options: dict[str, Any]) -> dict[str, Any]:
        """What `give` returns for a question; raises `SaragError`, `RequestError` if it is busy."""
        if self._waiting > self._settings.queue:
            raise RequestError(503, "too many questions at a time: try again", Retry_After="5")
        self._waiting += 1
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._fresh, give, question, options)
        finally:
            self._waiting -= 1

    def _fresh(self, give: Give, question: str, options: dict[str, Any]) -> dict[str, Any]:
        stamp = stamp_of(self._settings.store)
        if stamp != self._stamp:
            self._kg.reload()
            self._stamp = stamp
        return give(self._kg, question, options)

    def close(self) -> None:
        """Take no more questions; one that is being answered is left behind."""
        self._thread.shutdown(wait=False, cancel_futures=True)


async def search(request: Request) -> Response:
    """``/search?q=…``: documents and relationships for a question."""
    return await _told(request, RETRIEVAL, _search)


async def ask(request: Request) -> Response:
    """``/ask?q=…``: an answer with its evidence, or the evidence alone without a model."""
    return await _told(request, RETRIEVAL | REASONING, _ask)


def _search(kg: KnowledgeGraph, question: str, options: dict[str, Any]) -> dict[str, Any]:
    return retrieved_to_dict(kg.search(question, **options))


def _ask(kg: KnowledgeGraph, question: str, options: dict[str, Any]) -> dict[str, Any]:
    return answer_to_dict(kg.ask(question, **options))


async def _told(request: Request, types: dict[str, type], give: Give) -> Response:
    try:
        given = await _given(request, types)
        question = given.pop("q")
        desk: Desk = request.app.state.desk
        return JSONResponse(await desk.run(give, question, given))
    except SaragError as error:
        return failure(error)


def failure(error: SaragError) -> Response:
    """An error as JSON: a code for programs, a message for people."""
    status, code = _status(error)
    headers = dict(error.headers) if isinstance(error, RequestError) else {}
    line = " ".join(str(error).split())
    return JSONResponse({"error": {"code": code, "message": line}}, status, headers)


def _status(error: SaragError) -> tuple[int, str]:
    if isinstance(error, RequestError):
        codes = {413: "too_large", 415: "wrong_media_type", 503: "busy"}
        return error.status, codes.get(error.status, "bad_request")
    kinds: list[tuple[type[SaragError], int, str]] = [
        (UsageError, 400, "bad_request"),
        (EmptyGraphError, 409, "empty_graph"),
        (EndpointError, 502, "model_endpoint"),
        (ModelError, 500, "model"),
        (StoreError, 500, "store"),
    ]
    return next(((s, c) for kind, s, c in kinds if isinstance(error, kind)), (400, "bad_request"))


async def _given(request: Request, types: dict[str, type]) -> dict[str, Any]:
    """The question as ``q``, and the options that were given; raises `RequestError`."""
    found: dict[str, Any] = {}
    if request.method == "POST":
        found = _object(request, await body_of(request, _MOST_BODY))
    for name, value in query_string(request):
        if name in found:
            raise RequestError(400, f"'{name}' is given more than once")
        found[name] = value
    if "question" in found and "q" not in found:
        found["q"] = found.pop("question")
    if not isinstance(found.get("q"), str) or not found["q"].strip():
        raise RequestError(400, "ask something: the question goes into 'q'")
    unknown = sorted(found.keys() - types.keys() - {"q"})
    if unknown:
        raise RequestError(400, f"unknown: {', '.join(unknown)}; there are q, {', '.join(types)}")
    options = {name: _typed(name, found[name], types[name]) for name in types if name in found}
    if not 1 <= options.get("limit", 1) <= _MOST_LIMIT:
        raise RequestError(400, f"'limit' lies between 1 and {_MOST_LIMIT}")
    return {"q": found["q"], "limit": 10, **options}


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


def _typed(name: str, value: Any, kind: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RequestError(400, f"'{name}' takes {_KIND[kind]}")
    try:
        made = kind(value)
    except (ValueError, OverflowError) as error:
        raise RequestError(400, f"'{name}' takes {_KIND[kind]}") from error
    if kind is int and made != float(value):
        raise RequestError(400, f"'{name}' takes a whole number")
    return made


_KIND = {str: "a text", int: "a whole number", float: "a number"}
