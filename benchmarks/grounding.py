"""How many queries of plain-word patterns the graph binds to the gold answer.

Takes patterns by question id, such as those written by hand in ``patterns-musique.json`` (with
the graph at hand, as a knowledge engineer would), and an indexed graph::

    python -m benchmarks.grounding --patterns benchmarks/patterns-musique.json \\
        --questions questions.json --kg kg-openie

Prints a line a question, then how many queries were parsed, linked, bound, and how many bind the
gold answer (or an alias, as whole words) among the best ten bindings, and as the best.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.errors import SaragError
from sarag_rdf.kg.registry import GraphRetriever
from sarag_rdf.plugins.evaluation.datasets import Question, read_questions
from sarag_rdf.plugins.evaluation.measures import contains_answer
from sarag_rdf.plugins.papers.sparql_grounded import Grounding, PatternError, ground, parse_patterns
from sarag_rdf.retrieval.view import GraphView


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--patterns", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--kg", type=Path, required=True)
    options = parser.parse_args()
    try:
        patterns = json.loads(options.patterns.read_text(encoding="utf-8"))
        questions = {q.id: q for q in read_questions(options.questions).questions}
        with sarag_rdf.open(options.kg) as kg:
            retriever = kg.retriever("sarag")
            assert isinstance(retriever, GraphRetriever)
            counts = run(retriever.view, patterns, questions)
    except SaragError as error:
        print(f"grounding: {error}", file=sys.stderr)
        return 1
    print(f"\nof {len(patterns)}:", ", ".join(f"{name} {n}" for name, n in counts.items()))
    return 0


def run(
    view: GraphView, patterns: dict[str, str], questions: dict[str, Question]
) -> dict[str, int]:
    counts = dict.fromkeys(("parsed", "linked", "bound", "gold among ten", "gold first"), 0)
    for identifier, text in patterns.items():
        question = questions[identifier]
        answers = question.answers
        begin = time.perf_counter()
        try:
            found = ground(view, parse_patterns(text))
            counts["parsed"] += 1
        except PatternError as error:
            found = Grounding(problem=str(error))
        seconds = time.perf_counter() - begin
        values = [binding.value for binding in found.bindings]
        hits = [contains_answer(answers, [value]) for value in values]
        counts["linked"] += found.is_linked
        counts["bound"] += bool(values)
        counts["gold among ten"] += any(hits)
        counts["gold first"] += bool(hits and hits[0])
        mark = "first" if hits and hits[0] else "yes" if any(hits) else "no"
        shown = "; ".join(values[:3]) or found.problem
        print(f"{mark:6} {seconds:5.2f} s  {answers[0]}  <-  {shown}")
    return counts


if __name__ == "__main__":
    sys.exit(main())
