"""``sarag evaluate questions``: multi-hop questions about a graph, with answers and gold paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.evaluation import check_outputs
from sarag_rdf.cli.options import (
    embedder_option,
    endpoint_options,
    kg_option,
    open_graph,
    over_option,
)
from sarag_rdf.cli.output import counted, open_output, progress_bars


@click.command(
    name="questions",
    epilog="Example:  sarag evaluate questions --output questions.json --corpus corpus.json",
)
@kg_option
@over_option
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), required=True, help="File of questions."
)
@click.option(
    "--count", default=50, show_default=True, type=click.IntRange(1), help="Number of questions."
)
@click.option(
    "--hops",
    default=3,
    show_default=True,
    type=click.IntRange(1, 4),
    help="Number of statements from the start of a question to its answers.",
)
@click.option(
    "--answers",
    default=5,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Reject questions with more answers than this.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Random seed.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="Write the documents of the graph to this file, for sarag evaluate retrieval.",
)
@click.option(
    "--articles",
    type=click.Path(path_type=Path),
    help="Articles of the graph by sarag export, which are the supporting passages.",
)
@click.option("--rewrite", is_flag=True, help="Let the language model of --base-url rewrite them.")
@embedder_option
@endpoint_options
def command(**options: Any) -> None:
    """Write multi-hop questions about the graph, each with its answers, path and documents.

    Walks of --hops statements are drawn at random. A question names the entity at the start and
    asks for what is at the end of the same properties; a SPARQL query computes all answers. The
    same graph and --seed give the same questions. sarag evaluate retrieval, qa and paths read them.
    """
    from sarag_rdf.plugins.evaluation.path_questions import (
        QuestionWriter,
        read_articles,
        reasons,
        write_questions,
    )
    from sarag_rdf.plugins.evaluation.paths import relation_paths

    if options["corpus"] and options["articles"]:
        raise UsageError("--articles is the corpus: omit --corpus")
    check_outputs(options["output"], options["corpus"])
    articles = read_articles(options["articles"]) if options["articles"] else None
    with open_graph(options) as kg, progress_bars() as progress:
        limit = options["answers"]
        paths = relation_paths(kg.retriever("paths", answers=limit))
        writer = QuestionWriter(
            paths,
            hops=options["hops"],
            answers=limit,
            articles=articles,
            llm=kg.llm() if options["rewrite"] else None,
        )
        report = writer.write(options["count"], options["seed"], progress)
        if options["corpus"]:
            passages = [{"title": title, "text": text} for title, text in kg.documents()]
            with open_output(options["corpus"]) as stream:
                stream.write(json.dumps(passages, ensure_ascii=False, indent=1).encode() + b"\n")
    with open_output(options["output"]) as stream:
        stream.write(write_questions(report.questions).encode())
    click.echo(f"{counted(len(report.questions), 'question')} of {options['count']}")
    if report.rejected:
        click.echo(
            f"{counted(report.rejected.total(), 'walk')} rejected: {reasons(report.rejected)}"
        )
    if options["rewrite"]:
        rewritten = sum(question.is_rewritten for question in report.questions)
        click.echo(f"{rewritten} rewritten by the model; {report.refused} replies not used")
