"""``sarag merge``, and what commands of decisions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.plugins import load, plugins
from sarag_rdf.base.tabular import delimiter_for
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, progress_bars, write_output

if TYPE_CHECKING:
    from sarag_rdf.kg.deciding import Decision, Subject
    from sarag_rdf.kg.graph import KnowledgeGraph

Options = dict[str, Any]
note_option = click.option("--note", default="", help="Reason for the decision, stored with it.")


def undo_options(what: str) -> flags.Decorator:
    """--list, --undo and --undo-all, for decisions about something."""
    return flags.together(
        flags.switch("--list", "listing", f"List all {what}."),
        click.option(
            "--undo", metavar="WHAT", help="Undo by a name, a rule, or an IRI of a decision or run."
        ),
        flags.switch("--undo-all", f"Undo all {what}."),
        flags.json_option,
    )


def review_options(what: str, rules: str) -> flags.Decorator:
    """--rule and what is done with its proposals."""
    return flags.together(
        click.option("--rule", metavar="NAME", help=f"Find {what} by a rule: {rules}."),
        flags.switch("--dry-run", f"With --rule: list the {what}."),
        flags.path_option("--review", f"With --rule: write the {what} to this table."),
        flags.path_option("--accept", "Decide the accepted rows of this table."),
    )


def action_of(
    options: Options, what: str, *, is_given: bool, is_complete: bool | None = None
) -> str:
    """The one thing that a command shall do: `what` its arguments say, or an option.

    Raises `UsageError` for none, for several, for arguments that are given and not complete, and
    for a --note that belongs to no decision.
    """
    ways = {
        what: is_given,
        "--rule": options.get("rule") is not None,
        "--accept": options.get("accept") is not None,
        "--list": options["listing"],
        "--undo": options["undo"] is not None or options["undo_all"],
    }
    actions = [way for way, is_chosen in ways.items() if is_chosen]
    if len(actions) != 1 or (is_given and is_complete is False):
        known = [way for way in ("--rule", "--accept") if way.lstrip("-") in options]
        raise UsageError(f"give {what}, or one of {', '.join([*known, '--list', '--undo'])}")
    if options.get("note") and actions[0] != what:
        raise UsageError(f"--note is for a decision by hand: omit it with {actions[0]}")
    return actions[0]


def check_review(options: Options, action: str) -> None:
    """Raise `UsageError` for --dry-run or --review without --rule, and the other way round."""
    used = [name for name in ("dry_run", "review", "unreviewed", "curate") if options.get(name)]
    if used and action != "--rule":
        raise UsageError(f"--{used[0].replace('_', '-')} requires --rule: nothing was decided")
    if action == "--rule" and not {"dry_run", "review", "unreviewed"} & set(used):
        raise UsageError(
            "--rule decides nothing: write its proposals to a table with --review FILE, accept "
            "rows there, and apply them with --accept FILE; or list them with --dry-run"
        )


def list_or_undo(kg: KnowledgeGraph, about: Subject, action: str, options: Options) -> int:
    """Carry out --list or --undo."""
    if action == "--list":
        return show_decisions(kg, kg.decisions.list(about), options)
    removed = kg.decisions.undo(None if options["undo_all"] else options["undo"], about)
    return emit(options, {"undone": [*map(str, removed)]}, f"{len(removed)} undone")


def show_decisions(kg: KnowledgeGraph, decisions: Sequence[Decision], options: Options) -> int:
    """Print decisions, one per line, each with the IRI by which it can be undone."""
    data = [{"decision": line, "iri": iri} for line, iri in kg.decisions.lines(decisions)]
    return emit(options, data, *(f"{each['decision']}  <{each['iri']}>" for each in data))


def write_review(
    kg: KnowledgeGraph, about: Subject, proposals: Sequence[Any], options: Options
) -> None:
    """Write the proposals of a rule to the table that --review names."""
    if options["review"] is not None:
        table = kg.decisions.table(proposals, about, delimiter_for(options["review"]))
        write_output(options["review"], table)


@click.command(epilog='Example:  sarag merge "Marie Curie" "Maria Skłodowska"')
@click.argument("entities", nargs=-1, metavar="[KEEP MERGED]")
@flags.write_options
@flags.model_options
@review_options("pairs", ", ".join(plugins("merge_rules")))
@click.option(
    "--least",
    default=0.9,
    type=click.FloatRange(0, 1),
    help="Minimum cosine, for the rules near and cluster.",
)
@flags.switch("--unreviewed", "With --rule: merge all pairs, without review.")
@flags.switch("--curate", "With --review: let a language model comment on each pair in the table.")
@note_option
@undo_options("merges and splits")
def merge(entities: tuple[str, ...], **options: Any) -> int:
    """Declare two entities the same: MERGED becomes KEEP. Each is an IRI or a name.

    The decision applies to names, so it also holds for documents that are indexed later, and it
    can be undone. Entities that were merged into one of the two before follow it.

    With --rule, pairs are found by a rule: --dry-run lists them, and --review writes them to a
    table of tab-separated values. Write accept in the column decision, then merge these rows with
    --accept. --unreviewed merges them all; --undo takes the rule's name.
    """
    action = action_of(
        options, "KEEP and MERGED", is_given=bool(entities), is_complete=len(entities) == 2
    )
    check_review(options, action)
    if options["curate"] and not (options["review"] or options["dry_run"]):
        raise UsageError(
            "--curate only comments on the pairs: add --review FILE or --dry-run to see them"
        )
    if options["unreviewed"] and load("merge_rules", options["rule"]).needs_review:
        raise UsageError(
            f"pairs of the rule {options['rule']} are merged only after review: use --review FILE"
        )
    with flags.open_graph(options) as kg:
        if action in ("--list", "--undo"):
            return list_or_undo(kg, "identity", action, options)
        if action == "--accept":
            accepted = kg.decisions.accept(options["accept"])
        elif action == "--rule":
            with progress_bars() as progress:
                settings = {name: options[name] for name in ("least", "curate")}
                pairs = kg.decisions.propose_merges(options["rule"], progress=progress, **settings)
            write_review(kg, "identity", pairs, options)
            if not options["unreviewed"] or options["dry_run"]:
                return _show_pairs(pairs, options)
            accepted = kg.decisions.accept(pairs)
        else:
            decision = kg.decisions.merge(*entities, note=options["note"])
            return show_decisions(kg, [decision], options)
    merged, skipped = len(accepted.decisions), accepted.skipped
    hint = "" if merged or not skipped else ": write accept in the column decision to merge a row"
    line = f"{merged} merged, {counted(skipped, 'row')} skipped{hint}"
    if action == "--rule":
        line = f"{merged} merged by {options['rule']}"
    return emit(options, {"merged": merged, "rows_skipped": skipped}, line)


def _show_pairs(pairs: Sequence[Any], options: Options) -> int:
    names = ("subject", "subject_label", "object", "object_label", "confidence", "comment")
    data = [{name: getattr(row, name) for name in names} for row in pairs]
    lines = [
        f"{row.subject_label}  ->  {row.object_label}  ({row.confidence:g})"
        + (f"  {row.comment}" if row.comment else "")
        for row in pairs
        if options["dry_run"]
    ]
    return emit(
        options, data, *lines, f"{counted(len(pairs), 'pair')} proposed by {options['rule']}"
    )
