"""Run an extractor on Text2KGBench and score its statements."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from sarag_rdf.errors import InputError
from sarag_rdf.evaluation.extraction import ExtractionScores, score_ontology
from sarag_rdf.evaluation.literal_style import LiteralStyle
from sarag_rdf.evaluation.tables import percent, table
from sarag_rdf.evaluation.text2kgbench import (
    BenchmarkOntology,
    Sentence,
    Triple,
    sample_examples,
)
from sarag_rdf.extract.llm import LLMExtractor, LLMOptions
from sarag_rdf.extract.spacy.pipeline import load_pipeline
from sarag_rdf.extract.typed.binding import TextBinder
from sarag_rdf.extract.typed.examples import Example, ExampleStatement
from sarag_rdf.extract.typed.extractor import Parse, Scorer, StatementExtractor, Vectors
from sarag_rdf.extract.typed.model import literal_of
from sarag_rdf.ports import LLM, Advance, Embedder
from sarag_rdf.types import Document, Relation

Predictions = Mapping[str, Sequence[Triple]]
"""Statements by the id of their sentence."""


class RelationExtractor(Protocol):
    """Extracts typed relations from documents; `text` of a relation is its sentence."""

    def relations(self, documents: Sequence[Document]) -> Iterator[list[Relation]]:
        """The typed relations of each document, in order."""


class MakeExtractor(Protocol):
    """Makes the extractor for one ontology and its examples."""

    def __call__(
        self, ontology: BenchmarkOntology, examples: Sequence[Example]
    ) -> RelationExtractor: ...


@dataclass(frozen=True)
class OntologyResult:
    """The scores of one ontology, and the number of sentences and examples."""

    name: str
    sentences: int
    examples: int
    scores: ExtractionScores


def evaluate_extraction(
    ontologies: Sequence[BenchmarkOntology],
    make_extractor: MakeExtractor,
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
        extractor = make_extractor(ontology, examples)
        style = style_of(ontology, chosen)
        documents = list(_titled(sentences) if titled else _untitled(sentences))
        predictions: dict[str, list[Triple]] = {}
        found = extractor.relations([document for document, _ in documents])
        for (_, members), relations in zip(documents, found, strict=True):
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
    an ontology without a file.
    """
    for ontology in ontologies:
        name = re.compile(rf"(?:.*\D)?{re.escape(ontology.name)}(?:\W|_).*jsonl")
        paths = [p for p in sorted(folder.glob("*.jsonl")) if name.fullmatch(p.name)]
        if not paths:
            raise InputError(f"no predictions for {ontology.name} in {folder}")
        rows = [json.loads(line) for line in paths[0].read_text(encoding="utf-8").splitlines()]
        predictions = {row["id"]: [Triple(*map(str, t)) for t in row["triples"]] for row in rows}
        sentences = ontology.test[:limit]
        scores = score_ontology(
            sentences, predictions, ontology.relations.values(), ontology.concepts
        )
        yield OntologyResult(ontology.name, len(sentences), 0, scores)


def example_of(ontology: BenchmarkOntology, sentence: Sentence) -> Example:
    """A sentence of the benchmark as an example in the terms of the schema."""
    iris = {label: iri for iri, label in ontology.relations.items()}
    statements = (
        ExampleStatement(_name(t.subject), iris[t.relation], _name(t.object))
        for t in sentence.triples
        if t.relation in iris
    )
    return Example(sentence.text, tuple(statements))


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
            r.name: {"sentences": r.sentences, "examples": r.examples, **asdict(r.scores)}
            for r in results
        },
        "mean": asdict(ExtractionScores.mean([r.scores for r in results])),
    }


_COLUMNS = {
    "P": "official_precision", "R": "official_recall", "F1": "official_f1",
    "strict P": "strict_precision", "R ": "strict_recall", "F1 ": "strict_f1",
    "soft F1": "soft_f1", "conf": "conformance", "inv.s": "invented_subjects",
    "inv.o": "invented_objects",
}  # fmt: skip


def lines(results: Sequence[OntologyResult], setting: Mapping[str, Any]) -> Iterator[str]:
    """One table with its setting, in percent."""
    yield "  ".join(f"{name}: {value}" for name, value in setting.items())
    yield ""
    rows = [[r.name, *_cells(r.scores)] for r in results]
    rows.append(["mean", *_cells(ExtractionScores.mean([r.scores for r in results]))])
    yield from table(["ontology", *_COLUMNS], rows)


def _cells(scores: ExtractionScores) -> list[str]:
    return [percent(getattr(scores, name)) for name in _COLUMNS.values()]


class _TypedExtractor:
    """Extraction without a language model, with one pipeline for examples and documents."""

    def __init__(self, extractor: StatementExtractor, parse: Parse) -> None:
        self._extractor = extractor
        self._parse = parse

    def relations(self, documents: Sequence[Document]) -> Iterator[list[Relation]]:
        docs = self._parse([document.text for document in documents])
        titles = (document.title for document in documents)
        yield from self._extractor.relations_of_all(zip(docs, titles, strict=True))


def typed_extractor(
    embedder: Embedder,
    *,
    threshold: float | None = None,
    scorers: Path | None = None,
    with_examples: bool = False,
) -> MakeExtractor:
    """Extractors without a language model, for each ontology.

    `scorers` is a folder of scorers that were trained on other ontologies, by the name of the
    ontology and "examples" or "labels"; by default the packaged scorer is used.
    """
    pipeline = load_pipeline()
    memory = Vectors(embedder)

    def make(ontology: BenchmarkOntology, examples: Sequence[Example]) -> RelationExtractor:
        kind = "examples" if with_examples else "labels"
        path = scorers / f"{ontology.suite}_{ontology.name}_{kind}.npz" if scorers else None
        extractor = StatementExtractor(
            ontology.schema,
            memory,
            examples,
            pipeline.pipe,
            threshold=threshold,
            scorer=Scorer.load(path) if path else None,
        )
        return _TypedExtractor(extractor, pipeline.pipe)

    return make


class ModelExtractors:
    """Extractors that call a language model, for each ontology; one call per document.

    `discarded` counts statements of replies by the reason why they are not used, and documents
    without a valid reply.
    """

    def __init__(
        self,
        llm: LLM,
        embedder: Embedder,
        *,
        concurrency: int = 4,
        options: LLMOptions | None = None,
    ) -> None:
        self._llm = llm
        self._embedder = embedder
        self._concurrency = concurrency
        self._options = options
        self._extractors: list[_ModelExtractor] = []

    def __call__(
        self, ontology: BenchmarkOntology, examples: Sequence[Example]
    ) -> RelationExtractor:
        extractor = _ModelExtractor(
            LLMExtractor(
                self._llm,
                self._concurrency,
                self._options,
                schema=ontology.schema,
                embedder=self._embedder,
                examples=examples,
            )
        )
        self._extractors.append(extractor)
        return extractor

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._llm.model

    @property
    def discarded(self) -> Counter[str]:
        """Counts for all ontologies so far."""
        return sum((extractor.discarded for extractor in self._extractors), Counter[str]())


class _ModelExtractor:
    def __init__(self, extractor: LLMExtractor) -> None:
        self._extractor = extractor
        self._failed: Counter[str] = Counter()

    @property
    def discarded(self) -> Counter[str]:
        return self._extractor.discarded + self._failed

    def relations(self, documents: Sequence[Document]) -> Iterator[list[Relation]]:
        for result in self._extractor.extract_statements(documents):
            if isinstance(result, Exception):
                self._failed["documents without a valid reply"] += 1
                yield []
            else:
                yield result
