"""``sarag split``: declare that names, or uses of a name, refer to different entities."""

from __future__ import annotations

from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.merge import show_decisions, undo
from sarag_rdf.cli.options import json_option, kg_option, open_graph


@click.command(
    name="split", epilog="Example:  sarag split Mercury --in planets/mercury.md --as planet"
)
@click.argument("name", required=False)
@kg_option
@click.option("--from", "other", metavar="NAME", help="A name that refers to another entity.")
@click.option(
    "--in",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Source in which NAME refers to another entity: a file, a record or an IRI. May be "
    "repeated.",
)
@click.option(
    "--as",
    "qualifier",
    metavar="QUALIFIER",
    help="Qualifier of that entity, such as planet.",
)
@click.option("--note", default="", help="Reason for the decision, stored with it.")
@click.option("--list", "listing", is_flag=True, help="List all merges and splits.")
@click.option("--undo", metavar="WHAT", help="Undo by a name, or the IRI of a decision or run.")
@click.option("--undo-all", is_flag=True, help="Undo all merges and splits.")
@json_option
def command(name: str | None, **options: Any) -> int:
    """Declare that NAME and another name, or NAME in some sources, are different entities.

    --from separates two names that an alias has joined. --in and --as give NAME an entity of its
    own in these sources.
    """
    is_undo = options["undo"] is not None or options["undo_all"]
    by_source = bool(options["sources"]) and bool(options["qualifier"])
    actions = [options["other"] is not None, by_source, options["listing"], is_undo]
    is_incomplete = bool(options["sources"]) != bool(options["qualifier"])
    if sum(actions) != 1 or is_incomplete or (name is None) != (options["listing"] or is_undo):
        raise UsageError(
            "give NAME --from NAME, or NAME --in SOURCE --as QUALIFIER, or --list, or --undo"
        )
    with open_graph(options) as kg:
        if options["listing"]:
            show_decisions(kg, kg.identity.decisions(), options)
        elif is_undo:
            undo(kg, options)
        elif options["other"] is not None:
            decision = kg.identity.keep_apart(name or "", options["other"], note=options["note"])
            show_decisions(kg, [decision], options)
        else:
            decision = kg.identity.split(
                name or "", options["sources"], options["qualifier"], note=options["note"]
            )
            show_decisions(kg, [decision], options)
    return 0
