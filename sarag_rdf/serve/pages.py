"""Pages for people: the SPARQL editor, and what the server offers; all from this package."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from sarag_rdf import __version__
from sarag_rdf.resources import query_file, query_names
from sarag_rdf.serve.exchange import public_url
from sarag_rdf.vocab import PREFIXES

STATIC = Path(__file__).parent / "static"


async def editor(request: Request) -> Response:
    """``/``: the SPARQL editor."""
    data = {
        "endpoint": public_url(request, "/sparql"),
        "prefixes": PREFIXES | _own_prefixes(request),
        "examples": examples(),
    }
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return HTMLResponse(_page("editor.html").replace("{{ data }}", text))


async def docs(_: Request) -> Response:
    """``/docs``: what can be asked, for people."""
    return HTMLResponse(_page("docs.html"))


async def openapi(request: Request) -> Response:
    """``/openapi.json``: the same for programs."""
    return JSONResponse(openapi_document(public_url(request, "")))


def examples() -> list[dict[str, str]]:
    """Queries that work on any graph: title and text, in the order of their files."""
    found = [query_file("examples", name) for name in query_names("examples")]
    return [
        {
            "title": query.header["summary"].rstrip("."),
            "text": "\n".join(
                line for line in query.text.splitlines() if not line.startswith("#+")
            ).strip()
            + "\n",
        }
        for query in found
    ]


def openapi_document(url: str) -> dict[str, Any]:
    """The description of all paths, for the server at a URL."""
    document: dict[str, Any] = json.loads(_page("openapi.json"))
    document["info"]["version"] = __version__
    document["servers"] = [{"url": url}]
    return document


def _own_prefixes(request: Request) -> dict[str, str]:
    """Prefixes of the graph's own IRIs, as its exports have them."""
    base = request.app.state.base
    names = ("entity", "mention", "doc", "description", "relationship", "source", "graph")
    return {name: f"{base}{name}/" for name in names} if base else {}


@cache
def _page(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
