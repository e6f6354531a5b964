"""Indexes the example corpus, asks three multi-hop questions, draws what happened.

Run it with ``make demo``. It needs no key and no network, and writes into ``demo/`` only. If
``OPENAI_BASE_URL`` names an endpoint, its model writes an answer to each question, too.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import SaragError
from sarag_rdf.cli.answers import show_answer, show_retrieved, show_table
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.server.picture.drawing import activation_html, write_activation_png

HERE = Path(__file__).parent
OUT = Path("demo")
QUESTIONS = ("ex-07__2hop", "ex-13__3hop", "ex-16__4hop")


def main() -> None:
    """Index, ask, export, and say what to type next."""
    begun = time.monotonic()
    OUT.mkdir(exist_ok=True)
    questions = {q["id"]: q for q in json.loads((HERE / "questions.json").read_text("utf-8"))}
    endpoint = ModelEndpoint.from_environment()
    with sarag_rdf.open(OUT / "kg", endpoint=endpoint) as kg:
        with progress_bars() as progress:
            report = kg.index(HERE / "corpus", extractor="spacy", progress=progress)
        print(f"{report.added} documents indexed, {report.unchanged} unchanged, by spaCy")
        for number, identifier in enumerate(QUESTIONS, start=1):
            print(f"\n{'=' * 20} question {number} of {len(QUESTIONS)} {'=' * 20}")
            ask(kg, questions[identifier], number, with_model=endpoint is not None)
        with (OUT / "graph.ttl").open("wb") as stream:
            kg.export("turtle", stream)
    print(f"\ndone in {time.monotonic() - begun:.0f} s; written to {OUT}/:")
    print("  kg/ (the graph), graph.ttl (as Turtle), activation-1.html and .png to -3 (pictures)")
    if endpoint is None:
        print(
            "\nNo language model was asked. To have one answer, name an endpoint and run it again:"
        )
        print("  export OPENAI_BASE_URL=http://localhost:8080/v1")
    print("\nNext:")
    sarag = Path(sys.executable).parent / "sarag"
    shown = sarag.relative_to(Path.cwd()) if sarag.is_relative_to(Path.cwd()) else sarag
    print(f'  {shown} search "Who founded the college of Isaac Newton?" --kg demo/kg --explain')
    query = "SELECT ?name { ?e a sarag:Person ; skos:prefLabel ?name }"
    print(f'  {shown} query "{query}" --kg demo/kg')
    print(f"  {shown} index YOUR_FOLDER --kg kg")


def ask(kg: KnowledgeGraph, question: dict[str, Any], number: int, *, with_model: bool) -> None:
    """Print what search, SPARQL and the model find, and draw the activation."""
    found = kg.search(question["question"], limit=5)
    show_retrieved(found, explain=False)
    (OUT / f"activation-{number}.html").write_text(activation_html(found), "utf-8")
    write_activation_png(found, OUT / f"activation-{number}.png")
    query = HERE / "queries" / f"{question['id']}.rq"
    if query.exists():
        print(
            f"\nThe question as a query over the typed graph ({query.relative_to(HERE.parent)}):\n"
        )
        print(query.read_text("utf-8"))
        show_table(kg.query(query.read_text("utf-8")))
    if with_model:
        print("\nThe model's answer from these documents:\n")
        try:
            show_answer(kg.ask(question["question"], limit=5), explain=False)
        except SaragError as error:
            print(f"none: {error}")
    print(f"\nExpected (examples/questions.json): {question['answer']}")


if __name__ == "__main__":
    main()
