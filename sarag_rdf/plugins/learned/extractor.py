"""Typed statements of a document: candidates, scores, and the choice of statements.

The object comes first: each pair of a candidate and a property is scored, then the subject is
chosen for the best pairs. The confidence of a statement is the product of the two probabilities,
with the square root of the second. Statements are accepted in the order of their confidence, as
long as they agree with those accepted before:

- no overlapping objects, except that one name may be the object of two properties;
- one property for a literal;
- one value of a subject for a property of dates or numbers, and for a functional property;
- no statement the other way round between two names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import Relation, Value
from sarag_rdf.extraction.examples import Example
from sarag_rdf.extraction.names import soft_text
from sarag_rdf.extraction.ranges import range_kind
from sarag_rdf.extraction.spacy.source_text import source_text
from sarag_rdf.extraction.values import XSD, parse_value
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.learned.calibration import Calibration
from sarag_rdf.plugins.learned.candidates import Candidate
from sarag_rdf.plugins.learned.contexts import path_phrase, sentences_of
from sarag_rdf.plugins.learned.features import (
    CALIBRATED,
    ExampleVectors,
    SchemaVectors,
    Subjects,
    admitted,
    align,
    object_features,
    subject_features,
)
from sarag_rdf.plugins.learned.sentence_vectors import Floats, SentenceVectors
from sarag_rdf.plugins.learned.trees import BoostedTrees, sigmoid

THRESHOLD = 0.05
"""Least confidence of a statement, if there are few examples."""
THRESHOLDS = (0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25)
"""Least confidences from which that with the best F1 on the examples is chosen."""
_MIN_STATEMENTS = 30
"""Statements that examples must have for this choice."""
THRESHOLD_WITHOUT_EXAMPLES = 0.08
"""Least confidence of a statement without examples, when confidences are less certain."""
_MIN_OBJECT = 0.04
_MAX_PAIRS = 20
_MAX_PROPERTIES = 2
_MAX_NAME = 8
_JOINT_POWER = 0.5
_LEAST_SHARE = 0.02
_BATCH = 64
"""Number of documents that are embedded together."""


_Key = tuple[int, str, str, str]
"""Example, subject, property and object."""
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
        self._given_threshold = threshold
        self._scorer = scorer or Scorer.packaged(with_examples=bool(examples))

    @cached_property
    def _properties(self) -> SchemaVectors:
        return SchemaVectors.of(self._schema, self._embed)

    @cached_property
    def _example_vectors(self) -> ExampleVectors | None:
        if not self._examples or self._parse is None:
            return None
        return ExampleVectors.of(
            self._properties, self._examples, self._example_sentences, self._embed
        )

    @cached_property
    def _example_sentences(self) -> list[list[SentenceVectors]]:
        """The sentences of each example, parsed."""
        docs = self._parse([example.text for example in self._examples]) if self._parse else []
        return self._vectors_of(list(docs))

    def _vectors_of(self, docs: Sequence[Doc]) -> list[list[SentenceVectors]]:
        """The sentences of each document, embedded together."""
        sentences = [list(sentences_of(doc)) for doc in docs]
        vectors = iter(
            SentenceVectors.of_all([s for group in sentences for s in group], self._embed)
        )
        return [list(islice(vectors, len(group))) for group in sentences]

    @cached_property
    def _calibration(self) -> Calibration | None:
        """The adjustment of the scorer of objects to the examples, each scored without itself."""
        schema, examples = self._properties, self._example_vectors
        if examples is None:
            return None
        positions = {p.iri: row for row, p in enumerate(schema.properties)}
        odds, compared, rows, gold = [], [], [], []
        for origin, (example, sentences) in enumerate(
            zip(self._examples, self._example_sentences, strict=True)
        ):
            others = examples.without(origin)
            for vectors in sentences:
                mask = admitted(vectors, schema)
                if not mask.any():
                    continue
                features = object_features(vectors, schema, others, self._embed)[mask]
                stated = np.zeros(mask.shape, np.bool_)
                for index, statements in align(vectors.candidates, example).items():
                    for statement in statements:
                        stated[index, positions[statement.property]] = True
                odds.append(self._scorer.objects.log_odds(features))
                compared.append(features[:, CALIBRATED])
                rows.append(np.nonzero(mask)[1])
                gold.append(stated[mask])
        if not any(stated.any() for stated in gold):
            return None
        return Calibration.fit(
            np.concatenate(odds),
            np.concatenate(compared),
            np.concatenate(rows),
            np.concatenate(gold),
            len(positions),
        )

    @cached_property
    def threshold(self) -> float:
        """Least confidence of a statement: that with the best F1 on the examples.

        Each example is extracted without itself. How sure the scorer can be differs from ontology
        to ontology.
        """
        if self._given_threshold is not None:
            return self._given_threshold
        examples = self._example_vectors
        if examples is None:
            return THRESHOLD if self._examples else THRESHOLD_WITHOUT_EXAMPLES
        gold = {
            (origin, soft_text(one.subject), one.property, soft_text(one.object))
            for origin, example in enumerate(self._examples)
            for one in example.statements
        }
        if len(gold) < _MIN_STATEMENTS:
            return THRESHOLD
        confidences: dict[_Key, float] = {}
        for origin, sentences in enumerate(self._example_sentences):
            for one in self._statements(sentences, "", examples.without(origin), min(THRESHOLDS)):
                stated = soft_text(one.object.text)
                if one.object.value:
                    lexical = soft_text(one.object.value.lexical)
                    if (origin, soft_text(one.subject.text), one.property.iri, lexical) in gold:
                        stated = lexical
                key = (origin, soft_text(one.subject.text), one.property.iri, stated)
                confidences[key] = max(one.confidence, confidences.get(key, 0.0))
        return best_threshold(confidences, gold)

    def relations(self, doc: Doc, title: str = "") -> list[Relation]:
        """The statements of a document as typed relations, in the order of sentences."""
        return [relation_of(statement) for statement in self.statements(doc, title)]

    def relations_of_all(self, docs: Iterable[tuple[Doc, str]]) -> Iterator[list[Relation]]:
        """The typed relations of each document; documents are embedded in batches."""
        remaining = iter(docs)
        while batch := list(islice(remaining, _BATCH)):
            vectors = self._vectors_of([doc for doc, _ in batch])
            for (_, title), sentences in zip(batch, vectors, strict=True):
                yield [relation_of(one) for one in self._all_accepted(sentences, title)]

    def statements(self, doc: Doc, title: str = "") -> Iterator[TypedStatement]:
        """The accepted statements of each sentence, best first.

        The topic is the title; without one it is the name at the beginning of the first sentence,
        which later sentences may leave out.
        """
        if self._schema.properties:
            yield from self._all_accepted(self._vectors_of([doc])[0], title)

    def _all_accepted(
        self, sentences: Iterable[SentenceVectors], title: str
    ) -> Iterator[TypedStatement]:
        return self._statements(sentences, title, self._example_vectors, self.threshold)

    def _statements(
        self,
        sentences: Iterable[SentenceVectors],
        title: str,
        examples: ExampleVectors | None,
        threshold: float,
    ) -> Iterator[TypedStatement]:
        topic = ""
        for vectors in sentences:
            if not vectors.candidates:
                continue
            subjects = Subjects.of(vectors, title or topic, self._embed)
            pairs = self._pairs(vectors, subjects, examples, joint=not title)
            yield from _accepted(pairs, threshold)
            topic = topic or topic_of(vectors)

    def _pairs(
        self,
        vectors: SentenceVectors,
        subjects: Subjects,
        examples: ExampleVectors | None,
        *,
        joint: bool,
    ) -> list[TypedStatement]:
        """The best pairs of object and property, each with its most probable subject.

        With `joint` the properties of one domain in a sentence prefer the same subject.
        """
        schema = self._properties
        mask = admitted(vectors, schema)
        if not mask.any() or not subjects.candidates:
            return []
        features = object_features(vectors, schema, examples, self._embed)
        scores = np.zeros(mask.shape)
        odds = self._scorer.objects.log_odds(features[mask])
        if self._calibration is not None:
            compared = features[mask][:, CALIBRATED]
            odds = self._calibration.log_odds(odds, compared, np.nonzero(mask)[1])
        scores[mask] = sigmoid(odds)
        order = np.argsort(-scores, axis=None, kind="stable")[:_MAX_PAIRS]
        chosen = [divmod(int(position), mask.shape[1]) for position in order]
        chosen = [(index, row) for index, row in chosen if scores[index, row] >= _MIN_OBJECT]
        best = dict(zip(vectors.candidates, scores.max(axis=1), strict=True))
        as_object = np.array([best.get(c, 0.0) for c in subjects.candidates], np.float32)
        if not chosen:
            return []
        last = len(subjects.candidates) - 1
        rows = [
            subject_features(subjects, vectors.candidates[index], row, schema, examples, as_object)
            for index, row in chosen
        ]
        probabilities = self._scorer.subjects.predict(np.concatenate(rows))
        probabilities = probabilities.reshape(len(chosen), -1)
        preferences = probabilities
        if joint:
            weights = np.array([scores[pair] for pair in chosen])
            domains = [schema.properties[row].domains for _, row in chosen]
            preferences = _joint(probabilities, weights, domains, subjects)
        pairs = []
        for (index, row), of_pair, preferred in zip(
            chosen, probabilities, preferences, strict=True
        ):
            position = int(preferred.argmax())
            pairs.append(
                TypedStatement(
                    vectors.sentence,
                    subjects.candidates[position],
                    schema.properties[row],
                    vectors.candidates[index],
                    float(scores[index, row] * np.sqrt(of_pair[position])),
                    subjects.has_title and position == last,
                )
            )
        return sorted(pairs, key=lambda pair: -pair.confidence)


def best_threshold(confidences: Mapping[_Key, float], gold: Set[_Key]) -> float:
    """The one of `THRESHOLDS` with the best F1; the one nearest to `THRESHOLD` of equal ones."""

    def f1(threshold: float) -> float:
        accepted = {key for key, value in confidences.items() if value >= threshold}
        return 2 * len(accepted & gold) / (len(accepted) + len(gold))

    return max(THRESHOLDS, key=lambda one: (f1(one), -abs(one - THRESHOLD)))


def _accepted(pairs: Sequence[TypedStatement], threshold: float) -> Iterator[TypedStatement]:
    """The pairs, best first, that are sure enough and agree with those before them."""
    accepted: list[TypedStatement] = []
    for pair in pairs:
        if pair.confidence < threshold:
            return
        if not any(_disagree(pair, other) for other in accepted) and not _is_reflexive(pair):
            same = sum(other.object.overlaps(pair.object) for other in accepted)
            if same < _MAX_PROPERTIES:
                accepted.append(pair)
                yield pair


def _joint(
    probabilities: NDArray[np.float64],
    weights: NDArray[np.float64],
    domains: Sequence[tuple[str, ...]],
    subjects: Subjects,
) -> NDArray[np.float64]:
    """Odds of subjects, shape (pairs, subjects), times a power of their share within the domain.

    The share is that of a name, which may stand at several places.
    """
    names = [candidate.text for candidate in subjects.candidates]
    positions = [names.index(name) for name in names]
    of_names = np.zeros_like(probabilities)
    np.maximum.at(of_names.T, positions, probabilities.T)
    result = probabilities / np.maximum(1e-9, 1 - probabilities)
    for domain in set(domains):
        own = [index for index, other in enumerate(domains) if other == domain]
        share = weights[own] @ of_names[own] / weights[own].sum()
        result[own] *= (share[positions] + _LEAST_SHARE) ** _JOINT_POWER
    return result


def relation_of(statement: TypedStatement) -> Relation:
    """A statement as a typed relation with the phrase of its sentence."""
    return Relation(
        statement.subject.text,
        path_phrase(statement.sentence.doc, statement.object),
        statement.object.text,
        source_text(statement.sentence),
        round(statement.confidence, 3),
        statement.property.iri,
        value=literal_of(statement.property, statement.object),
    )


def _is_reflexive(pair: TypedStatement) -> bool:
    if pair.subject.text == pair.object.text:
        return True
    return not pair.is_topic and pair.subject.overlaps(pair.object)


def _disagree(pair: TypedStatement, other: TypedStatement) -> bool:
    if pair.subject.text == other.object.text and pair.object.text == other.subject.text:
        return True
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
