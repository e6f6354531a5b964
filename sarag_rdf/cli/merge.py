"""``sarag merge``: declare two entities the same, by hand or by rule, and undo it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.plugins import load, plugins
from sarag_rdf.cli.options import (
    embedder_option,
    endpoint_options,
    json_option,
    kg_option,
    open_graph,
)
from sarag_rdf.cli.output import counted, echo_json, open_output, progress_bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sarag_rdf.kg.graph import KnowledgeGraph


@click.command(name="merge", epilog='Example:  sarag merge "Marie Curie" "Maria Skłodowska"')
@click.argument("entities", nargs=-1, metavar="[KEPT OTHER]")
@kg_option
@embedder_option
@click.option(
    "--rule",
    metavar="NAME",
    help=f"Find pairs by a rule: {', '.join(plugins('merge_rules'))}.",
)
@click.option(
    "--least",
    default=0.9,
    type=click.FloatRange(0, 1),
    help="Minimum cosine, for the rules near and cluster.",
)
@click.option("--unreviewed", is_flag=True, help="With --rule: merge all pairs, without review.")
@click.option("--dry-run", is_flag=True, help="With --rule: list the pairs without merging.")
@click.option(
    "--review", type=click.Path(path_type=Path), help="With --rule: write the pairs to this table."
)
@click.option(
    "--curate",
    is_flag=True,
    help="With --review: let a language model comment on each pair in the table.",
)
@click.option(
    "--accept", type=click.Path(path_type=Path), help="Merge the accepted rows of this table."
)
@click.option("--note", default="", help="Reason for the decision, stored with it.")
@click.option("--list", "listing", is_flag=True, help="List all merges and splits.")
@click.option(
    "--undo", metavar="WHAT", help="Undo by a name, a rule, or an IRI of a decision or run."
)
@click.option("--undo-all", is_flag=True, help="Undo all merges and splits.")
@endpoint_options
@json_option
def command(entities: tuple[str, ...], **options: Any) -> int:
    """Declare two entities the same: OTHER becomes KEPT. Each is an IRI or a name.

    The decision applies to names, so it also holds for documents that are indexed later, and it
    can be undone. It is not transitive: entities merged with one of the two earlier are not merged
    with the other.

    With --rule, pairs are found by a rule: --dry-run lists them, and --review writes them to a
    table of tab-separated values. Write accept in the column decision, then merge these rows with
    --accept. --unreviewed merges them all; --undo takes the rule's name.
    """
    selected = {
        "entities": bool(entities),
        "rule": options["rule"] is not None,
        "accept": options["accept"] is not None,
        "list": options["listing"],
        "undo": options["undo"] is not None or options["undo_all"],
    }
    actions = [name for name, is_selected in selected.items() if is_selected]
    if len(actions) != 1 or len(entities) not in (0, 2):
        raise UsageError("give KEPT and OTHER, or one of --rule, --accept, --list, --undo")
    action = actions[0]
    for option in ("dry_run", "review", "unreviewed", "curate"):
        if options[option] and action != "rule":
            raise UsageError(f"--{option.replace('_', '-')} requires --rule")
    if options["curate"] and not (options["review"] or options["dry_run"]):
        raise UsageError(
            "--curate only comments on the pairs: add --review FILE or --dry-run to see them"
        )
    if options["unreviewed"] and load("merge_rules", options["rule"]).needs_review:
        raise UsageError(
            f"pairs of the rule {options['rule']} are merged only after review: use --review FILE"
        )
    if action == "rule" and not any(
        options[option] for option in ("dry_run", "review", "unreviewed")
    ):
        raise UsageError(
            "--rule does not merge: write the pairs to a table with --review FILE, accept rows "
            "there, and merge them with --accept FILE; or list them with --dry-run"
        )
    with open_graph(options) as kg:
        if action == "entities":
            show_decisions(kg, [kg.identity.merge(*entities, note=options["note"])], options)
        elif action == "rule":
            _propose(kg, options)
        elif action == "accept":
            _accept(kg, options)
        elif action == "list":
            show_decisions(kg, kg.identity.decisions(), options)
        else:
            undo(kg, options)
    return 0


def undo(kg: KnowledgeGraph, options: dict[str, Any], about: Any = "identity") -> None:
    """Undo the decisions selected by --undo, or all with --undo-all."""
    removed = kg.identity.undo(None if options["undo_all"] else options["undo"], about)
    if options["as_json"]:
        echo_json({"undone": [str(decision) for decision in removed]})
    else:
        click.echo(f"{len(removed)} undone")


def _propose(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    rows = kg.identity.proposals(options["rule"], least=options["least"])
    if options["curate"]:
        with progress_bars() as progress:
            rows = kg.identity.curated(rows, progress)
    if options["review"] is not None:
        with open_output(options["review"]) as stream:
            stream.write(kg.identity.review(rows).encode())
    if options["unreviewed"] and not options["dry_run"]:
        decisions = kg.identity.merge_rows(rows)
        if options["as_json"]:
            echo_json({"merged": len(decisions), "rows_skipped": 0})
        else:
            click.echo(f"{len(decisions)} merged by {options['rule']}")
        return
    if options["as_json"]:
        names = ("subject", "subject_label", "object", "object_label", "confidence", "comment")
        echo_json([{name: getattr(row, name) for name in names} for row in rows])
        return
    if options["dry_run"]:
        for row in rows:
            remark = f"  {row.comment}" if row.comment else ""
            click.echo(f"{row.subject_label}  ->  {row.object_label}  ({row.confidence:g}){remark}")
    click.echo(f"{len(rows)} would be merged by {options['rule']}")


def _accept(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    rows = kg.identity.reviewed(options["accept"])
    decisions = kg.identity.merge_rows(rows)
    skipped = sum(not row.is_link for row in rows)
    if options["as_json"]:
        echo_json({"merged": len(decisions), "rows_skipped": skipped})
        return
    is_undecided = skipped and not decisions
    hint = ": write accept in the column decision to merge a row" if is_undecided else ""
    click.echo(f"{len(decisions)} merged, {counted(skipped, 'row')} skipped{hint}")


def show_decisions(kg: KnowledgeGraph, decisions: Sequence[Any], options: dict[str, Any]) -> None:
    """Print decisions, one per line, each with the IRI by which it can be undone."""
    pairs = zip(decisions, kg.identity.iris(decisions), strict=True)
    if options["as_json"]:
        echo_json([{"decision": str(decision), "iri": iri} for decision, iri in pairs])
        return
    for decision, iri in pairs:
        click.echo(f"{decision}  <{iri}>")
