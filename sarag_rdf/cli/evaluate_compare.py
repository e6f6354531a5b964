"""``sarag evaluate compare``: which of two systems gives the better answers, by a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.evaluation import check_outputs, showing_progress, write_json
from sarag_rdf.cli.options import endpoint_of, endpoint_options
from sarag_rdf.errors import InputError, UsageError


@click.command(
    name="compare",
    epilog="Example:  sarag evaluate compare --rows answers.jsonl "
    "--systems sarag+single,dense+single --base-url http://localhost:8080/v1",
)
@click.option(
    "--rows", required=True, type=click.Path(path_type=Path),
    help="Answers that `sarag evaluate qa --rows` wrote; what the judge says is kept there too.",
)  # fmt: skip
@click.option("--systems", required=True, help="Two of the systems there, with a comma between.")
@click.option("--limit", type=click.IntRange(1), help="Only so many questions: the first ones.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the intervals."
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Write all results here, as JSON."
)
@endpoint_options
def command(**options: Any) -> None:
    """Let a model say which of two systems answers better, question by question.

    Each pair is shown in both orders; a system wins if both times it is found better. See
    docs/how-to/evaluate.md for the criteria.
    """
    import sarag_rdf
    from sarag_rdf.evaluation import compare
    from sarag_rdf.evaluation.compare import Pairs, compare_all, pairs_of, report
    from sarag_rdf.evaluation.jobs import RowFile
    from sarag_rdf.evaluation.judge import settings_of
    from sarag_rdf.evaluation.qa import Parts
    from sarag_rdf.kg import registry

    labels = [Parts.parse(part).label for part in options["systems"].split(",")]
    if len(labels) != 2 or labels[0] == labels[1]:
        raise UsageError(f"--systems {options['systems']}: name two systems, with a comma between")
    if not options["rows"].is_file():
        raise InputError(f"{options['rows']} cannot be read: name what `evaluate qa --rows` wrote")
    check_outputs(options["json_file"])
    with RowFile(options["rows"]) as kept:
        found = pairs_of(kept, *labels)
        pairs = found.pairs[: options["limit"]]
        if not pairs:
            raise InputError(f"no question was answered by both {labels[0]} and {labels[1]}")
        llm = registry.make_llm(endpoint_of(options), None)
        with showing_progress() as progress:
            records = compare_all(
                pairs, llm, kept, threads=options["concurrency"], progress=progress
            )
    setting = {
        "systems": labels,
        "limit": options["limit"],
        "seed": options["seed"],
        "model": llm.model,
        "settings": settings_of(llm),
        "prices": {"in": options["price_in"], "out": options["price_out"]},
        "version": sarag_rdf.__version__,
    }
    data = report(Pairs(pairs, found.failed, found.unpaired), records, setting)
    write_json(options["json_file"], data)
    for line in compare.lines(data):
        click.echo(line)
