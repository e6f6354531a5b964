"""Recall of answers on a graph of movies, with and without activation weights of its properties.

    python -m benchmarks.steering --metaqa FOLDER --work WORK
    sarag index examples/corpus --extractor spacy --kg WORK/demo
    python -m benchmarks.steering --demo WORK/demo

The first imports MetaQA's graph (kb.tsv) as RDF, and asks the questions of the files
questions_dev300_*hop.tsv with `sarag` (retrieved entities are its activated entities, without the
entity that the question names). The second asks those questions of questions-typed.json that an
entity of the indexed example corpus answers. Both print the mean recall of the answers among the
first ten, for

- no weights;
- weights by structure: 2 for properties with few objects per subject and few subjects per object,
  0.5 for properties whose objects are hubs;
- weights fitted by coordinate ascent on every other question, one property at a time, and reported
  for the questions that were left out.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.parse import quote, unquote

import sarag_rdf
from benchmarks.linked_data import ntriples
from sarag_rdf.base.ports import Table
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.datasets import read_questions

PROPERTY = "https://movies0.example.org/property/"
ENTITY = "https://movies0.example.org/entity/"
FIRST = 10
CHOICES = (0.25, 2.0, 4.0)
HUB = 20.0
"""Subjects per object from which objects count as hubs."""
DEMO_QUESTIONS = Path(__file__).parent / "questions-typed.json"
STATEMENTS = """SELECT ?s ?p ?o WHERE {
  ?s a sarag:Entity ; ?p ?o . ?o a sarag:Entity .
  FILTER(STRSTARTS(STR(?p), "https://w3id.org/sarag/common#"))
} ORDER BY ?s ?p ?o"""
Weights = Mapping[str, float]


@dataclass(frozen=True)
class Question:
    """A question without the brackets around the entity that it names.

    Any of `answers` is one of `count` answers that are to be found.
    """

    text: str
    topics: frozenset[str]
    answers: frozenset[str]
    hops: int
    count: int


def metaqa_questions(folder: Path, limit: int) -> list[Question]:
    questions = []
    for hops in (1, 2, 3):
        file = read_questions(folder / f"questions_dev300_{hops}hop.tsv")
        for each in file.questions[:limit]:
            text, topics, answers = (
                each.query.text,
                frozenset([each.topic]),
                frozenset(each.answers),
            )
            questions.append(Question(text, topics, answers, hops, len(answers)))
    return questions


def read_demo_questions(kg: KnowledgeGraph) -> list[Question]:
    """The questions that an entity answers; other names of an answer are no further answers."""
    names = {
        row[0].value for row in table(kg, "SELECT DISTINCT ?n { ?e a sarag:Entity; rdfs:label ?n }")
    }
    questions = []
    for row in json.loads(DEMO_QUESTIONS.read_text(encoding="utf-8")):
        answers = frozenset(row["answers"]) & names
        topics = {end for s, _, o in row["patterns"] for end in (s, o) if not end.startswith("?")}
        if answers:
            hops = len(row["patterns"])
            questions.append(
                Question(row["question"], frozenset(topics), answers, hops, len(answers))
            )
    return questions


def table(kg: KnowledgeGraph, query: str) -> Sequence[Sequence[Any]]:
    prefixes = "".join(f"PREFIX {name}: <{base}> " for name, base in PREFIXES.items())
    result = kg.query(prefixes + query)
    assert isinstance(result, Table)
    return result.rows


def by_structure(rows: Iterable[Sequence[str]]) -> dict[str, float]:
    """Property -> weight, by the mean numbers of objects per subject and subjects per object."""
    rows = list(rows)
    statements = Counter(relation for _, relation, _ in rows)
    subjects, objects = defaultdict(set), defaultdict(set)
    for head, relation, tail in rows:
        subjects[relation].add(head)
        objects[relation].add(tail)
    weights = {}
    for relation, count in sorted(statements.items()):
        per_subject, per_object = count / len(subjects[relation]), count / len(objects[relation])
        weight = 0.5 if per_object >= HUB else 2.0 if per_subject + per_object < 5 else 1.0
        shape = f"{per_subject:.1f} objects a subject, {per_object:.1f} subjects an object"
        print(f"{relation.removeprefix(PROPERTY):16} {weight:g}  ({shape})")
        weights[relation] = weight
    return weights


def recalls(
    kg: KnowledgeGraph, questions: Sequence[Question], weights: Weights, c: float
) -> list[float]:
    """The recall of the answers among the first activated entities, question by question."""
    found = []
    for question in questions:
        result = kg.search(question.text, weights=dict(weights), c=c, n=2, limit=1)
        names = [e.name for e in result.entities if e.name not in question.topics][:FIRST]
        most = min(FIRST, question.count)
        found.append(len(question.answers & set(names)) / most)
    return found


def fit(
    kg: KnowledgeGraph, questions: Sequence[Question], properties: Sequence[str], c: float
) -> dict[str, float]:
    """Coordinate ascent: for each property the weight of the highest mean recall, in one pass."""
    weights: dict[str, float] = {}
    best = mean(recalls(kg, questions, weights, c))
    for property_ in properties:
        for choice in CHOICES:
            tried = {**weights, property_: choice}
            score = mean(recalls(kg, questions, tried, c))
            if score > best + 1e-9:
                best, weights = score, tried
    return weights


def show(name: str, questions: Sequence[Question], found: Sequence[float]) -> None:
    columns = []
    for hops in (1, 2, 3):
        some = [r for q, r in zip(questions, found, strict=True) if q.hops == hops]
        columns.append(f"{hops} hop {mean(some):.3f}" if some else "")
    print(f"{name:34} all {mean(found):.3f}  {'  '.join(columns)}", flush=True)


def compare(
    kg: KnowledgeGraph, questions: Sequence[Question], structure: Weights, c: float
) -> None:
    fitted_on, left_out = questions[::2], questions[1::2]
    print(f"{len(questions)} questions, recall among {FIRST} entities, c {c:g}")
    for name, weights in (("no weights", {}), ("by structure", structure)):
        show(name, questions, recalls(kg, questions, weights, c))
    for name, weights in (("no weights", {}), ("by structure", structure)):
        show(f"{name}, left out", left_out, recalls(kg, left_out, weights, c))
    weights = fit(kg, fitted_on, sorted(structure), c)
    named = {unquote(iri.removeprefix(PROPERTY)): weight for iri, weight in weights.items()}
    print(f"fitted on {len(fitted_on)}: {named}")
    show("fitted, on what it was fitted on", fitted_on, recalls(kg, fitted_on, weights, c))
    show("fitted, left out", left_out, recalls(kg, left_out, weights, c))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--metaqa", type=Path)
    parser.add_argument("--demo", type=Path, help="The indexed example corpus.")
    parser.add_argument("--work", type=Path)
    parser.add_argument(
        "--limit",
        type=int,
        default=300,
        help="Questions at most: per number of hops, or of the demo.",
    )
    parser.add_argument("--c", type=float, default=0.98)
    options = parser.parse_args()
    if options.demo:
        with sarag_rdf.open(options.demo, endpoint=None) as kg:
            rows = [[term.value for term in row] for row in table(kg, STATEMENTS)]
            questions = read_demo_questions(kg)[: options.limit]
            compare(kg, questions, by_structure(rows), options.c)
    if not options.metaqa:
        return
    if not options.work:
        parser.error("--metaqa needs --work")
    options.work.mkdir(parents=True, exist_ok=True)
    folder = options.work / "kg"
    if not folder.exists():
        ntriples(options.metaqa / "kb.tsv", options.work / "movies.nt", 1)
        with sarag_rdf.open(folder, endpoint=None) as kg:
            kg.import_graph(options.work / "movies.nt", "rdf", name="movies")
    lines = (options.metaqa / "kb.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    structure = by_structure([s, PROPERTY + quote(p, safe=""), o] for s, p, o in rows)
    with sarag_rdf.open(folder, endpoint=None, over=["movies"]) as kg:
        compare(kg, metaqa_questions(options.metaqa, options.limit), structure, options.c)


if __name__ == "__main__":
    main()
