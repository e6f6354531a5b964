"""The extractor ``learned``: what spaCy and rules find, and statements like those of examples.

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
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice, tee
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.base.options import option
from sarag_rdf.base.ports import Embedder, Services
from sarag_rdf.base.types import Document, EntityType, Extraction, Method, Relation
from sarag_rdf.extraction.examples import Example, examples_of
from sarag_rdf.extraction.prose import source_text
from sarag_rdf.extraction.spacy.pipeline import ParsedDocument, SpacyExtractor, SpacyOptions
from sarag_rdf.extraction.statements import literal, range_kind, with_statements
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.learned.arguments import ENTITY_KINDS, Candidate
from sarag_rdf.plugins.learned.features import (
    Arguments,
    Floats,
    Samples,
    SchemaVectors,
    path_phrase,
    role_features,
    sentences_of,
)

RULES = "2"
"""Version of the features and rules: part of the method, so that sources are extracted again."""
THRESHOLD = 0.02
"""Least confidence of a statement. The classifiers are not sure of what few examples show."""
_MIN_OBJECT = 0.005
_MAX_PAIRS = 30
_MAX_PROPERTIES = 2
_MAX_NAME = 8
_BATCH = 64
"""Number of documents that are embedded together."""
_TYPES: dict[str, EntityType] = {
    "person": "person", "organization": "organization", "place": "geopolitical",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LearnedOptions(SpacyOptions):
    """Options of `LearnedExtractor`."""

    name = "learned"
    examples: str | None = option(
        None, "JSONL file of sentences with their statements; requires an ontology."
    )


class LearnedExtractor:
    """What `spacy` extracts, and statements that are like those of the examples.

    Statements whose phrases the ontology does not list are found by classifiers that are fitted on
    the examples. Needs scikit-learn (``sarag-rdf[learned]``).
    """

    options = LearnedOptions

    def __init__(
        self,
        schema: Schema,
        embedder: Embedder,
        examples: Sequence[Example],
        options: LearnedOptions | None = None,
    ) -> None:
        """Statements have the properties of the schema, in whose terms the examples are."""
        self._schema = schema
        self._embedder = embedder
        self._examples = tuple(examples)
        self._spacy = SpacyExtractor(options or LearnedOptions(), schema)

    @classmethod
    def build(cls, options: LearnedOptions, services: Services) -> LearnedExtractor:
        """Raises `UsageError` without examples, an ontology or an embedder."""
        examples = examples_of(options.examples, services.schema)
        if not examples:
            raise UsageError("learned needs examples: write learned:examples=FILE")
        embedder = services.embedder()
        if embedder is None:
            raise UsageError("learned needs an embedder: name one")
        return cls(services.schema, embedder, examples, options)

    @property
    def method(self) -> Method:
        """That of spaCy, with the examples and the embedder that compares with them."""
        inner = self._spacy.method
        settings = {
            **inner.settings,
            "ontology": self._schema.digest,
            "learned": RULES,
            "embedder": self._embedder.name,
            "examples": sha256(repr(self._examples).encode()).hexdigest(),
        }
        return Method("learned", inner.model, "", settings)

    @cached_property
    def _statements(self) -> StatementExtractor:
        vectors, parse = Vectors(self._embedder), self._spacy.pipeline.pipe
        return StatementExtractor(self._schema, vectors, self._examples, parse)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction per document, in order; documents are read one batch ahead."""
        ahead, parsed = tee(self._spacy.parsed(documents))
        statements = self._statements.statements_of_all((p.doc, p.topic) for p in ahead)
        for document, own in zip(parsed, statements, strict=True):
            yield self._joined(document, own)

    def _joined(self, parsed: ParsedDocument, statements: Iterable[TypedStatement]) -> Extraction:
        """An argument at the place of a mention has the name of its cluster."""
        names = {(s.begin, s.end): s.name for s in parsed.coreference.mention_spans}
        types: dict[str, EntityType] = {}

        def name_of(candidate: Candidate) -> str:
            name = names.get((candidate.begin, candidate.end), candidate.text)
            types.setdefault(name, _TYPES.get(candidate.kind, "misc"))
            return name

        relations: list[Relation] = []
        for one in statements:
            if (relation := relation_of(one)) is not None:
                object_ = relation.object if relation.value else name_of(one.object)
                relations.append(replace(relation, subject=name_of(one.subject), object=object_))
        return with_statements(parsed.extraction, relations, self._schema, types=types)


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
    the documents.
    """

    def __init__(
        self,
        schema: Schema,
        embed: Vectors,
        examples: Sequence[Example],
        parse: Callable[[Sequence[str]], Iterable[Doc]],
        *,
        threshold: float = THRESHOLD,
    ) -> None:
        """Statements have a confidence of at least `threshold`."""
        self._embed = embed
        self._examples = examples
        self._parse = parse
        self._threshold = threshold
        self._schema = schema

    @cached_property
    def _properties(self) -> SchemaVectors:
        return SchemaVectors.of(self._schema, self._embed)

    def _arguments_of(self, docs: Sequence[Doc]) -> list[list[Arguments]]:
        """The sentences of each document, embedded together."""
        sentences = [list(sentences_of(doc)) for doc in docs]
        arguments = iter(Arguments.of_all([s for own in sentences for s in own], self._embed))
        return [list(islice(arguments, len(own))) for own in sentences]

    @cached_property
    def _example_sentences(self) -> list[tuple[int, Arguments]]:
        """The sentences of all examples, each with the place of its example."""
        docs = list(self._parse([example.text for example in self._examples]))
        return [(n, s) for n, own in enumerate(self._arguments_of(docs)) for s in own]

    @cached_property
    def _stated(self) -> list[list[tuple[int, int, str]]]:
        """The place of the object, the property and the subject of statements, by sentence."""
        rows = {p.iri: row for row, p in enumerate(self._properties.properties)}
        return [
            [
                (place, rows[statement.property], statement.subject)
                for statement in self._examples[origin].statements
                for place in sentence.spelled(statement.object)
            ]
            for origin, sentence in self._example_sentences
        ]

    @cached_property
    def _samples(self) -> tuple[Samples, Samples]:
        """The objects and the subjects of the examples."""
        objects, subjects = [], []
        for (origin, sentence), stated in zip(self._example_sentences, self._stated, strict=True):
            used = [sentence.candidates[place] for place, _, _ in stated]
            for place, c in enumerate(sentence.candidates):
                rows = [row for other, row, _ in stated if other == place]
                if not rows and not any(c.overlaps(other) for other in used):
                    rows = [-1]
                objects += [(sentence, place, row, origin) for row in rows]
            for _, row, subject in stated:
                subjects += [(sentence, p, row, origin) for p in sentence.spelled(subject)[:1]]
        width = self._properties.labels.shape[1]
        return Samples.of(objects, width), Samples.of(subjects, width)

    @cached_property
    def _classifiers(self) -> tuple[Classifier, Classifier]:
        """Of objects, and of subjects; each example is compared with the others.

        Subjects are known without the topic and with it, as documents may have a title.
        """
        objects: list[_Rows] = []
        subjects: list[_Rows] = []
        topics: dict[int, str] = {}
        for (origin, sentence), stated in zip(self._example_sentences, self._stated, strict=True):
            of_objects, of_subjects = (samples.without(origin) for samples in self._samples)
            mask = self._properties.admitted(sentence.candidates)
            pairs = [(place, row, subject) for place, row, subject in stated if mask[place, row]]
            is_right = np.zeros(mask.shape, np.bool_)
            for place, row, _ in pairs:
                is_right[place, row] = True
            if mask.any():
                objects.append((self._object_rows(sentence, of_objects)[mask], is_right[mask]))
            titles = [s.subject for s in self._examples[origin].statements]
            for title in dict.fromkeys(
                (topics.get(origin, ""), max(titles, key=titles.count, default=""))
            ):
                among = sentence.titled(title, self._embed)
                rows = self._subject_rows(among, [pair[:2] for pair in pairs], of_subjects)
                for own, (_, _, subject) in zip(rows, pairs, strict=True):
                    is_subject = np.zeros(len(among.candidates), np.bool_)
                    is_subject[among.spelled(subject)] = True
                    subjects.append((own, is_subject & _may_be_subjects(among)))
            topics[origin] = topics.get(origin) or topic_of(sentence)
        return Classifier(objects), Classifier(subjects)

    def _object_rows(self, sentence: Arguments, samples: Samples) -> Floats:
        """Shape (candidates, properties, features)."""
        role = role_features(sentence, self._properties, samples, self._properties.ranges)
        own = np.repeat(sentence.features()[:, None], role.shape[1], axis=1)
        return np.concatenate([own, role], axis=2)

    def _subject_rows(
        self, sentence: Arguments, pairs: Sequence[tuple[int, int]], samples: Samples
    ) -> list[Floats]:
        """For each pair of an object and a property, shape (candidates, features)."""
        role = role_features(sentence, self._properties, samples, self._properties.domains)
        blocks = [sentence.features()] if pairs else []
        return [
            np.concatenate(
                [*blocks, role[:, row], sentence.distances(sentence.candidates[i])], axis=1
            )
            for i, row in pairs
        ]

    def statements(self, doc: Doc, title: str = "") -> Iterator[TypedStatement]:
        """The accepted statements of each sentence, best first; see `statements_of_all`."""
        [statements] = self.statements_of_all([(doc, title)])
        yield from statements

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
            arguments = self._arguments_of([doc for doc, _ in batch])
            for (_, topic), sentences in zip(batch, arguments, strict=True):
                statements: list[TypedStatement] = []
                for sentence in sentences:
                    statements += _accepted(self._pairs(sentence, topic), self._threshold)
                    topic = topic or topic_of(sentence)
                yield statements

    def _pairs(self, sentence: Arguments, topic: str) -> list[TypedStatement]:
        """The best pairs of object and property, each with its most probable subject."""
        mask = self._properties.admitted(sentence.candidates)
        if not mask.any():
            return []
        of_objects, of_subjects = self._classifiers
        objects, subjects = self._samples
        scores = np.zeros(mask.shape)
        scores[mask] = of_objects.predict(self._object_rows(sentence, objects)[mask])
        order = np.argsort(-scores, axis=None, kind="stable")[:_MAX_PAIRS]
        pairs = [divmod(int(position), mask.shape[1]) for position in order]
        pairs = [pair for pair in pairs if scores[pair] >= _MIN_OBJECT]
        among = sentence.titled(topic, self._embed)
        usable = _may_be_subjects(among)
        statements = []
        for (index, row), features in zip(
            pairs, self._subject_rows(among, pairs, subjects), strict=True
        ):
            probabilities = np.where(usable, of_subjects.predict(features), 0)
            position = int(probabilities.argmax())
            statements.append(
                TypedStatement(
                    sentence.sentence,
                    among.candidates[position],
                    self._properties.properties[row],
                    sentence.candidates[index],
                    float(scores[index, row] * np.sqrt(probabilities[position])),
                    among.has_title and position == len(among.candidates) - 1,
                )
            )
        return sorted(statements, key=lambda statement: -statement.confidence)


def _may_be_subjects(sentence: Arguments) -> NDArray[np.bool_]:
    """Shape (candidates,): names and nouns that are no part of a value, and the title."""
    values = [c for c in sentence.candidates if c.value and c.kind != "identifier"]
    usable = (
        c.kind in ENTITY_KINDS | {"identifier"}
        and not any(v.begin <= c.begin < c.end <= v.end for v in values)
        for c in sentence.candidates
    )
    return np.array(list(usable), np.bool_)


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


def topic_of(sentence: Arguments) -> str:
    """The name at the beginning of a sentence, else its first named entity, else nothing."""
    names = [c for c in sentence.candidates if c.kind != "noun" and c.value is None]
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
