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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import tee
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import option
from sarag_rdf.base.ports import Embedder, Services
from sarag_rdf.base.types import Document, EntityType, Extraction, Method, Relation
from sarag_rdf.extraction.prose import source_text
from sarag_rdf.extraction.spacy_extractor import ParsedDocument, SpacyExtractor, SpacyOptions
from sarag_rdf.extraction.typed_statements import literal, range_kind
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.learned.features import (
    ENTITY_KINDS,
    Arguments,
    Candidate,
    Floats,
    Samples,
    SchemaVectors,
    path_phrase,
    role_features,
    sentences_of,
)
from sarag_rdf.plugins.statement_models import Example, examples_of, with_statements

RULES = "3"
"""Version of the features and rules: part of the method, so that sources are extracted again."""
THRESHOLD = 0.02
"""Least confidence of a statement. The classifiers are not sure of what few examples show."""
_MIN_OBJECT = 0.005
_MAX_PAIRS = 30
_MAX_PROPERTIES = 2
_MAX_VECTORS = 50_000
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


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a sentence, with its confidence in (0, 1).

    `subject` and `object` are candidates of the sentence, or the subject is the topic.
    """

    sentence: Span
    subject: Candidate
    stated: OntologyProperty
    object: Candidate
    confidence: float

    @property
    def relation(self) -> Relation | None:
        """A typed relation with its sentence; None if the range excludes its object."""
        value = literal(self.stated, self.object.text, self.object.value)
        if value is None and range_kind(self.stated) not in ("entity", "any"):
            return None
        return Relation(
            self.subject.text,
            path_phrase(self.sentence.doc, self.object),
            self.object.text,
            source_text(self.sentence),
            round(self.confidence, 3),
            self.stated.iri,
            value=value,
        )

    def disagrees(self, other: Statement) -> bool:
        """Whether it cannot be true beside another one of its sentence."""
        if (self.subject.text, self.object.text) == (other.object.text, other.subject.text):
            return True
        same_property = self.stated.iri == other.stated.iri
        if self.object.overlaps(other.object):
            ends = (self.object.begin, self.object.end), (other.object.begin, other.object.end)
            is_literal = self.object.value is not None or other.object.value is not None
            return is_literal or same_property or ends[0] != ends[1]
        one_value = self.stated.is_functional or range_kind(self.stated) in ("date", "number")
        return same_property and one_value and self.subject.text == other.subject.text


_Rows = tuple[Floats, NDArray[np.bool_]]
"""Features of pairs, shape (n, features), and which pairs the examples state."""


class Classifier:
    """Gradient boosting over rows of features."""

    def __init__(self, examples: Sequence[_Rows]) -> None:
        """Fit to features of shape (n, features), and which rows are right.

        Without both right and wrong rows the probability is always 0.
        """
        from sklearn.ensemble import HistGradientBoostingClassifier

        is_right = np.concatenate([np.zeros(0, np.bool_), *(right for _, right in examples)])
        self._model: Any = None
        if len(set(is_right.tolist())) == 2:
            self._model = HistGradientBoostingClassifier(
                max_iter=100, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=10,
                l2_regularization=1.0, max_features=0.3, early_stopping=False, random_state=0,
            ).fit(np.concatenate([rows for rows, _ in examples]), is_right)  # fmt: skip

    def predict(self, rows: Floats) -> NDArray[np.float64]:
        """Probabilities in [0, 1) for rows of shape (n, features)."""
        if self._model is None or not len(rows):
            return np.zeros(len(rows))
        return np.asarray(self._model.predict_proba(rows)[:, 1], np.float64)


class LearnedExtractor:
    """What `spacy` extracts, and statements that are like those of the examples.

    Statements whose phrases the ontology does not list are found by classifiers that are fitted on
    the examples.
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
        self._known_vectors: dict[str, Floats] = {}

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

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction per document, in order; documents are read one batch ahead."""
        named, titled = tee(documents)
        ahead, parsed = tee(self._spacy.parsed(named))
        docs = ((p.doc, d.title, p.topic) for p, d in zip(ahead, titled, strict=True))
        statements = self.find(docs)
        for document, own in zip(parsed, statements, strict=True):
            yield self._joined(document, own)

    def _joined(self, parsed: ParsedDocument, statements: Iterable[Statement]) -> Extraction:
        """An argument at the place of a mention has the name of its cluster."""
        names = {(s.begin, s.end): s.name for s in parsed.coreference.mention_spans}
        types: dict[str, EntityType] = {}

        def name_of(candidate: Candidate) -> str:
            name = names.get((candidate.begin, candidate.end), candidate.text)
            types.setdefault(name, _TYPES.get(candidate.kind, "misc"))
            return name

        relations: list[Relation] = []
        for statement in statements:
            if relation := statement.relation:
                object_ = relation.object if relation.value else name_of(statement.object)
                subject = name_of(statement.subject)
                relations.append(replace(relation, subject=subject, object=object_))
        return with_statements(parsed.extraction, relations, self._schema, types=types)

    def _embed(self, texts: Sequence[str]) -> Floats:
        """The unit vectors of texts, shape (texts, d); those of the last texts are in memory."""
        known = self._known_vectors
        if len(known) > _MAX_VECTORS:
            known.clear()
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            new.sort(key=len)  # batches of texts of one length need the least padding
            known |= zip(new, self._embedder.embed(new), strict=True)
        return np.stack([known[text] for text in texts])

    def find(self, docs: Iterable[tuple[Doc, str, str]]) -> Iterator[list[Statement]]:
        """The accepted statements of each document, by sentence, best first.

        Documents come with a title and a topic, and are embedded in batches. The title may be a
        subject of every sentence. Without one the topic may, except in the first sentence, which
        has the name itself: taken for a title, a name that was cut off there would be preferred.
        """
        for batch in batches(docs, _BATCH):
            statements: list[list[Statement]] = [[] for _ in batch]
            for place, sentence in self._sentences([doc for doc, _, _ in batch]):
                _, title, topic = batch[place]
                is_first = not sentence.sentence.doc[: sentence.sentence.start].text.strip()
                own = title or ("" if is_first else topic)
                statements[place] += self._accepted(sentence, own)
            yield from statements

    def _sentences(self, docs: Sequence[Doc]) -> list[tuple[int, Arguments]]:
        """The sentences of all documents, each with the place of its document."""
        pairs = [(place, span) for place, doc in enumerate(docs) for span in sentences_of(doc)]
        if not pairs or not self._schema.properties:
            return []
        places, spans = zip(*pairs, strict=True)
        return list(zip(places, Arguments.of_all(spans, self._embed), strict=True))

    @cached_property
    def _properties(self) -> SchemaVectors:
        return SchemaVectors(self._schema, self._embed)

    @cached_property
    def _stated(self) -> list[tuple[int, Arguments, list[tuple[int, int, str]]]]:
        """Each sentence of the examples with the place of its example, and its statements.

        Of a statement it has the place of the object, the row of the property, and the subject.
        """
        rows = {p.iri: row for row, p in enumerate(self._properties.properties)}
        docs = list(self._spacy.pipeline.pipe([example.text for example in self._examples]))
        stated = []
        for origin, sentence in self._sentences(docs):
            statements = [
                (place, rows[statement.property], statement.subject)
                for statement in self._examples[origin].statements
                for place in sentence.spelled(statement.object)
            ]
            stated.append((origin, sentence, statements))
        return stated

    @cached_property
    def _samples(self) -> tuple[Samples, Samples]:
        """The objects and the subjects of the examples."""
        objects, subjects = [], []
        for origin, sentence, stated in self._stated:
            used = [sentence.candidates[place] for place, _, _ in stated]
            objects += [(sentence, place, row, origin) for place, row, _ in stated]
            objects += [
                (sentence, place, -1, origin)
                for place, candidate in enumerate(sentence.candidates)
                if not any(candidate.overlaps(other) for other in used)
            ]
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
        for origin, sentence, stated in self._stated:
            of_objects, of_subjects = (samples.without(origin) for samples in self._samples)
            mask = self._properties.admitted(sentence.candidates)
            pairs = [(place, row, subject) for place, row, subject in stated if mask[place, row]]
            is_right = np.zeros(mask.shape, np.bool_)
            for place, row, _ in pairs:
                is_right[place, row] = True
            if mask.any():
                objects.append((self._object_rows(sentence, of_objects)[mask], is_right[mask]))
            names = [statement.subject for statement in self._examples[origin].statements]
            title = max(names, key=names.count, default="")
            for topic in dict.fromkeys(("", title)):
                among = sentence.titled(topic, self._embed)
                rows = self._subject_rows(among, [pair[:2] for pair in pairs], of_subjects)
                for own, (_, _, subject) in zip(rows, pairs, strict=True):
                    is_subject = np.zeros(len(among.candidates), np.bool_)
                    is_subject[among.spelled(subject)] = True
                    subjects.append((own, is_subject & may_be_subjects(among)))
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
        if not pairs:
            return []
        own = sentence.features()
        role = role_features(sentence, self._properties, samples, self._properties.domains)
        distances = (sentence.distances(sentence.candidates[place]) for place, _ in pairs)
        return [
            np.concatenate([own, role[:, row], distance], axis=1)
            for (_, row), distance in zip(pairs, distances, strict=True)
        ]

    def _accepted(self, sentence: Arguments, topic: str) -> list[Statement]:
        """The statements, best first, that are sure enough and agree with those before them."""
        accepted: list[Statement] = []
        for statement in self._statements(sentence, topic):
            same = sum(other.object.overlaps(statement.object) for other in accepted)
            is_reflexive = statement.subject.text == statement.object.text
            if (
                statement.confidence >= THRESHOLD
                and same < _MAX_PROPERTIES
                and not (is_reflexive or statement.subject.overlaps(statement.object))
                and not any(map(statement.disagrees, accepted))
            ):
                accepted.append(statement)
        return accepted

    def _statements(self, sentence: Arguments, topic: str) -> list[Statement]:
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
        usable = may_be_subjects(among)
        statements = []
        for pair, rows in zip(pairs, self._subject_rows(among, pairs, subjects), strict=True):
            probabilities = np.where(usable, of_subjects.predict(rows), 0)
            best = int(probabilities.argmax())
            stated, object_ = self._properties.properties[pair[1]], sentence.candidates[pair[0]]
            confidence = float(scores[pair] * np.sqrt(probabilities[best]))
            subject = among.candidates[best]
            statements.append(Statement(sentence.sentence, subject, stated, object_, confidence))
        return sorted(statements, key=lambda statement: -statement.confidence)


def may_be_subjects(sentence: Arguments) -> NDArray[np.bool_]:
    """Shape (candidates,): names and nouns that are no part of a value, and the title."""
    values = [c for c in sentence.candidates if c.value and c.kind != "identifier"]
    usable = (
        c.kind in ENTITY_KINDS | {"identifier"}
        and not any(v.begin <= c.begin < c.end <= v.end for v in values)
        for c in sentence.candidates
    )
    return np.array(list(usable), np.bool_)
