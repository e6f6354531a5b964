"""``sarag merge``: two entities are one, by hand or by rule; and back again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import embedder_option, kg_option, open_graph
from sarag_rdf.cli.output import written_to
from sarag_rdf.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sarag_rdf.kg.graph import KnowledgeGraph


@click.command(name="merge", epilog='Example:  sarag merge "Marie Curie" "Maria Skłodowska"')
@click.argument("entities", nargs=-1, metavar="[KEPT OTHER]")
@kg_option
@embedder_option
@click.option("--rule", metavar="NAME", help="Find pairs by a rule: same-words, initials or near.")
@click.option("--least", default=0.9, type=click.FloatRange(0, 1), help="Cosine, for near.")
@click.option("--dry-run", is_flag=True, help="With --rule: only list the pairs.")
@click.option(
    "--review",
    type=click.Path(path_type=Path),
    help="With --rule: write the pairs to this table, to be decided on.",
)
@click.option(
    "--accept", type=click.Path(path_type=Path), help="Merge the accepted rows of this table."
)
@click.option("--note", default="", help="Why, in words.")
@click.option("--list", "listing", is_flag=True, help="List all decisions.")
@click.option("--undo", metavar="WHAT", help="Undo by a name, a rule, a decision's or run's IRI.")
@click.option("--undo-all", is_flag=True, help="Undo all merges and splits.")
def command(entities: tuple[str, ...], **options: Any) -> int:
    """Tell that two entities are one: OTHER becomes KEPT. Each is named by its IRI or a name.

    What is merged is told of names, so it holds for documents that come later, and it can be
    undone. Only the two are merged: what was merged with one of them is not merged with the other.
    With --rule a rule finds the pairs: --dry-run lists them, and --review writes them to a table of
    tab-separated values. Whoever reviews it in a spreadsheet writes accept under decision; then
    --accept merges these rows.
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
    for option in ("dry_run", "review"):
        if options[option] and chosen != ["rule"]:
            raise UsageError(f"--{option.replace('_', '-')} goes with --rule alone")
    if chosen == ["rule"] and not (options["dry_run"] or options["review"]):
        raise UsageError(
            "a rule merges nothing by itself: write its pairs to a table with --review FILE, "
            "decide there, and merge with --accept FILE; --dry-run lists them"
        )
    with open_graph(options) as kg:
        if chosen == ["entities"]:
            show_decisions(kg, [kg.identity.merge(*entities, note=options["note"])])
        elif chosen == ["rule"]:
            _by_rule(kg, options)
        elif chosen == ["accept"]:
            _accept(kg, options["accept"])
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
    if options["dry_run"]:
        for row in rows:
            click.echo(f"{row.subject_label}  ->  {row.object_label}  ({row.confidence:g})")
    if options["review"] is not None:
        with written_to(options["review"]) as stream:
            stream.write(kg.identity.review(rows).encode())
    click.echo(f"{len(rows)} would be merged by {options['rule']}")


def _accept(kg: KnowledgeGraph, table: Path) -> None:
    rows = kg.identity.reviewed(table)
    made = kg.identity.merge_rows(rows)
    left_out = sum(not row.is_link for row in rows)
    hint = ": write accept under decision to merge a row" if left_out and not made else ""
    click.echo(f"{len(made)} merged, {left_out} rows left out{hint}")


def show_decisions(kg: KnowledgeGraph, decisions: Sequence[Any]) -> None:
    """One line a decision, with the IRI by which it can be undone."""
    for decision, iri in zip(decisions, kg.identity.iris(decisions), strict=True):
        click.echo(f"{decision}  <{iri}>")
