"""``sarag evaluate table1``: the systems of Table 1 of the SA-RAG paper, with any model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.evaluate_qa import answer_questions, parse_system
from sarag_rdf.cli.evaluation import (
    data_options,
    output_options,
    selection_options,
    show_results,
)
from sarag_rdf.cli.options import endpoint_options

if TYPE_CHECKING:
    from sarag_rdf.plugins.evaluation.paper import TableRow


@click.command(
    name="table1",
    epilog="Example:  sarag evaluate table1 --corpus corpus.json --questions questions.json "
    "--kg kg-of-corpus --limit 25 --rows table1.jsonl --base-url http://127.0.0.1:8080/v1",
)
@data_options
@click.option(
    "--dataset", type=click.Choice(["musique", "2wiki"]), default="musique", show_default=True,
    help="The half of the table: the preset of sarag-paper, and the published figures.",
)  # fmt: skip
@click.option("--only", metavar="ROW,...", help="Rows to run, by name, such as 'Naive RAG,SA-RAG'.")
@click.option(
    "--thresholds", metavar="KEY=VALUE:...", default="",
    help="Further options of sarag-paper, such as c=0.2:tau_d=0.25 for an embedder whose cosines "
    "are low.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="List the systems; do not ask the model.")
@selection_options
@click.option(
    "--judge", is_flag=True,
    help="Let the model judge answers that do not match a known answer word for word.",
)  # fmt: skip
@click.option(
    "--rows", type=click.Path(path_type=Path),
    help="Append each answer to this .jsonl file; answers already in it are reused.",
)  # fmt: skip
@output_options
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@endpoint_options
def command(**options: Any) -> None:
    """Answer questions with each system of Table 1 of the SA-RAG paper.

    The rows are systems of 'evaluate qa' with preset=paper, under the paper's names; its figures
    are printed beside those measured. With --rows an interrupted run can be resumed.
    """
    from sarag_rdf.plugins.evaluation.paper import plan_lines, published_figures, table_lines

    rows = _rows(options["only"])
    place = options["dataset"], options["thresholds"].strip(":")
    systems = [parse_system(row.label(*place)) for row in rows if row.system]
    if options["dry_run"]:
        for line in plan_lines(rows, *place):
            click.echo(line)
        return
    if not systems:
        raise UsageError("none of these rows can be run: name others with --only")
    fixed = {"budget": None, "tokenizer": None, "plot": None}
    asked = {**options, **fixed, "full_context": "whole:preset=paper"}
    report, _ = answer_questions(systems, systems[0].label, asked)
    data = {**report, "table1": published_figures(rows, *place)}
    show_results(options, data, table_lines(rows, *place, report, markdown=options["markdown"]))


def _rows(only: str | None) -> list[TableRow]:
    from sarag_rdf.plugins.evaluation.paper import TABLE_1

    if only is None:
        return list(TABLE_1)
    names = {name.strip().lower() for name in only.split(",") if name.strip()}
    unknown = names - {row.name.lower() for row in TABLE_1}
    if unknown or not names:
        known = ", ".join(row.name for row in TABLE_1)
        problem = f"unknown row {', '.join(sorted(unknown))}" if unknown else "no row is named"
        raise UsageError(f"--only: {problem}: choose from {known}")
    return [row for row in TABLE_1 if row.name.lower() in names]
