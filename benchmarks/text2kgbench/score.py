"""Runs an extractor on Text2KGBench and scores its statements.

The measures are those of Text2KGBench, and strict and soft ones.

*Official* (Text2KGBench, section 4.2, and its ``run_eval.py``): predictions are first restricted to
properties that occur in the sentence's own gold statements; precision, recall and F1 are means over
sentences, then over ontologies. *Strict*: all predictions count; precision, recall and F1 are of
the summed counts of an ontology, then means over ontologies. *Soft*: as strict, after both sides
lose accents, brackets, quotes, units and the fraction ".0" of numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks.text2kgbench.data import (
    BenchmarkOntology,
    LiteralStyle,
    Sentence,
    Triple,
    read_lines,
    sample_examples,
)
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import Advance
from sarag_rdf.base.types import Document, Relation
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.evaluation.reporting import block
from sarag_rdf.plugins.llm.statement_calls import TextBinder, literal_of
from sarag_rdf.plugins.statement_models import Example, ExampleStatement, soft_text

COLUMNS: Final = {
    "official_precision": "P", "official_recall": "R", "official_f1": "F1",
    "strict_precision": "strict P", "strict_recall": "R", "strict_f1": "F1",
    "soft_precision": "", "soft_recall": "", "soft_f1": "soft F1",
    "conformance": "conf", "invented_subjects": "inv.s", "invented_objects": "inv.o",
}  # fmt: skip
"""Measures in [0, 1], with the headings of those that are printed.

`conformance` is the share of predictions with a property of the ontology; invented subjects and
objects do not occur in the sentence, in the title of its document, nor as a class label. For a
normalised value the text that it was read from is looked for.
"""
Scores = dict[str, float]
Predictions = Mapping[str, Sequence[Triple]]
"""Statements by the id of their sentence."""
Extract = Callable[[Sequence[Document]], Iterator[list[Relation]]]
"""The typed relations of each document, in order; `text` of a relation is its sentence."""
MakeExtract = Callable[[BenchmarkOntology, Sequence[Example]], Extract]
"""An extractor for one ontology and its examples."""


def mean_of(scores: Iterable[Scores]) -> Scores:
    """The mean of each measure."""
    rows = list(scores)
    return {name: fmean(row[name] for row in rows) if rows else 0.0 for name in rows[0]}


def score_ontology(
    sentences: Sequence[Sentence],
    predictions: Predictions,
    relations: Iterable[str],
    concepts: Iterable[str],
    titles: Mapping[str, str] | None = None,
) -> Scores:
    """Scores of the predictions for the sentences of one ontology, by sentence id.

    `titles` are those of the documents of sentences, by sentence id.
    """
    known = {relation.replace(" ", "_") for relation in relations}
    labels, titles = " ".join(concepts), titles or {}
    rows = [
        _score_sentence(s, predictions.get(s.id, ()), known, f"{titles.get(s.id, '')} {labels}")
        for s in sentences
    ]
    strict = _named("strict", _micro(sentences, predictions, strict_key))
    soft = _named("soft", _micro(sentences, predictions, soft_key))
    found = {**mean_of(rows), **strict, **soft}
    return {name: found[name] for name in COLUMNS}


def _named(kind: str, scores: PRF) -> dict[str, float]:
    return {f"{kind}_{name}": value for name, value in scores.values().items()}


def _score_sentence(
    sentence: Sentence, predicted: Sequence[Triple], known: set[str], labels: str
) -> Scores:
    relations = {_property(triple) for triple in sentence.triples}
    gold = {strict_key(triple) for triple in sentence.triples}
    restricted = {strict_key(triple) for triple in predicted if _property(triple) in relations}
    context = _occurrence_key(f"{sentence.text} {labels}")

    def share(counts: Callable[[Triple], bool], without: float) -> float:
        return fmean(map(counts, predicted)) if predicted else without

    return {
        **_named("official", PRF.of(restricted, gold)),
        "conformance": share(lambda t: _property(t) in known, 1.0),
        "invented_subjects": share(lambda t: _occurrence_key(t.subject) not in context, 0.0),
        "invented_objects": share(
            lambda t: _occurrence_key(t.source or t.object) not in context, 0.0
        ),
    }


def _property(triple: Triple) -> str:
    return triple.relation.replace(" ", "_")


def _micro(
    sentences: Sequence[Sentence], predictions: Predictions, key: Callable[[Triple], str]
) -> PRF:
    """Of the summed counts."""
    gold = {(s.id, key(triple)) for s in sentences for triple in s.triples}
    found = {(s.id, key(triple)) for s in sentences for triple in predictions.get(s.id, ())}
    return PRF.of(found, gold)


def strict_key(triple: Triple) -> str:
    """A statement without spaces and underscores, in lower case: equality in the benchmark."""
    parts = (triple.subject, triple.relation, triple.object)
    return "".join(re.sub(r"[_\s]+", "", part).lower() for part in parts)


def soft_key(triple: Triple) -> str:
    """A statement whose subject and object are normalised by `soft_text`."""
    relation = re.sub(r"[_\s]+", "", triple.relation).lower()
    return f"{soft_text(triple.subject)} {relation} {soft_text(triple.object)}"


def _occurrence_key(text: str) -> str:
    """Stems of the words without anything between them, as the benchmark compares occurrences."""
    words = re.findall(r"\w+|[^\w\s]", text.replace("_", " ").lower())
    return "".join(_stem(word) for word in words).replace("01januar", "")


def _stem(word: str) -> str:
    """The word without endings of plurals, participles and adjectives (short of Porter's steps)."""
    for ending in ("ational", "ing", "ies", "ed", "es", "ly", "al", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@dataclass(frozen=True)
class OntologyResult:
    """The scores of one ontology, and the number of sentences and examples."""

    name: str
    sentences: int
    examples: int
    scores: Scores


def evaluate_extraction(
    ontologies: Sequence[BenchmarkOntology],
    make: MakeExtract,
    *,
    examples_per_property: int = 0,
    limit: int | None = None,
    titled: bool = False,
    seed: int = 0,
    advance: Advance = lambda done: None,  # noqa: ARG005
) -> Iterator[OntologyResult]:
    """Extract from the test sentences of each ontology, and score.

    With `titled` the sentences about one topic (the most frequent gold subject) are one document
    under its name; each statement is scored in its own sentence.
    """
    for ontology in ontologies:
        sentences = ontology.test[:limit]
        chosen = sample_examples(ontology, examples_per_property, seed)
        examples = [example_of(ontology, sentence) for sentence in chosen]
        style = style_of(ontology, chosen)
        documents = list(_titled(sentences) if titled else _untitled(sentences))
        predictions: dict[str, list[Triple]] = {}
        extracted = make(ontology, examples)([document for document, _ in documents])
        for (_, members), relations in zip(documents, extracted, strict=True):
            for id_, relation in _located(relations, members):
                predictions.setdefault(id_, []).append(triple_of(ontology, relation, style))
            advance(len(members))
        titles = {member.id: document.title for document, group in documents for member in group}
        scores = score_ontology(
            sentences, predictions, ontology.relations.values(), ontology.concepts, titles
        )
        yield OntologyResult(ontology.name, len(sentences), len(examples), scores)


def score_predictions(
    ontologies: Sequence[BenchmarkOntology], folder: Path, limit: int | None = None
) -> Iterator[OntologyResult]:
    """Score statements in the files of the benchmark's baselines, ``*NAME_*.jsonl``.

    Each line has the ``id`` of a sentence and ``triples`` of three strings. Raises `InputError` for
    an ontology without a file, and for a line of another form.
    """
    for ontology in ontologies:
        name = re.compile(rf"(?:.*\D)?{re.escape(ontology.name)}(?:\W|_).*jsonl")
        paths = [p for p in sorted(folder.glob("*.jsonl")) if name.fullmatch(p.name)]
        if not paths:
            raise InputError(f"no predictions for {ontology.name} in {folder}")
        predictions = dict(read_lines(paths[0], _prediction, "an id, and triples of three texts"))
        sentences = ontology.test[:limit]
        scores = score_ontology(
            sentences, predictions, ontology.relations.values(), ontology.concepts
        )
        yield OntologyResult(ontology.name, len(sentences), 0, scores)


def _prediction(row: dict[str, Any]) -> tuple[str, list[Triple]]:
    return row["id"], [Triple(*map(str, triple)) for triple in row["triples"]]


def example_of(ontology: BenchmarkOntology, sentence: Sentence) -> Example:
    """A sentence of the benchmark as an example in the terms of the schema."""
    iris = {label: iri for iri, label in ontology.relations.items()}
    statements = (
        ExampleStatement(_name(t.subject), iris[t.relation], _name(t.object))
        for t in sentence.triples
        if t.relation in iris
    )
    return Example(sentence.text, tuple(statements))


def record_of(example: Example) -> dict[str, Any]:
    """The example as a line of a file of examples."""
    statements = [
        {"subject": s.subject, "property": s.property, "object": s.object}
        for s in example.statements
    ]
    return {"text": example.text, "statements": statements}


def style_of(ontology: BenchmarkOntology, sentences: Iterable[Sentence]) -> LiteralStyle:
    """How the gold objects of these sentences are written, by what their text has instead."""
    style = LiteralStyle()
    iris = {label: iri for iri, label in ontology.relations.items()}
    for sentence in sentences:
        binder = TextBinder(sentence.text)
        for triple in sentence.triples:
            iri = iris.get(triple.relation, "")
            bound = binder.bind(_name(triple.object)) if iri else None
            if bound is not None:
                _, value = literal_of(ontology.schema.properties[iri], bound, binder)
                style.learn(iri, triple.object, value.text if value else bound.name, value)
    return style


def _name(text: str) -> str:
    return text.replace("_", " ").strip('"')


def triple_of(ontology: BenchmarkOntology, relation: Relation, style: LiteralStyle) -> Triple:
    """A typed relation in the strings of the benchmark."""
    label = ontology.relations.get(relation.predicate, relation.predicate).replace(" ", "_")
    if relation.inverse:
        written = style.write(relation.predicate, relation.subject, None)
        return Triple(_straight(relation.object), label, _straight(written), relation.subject)
    written = style.write(relation.predicate, relation.object, relation.value)
    source = relation.value.text if relation.value else relation.object
    return Triple(_straight(relation.subject), label, _straight(written), source)


def _straight(text: str) -> str:
    """With the straight apostrophes of the benchmark."""
    return text.replace("\u2019", "'")


def _untitled(sentences: Iterable[Sentence]) -> Iterator[tuple[Document, list[Sentence]]]:
    for sentence in sentences:
        text = sentence.text
        yield Document(sentence.id, sentence.id, "", text, 0, len(text)), [sentence]


def _titled(sentences: Iterable[Sentence]) -> Iterator[tuple[Document, list[Sentence]]]:
    topics: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        subjects = Counter(_name(triple.subject) for triple in sentence.triples)
        topic = subjects.most_common(1)[0][0] if subjects else ""
        topics.setdefault(topic or sentence.id, []).append(sentence)
    for topic, members in topics.items():
        text = "\n\n".join(member.text for member in members)
        title = "" if topic == members[0].id else topic
        yield Document(members[0].id, members[0].id, title, text, 0, len(text)), members


def _located(
    relations: Iterable[Relation], members: Sequence[Sentence]
) -> Iterator[tuple[str, Relation]]:
    """Each relation with the id of the sentence of the benchmark that contains its sentence.

    Of several such sentences, as a short one may be a part of many, it is the first that does not
    have the relation already.
    """
    texts = [" ".join(member.text.split()) for member in members]
    seen: set[tuple[str, Relation]] = set()
    for relation in relations:
        key = " ".join(relation.text.split())
        containing = [m.id for m, text in zip(members, texts, strict=True) if key in text]
        ids = containing or [members[0].id]
        id_ = next((i for i in ids if (i, relation) not in seen), ids[0])
        seen.add((id_, relation))
        yield id_, relation


def report(results: Sequence[OntologyResult], setting: Mapping[str, Any]) -> dict[str, Any]:
    """Setting, scores of each ontology, and their mean, as JSON values."""
    return {
        "setting": dict(setting),
        "ontologies": {
            r.name: {"sentences": r.sentences, "examples": r.examples, **r.scores} for r in results
        },
        "mean": mean_of(result.scores for result in results),
    }


def lines(results: Sequence[OntologyResult], setting: Mapping[str, Any]) -> Iterator[str]:
    """One table with its setting, in percent."""
    yield "  ".join(f"{name}: {value}" for name, value in setting.items())
    yield ""
    rows = [{"ontology": result.name, **result.scores} for result in results]
    rows.append({"ontology": "mean", **mean_of(result.scores for result in results)})
    yield from block("", "ontology", rows, {n: head for n, head in COLUMNS.items() if head})
