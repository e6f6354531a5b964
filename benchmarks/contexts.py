"""How often the answer stands in contexts of some sizes: what selection is worth, without a model.

Takes an indexed graph and questions with answers, as ``sarag evaluate qa`` does::

    python -m benchmarks.contexts --questions questions.json --kg kg-openie

Prints Markdown: for each retriever, context builder and budget in tokens the share of questions
whose answer (or an alias) is in the context, in percent. With
questions that list a chain of sub-questions with their answers (MuSiQue) the second figure is the
share of questions with every answer of the chain in the context.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import sarag_rdf
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.types import Query
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.datasets import read_questions
from sarag_rdf.plugins.evaluation.measures import contains_answer

SYSTEMS = (("dense", "whole"), ("sarag", "whole"), ("sarag", "graph-walk"), ("sarag", "selected"))
BUDGETS = (150, 250, 400, 700, 1000)


def lines(kg: KnowledgeGraph, questions: Path) -> Iterator[str]:
    asked = read_questions(questions).questions
    raw = {str(q.get("id", q.get("_id"))): q for q in json.loads(questions.read_text("utf-8"))}
    chains = {
        identifier: [(step["answer"],) for step in record.get("question_decomposition", ())][:-1]
        for identifier, record in raw.items()
    }
    yield f"| retriever | context | {' | '.join(f'{b} tokens' for b in BUDGETS)} |"
    yield f"| --- | --- |{' ---: |' * len(BUDGETS)}"
    for retriever, builder in SYSTEMS:
        cells = []
        for budget in BUDGETS:
            gather = kg.gather(retriever, context=builder, budget=budget, limit=10)
            answered, whole = [], []
            for question in asked:
                context = gather(Query(question.query.text)).context
                answered.append(contains_answer(question.answers, context.texts))
                whole.append(
                    answered[-1]
                    and all(contains_answer(a, context.texts) for a in chains[question.id])
                )
            cells.append(f"{100 * fmean(answered):.0f} / {100 * fmean(whole):.0f}")
        yield f"| {retriever} | {builder} | {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--kg", type=Path, required=True)
    options = parser.parse_args()
    try:
        with sarag_rdf.open(options.kg) as kg:
            for line in lines(kg, options.questions):
                print(line, flush=True)
    except SaragError as error:
        print(f"contexts: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
