"""Evidence beside simpler choices of sentences, and its weights chosen on other sets of questions.

    python -m benchmarks.evidence --set corpus.json questions.json kg --set - examples.json demo

Each set is a corpus (``-``: the paragraphs of the questions), questions, and a graph of the corpus.
For the first five of ten documents the measures of `sarag evaluate evidence` are printed for the
first sentence, the first two, the evidence, and whole documents; with several sets also those of
each set with the weights that are best for the others, of the 108 settings of `GRID`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

import sarag_rdf
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import Excerpt, Retrieved
from sarag_rdf.kg.evidence import RetrievedEvidence
from sarag_rdf.plugins.evaluation.datasets import (
    Corpus,
    Passage,
    Question,
    read_corpus,
    read_questions,
)
from sarag_rdf.plugins.evaluation.rankings import measures_of

FIRST = 5
GRID = {
    "LINK": (0.2, 0.4, 0.6),
    "KIND": (0.0, 0.1, 0.2),
    "OPENING": (0.0, 0.05, 0.1, 0.15),
    "MORE": (0.08, 0.12, 0.16),
}
"""Weights of `sarag_rdf.kg.evidence`, and the values that are tried."""
Choice = Callable[[Retrieved], Sequence[Excerpt]]
Figures = tuple[float, float, float]
"""Facts and answers in percent, and characters a document."""


@dataclass(frozen=True)
class Set:
    """Questions with what was retrieved for each."""

    name: str
    corpus: Corpus
    found: list[tuple[Question, Retrieved]]

    def figures(self, choice: Choice) -> Figures:
        """The figures of a choice of sentences."""
        rows, sizes = [], []
        for question, retrieved in self.found:
            excerpts = choice(retrieved)[:FIRST]
            rows.append(measures_of(self.corpus, question, excerpts, ()))
            sizes += [len(excerpt.text) for excerpt in excerpts]
        facts, answers = (
            100 * mean([row[name] for row in rows if name in row] or [0.0])
            for name in ("facts", "answer")
        )
        return facts, answers, mean(sizes or [0])


def read_set(corpus: str, questions: str, folder: str) -> Set:
    """Search the graph for all questions."""
    known = read_corpus(Path(corpus)) if corpus != "-" else Corpus([*paragraphs(Path(questions))])
    asked = read_questions(Path(questions)).questions
    with sarag_rdf.open(folder, endpoint=None) as kg:
        found = [(question, kg.search(question.query.text)) for question in asked]
    return Set(Path(folder).name, known, found)


def paragraphs(path: Path) -> Iterator[Passage]:
    for record in json.loads(path.read_text("utf-8")):
        for each in record["paragraphs"]:
            yield Passage("", each["title"], each["paragraph_text"])


def first_sentences(count: int) -> Choice:
    def choice(retrieved: Retrieved) -> list[Excerpt]:
        documents = (ranked.document for ranked in retrieved.documents)
        return [Excerpt(d, tuple(sentence_spans(d.text)[:count])) for d in documents]

    return choice


def evidence(retrieved: Retrieved) -> Sequence[Excerpt]:
    return RetrievedEvidence(retrieved).excerpts


def whole(retrieved: Retrieved) -> Sequence[Excerpt]:
    return [Excerpt.whole(ranked.document) for ranked in retrieved.documents]


CHOICES: dict[str, Choice] = {
    "the first sentence": first_sentences(1),
    "the first two": first_sentences(2),
    "evidence": evidence,
    "all of it": whole,
}


def leave_one_out(sets: Sequence[Set]) -> Iterator[tuple[Set, dict[str, float], Figures]]:
    """Each set with the weights of the highest sum of facts and answers on the others."""
    found = []
    for values in product(*GRID.values()):
        weights: dict[str, Any] = dict(zip(GRID, values, strict=True))
        with patch.multiple("sarag_rdf.kg.evidence", **weights):
            found.append((weights, {each.name: each.figures(evidence) for each in sets}))
    for left in sets:
        weights, figures = max(
            found, key=lambda row: sum(sum(row[1][s.name][:2]) for s in sets if s is not left)
        )
        yield left, weights, figures[left.name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--set", dest="sets", nargs=3, action="append", required=True,
        metavar=("CORPUS", "QUESTIONS", "KG"),
    )  # fmt: skip
    sets = [read_set(*each) for each in parser.parse_args().sets]
    for each in sets:
        print(f"{each.name}: {len(each.found)} questions")
        for name, choice in CHOICES.items():
            facts, answers, size = each.figures(choice)
            print(f"  {name:20} facts {facts:5.1f}  answers {answers:5.1f}  size {size:4.0f}")
    for left, weights, (facts, answers, _) in leave_one_out(sets) if len(sets) > 1 else ():
        print(f"{left.name} left out: facts {facts:.1f}  answers {answers:.1f}  {weights}")


if __name__ == "__main__":
    main()
