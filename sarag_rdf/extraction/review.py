"""Phrases of relationships for review: properties that they may state, and new ones.

*Suggestions*: a phrase is compared with the phrases of the ontology (`PhraseMatcher`), which gives
suggestions that are mostly right, and else by the cosine of its embedding with labels, phrases and
definitions of the properties whose domain and range admit the types of its arguments. Cosines alone
find the right property in less than half of the cases, so that their confidence is low.

*Induction*: the phrases between two types of arguments are clustered by their embeddings
(agglomerative, average linkage, cosine distance). The passive "was founded by" joins the cluster of
"founded" with the arguments exchanged. Each cluster is one property, which is named after its most
frequent phrase.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, takewhile
from typing import Final, NamedTuple

import numpy as np
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import Value
from sarag_rdf.base.vocab import OWL, RDF, RDFS, SARAG, SKOS, XSD
from sarag_rdf.extraction.names import nearest_type
from sarag_rdf.extraction.phrases import (
    COPULA,
    WILDCARD,
    Argument,
    PhraseMatcher,
    is_function_word,
    normalize_phrase,
    stems_of,
)
from sarag_rdf.extraction.typed_statements import range_kind
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema

PHRASE_CONFIDENCE = 0.9
"""Confidence of a suggestion by a phrase of the ontology."""
COSINE_CONFIDENCE = 0.7
"""Confidence of a suggestion with cosine 1; others have it times their cosine."""
LEAST = 0.35
"""Minimum confidence of a suggestion."""
_VALUE: Final = "value"
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
            directions = (False, True) if text.is_inverse is None else (text.is_inverse,)
            suggestions += [
                Suggestion(text.property.iri, is_inverse, confidence)
                for is_inverse in directions
                if self._admits(text.property, phrase, is_inverse)
            ]
        object_ = _argument(phrase.object_type)
        if phrase.object_type == _VALUE:
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
            fits = object_ == _VALUE and range_kind(property_) in _VALUE_KINDS
        else:
            range_fit = self._matcher.fit(_argument(object_), property_.ranges)
            fits = _VALUE not in ends and range_fit > 0
        return fits and self._matcher.fit(_argument(subject), property_.domains) > 0


def _argument(type_: str) -> Argument:
    return Argument("", "name", nearest_type(type_))


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


DISTANCE = 0.3
"""Maximum mean cosine distance of the phrases in a cluster."""
_VAGUE = frozenset(f"{COPULA} be have of by in at on from to with for after as through".split())
_LEADING = frozenset("is are was were be been being has have had".split())


@dataclass(frozen=True, slots=True)
class InducedProperty:
    """A cluster of phrases as a property; the types are those of its subjects and objects.

    `phrases` state it from subject to object, `inverse_phrases` from object to subject; the most
    frequent ones come first.
    """

    label: str
    subject_type: str
    object_type: str
    phrases: tuple[str, ...]
    inverse_phrases: tuple[str, ...]
    count: int
    sentences: tuple[str, ...]


def induce_properties(
    phrases: Iterable[CountedPhrase],
    embedder: Embedder,
    *,
    least: int = 2,
    distance: float = DISTANCE,
) -> list[InducedProperty]:
    """The properties with at least `least` relationships, the most frequent first.

    Phrases of prepositions and auxiliary verbs alone are omitted: they state many properties.
    """
    usable = [p for p in phrases if {*stems_of(p.phrase)} - _VAGUE - {WILDCARD}]
    groups: defaultdict[tuple[str, str], list[_Directed]] = defaultdict(list)
    actives = {stems_of(p.phrase) for p in usable}
    for phrase in usable:
        directed = _directed(phrase, actives)
        groups[directed.types].append(directed)
    properties = [
        _property(types, cluster)
        for types, members in groups.items()
        for cluster in _clusters(members, embedder, distance)
    ]
    frequent = [p for p in properties if p.count >= least]
    return sorted(frequent, key=lambda p: (-p.count, p.label, p.subject_type, p.object_type))


class _Directed(NamedTuple):
    """A phrase whose arguments are exchanged if `is_inverse`; `text` is compared with others."""

    phrase: CountedPhrase
    is_inverse: bool
    text: str

    @property
    def types(self) -> tuple[str, str]:
        ends = self.phrase.subject_type, self.phrase.object_type
        return (ends[1], ends[0]) if self.is_inverse else ends


def _directed(phrase: CountedPhrase, actives: set[tuple[str, ...]]) -> _Directed:
    """A passive is the inverse of its verb, if the corpus has the verb too."""
    stems = stems_of(phrase.phrase)
    is_passive = len(stems) == 3 and (stems[0], stems[2]) == ("be", "by")
    is_inverse = is_passive and stems[1:2] in actives and phrase.object_type != _VALUE
    return _Directed(phrase, is_inverse, " ".join(stems[1:2] if is_inverse else stems))


def _clusters(
    members: Sequence[_Directed], embedder: Embedder, distance: float
) -> list[list[_Directed]]:
    """The members in clusters; those with equal texts are in the same one."""
    texts = sorted({member.text for member in members})
    numbers = [0]
    if len(texts) > 1:
        from scipy.cluster.hierarchy import fcluster, linkage

        vectors = embedder.embed(texts)  # (texts, d), unit length
        pairs = np.triu_indices(len(texts), 1)
        distances = np.clip(1 - (vectors @ vectors.T)[pairs], 0, 2).astype(np.float64)
        numbers = fcluster(linkage(distances, method="average"), distance, criterion="distance")
    cluster_of = dict(zip(texts, numbers, strict=True))
    clusters: defaultdict[int, list[_Directed]] = defaultdict(list)
    for member in members:
        clusters[cluster_of[member.text]].append(member)
    return list(clusters.values())


def _property(types: tuple[str, str], members: Sequence[_Directed]) -> InducedProperty:
    ordered = sorted(
        members,
        key=lambda m: (m.is_inverse, -m.phrase.count, len(m.phrase.phrase), m.phrase.phrase),
    )
    return InducedProperty(
        ordered[0].phrase.phrase,
        *types,
        tuple(dict.fromkeys(m.phrase.phrase for m in ordered if not m.is_inverse)),
        tuple(dict.fromkeys(m.phrase.phrase for m in ordered if m.is_inverse)),
        sum(m.phrase.count for m in members),
        tuple(dict.fromkeys(s for m in ordered for s in m.phrase.sentences))[:3],
    )


def local_names(properties: Sequence[InducedProperty]) -> list[str]:
    """Distinct local names: ``bornIn`` of "was born in"; of several, with types of arguments."""
    names: list[str] = []
    for property_ in properties:
        words = [w for w in re.findall(r"[^\W_]+", property_.label) if not is_function_word(w)]
        leading = list(takewhile(_LEADING.__contains__, words[:-1]))
        first, *others = words[len(leading) :] or [""]
        stem = first + "".join(map(str.capitalize, others))
        if not stem[:1].isalpha():
            stem = f"property{stem}"
        ends = property_.object_type, property_.subject_type
        object_name, subject_name = (_CLASSES.get(type_, "") for type_ in ends)
        candidates = chain(
            (stem, f"{stem}{object_name}", f"{stem}{subject_name}{object_name}"),
            (f"{stem}{number}" for number in count(2)),
        )
        names.append(next(name for name in candidates if name not in names))
    return names


_CLASSES: Final = {
    "person": "Person",
    "organization": "Organization",
    "geopolitical": "Place",
    "time": "Time",
}
"""Entity type -> local name of its class in an induced ontology."""


def write_turtle(
    namespace: str, properties: Sequence[InducedProperty], language: str = "en"
) -> str:
    """An ontology in a namespace that ends in ``#`` or ``/``; counts are in notes."""
    types = {type_ for p in properties for type_ in (p.subject_type, p.object_type)}
    triples = [*_labelled(NamedNode(namespace.rstrip("#/")), OWL.Ontology, "Induced ontology")]
    for type_, name in _CLASSES.items():
        if type_ in types:
            triples += _labelled(NamedNode(namespace + name), OWL.Class, name.lower())
    labels = Counter(property_.label for property_ in properties)
    for property_, name in zip(properties, local_names(properties), strict=True):
        node, label = NamedNode(namespace + name), property_.label
        if labels[label] > 1:
            label += f" ({property_.subject_type}, {property_.object_type})"
        is_literal = property_.object_type == _VALUE
        kind = OWL.DatatypeProperty if is_literal else OWL.ObjectProperty
        triples += _labelled(node, kind, label, language)
        for predicate, texts in (
            (SARAG.statedAs, property_.phrases),
            (SARAG.inverselyStatedAs, property_.inverse_phrases),
            (SKOS.example, property_.sentences),
        ):
            triples += [Triple(node, predicate, Literal(t, language=language)) for t in texts]
        ends = ((RDFS.domain, property_.subject_type), (RDFS.range, property_.object_type))
        for predicate, type_ in ends:
            if type_ in _CLASSES:
                triples.append(Triple(node, predicate, NamedNode(namespace + _CLASSES[type_])))
        if is_literal:
            triples.append(Triple(node, RDFS.range, RDFS.Literal))
        noun = "relationship" if property_.count == 1 else "relationships"
        note = Literal(f"{property_.count} {noun}", language="en")
        triples.append(Triple(node, SKOS.note, note))
    prefixes = {"": namespace, "owl": OWL.base, "rdfs": RDFS.base}
    prefixes |= {"sarag": SARAG.base, "skos": SKOS.base}
    return (serialize(triples, format=RdfFormat.TURTLE, prefixes=prefixes) or b"").decode()


def _labelled(
    node: NamedNode, kind: NamedNode, label: str, language: str = "en"
) -> Iterator[Triple]:
    yield Triple(node, RDF.type, kind)
    yield Triple(node, RDFS.label, Literal(label, language=language))
