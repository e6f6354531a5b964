"""``sarag token``: a new token for a server."""

from __future__ import annotations

import click


@click.command(name="token", epilog="Example:  sarag token alice --scope read --scope ask")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=("read",),
    show_default=True,
    type=click.Choice(["read", "ask", "write"]),
    help="What the token permits; can be repeated.",
)
def command(name: str, scopes: tuple[str, ...]) -> int:
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
    from sarag_rdf.base.errors import UsageError
    from sarag_rdf.server.access import ANONYMOUS, new_token

    if not name.strip() or not name.isprintable() or name == ANONYMOUS:
        raise UsageError(f"'{name}' cannot be the name of a token: choose another one")
    token, digest = new_token()
    click.echo(f"Token of {name}, shown only now:  {token}", err=True)
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    click.echo(f'  - name: "{text}"')
    click.echo(f'    sha256: "{digest}"')
    click.echo(f"    scopes: [{', '.join(dict.fromkeys(scopes))}]")
    return 0
