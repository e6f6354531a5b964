"""``sarag mcp`` and the door ``/mcp``: offer a graph to agents over the Model Context Protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import anyio
import click

from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import note
from sarag_rdf.server.serve_settings import ServeSettings

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from sarag_rdf.server.openapi import Door
    from sarag_rdf.server.worker_pool import Workers

_MISSING: Final = "the MCP SDK is not installed: pip install 'sarag-rdf[mcp]'"


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
    from sarag_rdf.server.worker_pool import Workers

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
    from starlette.routing import Route

    from sarag_rdf.server.openapi import Door

    if find_spec("mcp") is None:
        raise MissingDependencyError(_MISSING)
    late = _Late(settings, workers)
    return Door("/mcp", "MCP", [Route("/mcp", late)], lifespan=late.lifespan)


class _Late:
    """The application for ``/mcp``, made for its first request: the import of the SDK is slow."""

    def __init__(self, settings: ServeSettings, workers: Workers) -> None:
        self._settings, self._workers = settings, workers
        self._lock = anyio.Lock()
        self._app: Starlette | None = None
        self._group: TaskGroup | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._lock:
            if self._app is None and self._group is not None:
                self._app = await self._group.start(self._run)
        assert self._app is not None  # noqa: S101 - requests come within the lifespan
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    async def _run(self, *, task_status: TaskStatus[Starlette]) -> None:
        """Runs as long as the server: a lifespan ends in the task in which it began."""
        _, http_app = await anyio.to_thread.run_sync(_mcp_server)
        app = http_app(self._settings, self._workers)
        async with app.router.lifespan_context(app):
            task_status.started(app)
            await anyio.sleep_forever()


def _mcp_server() -> tuple[Callable[..., Any], Callable[..., Starlette]]:
    """`mcp.make_server` and `mcp.http_app`; raises `MissingDependencyError` without the SDK."""
    try:
        from sarag_rdf.plugins.agents.mcp import http_app, make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise MissingDependencyError(_MISSING) from error
    return make_server, http_app
