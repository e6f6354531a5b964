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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Final

import numpy as np
from pyoxigraph import Literal, NamedNode

from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import ENTITY_TYPES, EntityType, Value
from sarag_rdf.base.vocab import OWL, RDFS, SARAG, SKOS, XSD
from sarag_rdf.extraction.phrases import (
    COPULA,
    WILDCARD,
    Argument,
    PhraseMatcher,
    is_function_word,
    normalize_phrase,
)
from sarag_rdf.extraction.statements import range_kind
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


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A property that a phrase may state; from object to subject if `is_inverse`.

    `confidence` lies in [0, 1] and orders suggestions; it is not a probability.
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

    def _match(self, phrase: CountedPhrase) -> tuple[str, bool] | None:
        match = self._matcher.match(
            normalize_phrase(phrase.phrase), _argument(phrase.subject_type), _object(phrase)
        )
        if match is None:
            return None
        return match.property.iri, match.is_inverse and not match.property.is_symmetric

    def _admits(self, property_: OntologyProperty, phrase: CountedPhrase, is_inverse: bool) -> bool:
        """Whether the arguments of a phrase fit the domain and the range."""
        if property_.is_literal:
            is_value = phrase.object_type == _VALUE and range_kind(property_) in _VALUE_KINDS
            return (
                is_value and not is_inverse and self._fits(phrase.subject_type, property_.domains)
            )
        if phrase.object_type == _VALUE:
            return False
        ends = [phrase.subject_type, phrase.object_type]
        subject, object_ = reversed(ends) if is_inverse else ends
        return self._fits(subject, property_.domains) and self._fits(object_, property_.ranges)

    def _fits(self, type_: str, admitted: Sequence[str]) -> bool:
        return self._matcher.fit(_argument(type_), admitted) > 0


def _argument(type_: str) -> Argument:
    known: Mapping[str, EntityType] = {name: name for name in ENTITY_TYPES}
    return Argument("", "name", known.get(type_, "misc"))


def _object(phrase: CountedPhrase) -> Argument:
    if phrase.object_type != _VALUE:
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
    usable = [phrase for phrase in phrases if _is_specific(phrase.phrase)]
    groups: defaultdict[tuple[str, str], list[_Directed]] = defaultdict(list)
    actives = {_stems(p.phrase) for p in usable}
    for phrase in usable:
        directed = _directed(phrase, actives)
        groups[directed.types].append(directed)
    properties = [
        _property(types, cluster)
        for types, members in groups.items()
        for cluster in _clusters(members, embedder, distance)
    ]
    frequent = (p for p in properties if p.count >= least)
    return sorted(frequent, key=lambda p: (-p.count, p.label, p.subject_type, p.object_type))


@dataclass(frozen=True, slots=True)
class _Directed:
    """A phrase whose arguments are exchanged if `is_inverse`; `text` is compared with others."""

    phrase: CountedPhrase
    is_inverse: bool
    text: str

    @property
    def types(self) -> tuple[str, str]:
        ends = self.phrase.subject_type, self.phrase.object_type
        return (ends[1], ends[0]) if self.is_inverse else ends


def _stems(phrase: str) -> tuple[str, ...]:
    return tuple(word.stem for word in normalize_phrase(phrase) if not word.is_optional)


def _is_specific(phrase: str) -> bool:
    return bool(set(_stems(phrase)) - _VAGUE - {WILDCARD})


def _directed(phrase: CountedPhrase, actives: set[tuple[str, ...]]) -> _Directed:
    """A passive is the inverse of its verb, if the corpus has the verb too."""
    stems = _stems(phrase.phrase)
    is_passive = len(stems) == 3 and (stems[0], stems[2]) == ("be", "by")
    is_inverse = is_passive and stems[1:2] in actives and phrase.object_type != _VALUE
    return _Directed(phrase, is_inverse, " ".join(stems[1:2] if is_inverse else stems))


def _clusters(
    members: Sequence[_Directed], embedder: Embedder, distance: float
) -> list[list[_Directed]]:
    """The members in clusters; those with equal texts are in the same one."""
    texts = sorted({member.text for member in members})
    clusters: defaultdict[int, list[_Directed]] = defaultdict(list)
    cluster_of = dict(zip(texts, _cluster_numbers(embedder.embed(texts), distance), strict=True))
    for member in members:
        clusters[cluster_of[member.text]].append(member)
    return list(clusters.values())


def _cluster_numbers(vectors: np.ndarray, distance: float) -> list[int]:
    """The cluster of each row of a matrix of unit vectors, shape (n, d)."""
    if len(vectors) < 2:
        return [0] * len(vectors)
    from scipy.cluster.hierarchy import fcluster, linkage

    rows, columns = np.triu_indices(len(vectors), 1)
    distances = np.clip(1 - (vectors @ vectors.T)[rows, columns], 0, 2)
    tree = linkage(distances.astype(np.float64), method="average")
    return [int(number) for number in fcluster(tree, distance, criterion="distance")]


def _property(types: tuple[str, str], members: Sequence[_Directed]) -> InducedProperty:
    ordered = sorted(
        members,
        key=lambda m: (m.is_inverse, -m.phrase.count, len(m.phrase.phrase), m.phrase.phrase),
    )
    sentences = dict.fromkeys(s for m in ordered for s in m.phrase.sentences)
    return InducedProperty(
        ordered[0].phrase.phrase,
        *types,
        _distinct(m.phrase.phrase for m in ordered if not m.is_inverse),
        _distinct(m.phrase.phrase for m in ordered if m.is_inverse),
        sum(m.phrase.count for m in members),
        tuple(sentences)[:3],
    )


def _distinct(phrases: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrases))


def local_names(properties: Sequence[InducedProperty]) -> list[str]:
    """Distinct local names: ``bornIn`` of "was born in"; of several, with types of arguments."""
    names: list[str] = []
    for property_ in properties:
        stem = _local_name(property_.label)
        ends = property_.object_type, property_.subject_type
        object_name, subject_name = (_CLASSES.get(type_, "") for type_ in ends)
        candidates = chain(
            (stem, f"{stem}{object_name}", f"{stem}{subject_name}{object_name}"),
            (f"{stem}{number}" for number in count(2)),
        )
        names.append(next(name for name in candidates if name not in names))
    return names


def _local_name(label: str) -> str:
    words = [word for word in re.findall(r"[^\W_]+", label) if not is_function_word(word)]
    while len(words) > 1 and words[0] in _LEADING:
        del words[0]
    name = "".join(words[:1] + [word.capitalize() for word in words[1:]])
    return name if name[:1].isalpha() else f"property{name}"


_CLASSES: Final = {
    "person": "Person",
    "organization": "Organization",
    "geopolitical": "Place",
    "time": "Time",
}
"""Entity type -> local name of its class in an induced ontology."""
_LOCAL_NAME = re.compile(r"[^\W\d_]\w*")


def write_turtle(
    namespace: str, properties: Sequence[InducedProperty], language: str = "en"
) -> str:
    """An ontology in a namespace that ends in ``#`` or ``/``; counts are in comments."""
    base = namespace.rstrip("#/")
    prefixes = {"": namespace, "owl": OWL.base, "rdfs": RDFS.base}
    prefixes |= {"sarag": SARAG.base, "skos": SKOS.base}
    lines = [f"@prefix {prefix}: {NamedNode(iri)} ." for prefix, iri in prefixes.items()]
    title = Literal("Induced ontology", language="en")
    lines += ["", f"{NamedNode(base)} a owl:Ontology ;", f"    rdfs:label {title} ."]
    types = {type_ for p in properties for type_ in (p.subject_type, p.object_type)}
    for name in (name for type_, name in _CLASSES.items() if type_ in types):
        class_label = Literal(name.lower(), language="en")
        lines += ["", f":{name} a owl:Class ;", f"    rdfs:label {class_label} ."]
    labels = [property_.label for property_ in properties]
    for property_, name in zip(properties, local_names(properties), strict=True):
        noun = "relationship" if property_.count == 1 else "relationships"
        is_plain = _LOCAL_NAME.fullmatch(name) and name.isascii()
        node = f":{name}" if is_plain else str(NamedNode(namespace + name))
        kind = "Datatype" if property_.object_type == _VALUE else "Object"
        label = property_.label
        if labels.count(label) > 1:
            label += f" ({property_.subject_type}, {property_.object_type})"
        lines += ["", f"# {property_.count} {noun}", f"{node} a owl:{kind}Property ;"]
        lines += [f"    {s} ;" for s in _statements(property_, label, language)]
        lines[-1] = f"{lines[-1][:-2]} ."
    return "\n".join(lines) + "\n"


def _statements(property_: InducedProperty, label: str, language: str) -> Iterator[str]:
    """What is stated of a property, as predicates with their objects in Turtle."""

    def texts(predicate: str, values: Iterable[str]) -> Iterator[str]:
        if objects := " , ".join(str(Literal(value, language=language)) for value in values):
            yield f"{predicate} {objects}"

    yield from texts("rdfs:label", [label])
    yield from texts("sarag:statedAs", property_.phrases)
    yield from texts("sarag:inverselyStatedAs", property_.inverse_phrases)
    if domain := _CLASSES.get(property_.subject_type):
        yield f"rdfs:domain :{domain}"
    if property_.object_type == _VALUE:
        yield "rdfs:range rdfs:Literal"
    elif range_ := _CLASSES.get(property_.object_type):
        yield f"rdfs:range :{range_}"
    yield from texts("skos:example", property_.sentences)
