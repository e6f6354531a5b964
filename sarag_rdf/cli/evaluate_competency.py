"""``sarag evaluate competency``: competency questions, queries with their expected answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import one_line
from sarag_rdf.cli.evaluation import check_outputs, result_options, show_results
from sarag_rdf.cli.options import kg_option, open_graph, query_over_option, sparql_options
from sarag_rdf.cli.output import counted, progress_bars
from sarag_rdf.cli.query import prologue_of

if TYPE_CHECKING:
    from sarag_rdf.plugins.evaluation.competency import CompetencyResult, Row, Stop

_SHOWN = 3
"""Missing and unexpected rows that are printed."""


@click.command(
    name="competency",
    epilog="Example:  sarag evaluate competency examples/competency --kg kg",
)
@click.argument("folder", type=click.Path(path_type=Path))
@kg_option
@query_over_option
@sparql_options
@result_options
def command(folder: Path, **options: Any) -> int:
    """Run competency questions, and report which the graph answers and what is missing.

    FOLDER has queries NAME.rq (SELECT or ASK) and their expected answers in the formats of SPARQL
    results: NAME.csv, NAME.tsv or NAME.srj; for ASK also a file with the word true or false. The
    comment '#+ summary:' of a query is the question in words. The prefixes of 'sarag query' are
    predeclared.

    A question passes if the query returns the expected rows and no others, in any order. For others
    the terms that do not occur in the graph are listed, and the first triple pattern after which
    there is no solution. Exit code 1 if a question does not pass.
    """
    from sarag_rdf.plugins.evaluation.competency import evaluate_question, question_files

    files = question_files(folder)
    check_outputs(options["output"])
    with open_graph(options) as kg, progress_bars() as progress:
        known, prologue = kg.ontologies.vocabulary(), prologue_of(kg)
        advance = progress("questions", len(files))
        results = []
        for file in files:
            results.append(evaluate_question(file, kg.query, known, prologue))
            advance(1)
    counts = Counter[str](result.state for result in results)
    report = {
        "passes": counts["passes"],
        "partly": counts["partly"],
        "fails": counts["fails"],
        "error": counts["error"],
        "questions": [asdict(result) for result in results],
    }
    show_results(options, report, _lines(results, counts))
    return int(counts["passes"] < len(results))


def _lines(results: Sequence[CompetencyResult], counts: Mapping[str, int]) -> Iterator[str]:
    for result in results:
        rows = "" if result.state == "error" else f" ({result.found} of {result.expected})"
        words = f": {result.question}" if result.question else ""
        yield f"{result.state:8}{one_line(f'{result.name}{words}{rows}')}"
        if result.state != "passes":
            yield from (f"        {one_line(problem)}" for problem in _problems(result))
    yield (
        f"{counted(len(results), 'question')}: {counts['passes']} passed, {counts['partly']} "
        f"partly, {counts['fails']} failed, {counts['error']} with an error"
    )


def _problems(result: CompetencyResult) -> Iterator[str]:
    if result.message:
        yield result.message
    stops = {stop.row: stop for stop in result.stops}
    for row in result.missing[:_SHOWN]:
        stop = stops.get(row)
        yield f"missing: {_row(row)}{f' ({_reason(stop)})' if stop else ''}"
    yield from _more(result.missing, "missing")
    for row in result.unexpected[:_SHOWN]:
        yield f"unexpected: {_row(row)}"
    yield from _more(result.unexpected, "unexpected")
    for term in result.unused:
        hint = f"; did you mean {term.suggestion}?" if term.suggestion else ""
        yield f"{term.kind} {term.term} {term.problem}{hint}"
    if () in stops:
        yield _reason(stops[()])


def _reason(stop: Stop) -> str:
    if stop.pattern:
        return f"no solution has: {stop.pattern}"
    return "all triple patterns have a solution, which another clause excludes"


def _more(rows: Sequence[Row], word: str) -> Iterator[str]:
    if len(rows) > _SHOWN:
        yield f"... {len(rows) - _SHOWN} more {word}"


def _row(row: Row) -> str:
    return " | ".join(row)
