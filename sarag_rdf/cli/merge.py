"""``sarag merge``: two entities are one, by hand or by rule; and back again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.files import written_to
from sarag_rdf.cli.options import embedder_option, kg_option, open_graph
from sarag_rdf.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sarag_rdf.knowledge_graph import KnowledgeGraph


@click.command(name="merge", epilog='Example:  sarag merge "Marie Curie" "Maria Skłodowska"')
@click.argument("entities", nargs=-1, metavar="[KEPT OTHER]")
@kg_option
@embedder_option
@click.option("--rule", metavar="NAME", help="Merge by a rule: same-words, initials or near.")
@click.option("--least", default=0.9, type=click.FloatRange(0, 1), help="Cosine, for near.")
@click.option("--dry-run", is_flag=True, help="With --rule: only tell what it would merge.")
@click.option(
    "--review", type=click.Path(path_type=Path), help="With --rule: write it here, as SSSOM."
)
@click.option("--accept", type=click.Path(path_type=Path), help="Merge the rows of this table.")
@click.option("--note", default="", help="Why, in words.")
@click.option("--list", "listing", is_flag=True, help="List all decisions.")
@click.option("--undo", metavar="WHAT", help="Undo by a name, a rule, a decision's or run's IRI.")
@click.option("--undo-all", is_flag=True, help="Undo all merges and splits.")
def command(entities: tuple[str, ...], **options: Any) -> int:
    """Tell that two entities are one: OTHER becomes KEPT. Each is named by its IRI or a name.

    What is merged is told of names, so it holds for documents that come later, and it can be
    undone. Only the two are merged: what was merged with one of them is not merged with the other.
    With --rule a rule finds the pairs; --dry-run tells them, --review writes them to a table that
    --accept merges, less the rows that were deleted.
    """
    named = {
        "entities": bool(entities),
        "rule": options["rule"] is not None,
        "accept": options["accept"] is not None,
        "list": options["listing"],
        "undo": options["undo"] is not None or options["undo_all"],
    }
    chosen = [name for name, given in named.items() if given]
    if len(chosen) != 1 or len(entities) not in (0, 2):
        raise UsageError("give KEPT and OTHER, or one of --rule, --accept, --list, --undo")
    if options["dry_run"] and chosen != ["rule"]:
        raise UsageError("--dry-run goes with --rule alone")
    with open_graph(options) as kg:
        if chosen == ["entities"]:
            show_decisions(kg, [kg.identity.merge(*entities, note=options["note"])])
        elif chosen == ["rule"]:
            _by_rule(kg, options)
        elif chosen == ["accept"]:
            made = kg.identity.merge_rows(options["accept"])
            click.echo(f"{len(made)} merged")
        elif chosen == ["list"]:
            show_decisions(kg, kg.identity.decisions())
        else:
            undo(kg, options)
    return 0


def undo(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    """Undo what is named, or all."""
    gone = kg.identity.undo(None if options["undo_all"] else options["undo"])
    click.echo(f"{len(gone)} undone")


def _by_rule(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    rows = kg.identity.proposals(options["rule"], least=options["least"])
    if options["review"] is not None:
        with written_to(options["review"]) as stream:
            stream.write(kg.links.table(rows, f"merges/{options['rule']}").encode())
    elif options["dry_run"]:
        for row in rows:
            click.echo(f"{row.subject_label}  ->  {row.object_label}  ({row.confidence:g})")
    else:
        kg.identity.merge_rows(rows)
    would = "would be" if options["review"] is not None or options["dry_run"] else "were"
    click.echo(f"{len(rows)} {would} merged by {options['rule']}")


def show_decisions(kg: KnowledgeGraph, decisions: Sequence[Any]) -> None:
    """One line a decision, with the IRI by which it can be undone."""
    for decision, iri in zip(decisions, kg.identity.iris(decisions), strict=True):
        click.echo(f"{decision}  <{iri}>")
