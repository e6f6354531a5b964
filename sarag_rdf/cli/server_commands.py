"""``sarag serve`` and ``sarag token``: a graph over HTTP."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import is_quiet, note
from sarag_rdf.server.serve_settings import ANONYMOUS, SCOPES, ServeSettings, new_token

if TYPE_CHECKING:
    from sarag_rdf.server.openapi import Door


@click.command(name="serve", epilog="Example:  sarag serve --kg kg --port 7878")
@flags.kg_option
@flags.of(ServeSettings, without=("default_graph",), once=True)
@flags.served_options
@flags.server_options
def serve(**options: Any) -> int:
    """Serve an explorer, a SPARQL endpoint with an editor, a graph store, search and answers.

    By default, the server is read-only and accepts connections from this machine only. Requests are
    logged unless --quiet is given. Press Ctrl-C to stop.
    """
    from sarag_rdf.server.http_server import serve as run

    settings, open_graph = flags.served_graph(options, has_model=bool(options["base_url"]))
    if not is_quiet():
        logging.getLogger("sarag_rdf.server").setLevel(logging.INFO)
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
    click.echo(f"Token of {name}, shown only now: {secret}", err=True)
    click.echo(f"  - name: {json.dumps(name, ensure_ascii=False)}")
    click.echo(f'    sha256: "{digest}"\n    scopes: [{", ".join(dict.fromkeys(scopes))}]')
    return 0


def _announce(local: str, settings: ServeSettings, doors: Sequence[Door]) -> None:
    """Print the URLs of the server."""
    url = settings.public_url or local
    if settings.public_url:
        click.echo(f"Listening on    {local}/")
    for title, path in (
        ("Explorer", "/"),
        ("SPARQL editor", "/sparql-editor"),
        ("SPARQL endpoint", "/sparql"),
        ("Search, answers", f"/search?q=...  {url}/ask?q=..."),
        *((door.title, door.path) for door in doors if door.title),
        ("Description", f"/docs  {url}/openapi.json"),
    ):
        click.echo(f"{title:<15} {url}{path}")
    sys.stdout.flush()
