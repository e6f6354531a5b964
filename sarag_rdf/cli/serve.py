"""``sarag serve``: serve a graph over HTTP."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.options import (
    embedder_option,
    endpoint_of,
    facts_option,
    kg_option,
    model_options,
    over_option,
)
from sarag_rdf.cli.verbosity import is_quiet, note

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.server.doors import Door
    from sarag_rdf.server.settings import ServeSettings

_SECONDS = click.FloatRange(0.0, min_open=True)
max_memory_option = click.option(
    "--max-memory",
    type=click.IntRange(64),
    help="Maximum memory of each worker process, in MiB. Default: half of the machine's memory "
    "divided by the number of workers for queries, but at least 1024.",
)
max_connections_option = click.option(
    "--max-connections",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum number of connections from one address. A reverse proxy has one address: "
    "set as many as it may open.",
)


@click.command(name="serve", epilog="Example:  sarag serve --kg kg --port 7878")
@kg_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=7878,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 for any free port.",
)
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=_SECONDS,
    help="Time limit of a query, in seconds.",
)
@click.option(
    "--write-timeout",
    default=600.0,
    show_default=True,
    type=_SECONDS,
    help="Time limit of an update, in seconds.",
)
@click.option(
    "--max-rows",
    default=100_000,
    show_default=True,
    type=click.IntRange(0),
    help="Maximum number of rows or triples of a result; 0 for no limit.",
)
@click.option(
    "--max-body",
    default=64,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum size of a request body, in MiB.",
)
@max_memory_option
@max_connections_option
@click.option(
    "--workers",
    default=2,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Number of worker processes for queries.",
)
@click.option(
    "--question-timeout",
    default=120.0,
    show_default=True,
    type=_SECONDS,
    help="Time limit of a request to /search or /ask, in seconds.",
)
@click.option(
    "--question-workers",
    default=2,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Number of worker processes for questions; each loads its own models.",
)
@click.option(
    "--queue",
    default=16,
    show_default=True,
    type=click.IntRange(0),
    help="Length of the queue of each worker pool; further requests get 503.",
)
@click.option(
    "--default-graph",
    "dataset",
    default="union",
    show_default=True,
    type=click.Choice(["union", "empty"]),
    help="Default graph of queries: the union of the graphs of --over, or the unnamed graph.",
)
@click.option(
    "--writable", is_flag=True, help="Accept writes from clients whose token permits them."
)
@click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    help="YAML file of tokens and their permissions (see  sarag token --help). The token in "
    "SARAG_SERVE_TOKEN may do everything.",
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Permit reading and asking without a token. Without --tokens, this is the default on "
    "this machine.",
)
@click.option(
    "--audit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append a line of JSON for each request to this file: client, operation, time, rows.",
)
@click.option(
    "--allow-service", is_flag=True, help="Permit SERVICE, which sends requests to other servers."
)
@click.option(
    "--allow-load", is_flag=True, help="Permit LOAD, which sends requests to other servers."
)
@click.option(
    "--cors", default="", help="Allow pages of this origin to read responses; * for any origin."
)
@click.option("--public-url", default="", help="URL of the server behind a reverse proxy.")
@over_option
@facts_option
@embedder_option
@model_options("--model-timeout")
def command(**options: Any) -> int:
    """Serve an explorer, a SPARQL endpoint with an editor, a graph store, search and answers.

    By default, the server is read-only and accepts connections from this machine only. Requests are
    logged unless --quiet is given. Press Ctrl-C to stop.
    """
    from sarag_rdf.server.access import access_rules
    from sarag_rdf.server.server import serve
    from sarag_rdf.server.settings import ServeSettings, checked_public_url, is_loopback

    access = access_rules(
        options["tokens"],
        is_local=is_loopback(options["host"]),
        anonymous=options["anonymous"],
        writable=options["writable"],
    )
    settings = ServeSettings(
        folder=folder_of(options["kg"]),
        host=options["host"],
        port=options["port"],
        timeout=options["timeout"],
        write_timeout=options["write_timeout"],
        max_rows=options["max_rows"],
        max_body=options["max_body"] << 20,
        max_memory=(options["max_memory"] or 0) << 20,
        max_connections=options["max_connections"],
        workers=options["workers"],
        question_timeout=options["question_timeout"],
        question_workers=options["question_workers"],
        queue=options["queue"],
        union=options["dataset"] == "union",
        over=options["over"],
        access=access,
        writable=options["writable"],
        audit=options["audit"],
        allow_service=options["allow_service"],
        allow_load=options["allow_load"],
        cors=options["cors"],
        public_url=checked_public_url(options["public_url"]),
        has_model=endpoint_of(options) is not None,
    )
    if not is_quiet():
        logging.getLogger("sarag_rdf.server").setLevel(logging.INFO)
    open_graph = graph_opener(settings, options)
    with suppress(KeyboardInterrupt):
        serve(settings, open_graph, lambda url, doors: _announce(url, settings, doors))
    note("stopped")
    return 0


def graph_opener(settings: ServeSettings, options: dict[str, Any]) -> Callable[[], KnowledgeGraph]:
    """A picklable function that opens the graph, in this process or a worker."""
    return partial(
        sarag_rdf.open,
        settings.folder,
        over=options["over"],
        embedder=options["embedder"],
        endpoint=endpoint_of({**options, "timeout": options["model_timeout"]}),
        keep_vectors=settings.writable,
        facts=options["facts"],
    )


def folder_of(location: str | Path) -> Path:
    """The folder of --kg; raises `UsageError` for the URL of an endpoint."""
    if isinstance(location, str):
        SparqlEndpoint(location)
        raise UsageError(f"cannot serve {location}, which is an endpoint: --kg needs a folder")
    return location.expanduser()


def _announce(local: str, settings: ServeSettings, doors: Sequence[Door]) -> None:
    """Print the URLs of the server."""
    url = settings.public_url or local
    if settings.public_url:
        click.echo(f"Listening on    {local}/")
    click.echo(f"Explorer        {url}/")
    click.echo(f"SPARQL editor   {url}/sparql-editor")
    click.echo(f"SPARQL endpoint {url}/sparql")
    click.echo(f"Graph store     {url}/rdf-graph-store")
    click.echo(f"Search, answers {url}/search?q=...  {url}/ask?q=...")
    for door in doors:
        if door.title:
            click.echo(f"{door.title:<15} {url}{door.path}")
    click.echo(f"Description     {url}/docs  {url}/openapi.json")
    sys.stdout.flush()
