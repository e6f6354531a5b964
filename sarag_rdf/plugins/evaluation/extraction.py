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
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import LLM, Advance, Embedder
from sarag_rdf.base.types import Document, Relation
from sarag_rdf.extraction.binding import TextBinder
from sarag_rdf.extraction.examples import Example, ExampleStatement
from sarag_rdf.extraction.llm import LLMExtractor, LLMOptions
from sarag_rdf.extraction.llm_statements import literal_of
from sarag_rdf.extraction.names import soft_text
from sarag_rdf.extraction.spacy.pipeline import load_pipeline
from sarag_rdf.plugins.evaluation.tables import percent, table
from sarag_rdf.plugins.evaluation.text2kgbench import (
    BenchmarkOntology,
    LiteralStyle,
    Sentence,
    Triple,
    read_lines,
    sample_examples,
)
from sarag_rdf.plugins.learned.statements import (
    THRESHOLD,
    Parse,
    StatementExtractor,
    Vectors,
    relation_of,
)


@dataclass(frozen=True, slots=True)
class ExtractionScores:
    """Scores in [0, 1].

    `conformance` is the share of predictions with a property of the ontology; invented subjects and
    objects do not occur in the sentence, in the title of its document, nor as a class label. For a
    normalised value the text that it was read from is looked for.
    """

    official_precision: float
    official_recall: float
    official_f1: float
    strict_precision: float
    strict_recall: float
    strict_f1: float
    soft_precision: float
    soft_recall: float
    soft_f1: float
    conformance: float
    invented_subjects: float
    invented_objects: float

    @classmethod
    def mean(cls, scores: Sequence[ExtractionScores]) -> ExtractionScores:
        """The mean of each score over ontologies."""
        return cls(*(sum(getattr(s, f.name) for s in scores) / len(scores) for f in fields(cls)))


def score_ontology(
    sentences: Sequence[Sentence],
    predictions: Mapping[str, Sequence[Triple]],
    relations: Iterable[str],
    concepts: Iterable[str],
    titles: Mapping[str, str] | None = None,
) -> ExtractionScores:
    """Scores of the predictions for the sentences of one ontology, by sentence id.

    `titles` are those of the documents of sentences, by sentence id.
    """
    known = {relation.replace(" ", "_") for relation in relations}
    labels, titles = " ".join(concepts), titles or {}
    rows = [
        _score_sentence(
            sentence,
            predictions.get(sentence.id, ()),
            known,
            f"{titles.get(sentence.id, '')} {labels}",
        )
        for sentence in sentences
    ]
    means = [sum(row[position] for row in rows) / max(1, len(rows)) for position in range(6)]
    strict = _micro(sentences, predictions, strict_key)
    soft = _micro(sentences, predictions, soft_key)
    return ExtractionScores(*(*means[:3], *strict, *soft, *means[3:]))


def _score_sentence(
    sentence: Sentence, predicted: Sequence[Triple], known: set[str], labels: str
) -> tuple[float, float, float, float, float, float]:
    relations = {triple.relation.replace(" ", "_") for triple in sentence.triples}
    gold = {strict_key(triple) for triple in sentence.triples}
    restricted = {strict_key(t) for t in predicted if t.relation.replace(" ", "_") in relations}
    measures = _prf(len(gold & restricted), len(restricted), len(gold))
    if not predicted:
        return *measures, 1.0, 0.0, 0.0
    context = _occurrence_key(f"{sentence.text} {labels}")
    count = len(predicted)
    return (
        *measures,
        sum(t.relation.replace(" ", "_") in known for t in predicted) / count,
        sum(_occurrence_key(t.subject) not in context for t in predicted) / count,
        sum(_occurrence_key(t.source or t.object) not in context for t in predicted) / count,
    )


def _micro(
    sentences: Sequence[Sentence],
    predictions: Mapping[str, Sequence[Triple]],
    key: Callable[[Triple], str],
) -> tuple[float, float, float]:
    counts: Counter[str] = Counter()
    for sentence in sentences:
        gold = {key(triple) for triple in sentence.triples}
        predicted = {key(triple) for triple in predictions.get(sentence.id, ())}
        counts.update(both=len(gold & predicted), predicted=len(predicted), gold=len(gold))
    return _prf(counts["both"], counts["predicted"], counts["gold"])


def _prf(both: int, predicted: int, gold: int) -> tuple[float, float, float]:
    precision = both / predicted if predicted else 0.0
    recall = both / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return precision, recall, f1


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
        extracted = extractor.relations([document for document, _ in documents])
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


_COLUMNS = (
    ("P", "official_precision"), ("R", "official_recall"), ("F1", "official_f1"),
    ("strict P", "strict_precision"), ("R", "strict_recall"), ("F1", "strict_f1"),
    ("soft F1", "soft_f1"), ("conf", "conformance"), ("inv.s", "invented_subjects"),
    ("inv.o", "invented_objects"),
)  # fmt: skip
"""Heading and measure."""


def lines(results: Sequence[OntologyResult], setting: Mapping[str, Any]) -> Iterator[str]:
    """One table with its setting, in percent."""
    yield "  ".join(f"{name}: {value}" for name, value in setting.items())
    yield ""
    rows = [[r.name, *_cells(r.scores)] for r in results]
    rows.append(["mean", *_cells(ExtractionScores.mean([r.scores for r in results]))])
    yield from table(["ontology", *(heading for heading, _ in _COLUMNS)], rows)


def _cells(scores: ExtractionScores) -> list[str]:
    return [percent(getattr(scores, name)) for _, name in _COLUMNS]


class _TypedExtractor:
    """Extraction without a language model, with one pipeline for examples and documents."""

    def __init__(self, extractor: StatementExtractor, parse: Parse) -> None:
        self._extractor = extractor
        self._parse = parse

    def relations(self, documents: Sequence[Document]) -> Iterator[list[Relation]]:
        docs = self._parse([document.text for document in documents])
        titles = (document.title for document in documents)
        for found in self._extractor.statements_of_all(zip(docs, titles, strict=True)):
            yield [relation for one in found if (relation := relation_of(one))]


def typed_extractor(embedder: Embedder, *, threshold: float = THRESHOLD) -> MakeExtractor:
    """Extractors without a language model, for each ontology, which learn from its examples."""
    pipeline = load_pipeline()
    memory = Vectors(embedder)

    def make(ontology: BenchmarkOntology, examples: Sequence[Example]) -> RelationExtractor:
        extractor = StatementExtractor(
            ontology.schema, memory, examples, pipeline.pipe, threshold=threshold
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
