"""``sarag search`` and ``sarag ask``: evidence for a question, and answers with citations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.options import (
    embedding_options,
    facts_option,
    json_option,
    model_options,
    open_graph,
    over_option,
    read_options,
    reasoning_arguments,
    reasoning_options,
    retrieval_options,
    retriever_arguments,
    setting,
    together,
)
from sarag_rdf.cli.output import echo_json, note

if TYPE_CHECKING:
    from sarag_rdf.base.types import Answer, Retrieved
    from sarag_rdf.kg.graph import KnowledgeGraph

NO_EVIDENCE = 3
_question_options = together(read_options, over_option, facts_option, retrieval_options)
_shown_options = together(
    click.option("--explain", is_flag=True, help="Show how each document was reached."),
    json_option,
    setting(
        "--activation",
        type=click.Path(path_type=Path),
        metavar="FILE.trig",
        help="Write seeds, steps, results and calls as RDF in terms of PROV-O.",
    ),
)


@click.command(epilog='Example:  sarag search "Which river flows through Warsaw?" --explain')
@click.argument("question")
@_question_options
@embedding_options
@_shown_options
@setting("--picture", type=click.Path(path_type=Path), help="Draw the activation: .html or .png.")
def search(question: str, **options: Any) -> int:
    """Find the documents for a question, by spreading activation or another --retriever."""
    from sarag_rdf.cli.answers import show_retrieved
    from sarag_rdf.kg.results import retrieved_to_dict

    _check_outputs(options)
    with open_graph(options) as kg:
        retrieved = kg.search(question, **retriever_arguments(options))
        _write_activation(kg, retrieved, options["activation"])
    if options["picture"]:
        _write_picture(retrieved, options["picture"])
    if options["as_json"]:
        echo_json(retrieved_to_dict(retrieved))
    else:
        show_retrieved(retrieved, explain=options["explain"])
    return 0 if retrieved.documents else NO_EVIDENCE


@click.command(
    epilog='Example:  OPENAI_BASE_URL=http://localhost:8080/v1 sarag ask "Who taught the founder?"'
)
@click.argument("question")
@_question_options
@reasoning_options
@model_options
@_shown_options
def ask(question: str, **options: Any) -> int:
    """Answer a question from the graph's documents and relationships.

    With an endpoint a model answers and cites documents; it says so when the evidence does not
    suffice (exit code 3). Without an endpoint, only the evidence is printed.
    """
    from sarag_rdf.cli.answers import show_answer
    from sarag_rdf.kg.results import answer_to_dict

    _check_outputs(options)
    with open_graph(options) as kg:
        arguments = {**reasoning_arguments(options), **retriever_arguments(options)}
        answer = kg.ask(question, **arguments)
        _write_activation(kg, answer, options["activation"])
    if options["as_json"]:
        echo_json(answer_to_dict(answer))
    else:
        show_answer(answer, explain=options["explain"])
    has_evidence = answer.outcome == "evidence" and bool(answer.retrieved.documents)
    return 0 if answer.outcome == "answered" or has_evidence else NO_EVIDENCE


def _check_outputs(options: dict[str, Any]) -> None:
    """Raise `UsageError` for files that could not be written after a long search."""
    kinds = {
        "activation": ("an activation, which is written as TriG,", (".trig",)),
        "picture": ("a picture", (".html", ".png")),
    }
    for option, (what, suffixes) in kinds.items():
        path = options.get(option)
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            raise UsageError(f"{path}: the name of {what} ends in {' or '.join(suffixes)}")
        if path.is_dir() or not path.resolve().parent.is_dir():
            raise UsageError(f"cannot write {path}: name a file in an existing folder")


def _write_activation(kg: KnowledgeGraph, found: Retrieved | Answer, path: Path | None) -> None:
    """Write how activation found documents or an answer, as TriG."""
    if path is not None:
        path.write_bytes(kg.activation(found))
        note(f"activation written to {path}")


def _write_picture(retrieved: Retrieved, path: Path) -> None:
    """Draw the activation as a page or an image, by the file's suffix."""
    from sarag_rdf.server.picture.drawing import activation_html, write_activation_png

    if path.suffix.lower() == ".html":
        path.write_text(activation_html(retrieved), encoding="utf-8")
    else:
        write_activation_png(retrieved, path)
    note(f"picture written to {path}")
