"""``sarag evaluate paths`` and ``fit-paths``: relation paths on questions with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.options import (
    embedder_option,
    embedding_endpoint_options,
    json_option,
    kg_option,
    open_graph,
    over_option,
)
from sarag_rdf.cli.output import echo_json, note

if TYPE_CHECKING:
    from sarag_rdf.plugins.evaluation.paths import PathResult

_questions_option = click.option(
    "--questions", type=click.Path(path_type=Path), multiple=True, required=True,
    help="A tab-separated table with the columns question and answers (separated by |); the topic "
    "may be in square brackets. Or a .json file by evaluate questions. May be repeated.",
)  # fmt: skip
_retriever_option = click.option(
    "--retriever", default="paths", show_default=True,
    help="The retriever paths with its options: paths:KEY=VALUE.",
)  # fmt: skip


@click.command(
    name="paths",
    epilog="Example:  sarag evaluate paths --kg kg --over movies --questions questions.tsv",
)
@kg_option
@over_option
@_questions_option
@_retriever_option
@click.option("--plain", is_flag=True, help="Ask without the brackets around topics.")
@click.option(
    "--articles", type=click.Path(path_type=Path),
    help="A graph of indexed articles about the entities of --kg: search these, with any "
    "--retriever, in place of paths.",
)  # fmt: skip
@embedder_option
@embedding_endpoint_options
@json_option
def command(**options: Any) -> None:
    """Follow the relation path of each question, and compare its end with the known answers.

    Terminals are the entities at the end of the path, against the answers. Path nodes are all
    entities of its walks, and chunk-resolved are those with all their neighbours, against the
    topic and the answers. Figures of different accountings cannot be compared.

    With --articles, documents of that graph are found instead: article topics are the entities that
    they are about, and chunk-resolved are those with the neighbours that their texts name.
    """
    from sarag_rdf.plugins.evaluation.paths import (
        ACCOUNTINGS,
        ARTICLE_ACCOUNTINGS,
        evaluate_articles,
        evaluate_paths,
        read_questions,
    )

    files = {path: read_questions(path) for path in options["questions"]}
    results_of: dict[Path, list[PathResult]] = {}
    if options["articles"] is not None:
        other = {**options, "kg": options["articles"], "over": ("documents",)}
        with open_graph(options) as kg, open_graph(other) as articles:
            view = _paths(kg, {"retriever": "paths"}).view
            retriever = articles.retriever(options["retriever"])
            for path, questions in files.items():
                results_of[path] = evaluate_articles(retriever, view, questions)
        _show([_row(p, r, ARTICLE_ACCOUNTINGS) for p, r in results_of.items()], options)
        return
    with open_graph(options) as kg:
        paths = _paths(kg, options)
        for questions in files.values():
            for question in questions:
                paths.find(question.plain if options["plain"] else question.text)
        for path, questions in files.items():
            results_of[path] = evaluate_paths(paths, paths.view, questions, plain=options["plain"])
    _show([_row(path, results, ACCOUNTINGS) for path, results in results_of.items()], options)


def _show(rows: list[dict[str, Any]], options: dict[str, Any]) -> None:
    if options["as_json"]:
        echo_json({"retriever": options["retriever"], "plain": options["plain"], "files": rows})
        return
    for row in rows:
        click.echo(f"{row['file']}: {row['questions']} questions")
        for name, scores in row["accountings"].items():
            click.echo(
                f"  {name:<15} precision {scores['precision']:5.1f}  recall "
                f"{scores['recall']:5.1f}  F1 {scores['f1']:5.1f}"
            )
        if row["best_of_five"] is not None:
            click.echo(f"  best of five    F1 {row['best_of_five']:.1f} (terminals)")
        click.echo(
            f"  milliseconds    median {row['milliseconds']['median']:.0f}, "
            f"p95 {row['milliseconds']['p95']:.0f}"
        )


@click.command(
    name="fit-paths",
    epilog="Example:  sarag evaluate fit-paths --kg kg --over movies --questions questions.tsv "
    "--output paths.json",
)
@kg_option
@over_option
@_questions_option
@_retriever_option
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Model file.")
@click.option("--version", "version", default="own", show_default=True, help="Name of the model.")
@embedder_option
@embedding_endpoint_options
@json_option
def fit_command(**options: Any) -> None:
    """Fit the weights of relation paths on questions with known answers.

    The file is used with --retriever paths:model=FILE. Weights are first fitted on every other
    question, and the F1 of the questions that were left out is printed; then on all.
    """
    from sarag_rdf.plugins.evaluation.paths import fit_paths, read_questions

    output = options["output"]
    if not output.resolve().parent.is_dir() or output.is_dir():
        raise UsageError(f"cannot write {output}: name a file in an existing folder")
    files = [read_questions(path) for path in dict.fromkeys(options["questions"])]
    names = [str(path) for path in dict.fromkeys(options["questions"])]
    data = f"{sum(map(len, files))} questions of {', '.join(names)}"
    with open_graph(options) as kg:
        fit = fit_paths(_paths(kg, options, explain=False), files, options["version"], data)
    output.write_text(fit.model.to_json() + "\n", encoding="utf-8")
    if options["as_json"]:
        echo_json({
            "left_out": dict(zip(names, fit.left_out, strict=True)),
            "all": dict(zip(names, fit.all, strict=True)),
            "weights": dict(fit.model.weights),
        })  # fmt: skip
    else:
        for name, left_out, every in zip(names, fit.left_out, fit.all, strict=True):
            click.echo(
                f"{name}: F1 {100 * left_out:.1f} of the questions left out, "
                f"{100 * every:.1f} of all"
            )
    note(f"written to {output}")


def _paths(kg: Any, options: dict[str, Any], **values: Any) -> Any:
    from sarag_rdf.plugins.evaluation.paths import relation_paths

    return relation_paths(kg.retriever(options["retriever"], **values))


def _row(path: Path, results: list[PathResult], accountings: tuple[str, ...]) -> dict[str, Any]:
    import numpy as np

    def average(values: list[float]) -> float:
        return round(100 * float(np.mean(values)), 1) if values else 0.0

    best = [result.best_of_five for result in results if result.best_of_five is not None]
    times = [1000 * result.seconds for result in results]
    return {
        "file": path.name,
        "questions": len(results),
        "accountings": {
            name: {
                measure: average([getattr(result.scores[at], measure) for result in results])
                for measure in ("precision", "recall", "f1")
            }
            for at, name in enumerate(accountings)
        },
        "best_of_five": average(best) if best else None,
        "milliseconds": {
            "median": round(float(np.median(times)), 1) if times else 0.0,
            "p95": round(float(np.percentile(times, 95)), 1) if times else 0.0,
        },
    }
