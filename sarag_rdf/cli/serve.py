"""``sarag serve``: the graph over HTTP."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import sarag_rdf
from sarag_rdf.cli.options import (
    embedder_option,
    endpoint_of,
    kg_option,
    model_options,
    over_option,
)
from sarag_rdf.endpoints import SparqlEndpoint
from sarag_rdf.errors import UsageError

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.serve.settings import ServeSettings

_LIMITS = click.FloatRange(0.0, min_open=True)


@click.command(name="serve", epilog="Example:  sarag serve --kg kg --port 7878")
@kg_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    default=7878,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="0: any free one.",
)
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=_LIMITS,
    help="Seconds until a query is killed.",
)
@click.option(
    "--write-timeout",
    default=600.0,
    show_default=True,
    type=_LIMITS,
    help="Seconds until a write is killed.",
)
@click.option(
    "--max-rows",
    default=100_000,
    show_default=True,
    type=click.IntRange(0),
    help="Rows or triples of a result at most; 0: all.",
)
@click.option(
    "--max-body",
    default=64,
    show_default=True,
    type=click.IntRange(1),
    help="MiB of a request at most.",
)
@click.option(
    "--workers",
    default=2,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Queries at a time.",
)
@click.option(
    "--question-timeout",
    default=120.0,
    show_default=True,
    type=_LIMITS,
    help="Seconds until a question to /search or /ask is killed.",
)
@click.option(
    "--question-workers",
    default=2,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Questions at a time; each process holds models of its own.",
)
@click.option(
    "--queue",
    default=16,
    show_default=True,
    type=click.IntRange(0),
    help="Queries that may wait, and as many questions; others get 503.",
)
@click.option(
    "--default-graph",
    "dataset",
    default="union",
    show_default=True,
    type=click.Choice(["union", "empty"]),
    help="What a query without FROM and GRAPH reads: the graphs of --over, or the unnamed one.",
)
@click.option(
    "--writable", is_flag=True, help="Take writes from who shows the token in SARAG_SERVE_TOKEN."
)
@click.option("--allow-service", is_flag=True, help="Let SERVICE reach the network.")
@click.option("--allow-load", is_flag=True, help="Let LOAD reach the network.")
@click.option("--cors", default="", help="An origin whose pages may read answers; *: any.")
@click.option("--public-url", default="", help="Where clients reach the server through a proxy.")
@click.option("--quiet", is_flag=True, help="Do not log requests.")
@over_option
@embedder_option
@model_options("--model-timeout")
def command(**options: Any) -> int:
    """Serve a SPARQL endpoint, a graph store, search, answers, and a page to query with.

    Only this machine is listened to, and only reading is allowed, unless told otherwise. Ctrl-C
    ends it.
    """
    from sarag_rdf.serve.server import serve
    from sarag_rdf.serve.settings import ServeSettings, checked_public_url, token_from_environment

    settings = ServeSettings(
        folder=_folder(options["kg"]),
        host=options["host"],
        port=options["port"],
        timeout=options["timeout"],
        write_timeout=options["write_timeout"],
        max_rows=options["max_rows"],
        max_body=options["max_body"] << 20,
        workers=options["workers"],
        question_timeout=options["question_timeout"],
        question_workers=options["question_workers"],
        queue=options["queue"],
        union=options["dataset"] == "union",
        over=options["over"],
        token=token_from_environment(writable=options["writable"]),
        allow_service=options["allow_service"],
        allow_load=options["allow_load"],
        cors=options["cors"],
        public_url=checked_public_url(options["public_url"]),
    )
    if not options["quiet"]:
        logging.getLogger("sarag_rdf.serve").setLevel(logging.INFO)
    opening = _opening(settings, options)
    with suppress(KeyboardInterrupt):
        serve(settings, opening, lambda url: _announce(url, settings.public_url))
    click.echo("sarag: stopped", err=True)
    return 0


def _opening(settings: ServeSettings, options: dict[str, Any]) -> Callable[[], KnowledgeGraph]:
    """Opens the graph that is searched, here or in another process."""
    return partial(
        sarag_rdf.open,
        settings.folder,
        over=options["over"],
        embedder=options["embedder"],
        endpoint=endpoint_of({**options, "timeout": options["model_timeout"]}),
        keep_vectors=settings.writable,
    )


def _folder(location: str | Path) -> Path:
    """The folder that --kg names; raises `UsageError` for an endpoint, which is served already."""
    if isinstance(location, str):
        SparqlEndpoint(location)
        raise UsageError(f"{location} is an endpoint already: --kg takes a folder here")
    return location.expanduser()


def _announce(local: str, public: str) -> None:
    """Tell where the server is, before the first request."""
    url = public or local
    if public:
        click.echo(f"Listening at    {local}/")
    click.echo(f"SPARQL editor   {url}/")
    click.echo(f"SPARQL endpoint {url}/sparql")
    click.echo(f"Graph store     {url}/rdf-graph-store")
    click.echo(f"Search, answers {url}/search?q=...  {url}/ask?q=...")
    click.echo(f"Description     {url}/docs  {url}/openapi.json")
    sys.stdout.flush()
