"""``sarag demo``: indexes the example corpus, asks three questions, draws what happened."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.resources import DATA
from sarag_rdf.cli.answers import show_answer, show_retrieved, show_table
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.server.picture.drawing import activation_html, write_activation_png

QUESTIONS = ("ex-07__2hop", "ex-13__3hop", "ex-16__4hop")
ASKED = "Where was the doctoral supervisor of Ludwig Boltzmann born?"
"""A question that the statements of the graph answer, without a model."""


def example_files() -> Path:
    """The folder with ``corpus``, ``questions.json`` and ``queries``."""
    return DATA / "examples"


@click.command(epilog="Example:  sarag demo my-demo")
@click.argument(
    "folder", default="demo", type=click.Path(path_type=Path, file_okay=False, writable=True)
)
def command(folder: Path) -> int:
    """Index 44 short documents, ask three multi-hop questions, and draw the activation.

    A fourth question is answered from the statements of the graph. The graph and the pictures are
    written into FOLDER. No key and no language model is needed; if OPENAI_BASE_URL names an
    endpoint, its model writes an answer to each of the three questions, too.
    """
    begun = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    examples = example_files()
    questions = {q["id"]: q for q in json.loads((examples / "questions.json").read_text("utf-8"))}
    endpoint = ModelEndpoint.from_environment()
    with sarag_rdf.open(folder / "kg", endpoint=endpoint) as kg:
        with progress_bars() as progress:
            report = kg.index(examples / "corpus", extractor="spacy", progress=progress)
        click.echo(f"{report.added} documents indexed, {report.unchanged} unchanged, by spaCy")
        for number, identifier in enumerate(QUESTIONS, start=1):
            click.echo(f"\n{'=' * 20} question {number} of {len(QUESTIONS)} {'=' * 20}")
            found = kg.search(questions[identifier]["question"], limit=5)
            show_retrieved(found, explain=False)
            (folder / f"activation-{number}.html").write_text(activation_html(found), "utf-8")
            write_activation_png(found, folder / f"activation-{number}.png")
            answer(kg, questions[identifier], with_model=endpoint is not None)
        click.echo(f"\n{'=' * 20} a question that statements answer {'=' * 20}")
        click.echo(f"{ASKED}\n")
        show_answer(kg.ask(ASKED), explain=False)
        with (folder / "graph.ttl").open("wb") as stream:
            kg.export("turtle", stream)
    click.echo(f"\ndone in {time.monotonic() - begun:.0f} s; written to {folder}/:")
    click.echo(
        "  kg/ (the graph), graph.ttl (as Turtle), activation-1.html and .png to -3 (pictures)"
    )
    if endpoint is None:
        click.echo(
            "\nNo language model was asked. To have one answer the three questions, name an "
            "endpoint and run it again:"
            "\n  export OPENAI_BASE_URL=http://localhost:8080/v1"
        )
    program = Path(sys.executable).parent / "sarag"
    sarag = program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else "sarag"
    question = "Who founded the college of Isaac Newton?"
    asked = "Where was the founder of the World Wide Web Consortium born?"
    query = "SELECT ?name { ?e a sarag:Person ; skos:prefLabel ?name }"
    click.echo(f"""
Next:
  {sarag} search "{question}" --kg {folder / "kg"} --explain
  {sarag} ask "{asked}" --kg {folder / "kg"}
  {sarag} query "{query}" --kg {folder / "kg"}
  {sarag} index YOUR_FOLDER --kg kg""")
    return 0


def answer(kg: KnowledgeGraph, question: dict[str, Any], *, with_model: bool) -> None:
    """Print what SPARQL and the model answer."""
    query = example_files() / "queries" / f"{question['id']}.rq"
    if query.exists():
        name = query.relative_to(example_files().parent)
        click.echo(f"\nThe question as a query over the typed graph ({name}):\n")
        click.echo(query.read_text("utf-8"))
        show_table(kg.query(query.read_text("utf-8")))
    if with_model:
        click.echo("\nThe model's answer from these documents:\n")
        try:
            show_answer(kg.ask(question["question"], limit=5), explain=False)
        except SaragError as error:
            click.echo(f"none: {error}")
    click.echo(f"\nExpected (examples/questions.json): {question['answer']}")
