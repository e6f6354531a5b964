"""``sarag mcp``: offer a graph to agents over the Model Context Protocol."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import note
from sarag_rdf.cli.server_commands import folder_of, graph_opener, graph_options
from sarag_rdf.server.settings import ServeSettings, is_loopback

_SECONDS = click.FloatRange(0.0, min_open=True)


@click.command(name="mcp", epilog="Example:  sarag mcp --kg kg")
@flags.kg_option
@click.option("--http", is_flag=True, help="Serve over HTTP at /mcp, not over standard input.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on with --http."
)
@click.option(
    "--port",
    default=7879,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="Port to listen on with --http.",
)
@click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    help="YAML file of tokens and their permissions with --http (see  sarag token --help). The "
    "token in SARAG_SERVE_TOKEN may do everything.",
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Permit reading and asking without a token with --http. Without --tokens, this is the "
    "default on this machine.",
)
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=_SECONDS,
    help="Time limit of a query, in seconds.",
)
@click.option(
    "--question-timeout",
    default=120.0,
    show_default=True,
    type=_SECONDS,
    help="Time limit of every other tool, in seconds.",
)
@click.option(
    "--max-rows",
    default=1000,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum number of rows or triples of a result.",
)
@flags.of(ServeSettings, "max_memory", "max_connections", once=True)
@graph_options
def command(**options: Any) -> int:
    """Offer a graph to agents over the Model Context Protocol.

    The tools read and never write: search, ask, query, entity, neighbours, schema, explain,
    explain_query. Without --http the client starts this command and talks to it over standard
    input and output. Needs the extra mcp.
    """
    from sarag_rdf.plugins.agents.doors import mcp_server
    from sarag_rdf.server.access import access_rules
    from sarag_rdf.server.server import serve

    make_server, _ = mcp_server()
    if not options["http"] and (options["tokens"] or options["anonymous"]):
        raise UsageError(
            "--tokens and --anonymous are for --http: over standard input and output the client "
            "starts the server itself"
        )
    access = access_rules(
        options["tokens"],
        is_local=not options["http"] or is_loopback(options["host"]),
        anonymous=options["anonymous"],
    )
    settings = ServeSettings(
        folder=folder_of(options["kg"]),
        host=options["host"],
        port=options["port"],
        timeout=options["timeout"],
        question_timeout=options["question_timeout"],
        access=access,
        max_memory=options["max_memory"],
        max_connections=options["max_connections"],
        max_rows=options["max_rows"],
        over=options["over"],
    )
    open_graph = graph_opener(settings, options)
    with open_graph() as kg:
        kg.reload()  # says now, and not to an agent, that there is no graph
    with suppress(KeyboardInterrupt):
        if options["http"]:
            serve(settings, open_graph, lambda url, _: note(f"MCP at {url}/mcp"))
        else:
            make_server(open_graph, settings).run("stdio")
    return 0
