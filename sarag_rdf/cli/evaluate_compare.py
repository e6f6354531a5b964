"""``sarag evaluate compare``: pairwise comparison of two systems by a judge model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.cli.evaluation import check_outputs, result_options, show_results
from sarag_rdf.cli.options import endpoint_of, endpoint_options
from sarag_rdf.cli.output import progress_bars


@click.command(
    name="compare",
    epilog="Example:  sarag evaluate compare --rows answers.jsonl "
    "--systems sarag+single,dense+single --base-url http://localhost:8080/v1",
)
@click.option(
    "--rows", required=True, type=click.Path(path_type=Path),
    help="Answers written by 'sarag evaluate qa --rows'; verdicts of the judge are added.",
)  # fmt: skip
@click.option("--systems", required=True, help="Two systems of that file, comma-separated.")
@click.option("--limit", type=click.IntRange(1), help="Use only the first LIMIT questions.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True,
    help="Random seed of the bootstrap intervals.",
)  # fmt: skip
@result_options
@endpoint_options
def command(**options: Any) -> None:
    """Let a judge model compare the answers of two systems, question by question.

    Each pair is judged in both orders; a system wins if it is preferred in both. See
    docs/how-to/evaluate.md for the criteria.
    """
    import sarag_rdf
    from sarag_rdf.kg import registry
    from sarag_rdf.plugins.evaluation import compare
    from sarag_rdf.plugins.evaluation.compare import AnswerPairs, compare_all, pair_answers, report
    from sarag_rdf.plugins.evaluation.judge import llm_settings
    from sarag_rdf.plugins.evaluation.qa import SystemSpec
    from sarag_rdf.plugins.evaluation.runner import RowFile

    labels = [SystemSpec.parse(part).label for part in options["systems"].split(",")]
    if len(labels) != 2 or labels[0] == labels[1]:
        raise UsageError(f"--systems {options['systems']}: name two systems, comma-separated")
    if not options["rows"].is_file():
        raise InputError(
            f"no such file: {options['rows']}: name a file written by 'sarag evaluate qa --rows'"
        )
    check_outputs(options["output"])
    with RowFile(options["rows"]) as row_file:
        answer_pairs = pair_answers(row_file, *labels)
        pairs = answer_pairs.pairs[: options["limit"]]
        if not pairs:
            raise InputError(f"no question was answered by both {labels[0]} and {labels[1]}")
        llm = registry.make_llm(endpoint_of(options), None)
        with progress_bars() as progress:
            records = compare_all(
                pairs, llm, row_file, threads=options["concurrency"], progress=progress
            )
    setting = {
        "systems": labels,
        "limit": options["limit"],
        "seed": options["seed"],
        "model": llm.model,
        "settings": llm_settings(llm),
        "prices": {"in": options["price_in"], "out": options["price_out"]},
        "version": sarag_rdf.__version__,
    }
    data = report(AnswerPairs(pairs, answer_pairs.failed, answer_pairs.unpaired), records, setting)
    show_results(options, data, compare.lines(data))
