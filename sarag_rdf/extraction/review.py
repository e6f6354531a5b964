"""Phrases of relationships for review: the properties that they may state.

A phrase is compared with the phrases of the ontology (`PhraseMatcher`), which gives suggestions
that are mostly right, and else by the cosine of its embedding with labels, phrases and definitions
of the properties whose domain and range admit the types of its arguments. Cosines alone find the
right property in less than half of the cases, so that their confidence is low.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import Value
from sarag_rdf.base.vocab import XSD
from sarag_rdf.extraction.names import nearest_type
from sarag_rdf.extraction.normal_phrases import normalize_phrase
from sarag_rdf.extraction.phrases import Argument, PhraseMatcher
from sarag_rdf.extraction.typed_statements import range_kind
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema

PHRASE_CONFIDENCE = 0.9
"""Confidence of a suggestion by a phrase of the ontology."""
COSINE_CONFIDENCE = 0.7
"""Confidence of a suggestion with cosine 1; others have it times their cosine."""
LEAST = 0.35
"""Minimum confidence of a suggestion."""
VALUE: Final = "value"
"""The type of an object that is a literal."""
_VALUE_KINDS: Final = frozenset({"date", "number", "any"})
"""Kinds of ranges of which a value in a relationship may be: a date or a number."""
_TEXT_WEIGHTS = (1.0, 0.9)
"""Weights of the cosines with labels and phrases, and with definitions."""


@dataclass(frozen=True, slots=True)
class CountedPhrase:
    """A phrase with the types of its arguments, the number of its relationships, and sentences."""

    phrase: str
    subject_type: str
    object_type: str
    count: int = 1
    sentences: tuple[str, ...] = ()


class Suggestion(NamedTuple):
    """A property that a phrase may state; from object to subject if `is_inverse`.

    `confidence` lies in [0, 1] and orders suggestions; it is not a probability.
    """

    property: str
    is_inverse: bool
    confidence: float


class _Text(NamedTuple):
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

    def suggest(self, phrases: Sequence[CountedPhrase], most: int = 3) -> list[list[Suggestion]]:
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

    def _ranked(self, phrase: CountedPhrase, cosines: np.ndarray) -> list[Suggestion]:
        suggestions = []
        for text, cosine in zip(self._texts, cosines, strict=True):
            confidence = round(float(cosine) * text.weight * COSINE_CONFIDENCE, 2)
            if confidence < LEAST:
                continue
            directions = _directions(text, phrase.phrase)
            suggestions += [
                Suggestion(text.property.iri, is_inverse, confidence)
                for is_inverse in directions
                if self._admits(text.property, phrase, is_inverse)
            ]
        object_ = _argument(phrase.object_type)
        if phrase.object_type == VALUE:
            object_ = Argument("1900", "value", value=Value("1900", "1900", XSD.gYear.value))
        words, subject = normalize_phrase(phrase.phrase), _argument(phrase.subject_type)
        if match := self._matcher.match(words, subject, object_):
            iri, is_inverse = match.property.iri, match.is_inverse
            is_inverse = is_inverse and not match.property.is_symmetric
            suggestions = [s for s in suggestions if s[:2] != (iri, is_inverse)]
            suggestions.append(Suggestion(iri, is_inverse, PHRASE_CONFIDENCE))
        suggestions.sort(key=lambda s: (-s.confidence, s.property, s.is_inverse))
        return list({s.property: s for s in reversed(suggestions)}.values())[::-1]

    def _admits(self, property_: OntologyProperty, phrase: CountedPhrase, is_inverse: bool) -> bool:
        """Whether the arguments of a phrase fit the domain and the range."""
        ends = phrase.subject_type, phrase.object_type
        subject, object_ = reversed(ends) if is_inverse else ends
        if property_.is_literal:
            fits = object_ == VALUE and range_kind(property_) in _VALUE_KINDS
        else:
            range_fit = self._matcher.fit(_argument(object_), property_.ranges)
            fits = VALUE not in ends and range_fit > 0
        return fits and self._matcher.fit(_argument(subject), property_.domains) > 0


def _argument(type_: str) -> Argument:
    return Argument("", "name", nearest_type(type_))


def _directions(text: _Text, phrase: str) -> tuple[bool, ...]:
    """Whether the phrase may state the property from object to subject, as "owns" for "owned by".

    Of other labels the words do not say it.
    """
    if text.is_inverse is not None:
        return (text.is_inverse,)
    passives = [words.endswith(" by") for words in (text.text, phrase)]
    return (passives[0] != passives[1],) if any(passives) else (False, True)


def _texts(property_: OntologyProperty) -> Iterator[_Text]:
    label, definition = _TEXT_WEIGHTS
    for is_inverse, texts in (
        (None, (property_.label, *property_.alternatives)),
        (False, property_.phrases),
        (True, property_.inverse_phrases),
    ):
        yield from (_Text(property_, text, is_inverse, label) for text in texts)
    if property_.definition:
        yield _Text(property_, property_.definition, None, definition)
