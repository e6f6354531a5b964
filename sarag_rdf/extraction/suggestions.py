"""Suggestions of properties for phrases of relationships, for review by a person.

A phrase is compared with the phrases of the ontology (`PhraseMatcher`), which gives suggestions
that are mostly right, and else by the cosine of its embedding with labels, phrases and definitions
of the properties whose domain and range admit the types of its arguments. Cosines alone find the
right property in less than half of the cases, so that their confidence is low.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import ENTITY_TYPES, EntityType, Value
from sarag_rdf.base.vocab import RDFS, XSD
from sarag_rdf.extraction.phrases import Argument, PhraseMatcher, normalize_phrase
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema

PHRASE_CONFIDENCE = 0.9
"""Confidence of a suggestion by a phrase of the ontology."""
COSINE_CONFIDENCE = 0.7
"""Confidence of a suggestion with cosine 1; others have it times their cosine."""
LEAST = 0.35
"""Minimum confidence of a suggestion."""
_TEMPORAL = frozenset(
    XSD[name].value for name in ("date", "dateTime", "gYear", "gYearMonth", "gMonthDay", "time")
)
_UNTYPED = frozenset((RDFS.Literal.value,))
_TEXT_WEIGHTS = (1.0, 0.9)
"""Weights of the cosines with labels and phrases, and with definitions."""


@dataclass(frozen=True, slots=True)
class TypedPhrase:
    """A phrase with the entity types of its arguments; the object type "value" is a literal."""

    phrase: str
    subject_type: str
    object_type: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A property that a phrase may state; from object to subject if `is_inverse`.

    `confidence` lies in [0, 1] and orders suggestions; it is no probability.
    """

    property: str
    is_inverse: bool
    confidence: float


@dataclass(frozen=True, slots=True)
class _Text:
    """A text by which phrases are compared with a property, in one direction or both (None)."""

    property: OntologyProperty
    text: str
    is_inverse: bool | None
    weight: float


class PropertySuggester:
    """Suggests properties of a schema."""

    def __init__(self, schema: Schema, embedder: Embedder) -> None:
        self._schema = schema
        self._embedder = embedder
        self._matcher = PhraseMatcher(schema)
        self._texts = [text for p in schema.properties.values() for text in _texts(p)]

    def suggest(self, phrases: Sequence[TypedPhrase], most: int = 3) -> list[list[Suggestion]]:
        """For each phrase, up to `most` suggestions by descending confidence."""
        if not phrases or not self._texts:
            return [[] for _ in phrases]
        vectors = self._embedder.embed([phrase.phrase for phrase in phrases])
        cosines = vectors @ self._matrix.T  # (phrases, texts)
        return [self._ranked(p, row)[:most] for p, row in zip(phrases, cosines, strict=True)]

    @cached_property
    def _matrix(self) -> np.ndarray:
        """Embeddings of the texts of all properties, shape (texts, d)."""
        return np.asarray(self._embedder.embed([text.text for text in self._texts]))

    def _ranked(self, phrase: TypedPhrase, cosines: np.ndarray) -> list[Suggestion]:
        best: dict[tuple[str, bool], float] = {}
        for text, cosine in zip(self._texts, cosines, strict=True):
            confidence = round(float(cosine) * text.weight * COSINE_CONFIDENCE, 2)
            if confidence < LEAST:
                continue
            for is_inverse in (False, True) if text.is_inverse is None else (text.is_inverse,):
                key = text.property.iri, is_inverse
                if confidence > best.get(key, 0) and self._admits(
                    text.property, phrase, is_inverse
                ):
                    best[key] = confidence
        match = self._match(phrase)
        if match is not None:
            best[match] = PHRASE_CONFIDENCE
        one_way: dict[str, Suggestion] = {}
        for (property_, is_inverse), confidence in sorted(best.items()):
            other = one_way.get(property_)
            if other is None or confidence > other.confidence:
                one_way[property_] = Suggestion(property_, is_inverse, confidence)
        return sorted(one_way.values(), key=lambda s: (-s.confidence, s.property))

    def _match(self, phrase: TypedPhrase) -> tuple[str, bool] | None:
        match = self._matcher.match(
            normalize_phrase(phrase.phrase), _argument(phrase.subject_type), _object(phrase)
        )
        if match is None:
            return None
        return match.property.iri, match.is_inverse and not match.property.is_symmetric

    def _admits(self, property_: OntologyProperty, phrase: TypedPhrase, is_inverse: bool) -> bool:
        """Whether the arguments of a phrase fit the domain and the range."""
        if property_.is_literal:
            if is_inverse or phrase.object_type != "value":
                return False
            ranges = frozenset(property_.ranges) - _UNTYPED
            return self._fits(phrase.subject_type, property_.domains) and (
                not ranges or bool(ranges & _TEMPORAL)
            )
        if phrase.object_type == "value":
            return False
        ends = [phrase.subject_type, phrase.object_type]
        subject, object_ = reversed(ends) if is_inverse else ends
        return self._fits(subject, property_.domains) and self._fits(object_, property_.ranges)

    def _fits(self, type_: str, admitted: Sequence[str]) -> bool:
        return self._matcher.fit(_argument(type_), admitted) > 0


def _argument(type_: str) -> Argument:
    known: Mapping[str, EntityType] = {name: name for name in ENTITY_TYPES}
    return Argument("", "name", known.get(type_, "misc"))


def _object(phrase: TypedPhrase) -> Argument:
    if phrase.object_type != "value":
        return _argument(phrase.object_type)
    return Argument("1900", "value", value=Value("1900", "1900", XSD.gYear.value))


def _texts(property_: OntologyProperty) -> Iterator[_Text]:
    label, definition = _TEXT_WEIGHTS
    for text in (property_.label, *property_.alternatives):
        yield _Text(property_, text, None, label)
    for text in property_.phrases:
        yield _Text(property_, text, False, label)
    for text in property_.inverse_phrases:
        yield _Text(property_, text, True, label)
    if property_.definition:
        yield _Text(property_, property_.definition, None, definition)
