"""``sarag retype``: decide the classes of entities, by hand or by rule, and undo it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.tables import delimiter_for
from sarag_rdf.cli.merge import show_decisions, undo
from sarag_rdf.cli.options import endpoint_options, json_option, kg_option, open_graph
from sarag_rdf.cli.output import counted, echo_json, open_output, progress_bars

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph


@click.command(name="retype", epilog='Example:  sarag retype "Lund University" university')
@click.argument("names", nargs=-1, metavar="[NAME CLASS...]")
@kg_option
@click.option("--rule", metavar="NAME", help="Find classes by a rule: class-in-name or by-model.")
@click.option("--dry-run", is_flag=True, help="With --rule: list the entities.")
@click.option(
    "--review",
    type=click.Path(path_type=Path),
    help="With --rule: write the entities to this table, tab-separated or .csv.",
)
@click.option(
    "--accept", type=click.Path(path_type=Path), help="Decide the accepted rows of this table."
)
@click.option("--note", default="", help="Reason for the decision, stored with it.")
@click.option("--list", "listing", is_flag=True, help="List all decisions about classes.")
@click.option(
    "--undo", metavar="WHAT", help="Undo by a name, a rule, or an IRI of a decision or run."
)
@click.option("--undo-all", is_flag=True, help="Undo all decisions about classes.")
@endpoint_options
@json_option
def command(names: tuple[str, ...], **options: Any) -> int:
    """Decide the classes of the entity NAME: an IRI or a name.

    A CLASS is an IRI, a prefixed name or the label of a class of the stored ontologies, or one of
    person, organization, geopolitical, time and misc. It replaces the classes that follow from the
    documents, including those indexed later. A later decision about the same name replaces
    the earlier one.

    With --rule, entities are found by a rule: class-in-name proposes the class whose label is the
    head of a name, such as university for "Lund University"; with by-model a language model chooses
    among the classes of the ontologies. --dry-run lists them, and --review
    writes them to a table. Write accept in the column decision, then decide these rows with
    --accept.
    """
    selected = {
        "names": bool(names),
        "rule": options["rule"] is not None,
        "accept": options["accept"] is not None,
        "list": options["listing"],
        "undo": options["undo"] is not None or options["undo_all"],
    }
    actions = [name for name, is_selected in selected.items() if is_selected]
    if len(actions) != 1 or len(names) == 1:
        raise UsageError("give NAME and CLASS, or one of --rule, --accept, --list, --undo")
    is_preview = options["dry_run"] or options["review"] is not None
    if is_preview and actions[0] != "rule":
        raise UsageError("--dry-run and --review require --rule: nothing was decided")
    if not is_preview and actions[0] == "rule":
        raise UsageError(
            "--rule decides nothing: write the entities to a table with --review FILE, accept rows "
            "there, and apply them with --accept FILE; or list them with --dry-run"
        )
    with open_graph(options) as kg:
        if actions[0] == "names":
            decisions = kg.identity.retype(names[0], *names[1:], note=options["note"])
            show_decisions(kg, decisions, options)
        elif actions[0] == "rule":
            _propose(kg, options)
        elif actions[0] == "accept":
            _accept(kg, options)
        elif actions[0] == "list":
            show_decisions(kg, kg.identity.decisions("classes"), options)
        else:
            undo(kg, options, "classes")
    return 0


def _propose(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    with progress_bars() as progress:
        proposals = kg.identity.class_proposals(options["rule"], progress)
    if options["review"] is not None:
        table = kg.identity.class_review(proposals, delimiter_for(options["review"]))
        with open_output(options["review"]) as stream:
            stream.write(table.encode())
    if options["as_json"]:
        echo_json([asdict(proposal) for proposal in proposals])
        return
    if options["dry_run"]:
        for proposal in proposals:
            click.echo(f"{proposal.name}  ->  {proposal.class_iri}")
    click.echo(f"{counted(len(proposals), 'entity')} would be retyped by {options['rule']}")


def _accept(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    decisions = kg.identity.retype_rows(options["accept"])
    if options["as_json"]:
        echo_json({"retyped": len(decisions)})
        return
    hint = "" if decisions else ": write accept in the column decision to retype an entity"
    click.echo(f"{len(decisions)} retyped{hint}")
