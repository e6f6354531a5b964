"""Typed statements of a document: candidates, scores, and the choice of statements.

The object comes first: each pair of a candidate and a property is scored, then the subject is
chosen for the best pairs. The confidence of a statement is the product of the two probabilities,
with the square root of the second. Statements are accepted in the order of their confidence, as
long as they agree with those accepted before:

- no overlapping objects, except that one name may be the object of two properties;
- one property for a literal;
- one value of a subject for a property of dates or numbers, and for a functional property;
- the subject fits the domain, and the object the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from sarag_rdf.extract.typed.candidates import Candidate
from sarag_rdf.extract.typed.contexts import path_phrase
from sarag_rdf.extract.typed.examples import Example
from sarag_rdf.extract.typed.features import (
    ExampleVectors,
    Floats,
    SchemaVectors,
    SentenceVectors,
    Subjects,
    admitted,
    align,
    object_features,
    subject_features,
)
from sarag_rdf.extract.typed.ranges import range_kind
from sarag_rdf.extract.typed.trees import BoostedTrees, sigmoid
from sarag_rdf.extract.values import XSD, parse_value
from sarag_rdf.ontology.schema import OntologyProperty, Schema
from sarag_rdf.ports import Embedder
from sarag_rdf.types import Relation, Value

THRESHOLD = 0.08
"""Least confidence of a statement."""
_MIN_OBJECT = 0.08
_MAX_PAIRS = 14
_MAX_PROPERTIES = 2
_MAX_NAME = 8
_MAX_BIAS = 2.0


Parse = Callable[[Sequence[str]], Iterable[Doc]]
"""Parses texts with a spaCy pipeline."""


@dataclass(frozen=True)
class Scorer:
    """The trained scorers: of objects and of subjects."""

    objects: BoostedTrees
    subjects: BoostedTrees

    @classmethod
    def packaged(cls, *, with_examples: bool) -> Scorer:
        """A scorer that comes with the library, for extraction with or without examples."""
        return _packaged("examples" if with_examples else "labels")

    def save(self, path: Path) -> None:
        """Write the arrays of both to an .npz file."""
        arrays = self.objects.arrays("objects") | self.subjects.arrays("subjects")
        np.savez_compressed(path, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: Path) -> Scorer:
        """The inverse of `save`."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(*(BoostedTrees.of_arrays(arrays, name) for name in ("objects", "subjects")))


@cache
def _packaged(name: str) -> Scorer:
    return Scorer.load(Path(__file__).with_name(f"scorer_{name}.npz"))


@dataclass(frozen=True, slots=True)
class TypedStatement:
    """A statement of a sentence, with its confidence in (0, 1).

    `subject` and `object` are candidates of the sentence, or the subject is the topic.
    """

    sentence: Span
    subject: Candidate
    property: OntologyProperty
    object: Candidate
    confidence: float
    is_topic: bool


class StatementExtractor:
    """Extracts statements in the terms of one schema.

    `parse` turns the texts of examples into parsed documents, with the pipeline that also parses
    the documents. `embed` gives the vectors of phrases.
    """

    def __init__(
        self,
        schema: Schema,
        embed: Vectors,
        examples: Sequence[Example] = (),
        parse: Parse | None = None,
        *,
        threshold: float | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        self._embed = embed
        self._schema = schema
        self._examples = examples
        self._parse = parse
        self._threshold = THRESHOLD if threshold is None else threshold
        self._scorer = scorer or Scorer.packaged(with_examples=bool(examples))

    @cached_property
    def _properties(self) -> SchemaVectors:
        return SchemaVectors.of(self._schema, self._embed)

    @cached_property
    def _example_vectors(self) -> ExampleVectors | None:
        if not self._examples or self._parse is None:
            return None
        docs = list(self._parse([example.text for example in self._examples]))
        return ExampleVectors.of(self._properties, self._examples, docs, self._embed)

    @cached_property
    def _biases(self) -> NDArray[np.float64]:
        """For each property a number that is added to the log-odds of its objects.

        It makes the expected number of objects in the examples, each scored without itself, equal
        to their true number: an adjustment to the class frequencies of another text (Saerens,
        Latinne and Decaestecker, 2002). Properties without examples get that of all together.
        """
        schema, examples = self._properties, self._example_vectors
        size = len(schema.properties)
        if examples is None or self._parse is None:
            return np.zeros(size)
        logits: list[list[NDArray[np.float64]]] = [[] for _ in range(size)]
        gold = np.zeros(size)
        places = {p.iri: row for row, p in enumerate(schema.properties)}
        docs = self._parse([example.text for example in self._examples])
        for origin, (example, doc) in enumerate(zip(self._examples, docs, strict=True)):
            others = examples.without(origin)
            for sentence in doc.sents:
                vectors = SentenceVectors.of(sentence, self._embed)
                mask = admitted(vectors, schema)
                if not mask.any():
                    continue
                features = object_features(vectors, schema, others, self._embed)
                odds = np.full(mask.shape, -np.inf)
                odds[mask] = self._scorer.objects.log_odds(features[mask])
                for row in range(size):
                    logits[row].append(odds[:, row])
                for statements in align(vectors.candidates, example).values():
                    for statement in statements:
                        gold[places[statement.property]] += 1
        joined = [np.concatenate(column or [np.array([-np.inf])]) for column in logits]
        overall = _bias(np.concatenate(joined), gold.sum())
        return np.array(
            [
                _bias(odds, number) if number else overall
                for odds, number in zip(joined, gold, strict=True)
            ]
        )

    def relations(self, doc: Doc, title: str = "") -> list[Relation]:
        """The statements of a document as typed relations, in the order of sentences."""
        return [relation_of(statement) for statement in self.statements(doc, title)]

    def statements(self, doc: Doc, title: str = "") -> Iterator[TypedStatement]:
        """The accepted statements of each sentence, best first.

        The topic is the title; without one it is the name at the beginning of the first sentence,
        which later sentences may leave out.
        """
        if not self._schema.properties:
            return
        topic = ""
        for sentence in doc.sents:
            vectors = SentenceVectors.of(sentence, self._embed)
            if not vectors.candidates:
                continue
            pairs = self._pairs(vectors, Subjects.of(vectors, title or topic))
            yield from self._accepted(pairs)
            topic = topic or topic_of(vectors)

    def _pairs(self, vectors: SentenceVectors, subjects: Subjects) -> list[TypedStatement]:
        """The best pairs of object and property, each with its most probable subject."""
        schema, examples = self._properties, self._example_vectors
        mask = admitted(vectors, schema)
        if not mask.any() or not subjects.candidates:
            return []
        features = object_features(vectors, schema, examples, self._embed)
        scores = np.zeros(mask.shape)
        odds = self._scorer.objects.log_odds(features[mask])
        scores[mask] = sigmoid(odds + np.broadcast_to(self._biases, mask.shape)[mask])
        order = np.argsort(-scores, axis=None, kind="stable")[:_MAX_PAIRS]
        chosen = [divmod(int(place), mask.shape[1]) for place in order]
        chosen = [(index, row) for index, row in chosen if scores[index, row] >= _MIN_OBJECT]
        best = dict(zip(vectors.candidates, scores.max(axis=1), strict=True))
        as_object = np.array([best.get(c, 0.0) for c in subjects.candidates], np.float32)
        last = len(subjects.candidates) - 1
        pairs = []
        for index, row in chosen:
            object_ = vectors.candidates[index]
            rows = subject_features(vectors, subjects, object_, row, schema, examples, as_object)
            probabilities = self._scorer.subjects.predict(rows)
            place = int(probabilities.argmax())
            confidence = float(scores[index, row] * np.sqrt(probabilities[place]))
            pairs.append(
                TypedStatement(
                    vectors.sentence,
                    subjects.candidates[place],
                    schema.properties[row],
                    object_,
                    confidence,
                    subjects.has_title and place == last,
                )
            )
        return sorted(pairs, key=lambda pair: -pair.confidence)

    def _accepted(self, pairs: list[TypedStatement]) -> Iterator[TypedStatement]:
        accepted: list[TypedStatement] = []
        for pair in pairs:
            if pair.confidence < self._threshold:
                return
            if not any(_disagree(pair, other) for other in accepted) and not _is_reflexive(pair):
                same = sum(other.object.overlaps(pair.object) for other in accepted)
                if same < _MAX_PROPERTIES:
                    accepted.append(pair)
                    yield pair


def _bias(log_odds: NDArray[np.float64], number: float) -> float:
    """The number that, added to log-odds, makes the sum of probabilities the given number."""
    low, high = -_MAX_BIAS, _MAX_BIAS
    for _ in range(30):
        middle = (low + high) / 2
        if sigmoid(log_odds + middle).sum() < number:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def relation_of(statement: TypedStatement) -> Relation:
    """A statement as a typed relation with the phrase of its sentence."""
    return Relation(
        statement.subject.text,
        path_phrase(statement.sentence.doc, statement.object),
        statement.object.text,
        " ".join(statement.sentence.text.split()),
        round(statement.confidence, 3),
        statement.property.iri,
        value=literal_of(statement.property, statement.object),
    )


def _is_reflexive(pair: TypedStatement) -> bool:
    if pair.subject.text == pair.object.text:
        return True
    return not pair.is_topic and pair.subject.overlaps(pair.object)


def _disagree(pair: TypedStatement, other: TypedStatement) -> bool:
    same_property = pair.property.iri == other.property.iri
    if pair.object.overlaps(other.object):
        is_same = (pair.object.begin, pair.object.end) == (other.object.begin, other.object.end)
        is_literal = pair.object.value is not None or other.object.value is not None
        return is_literal or same_property or not is_same
    one_value = pair.property.is_functional or range_kind(pair.property) in ("date", "number")
    return same_property and one_value and pair.subject.text == other.subject.text


def topic_of(vectors: SentenceVectors) -> str:
    """The name at the beginning of a sentence, else its first named entity, else nothing."""
    names = [c for c in vectors.candidates if c.kind != "noun" and c.value is None]
    for group in (
        [c for c in names if c.is_lead and c.end - c.begin <= _MAX_NAME],
        [c for c in names if c.is_entity][:1],
    ):
        if group:
            return max(group, key=lambda c: len(c.text)).text
    return ""


def literal_of(property_: OntologyProperty, object_: Candidate) -> Value | None:
    """The literal of an object for this property; None if the object is an entity.

    Dates and numbers keep the datatype of their text; other texts are strings.
    """
    kind = range_kind(property_)
    if kind == "entity" or (kind == "any" and object_.value is None):
        return None
    if kind == "number":
        return parse_value(object_.text, "number") or object_.value
    if kind == "string" or object_.value is None:
        return Value(object_.text, object_.text, XSD + "string")
    return object_.value


class Vectors:
    """Unit vectors of texts, with those of the last texts in memory."""

    def __init__(self, embedder: Embedder, most: int = 50_000) -> None:
        """At most `most` vectors are in memory."""
        self._embedder = embedder
        self._most = most
        self._vectors: dict[str, Floats] = {}

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Shape (len(texts), d)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if len(self._vectors) + len(new) > self._most:
            self._vectors.clear()
            new = list(dict.fromkeys(texts))
        if new or not texts:
            new.sort(key=len)  # batches of texts of one length need the least padding
            vectors = self._embedder.embed(new)
            self._vectors.update(zip(new, vectors, strict=True))
            if not texts:
                return vectors
        return np.stack([self._vectors[text] for text in texts])
