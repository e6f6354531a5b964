"""``sarag mcp`` and the door ``/mcp``: offer a graph to agents over the Model Context Protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import note
from sarag_rdf.server.serve_settings import ServeSettings

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from sarag_rdf.server.openapi import Door
    from sarag_rdf.server.pool import Workers


@click.command(name="mcp", epilog="Example:  sarag mcp --kg kg")
@flags.kg_option
@click.option("--http", is_flag=True, help="Serve over HTTP at /mcp, not over standard input.")
@flags.of(ServeSettings, "host", once=True)
@flags.of(ServeSettings, "port", once=True, default=7879)
@flags.of(ServeSettings, "tokens", "anonymous", "timeout", once=True)
@flags.of(
    ServeSettings, "question_timeout", once=True, help="Time limit of every other tool, in seconds."
)
@flags.of(ServeSettings, "max_rows", once=True, default=1000)
@flags.of(ServeSettings, "max_memory", "max_connections", once=True)
@flags.sparql_options
@flags.server_options
def command(**options: Any) -> int:
    """Offer a graph to agents over the Model Context Protocol.

    The tools read and never write: search, ask, query, entity, neighbours, schema, explain,
    explain_query. Without --http the client starts this command and talks to it over standard
    input and output; --host, --port, --tokens and --anonymous are for --http. Needs the extra mcp.
    """
    from sarag_rdf.server.http_server import serve
    from sarag_rdf.server.pool import Workers

    make_server, _ = _mcp_server()
    if not options["http"] and (options["tokens"] or options["anonymous"]):
        raise UsageError(
            "--tokens and --anonymous are for --http: over standard input and output the client "
            "starts the server itself"
        )
    settings, open_graph = flags.served_graph(options)
    with open_graph() as kg:
        kg.reload()  # says now, and not to an agent, that there is no graph
    with suppress(KeyboardInterrupt):
        if options["http"]:
            serve(settings, open_graph, lambda url, _: note(f"MCP at {url}/mcp"))
        else:
            with Workers(settings, open_graph) as workers:
                make_server(settings, workers).run("stdio")
    return 0


def door(settings: ServeSettings, workers: Workers) -> Door:
    """``/mcp`` of a server; raises `MissingDependencyError` without the SDK."""
    from sarag_rdf.server.openapi import Door

    _, http_app = _mcp_server()
    app = http_app(settings, workers)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with app.router.lifespan_context(app):
            yield

    return Door("/mcp", "MCP", app.routes, lifespan=lifespan)


def _mcp_server() -> tuple[Callable[..., Any], Callable[..., Starlette]]:
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
