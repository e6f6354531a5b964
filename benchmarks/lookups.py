"""What relation paths answer without a model: the shares of questions, and of right answers.

Examples:
  python -m benchmarks.lookups --kg WORK/kg --over movies --questions A.tsv --questions B.tsv
  python -m benchmarks.lookups --kg KG --questions questions.json --least 0.15 --least 0.3
  python -m benchmarks.lookups --kg KG --questions benchmarks/questions-lookup.json --alternatives

Without --least, questions are asked as by `sarag ask` without an endpoint. With it, the best path
of each is followed if it is at least so probable. An answer is right if the F1 of its names is
above 1/2; with --alternatives, which are several names of one thing, if more than half of its names
are expected. Questions without an answer have none that is right. Topics have no brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

import click

import sarag_rdf
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.extraction.text_values import find_values
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.datasets import Question, read_questions
from sarag_rdf.plugins.evaluation.path_questions import relation_paths

_DATE = re.compile(r"\d{4}(?:-\d\d){1,2}")


@click.command()
@click.option("--kg", required=True)
@click.option("--over", multiple=True)
@click.option("--questions", multiple=True, required=True, type=click.Path(path_type=Path))
@click.option("--least", multiple=True, type=float)
@click.option("--alternatives", is_flag=True)
def main(
    kg: str,
    over: tuple[str, ...],
    questions: tuple[Path, ...],
    least: tuple[float, ...],
    alternatives: bool,
) -> None:
    """Print for each file how many questions are answered, and how many of these rightly."""
    judge = is_expected if alternatives else is_right
    with sarag_rdf.open(kg, over=over, endpoint=None) as graph:
        for path in questions:
            own = read_questions(path).questions
            found = followed(graph, own, judge) if least else answered(graph, own, judge)
            for limit in least or (0.0,):
                right = [is_right for probability, is_right in found if probability >= limit]
                at = f" at {limit:g}" if least else ""
                click.echo(f"{path.name}{at}: {len(right)} of {len(own)}, {sum(right)} right")


Judge = Callable[[Iterable[str], Question], bool]


def answered(
    graph: KnowledgeGraph, questions: Iterable[Question], judge: Judge
) -> list[tuple[float, bool]]:
    """The probability, and whether it is right, of each answer of `ask`."""
    results = []
    for question in questions:
        answer = graph.ask(question.query.text)
        if answer.outcome == "answered":
            path = answer.retrieved.paths[0]
            results.append((path.probability, judge(answer.text.split("; "), question)))
    return results


def followed(
    graph: KnowledgeGraph, questions: Iterable[Question], judge: Judge
) -> list[tuple[float, bool]]:
    """The same of the best path that leads anywhere."""
    paths = relation_paths(graph.retriever("paths", explain=False, least=0.0))
    results = []
    for question in questions:
        best = next(iter(paths.find(question.query.text)[1]), None)
        if best and best.answers:
            names = [answer.name for answer in best.answers]
            results.append((best.probability, judge(names, question)))
    return results


def is_right(names: Iterable[str], question: Question) -> bool:
    """Whether the F1 of names, dates and numbers against the answers is above 1/2."""
    found, known = (set(chain(*map(_forms, each))) for each in (names, question.answers))
    return 4 * len(found & known) > len(found) + len(known)


def is_expected(names: Iterable[str], question: Question) -> bool:
    """Whether more than half of the names, dates and numbers are among the answers."""
    found, known = (set(chain(*map(_forms, each))) for each in (names, question.answers))
    return 2 * len(found & known) > len(found)


def _forms(text: str) -> set[str]:
    """A text that is a date or number in its lexical form, any other as a normalised name."""
    if _DATE.fullmatch(text):
        return {text}
    whole = (span for span in find_values(text) if (span.begin, span.end) == (0, len(text)))
    return {span.value.lexical for span in whole} or {normalize_name(text)}


if __name__ == "__main__":
    main()
