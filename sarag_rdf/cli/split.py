"""``sarag split``: two names are of two things, or one name is of another thing in some sources."""

from __future__ import annotations

from typing import Any

import click

from sarag_rdf.cli.merge import show_decisions, undo
from sarag_rdf.cli.options import kg_option, open_graph
from sarag_rdf.errors import UsageError


@click.command(
    name="split", epilog="Example:  sarag split Mercury --in planets/mercury.md --as planet"
)
@click.argument("name", required=False)
@kg_option
@click.option("--from", "other", metavar="NAME", help="The name that it is not.")
@click.option("--in", "sources", multiple=True, metavar="SOURCE", help="Where it is another thing.")
@click.option("--as", "qualifier", metavar="QUALIFIER", help="What tells that thing apart.")
@click.option("--note", default="", help="Why, in words.")
@click.option("--list", "listing", is_flag=True, help="List all decisions.")
@click.option("--undo", metavar="WHAT", help="Undo by a name, a decision's or run's IRI.")
@click.option("--undo-all", is_flag=True, help="Undo all merges and splits.")
def command(name: str | None, **options: Any) -> int:
    """Tell that NAME is not what another name is, or is another thing in some sources.

    With --from, names that an alias has put together are of two things. With --in and --as, the
    NAME is of a thing of its own in these sources (files, records or IRIs; --in may be given
    several times).
    """
    undoes = options["undo"] is not None or options["undo_all"]
    by_source = bool(options["sources"]) and bool(options["qualifier"])
    actions = [options["other"] is not None, by_source, options["listing"], undoes]
    half = bool(options["sources"]) != bool(options["qualifier"])
    if sum(actions) != 1 or half or (name is None) != (options["listing"] or undoes):
        raise UsageError(
            "give NAME --from NAME, or NAME --in SOURCE --as QUALIFIER, or --list, or --undo"
        )
    with open_graph(options) as kg:
        if options["listing"]:
            show_decisions(kg, kg.identity.decisions())
        elif undoes:
            undo(kg, options)
        elif options["other"] is not None:
            made = kg.identity.keep_apart(name or "", options["other"], note=options["note"])
            show_decisions(kg, [made])
        else:
            made = kg.identity.split(
                name or "", options["sources"], options["qualifier"], note=options["note"]
            )
            show_decisions(kg, [made])
    return 0
