"""``sarag search``: evidence for a question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import (
    activation_option,
    embedder_option,
    embedding_endpoint_options,
    facts_option,
    json_option,
    kg_option,
    open_graph,
    over_option,
    retrieval_options,
    retriever_arguments,
    setting,
    sparql_options,
)
from sarag_rdf.cli.verbosity import note

NO_EVIDENCE = 3


@click.command(
    name="search",
    epilog='Example:  sarag search "Which river flows through Warsaw?" --explain',
)
@click.argument("question")
@kg_option
@over_option
@facts_option
@sparql_options
@retrieval_options
@embedder_option
@embedding_endpoint_options
@click.option("--explain", is_flag=True, help="Show how each document was reached.")
@json_option
@activation_option
@setting("--picture", type=click.Path(path_type=Path), help="Draw the activation: .html or .png.")
def command(question: str, **options: Any) -> int:
    """Find the documents for a question, by spreading activation or another --retriever."""
    from sarag_rdf.cli.output import show_retrieved

    check_activation(options["activation"])
    _check_output(options["picture"], "a picture", ".html", ".png")
    with open_graph(options) as kg:
        retrieved = kg.search(question, **retriever_arguments(options))
        write_activation(kg, retrieved, options["activation"])
    if options["picture"]:
        write_picture(retrieved, options["picture"])
    if options["as_json"]:
        from sarag_rdf.kg.report import retrieved_to_dict

        click.echo(json.dumps(retrieved_to_dict(retrieved), ensure_ascii=False, indent=2))
    else:
        show_retrieved(retrieved, explain=options["explain"])
    return 0 if retrieved.documents else NO_EVIDENCE


def check_activation(path: Path | None) -> None:
    """Raise `UsageError` for a file that could not be written after a long answer."""
    _check_output(path, "an activation, which is written as TriG,", ".trig")


def _check_output(path: Path | None, what: str, *suffixes: str) -> None:
    from sarag_rdf.base.errors import UsageError

    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"{path}: the name of {what} ends in {' or '.join(suffixes)}")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise UsageError(f"cannot write {path}: name a file in an existing folder")


def write_activation(kg: Any, retrieved: Any, path: Path | None) -> None:
    """Write how activation found documents or an answer, as TriG."""
    if path is None:
        return
    path.write_bytes(kg.activation(retrieved))
    note(f"activation written to {path}")


def write_picture(retrieved: Any, path: Path) -> None:
    """Draw what was retrieved as a page or an image, by the file's suffix."""
    if path.suffix.lower() == ".html":
        from sarag_rdf.server.picture.drawing import activation_html

        path.write_text(activation_html(retrieved), encoding="utf-8")
    else:
        from sarag_rdf.server.picture.drawing import write_activation_png

        write_activation_png(retrieved, path)
    note(f"picture written to {path}")
