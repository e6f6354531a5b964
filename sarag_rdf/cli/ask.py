"""``sarag ask``: an answer with citations, or the evidence alone."""

from __future__ import annotations

import json
from typing import Any

import click

from sarag_rdf.cli.options import (
    activation_option,
    embedder_option,
    endpoint_options,
    facts_option,
    json_option,
    kg_option,
    open_graph,
    over_option,
    reasoning_arguments,
    reasoning_options,
    retrieval_options,
    retriever_arguments,
    sparql_options,
)

NO_ANSWER = 3


@click.command(
    name="ask",
    epilog='Example:  OPENAI_BASE_URL=http://localhost:8080/v1 sarag ask "Who taught the founder?"',
)
@click.argument("question")
@kg_option
@over_option
@facts_option
@sparql_options
@retrieval_options
@reasoning_options
@embedder_option
@endpoint_options
@activation_option
@click.option("--explain", is_flag=True, help="Show how each document was reached.")
@json_option
def command(question: str, **options: Any) -> int:
    """Answer a question from the graph's documents and relationships.

    With an endpoint a model answers and cites documents; it says so when the evidence does not
    suffice (exit code 3). Without an endpoint, only the evidence is printed.
    """
    from sarag_rdf.cli.output import show_answer
    from sarag_rdf.cli.search import check_activation, write_activation

    check_activation(options["activation"])
    with open_graph(options) as kg:
        arguments = {**reasoning_arguments(options), **retriever_arguments(options)}
        answer = kg.ask(question, **arguments)
        write_activation(kg, answer, options["activation"])
    if options["as_json"]:
        from sarag_rdf.kg.report import answer_to_dict

        click.echo(json.dumps(answer_to_dict(answer), ensure_ascii=False, indent=2))
    else:
        show_answer(answer, explain=options["explain"])
    answered = answer.outcome == "answered" or (
        answer.outcome == "evidence" and bool(answer.retrieved.documents)
    )
    return 0 if answered else NO_ANSWER
