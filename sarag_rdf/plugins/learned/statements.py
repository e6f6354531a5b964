"""Statements that are like those of the user's own examples.

Two classifiers are fitted on the examples of an ontology: gradient-boosted trees (Friedman: Greedy
function approximation: a gradient boosting machine, 2001) over comparisons of a sentence with the
labels of properties and with the other examples. The first scores pairs of a candidate and a
property of which it may be the object, the second the subjects of the best pairs. The confidence of
a statement is the product of the two probabilities, with the square root of the second. Statements
are accepted in the order of their confidence, as long as they agree with those accepted before:

- no overlapping objects, except that one name may be the object of two properties;
- one property for a literal;
- one value of a subject for a property of dates or numbers, and for a functional property;
- no statement the other way round between two names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import Relation
from sarag_rdf.extraction.examples import Example, ExampleStatement
from sarag_rdf.extraction.names import exact_text, soft_text
from sarag_rdf.extraction.prose import source_text
from sarag_rdf.extraction.statements import literal, range_kind
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.learned.candidates import Candidate
from sarag_rdf.plugins.learned.contexts import Floats, SentenceVectors, path_phrase, sentences_of
from sarag_rdf.plugins.learned.features import (
    ExampleVectors,
    SchemaVectors,
    Subjects,
    align,
    object_features,
    subject_features,
)

THRESHOLD = 0.02
"""Least confidence of a statement. The classifiers are not sure of what few examples show."""
_MIN_OBJECT = 0.005
_MAX_PAIRS = 30
_MAX_PROPERTIES = 2
_MAX_NAME = 8
_BATCH = 64
"""Number of documents that are embedded together."""

Parse = Callable[[Sequence[str]], Iterable[Doc]]
"""Parses texts with a spaCy pipeline."""


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


_Rows = tuple[Floats, NDArray[np.bool_]]
"""Features of pairs, shape (n, features), and which pairs the examples state."""


class Classifier:
    """Gradient boosting over rows of features, of which NaN is a missing one."""

    def __init__(self, examples: Sequence[_Rows]) -> None:
        """Fit to features of shape (n, features), and which rows are right.

        Without both right and wrong rows the probability is always 0.
        """
        try:
            from sklearn.ensemble import HistGradientBoostingClassifier
        except ImportError as error:
            raise MissingDependencyError(
                'learning from examples needs scikit-learn: pip install "sarag-rdf[learned]"'
            ) from error
        is_right = np.concatenate([np.zeros(0, np.bool_), *(right for _, right in examples)])
        self._model: Any = None
        if len(set(is_right.tolist())) == 2:
            features = np.concatenate([rows for rows, _ in examples])
            self._known = ~np.isnan(features).all(axis=0)
            self._model = HistGradientBoostingClassifier(
                max_iter=100, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=10,
                l2_regularization=1.0, max_features=0.3, early_stopping=False, random_state=0,
            ).fit(features[:, self._known], is_right)  # fmt: skip

    def predict(self, rows: Floats) -> NDArray[np.float64]:
        """Probabilities in [0, 1) for rows of shape (n, features)."""
        if self._model is None or not len(rows):
            return np.zeros(len(rows))
        probabilities: NDArray[np.float64]
        probabilities = self._model.predict_proba(rows[:, self._known])[:, 1]
        return probabilities


class StatementExtractor:
    """Extracts statements in the terms of one schema, as its examples show them.

    `parse` turns the texts of examples into parsed documents, with the pipeline that also parses
    the documents. `embed` gives the vectors of phrases.
    """

    def __init__(
        self,
        schema: Schema,
        embed: Vectors,
        examples: Sequence[Example],
        parse: Parse,
        *,
        threshold: float = THRESHOLD,
    ) -> None:
        """Statements have a confidence of at least `threshold`."""
        self._embed = embed
        self._schema = schema
        self._examples = examples
        self._parse = parse
        self._threshold = threshold

    @cached_property
    def _properties(self) -> SchemaVectors:
        return SchemaVectors.of(self._schema, self._embed)

    @cached_property
    def _example_sentences(self) -> list[list[SentenceVectors]]:
        """The sentences of each example, parsed."""
        docs = list(self._parse([example.text for example in self._examples]))
        return self._vectors_of(docs)

    def _vectors_of(self, docs: Sequence[Doc]) -> list[list[SentenceVectors]]:
        """The sentences of each document, embedded together."""
        sentences = [list(sentences_of(doc)) for doc in docs]
        vectors = iter(SentenceVectors.of_all([s for own in sentences for s in own], self._embed))
        return [list(islice(vectors, len(own))) for own in sentences]

    @cached_property
    def _example_vectors(self) -> ExampleVectors:
        sentences = self._example_sentences
        return ExampleVectors.of(self._properties, self._examples, sentences, self._embed)

    @cached_property
    def _rows(self) -> tuple[list[_Rows], list[_Rows]]:
        """The pairs of objects, and those of subjects, of examples that are compared with others.

        Subjects are known without the topic and with it, as documents may have a title.
        """
        schema = self._properties
        places = {p.iri: row for row, p in enumerate(schema.properties)}
        objects: list[_Rows] = []
        subjects: list[_Rows] = []
        for origin, (example, sentences) in enumerate(
            zip(self._examples, self._example_sentences, strict=True)
        ):
            others = self._example_vectors.without(origin)
            topics = Counter(statement.subject for statement in example.statements)
            title = next((name for name, _ in topics.most_common(1)), "")
            topic = ""
            for vectors in sentences:
                mask = schema.admitted(vectors.candidates)
                stated = np.zeros(mask.shape, np.bool_)
                of_index = align(vectors.candidates, example)
                for index, statement in ((i, s) for i, own in of_index.items() for s in own):
                    row = places[statement.property]
                    if mask[index, row]:
                        stated[index, row] = True
                        for name in dict.fromkeys((topic, title)):
                            among = Subjects.of(vectors, name, self._embed)
                            object_ = vectors.candidates[index]
                            features = subject_features(among, object_, row, schema, others)
                            subjects.append((features, _is_subject(among, statement)))
                if mask.any():
                    features = object_features(vectors, schema, others)
                    objects.append((features[mask], stated[mask]))
                topic = topic or topic_of(vectors)
        return objects, subjects

    @cached_property
    def _classifiers(self) -> tuple[Classifier, Classifier]:
        """Of objects, and of subjects."""
        objects, subjects = self._rows
        return Classifier(objects), Classifier(subjects)

    def statements(self, doc: Doc, title: str = "") -> Iterator[TypedStatement]:
        """The accepted statements of each sentence, best first; see `statements_of_all`."""
        [found] = self.statements_of_all([(doc, title)])
        yield from found

    def statements_of_all(self, docs: Iterable[tuple[Doc, str]]) -> Iterator[list[TypedStatement]]:
        """The statements of each document and its title; documents are embedded in batches.

        The topic is the title; without one it is the name at the beginning of the first sentence,
        which later sentences may leave out.
        """
        remaining = iter(docs)
        while batch := list(islice(remaining, _BATCH)):
            if not self._schema.properties:
                yield from ([] for _ in batch)
                continue
            vectors = self._vectors_of([doc for doc, _ in batch])
            for (_, title), sentences in zip(batch, vectors, strict=True):
                yield list(self._statements(sentences, title))

    def _statements(
        self, sentences: Iterable[SentenceVectors], title: str
    ) -> Iterator[TypedStatement]:
        topic = ""
        for vectors in sentences:
            if vectors.candidates:
                subjects = Subjects.of(vectors, title or topic, self._embed)
                yield from _accepted(self._pairs(vectors, subjects), self._threshold)
                topic = topic or topic_of(vectors)

    def _pairs(self, vectors: SentenceVectors, subjects: Subjects) -> list[TypedStatement]:
        """The best pairs of object and property, each with its most probable subject."""
        schema, examples = self._properties, self._example_vectors
        of_objects, of_subjects = self._classifiers
        mask = schema.admitted(vectors.candidates)
        if not mask.any() or not subjects.candidates:
            return []
        scores = np.zeros(mask.shape)
        features = object_features(vectors, schema, examples)
        scores[mask] = of_objects.predict(features[mask])
        order = np.argsort(-scores, axis=None, kind="stable")[:_MAX_PAIRS]
        chosen = [divmod(int(position), mask.shape[1]) for position in order]
        chosen = [(index, row) for index, row in chosen if scores[index, row] >= _MIN_OBJECT]
        if not chosen:
            return []
        rows = [
            subject_features(subjects, vectors.candidates[index], row, schema, examples)
            for index, row in chosen
        ]
        probabilities = of_subjects.predict(np.concatenate(rows))
        last = len(subjects.candidates) - 1
        pairs = []
        for (index, row), own in zip(chosen, probabilities.reshape(len(chosen), -1), strict=True):
            position = int(own.argmax())
            pairs.append(
                TypedStatement(
                    vectors.sentence,
                    subjects.candidates[position],
                    schema.properties[row],
                    vectors.candidates[index],
                    float(scores[index, row] * np.sqrt(own[position])),
                    subjects.has_title and position == last,
                )
            )
        return sorted(pairs, key=lambda pair: -pair.confidence)


def _is_subject(subjects: Subjects, statement: ExampleStatement) -> NDArray[np.bool_]:
    """Shape (subjects,): those that are spelled as that of the statement, else like it."""
    for normalize in (exact_text, soft_text):
        key = normalize(statement.subject)
        equal = np.array([normalize(c.text) == key for c in subjects.candidates], np.bool_)
        if equal.any():
            break
    return equal


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


def relation_of(statement: TypedStatement) -> Relation | None:
    """A statement as a typed relation with its sentence; None if the range excludes its object."""
    property_, object_ = statement.property, statement.object
    value = literal(property_, object_.text, object_.value)
    if value is None and range_kind(property_) not in ("entity", "any"):
        return None
    return Relation(
        statement.subject.text,
        path_phrase(statement.sentence.doc, object_),
        object_.text,
        source_text(statement.sentence),
        round(statement.confidence, 3),
        property_.iri,
        value=value,
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
