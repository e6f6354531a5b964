"""``sarag serve`` and ``sarag token``: a graph over HTTP."""

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
from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import is_quiet, note
from sarag_rdf.server.access import ANONYMOUS, SCOPES, access_rules, new_token
from sarag_rdf.server.settings import ServeSettings, is_loopback

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.server.doors import Door

graph_options = flags.together(
    flags.over_option,
    flags.facts_option,
    flags.embedder_option,
    flags.of(ModelEndpoint, names={"seed": "model_seed", "timeout": "model_timeout"}),
)
"""What a server reads, and its models; --timeout is that of its queries."""


@click.command(name="serve", epilog="Example:  sarag serve --kg kg --port 7878")
@flags.kg_option
@flags.of(ServeSettings, once=True)
@graph_options
def serve(**options: Any) -> int:
    """Serve an explorer, a SPARQL endpoint with an editor, a graph store, search and answers.

    By default, the server is read-only and accepts connections from this machine only. Requests are
    logged unless --quiet is given. Press Ctrl-C to stop.
    """
    from sarag_rdf.server.server import serve as run

    access = access_rules(
        options["tokens"],
        is_local=is_loopback(options["host"]),
        anonymous=options["anonymous"],
        writable=options["writable"],
    )
    settings = flags.chosen(
        ServeSettings,
        options,
        folder=folder_of(options["kg"]),
        over=options["over"],
        access=access,
        has_model=bool(options["base_url"]),
    )
    if not is_quiet():
        logging.getLogger("sarag_rdf.server").setLevel(logging.INFO)
    open_graph = graph_opener(settings, options)
    with suppress(KeyboardInterrupt):
        run(settings, open_graph, lambda url, doors: _announce(url, settings, doors))
    note("stopped")
    return 0


@click.command(name="token", epilog="Example:  sarag token alice --scope read --scope ask")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=("read",),
    show_default=True,
    type=click.Choice(SCOPES),
    help="What the token permits; can be repeated.",
)
def token(name: str, scopes: tuple[str, ...]) -> int:
    """Make a token for a server, and print its entry for the file of sarag serve --tokens.

    The token is printed once, to standard error; only its SHA-256 is in the entry. An entry can
    also limit the graphs that a token reads, and its requests:

    \b
      anonymous:                         # without a token; leave it out for nothing
        scopes: [read]
      tokens:
        - name: alice
          sha256: 9f86d0...
          scopes: [read, ask, write]
          graphs:
            allow: [documents, wikidata]   # or deny: names of parts or IRIs of graphs
          requests_per_minute: 600
    """  # noqa: D301 - click reads the backspace
    if not name.strip() or not name.isprintable() or name == ANONYMOUS:
        raise UsageError(f"'{name}' cannot be the name of a token: choose another one")
    secret, digest = new_token()
    click.echo(f"Token of {name}, shown only now:  {secret}", err=True)
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    click.echo(f'  - name: "{text}"')
    click.echo(f'    sha256: "{digest}"')
    click.echo(f"    scopes: [{', '.join(dict.fromkeys(scopes))}]")
    return 0


def graph_opener(settings: ServeSettings, options: dict[str, Any]) -> Callable[[], KnowledgeGraph]:
    """A picklable function that opens the graph, in this process or a worker."""
    return partial(
        sarag_rdf.open,
        settings.folder,
        over=options["over"],
        embedder=options["embedder"],
        endpoint=flags.endpoint_of(options, timeout="model_timeout"),
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
