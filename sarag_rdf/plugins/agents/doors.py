"""The doors of this package: ``/mcp`` for agents, ``/v1`` for clients of OpenAI's API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.plugins.agents.openai_door import OPENAI_ROUTES, PREFIX, SCHEMAS, openai_error, paths
from sarag_rdf.server.openapi import Door
from sarag_rdf.server.pool import Workers
from sarag_rdf.server.serve_settings import ServeSettings


def openai(settings: ServeSettings, workers: Workers) -> Door:  # noqa: ARG001
    """``/v1``; without a language model it says that it is closed."""
    title = "OpenAI clients" if settings.has_model else ""
    return Door(
        PREFIX,
        title,
        OPENAI_ROUTES,
        scope="ask",
        error=openai_error,
        paths=paths(),
        schemas=SCHEMAS,
    )


def mcp_server() -> tuple[Callable[..., Any], Callable[..., Starlette]]:
    """`mcp.make_server` and `mcp.http_app`; raises `MissingDependencyError` without the SDK."""
    try:
        from sarag_rdf.plugins.agents.mcp import http_app, make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise MissingDependencyError(
            "the MCP SDK is not installed: pip install 'sarag-rdf[mcp]'"
        ) from error
    return make_server, http_app


def mcp(settings: ServeSettings, workers: Workers) -> Door:
    """``/mcp``; raises `MissingDependencyError` without the SDK."""
    _, http_app = mcp_server()
    app = http_app(settings, workers)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with app.router.lifespan_context(app):
            yield

    return Door("/mcp", "MCP", app.routes, lifespan=lifespan)
