"""Indexes the example corpus, answers three multi-hop questions offline, draws what happened.

Run it with ``make demo``. It needs no key and no network, and writes into ``demo/`` only.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import sarag_rdf
from sarag_rdf.cli.output import progress_bars, show_retrieved
from sarag_rdf.picture.drawing import activation_html, write_activation_png

HERE = Path(__file__).parent
OUT = Path("demo")
QUESTIONS = ("ex-07__2hop", "ex-13__3hop", "ex-16__4hop")


def main() -> None:
    """Index, search three times, export, and say what to type next."""
    begun = time.monotonic()
    OUT.mkdir(exist_ok=True)
    questions = {q["id"]: q for q in json.loads((HERE / "questions.json").read_text("utf-8"))}
    with sarag_rdf.open(OUT / "kg", endpoint=None) as kg:
        with progress_bars() as progress:
            report = kg.index(HERE / "corpus", extractor="spacy", progress=progress)
        print(f"{report.added} documents indexed, {report.unchanged} unchanged: no model was asked")
        for number, identifier in enumerate(QUESTIONS, start=1):
            question = questions[identifier]
            found = kg.search(question["question"], limit=5)
            print(f"\n{'=' * 20} question {number} of {len(QUESTIONS)} {'=' * 20}")
            show_retrieved(found, explain=False)
            told(question, [document.document.title for document in found.documents])
            (OUT / f"activation-{number}.html").write_text(activation_html(found), "utf-8")
            write_activation_png(found, OUT / f"activation-{number}.png")
        with (OUT / "graph.ttl").open("wb") as stream:
            kg.export("turtle", stream)
    print(f"\ndone in {time.monotonic() - begun:.0f} s; written to {OUT}/:")
    print("  kg/ (the graph), graph.ttl (as Turtle), activation-1.html and .png to -3 (pictures)")
    print("\nNext:")
    sarag = Path(sys.executable).parent / "sarag"
    shown = sarag.relative_to(Path.cwd()) if sarag.is_relative_to(Path.cwd()) else sarag
    print(f'  {shown} search "Who founded the college of Isaac Newton?" --kg demo/kg --explain')
    query = "SELECT ?name { ?e a sarag:Person ; skos:prefLabel ?name }"
    print(f'  {shown} query "{query}" --kg demo/kg')
    print(f"  {shown} index YOUR_FOLDER --kg kg")


def told(question: dict[str, object], titles: list[str]) -> None:
    """Say which of the documents that the answer needs were found, and what the answer is."""
    paragraphs = question["paragraphs"]
    assert isinstance(paragraphs, list)
    needed = [p["title"] for p in paragraphs if p["is_supporting"]]
    found = [title for title in needed if title in titles]
    print(f"\nNeeded to answer: {', '.join(needed)}: {len(found)} of {len(needed)} found.")
    print(f"The answer, from these documents: {question['answer']}")


if __name__ == "__main__":
    main()
