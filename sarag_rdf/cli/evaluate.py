"""``sarag evaluate``: evaluation on questions with known answers."""

from __future__ import annotations

import click

from sarag_rdf.cli import (
    evaluate_activation,
    evaluate_compare,
    evaluate_competency,
    evaluate_extraction,
    evaluate_paths,
    evaluate_preferences,
    evaluate_qa,
    evaluate_questions,
    evaluate_resolution,
    evaluate_retrieval,
)


@click.group(
    name="evaluate",
    invoke_without_command=True,
    epilog="Example:  sarag evaluate retrieval --corpus corpus.json --questions questions.json",
)
@click.pass_context
def command(context: click.Context) -> None:
    """Evaluate retrieval, answers, extraction and the graph itself on data with known results."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _part in (
    evaluate_retrieval,
    evaluate_qa,
    evaluate_compare,
    evaluate_competency,
    evaluate_activation,
    evaluate_extraction,
    evaluate_preferences,
    evaluate_resolution,
    evaluate_questions,
):
    command.add_command(_part.command)
command.add_command(evaluate_paths.command)
command.add_command(evaluate_paths.fit_command)
