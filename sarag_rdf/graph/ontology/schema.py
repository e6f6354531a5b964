"""The schema of an ontology: classes and properties, names, datatypes, activation rules."""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, get_args

from pyoxigraph import Triple

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri, local_name, namespace
from sarag_rdf.base.vocab import OWL, PREFIXES, RDF, RDFS, SARAG, XSD


@dataclass(frozen=True, slots=True)
class _OntologyTerm:
    iri: str
    label: str
    alternatives: tuple[str, ...] = ()
    """Further names, as in ``skos:altLabel``."""
    definition: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OntologyClass(_OntologyTerm):
    """A class: its names, and its direct superclasses."""

    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OntologyProperty(_OntologyTerm):
    """A property; a subject fits one of the `domains`, an object one of the `ranges`, if any."""

    phrases: tuple[str, ...] = ()
    """How texts state it between subject and object: "was born in"."""
    inverse_phrases: tuple[str, ...] = ()
    """How texts state it between object and subject: "is the birthplace of"."""
    domains: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    inverse: str = ""
    equivalents: tuple[str, ...] = ()
    is_literal: bool = False
    """Whether the objects are literals (``owl:DatatypeProperty``, or a datatype as range)."""
    is_functional: bool = False
    is_symmetric: bool = False


@dataclass(frozen=True)
class Schema:
    """Classes and properties by IRI, in the order of their IRIs."""

    classes: Mapping[str, OntologyClass] = field(default_factory=lambda: MappingProxyType({}))
    properties: Mapping[str, OntologyProperty] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, classes: Iterable[OntologyClass], properties: Iterable[OntologyProperty]) -> Schema:
        """A schema of these classes and properties, which have distinct IRIs."""
        return cls(
            MappingProxyType({c.iri: c for c in sorted(classes, key=lambda c: c.iri)}),
            MappingProxyType({p.iri: p for p in sorted(properties, key=lambda p: p.iri)}),
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content in hexadecimal; part of the method of extractions."""
        content = repr((tuple(self.classes.values()), tuple(self.properties.values())))
        return hashlib.sha256(content.encode()).hexdigest()

    def label_of(self, iris: Sequence[str]) -> str:
        """The labels of classes, or the local names of datatypes: "city or country"."""
        labels = {iri: self.classes[iri].label for iri in iris if iri in self.classes}
        return " or ".join(labels.get(iri) or local_name(iri) for iri in iris)

    @cached_property
    def _superclasses(self) -> dict[str, frozenset[str]]:
        return {}

    def superclasses(self, class_: str) -> frozenset[str]:
        """A class with all its direct and indirect superclasses; cycles are tolerated."""
        if class_ not in self._superclasses:
            self._superclasses[class_] = frozenset(_closure(class_, self.classes))
        return self._superclasses[class_]

    @cached_property
    def subclasses(self) -> Mapping[str, tuple[str, ...]]:
        """Class -> its direct subclasses, in the order of their IRIs."""
        pairs = ((p, iri) for iri, class_ in self.classes.items() for p in class_.parents)
        return {parent: tuple(own) for parent, own in _grouped(pairs).items()}

    @cached_property
    def inverses(self) -> Mapping[str, frozenset[str]]:
        """Property -> its inverses, and those of what is equivalent, declared at either one."""
        same = {iri: {iri, *others} for iri, others in self.equivalents.items()}
        declared = [(p.iri, p.inverse) for p in self.properties.values() if p.inverse]
        inverses: defaultdict[str, set[str]] = defaultdict(set)
        for one, other in (*declared, *((inverse, iri) for iri, inverse in declared)):
            for iri in same.get(one, (one,)):
                inverses[iri].update(same.get(other, (other,)))
        return {iri: frozenset(others) for iri, others in inverses.items()}

    @cached_property
    def equivalents(self) -> Mapping[str, frozenset[str]]:
        """Property -> those that are equivalent, declared at either one; they need no schema."""
        same: dict[str, frozenset[str]] = {}
        for property_ in self.properties.values():
            for other in property_.equivalents:
                every = same.get(property_.iri, frozenset()) | same.get(other, frozenset())
                every |= {property_.iri, other}
                same |= dict.fromkeys(every, every)
        return {iri: every - {iri} for iri, every in same.items()}

    def superproperties(self, property_: str) -> Iterator[str]:
        """The direct and indirect superproperties of a property, nearest first."""
        return iter(_closure(property_, self.properties)[1:])

    def belongs(self, classes: Iterable[str], admitted: Iterable[str]) -> bool:
        """Whether one of the classes is one of the admitted classes or a subclass of one."""
        allowed = frozenset(admitted)
        return any(not allowed.isdisjoint(self.superclasses(c)) for c in classes)

    def may_belong(self, classes: Iterable[str], admitted: Iterable[str]) -> bool:
        """Whether a thing of these classes may be in an admitted one, as far as is known."""
        known, allowed = tuple(classes), tuple(admitted)
        if not known or not allowed:
            return True
        return self.belongs(known, allowed) or self.belongs(allowed, known)


def _closure(term: str, terms: Mapping[str, OntologyClass | OntologyProperty]) -> list[str]:
    """A term and all that are above it, nearest first."""
    closure = [term]
    for iri in closure:
        parents = terms[iri].parents if iri in terms else ()
        closure += [parent for parent in dict.fromkeys(parents) if parent not in closure]
    return closure


class TermNames:
    """Finds the terms of one kind, such as the classes, by a name."""

    def __init__(self, kind: str, terms: Mapping[str, OntologyClass | OntologyProperty]) -> None:
        """`kind` is the word for such a term in messages."""
        self._kind = kind
        self._terms = terms
        self._by_label = _grouped((term.label.casefold(), iri) for iri, term in terms.items())
        self._by_alternative = _grouped(
            (label.casefold(), iri) for iri, term in terms.items() for label in term.alternatives
        )
        self._by_local_name = _grouped(
            (iri.removeprefix(namespace(iri)).casefold(), iri) for iri in terms
        )

    def resolve(self, name: str) -> str:
        """The IRI of a term; raises `UsageError` for an unknown name, and as `find` does."""
        iri = self.find(name)
        if iri is None:
            raise UsageError(f"no such {self._kind}: '{name}': 'sarag ontology show' lists them")
        return iri

    def find(self, name: str) -> str | None:
        """The IRI of a term, by its IRI, prefixed name, label, or local name; None if unknown.

        An IRI with a scheme such as ``https:`` need not be in the schema. A prefix other than
        `PREFIXES` stands for the namespace of the terms with the local name that follows it.
        Raises `UsageError` for the name of several terms.
        """
        text = name.strip()
        bare = text.removeprefix("<").removesuffix(">")
        if bare in self._terms or (is_iri(bare) and ("://" in bare or bare.startswith("urn:"))):
            return bare
        prefix, colon, local = text.partition(":")
        if colon and prefix in PREFIXES and is_iri(PREFIXES[prefix] + local):
            return PREFIXES[prefix] + local
        groups = (self._by_label, self._by_alternative, self._by_local_name)
        for group in (self._by_local_name,) if colon else groups:
            iris = group.get((local if colon else text).casefold(), [])
            if len(iris) > 1:
                listed = ", ".join(f"<{iri}>" for iri in iris)
                raise UsageError(f"'{name}' names several terms: use one of {listed}")
            if iris:
                return iris[0]
        return None

    def name(self, iri: str) -> str:
        """The label of a term if no other term has it, or else the IRI."""
        term = self._terms.get(iri)
        is_unique = term is not None and self._by_label.get(term.label.casefold()) == [iri]
        return term.label if term is not None and is_unique and ":" not in term.label else iri


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, iri in pairs:
        groups[name].append(iri)
    return dict(groups)


# ------------------------------------------------------------------------------- Local names

_CODE = re.compile(r"[A-Za-z]{0,5}[_-]?\d+")
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-.+\s]+")


def is_code(name: str) -> bool:
    """Whether a local name is an identifier without words, such as ``P19`` or ``BFO_0000050``."""
    return _CODE.fullmatch(name) is not None


def split_words(name: str) -> str:
    """``birthDate``, ``birth_date`` and ``BirthDate`` as "birth date"; acronyms keep their case."""
    if is_code(name):
        return name
    words = [word for word in _WORD_BREAK.split(name) if word]
    return " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)


# ------------------------------------------------------------------------- Datatypes of values

# Many ontologies declare dates and numbers as object properties: with a class such as
# ``concepts#Date`` as range, or with no range at all. The datatype follows from the range: a
# datatype of XSD, else the local name of the range; without a range, from words of the label
# ("date of birth", "inception", "cost").

_STRING = XSD.string.value
_NAMES = {
    **dict.fromkeys(("date", "day"), XSD.date.value),
    **dict.fromkeys(("year", "gyear"), XSD.gYear.value),
    **dict.fromkeys(("yearmonth", "gyearmonth"), XSD.gYearMonth.value),
    **dict.fromkeys(("datetime", "datetimestamp", "timestamp"), XSD.dateTime.value),
    **dict.fromkeys(("integer", "int", "nonnegativeinteger"), XSD.integer.value),
    **dict.fromkeys(("number", "numeric", "decimal", "float", "double"), XSD.decimal.value),
    **dict.fromkeys(("quantity", "quantitativevalue", "monetaryamount"), XSD.decimal.value),
    **dict.fromkeys(("string", "text", "literal", "langstring"), _STRING),
    **dict.fromkeys(("boolean", "bool"), XSD.boolean.value),
    **dict.fromkeys(("url", "anyuri"), XSD.anyURI.value),
}
"""Local name of a range, in lower case -> datatype."""
_DECLARED_NAMES = {
    "duration": XSD.duration.value,
    "time": XSD.time.value,
    **dict.fromkeys(("distance", "energy", "mass"), XSD.decimal.value),
}
"""The same for ranges that are declared to be datatypes; otherwise these names are ambiguous."""
_LABEL_WORDS = {
    **dict.fromkeys(("date", "inception", "birthday"), XSD.date.value),
    "year": XSD.gYear.value,
    **dict.fromkeys(("cost", "price", "budget", "revenue", "population"), XSD.decimal.value),
    **dict.fromkeys(("height", "width", "length", "weight", "mass", "age"), XSD.decimal.value),
}
"""Word of a label -> datatype of a property without a range."""
_GEOSPARQL = "http://www.opengis.net/ont/geosparql#"
_DATATYPES = frozenset(
    {
        *(RDF[name].value for name in ("langString", "HTML", "XMLLiteral", "PlainLiteral", "JSON")),
        RDFS.Literal.value,
        *(OWL[name].value for name in ("real", "rational")),
        *(f"{_GEOSPARQL}{kind}Literal" for kind in ("wkt", "gml", "geoJSON")),
    }
)


NUMBERS = frozenset(
    XSD[name].value
    for name in (
        *("decimal", "integer", "double", "float", "long", "int", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)
"""The numeric datatypes of XSD."""


def is_datatype(range_: str) -> bool:
    """Whether a range is a datatype of RDF, XSD, OWL or GeoSPARQL."""
    return range_.startswith(XSD.base) or range_ in _DATATYPES


def named_datatype(range_: str) -> str:
    """The datatype that the local name of a range stands for: ``concepts#Date``; else empty."""
    return _NAMES.get(_plain_name(range_), "")


def value_datatype(label: str, ranges: Iterable[str]) -> str:
    """The datatype of a property's literals: by the first range with one, the label, or string."""
    for range_ in ranges:
        if range_.startswith(XSD.base):
            return range_
        if is_datatype(range_):
            return _STRING
        known = named_datatype(range_) or _DECLARED_NAMES.get(_plain_name(range_), "")
        if known:
            return known
    return label_datatype(label) or _STRING


def label_datatype(label: str) -> str:
    """The datatype that a word of the label stands for, the last one first; else empty."""
    words = re.findall(r"\w+", label.casefold())
    return next((_LABEL_WORDS[word] for word in reversed(words) if word in _LABEL_WORDS), "")


def _plain_name(iri: str) -> str:
    return re.sub(r"[^a-z]", "", iri.removeprefix(namespace(iri)).lower())


# --------------------------------------------------------------------------- Activation rules

# Annotations of properties and classes steer spreading activation: ``sarag:activationWeight`` (0 to
# 4; 1 changes nothing, 0 cuts), ``sarag:activationDirection`` ("both", "forward" from subject to
# object, or "backward"), and ``sarag:activationDecay`` (0 to 1, in place of the retriever's). In
# Collins and Loftus (1975), too, activation depends on the kind of an association.

MAX_WEIGHT = 4.0
Direction = Literal["both", "forward", "backward"]


@dataclass(frozen=True, slots=True)
class ActivationRule:
    """Weight in [0, 4], direction (of a property), decay in [0, 1] or None: the retriever's."""

    weight: float = 1.0
    direction: Direction = "both"
    decay: float | None = None

    @property
    def factors(self) -> tuple[float, float]:
        """The factors from subject to object, and from object to subject."""
        forward = self.weight if self.direction != "backward" else 0.0
        backward = self.weight if self.direction != "forward" else 0.0
        return forward, backward


Rules = Mapping[str, ActivationRule]
"""IRI of a property or class -> its rule."""


ANNOTATIONS = (SARAG.activationWeight, SARAG.activationDirection, SARAG.activationDecay)


def has_rules(triples: Iterable[Triple]) -> bool:
    """Whether there is an annotation of this kind; an ontology may consist of nothing else."""
    return any(triple.predicate in ANNOTATIONS for triple in triples)


def rules_of(annotations: Iterable[tuple[Any, ...]]) -> Rules:
    """The rules of (term, annotation, value), of several values the last; raises `UsageError`."""
    rules: defaultdict[str, ActivationRule] = defaultdict(ActivationRule)
    for term, annotation, value in sorted(annotations, key=lambda row: [str(cell) for cell in row]):
        rules[term.value] = _with_annotation(rules[term.value], term.value, annotation, value.value)
    return dict(rules)


def _with_annotation(
    rule: ActivationRule, term: str, annotation: Any, value: str
) -> ActivationRule:
    if annotation == SARAG.activationDirection:
        if value not in get_args(Direction):
            raise UsageError(
                f"the activation direction of <{term}> must be both, forward or backward, "
                f"not '{value}': correct the ontology"
            )
        direction: Any = value
        return replace(rule, direction=direction)
    is_weight = annotation == SARAG.activationWeight
    name, highest = ("weight", MAX_WEIGHT) if is_weight else ("decay", 1.0)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= highest:
        raise UsageError(
            f"the activation {name} of <{term}> must be a number between 0 and {highest:g}, not "
            f"'{value}': correct the ontology"
        )
    return replace(rule, weight=number) if is_weight else replace(rule, decay=number)


def check_weight(term: str, weight: float) -> float:
    """The weight; raises `UsageError` unless it lies in [0, 4]."""
    if not (math.isfinite(weight) and 0.0 <= weight <= MAX_WEIGHT):
        raise UsageError(
            f"the activation weight of {term} must be a number between 0 and 4, not {weight:g}"
        )
    return weight


def with_weights(rules: Rules, weights: Iterable[tuple[str, float]]) -> Rules:
    """The rules with other weights of some terms, for one search."""
    changed = dict(rules)
    for term, weight in weights:
        rule = changed.get(term, ActivationRule())
        changed[term] = replace(rule, weight=check_weight(f"<{term}>", weight))
    return changed


def weights_text(rules: Rules) -> str:
    """The rules as one line, as they are recorded with a result."""
    parts = []
    for term, rule in sorted(rules.items()):
        direction = f" {rule.direction}" if rule.direction != "both" else ""
        decay = f" decay {rule.decay:g}" if rule.decay is not None else ""
        parts.append(f"<{term}>={rule.weight:g}{direction}{decay}")
    return ", ".join(parts)
