"""Typing of relations by their phrase and the types of their arguments, for high precision.

An ontology lists the phrases in which texts state a property ("was born in"). A phrase in a text
states the property if both have the same words, without regard to inflection, articles and adverbs,
and if the arguments fit the domain and the range. Of several properties the one with the longest
phrase is chosen, then the one that the arguments fit best; of inverse or equivalent properties the
one that says it directly. If several remain, the relation has none.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Literal

from sarag_rdf.base.iris import namespace
from sarag_rdf.base.types import VALUE_TYPES, EntityType, Value
from sarag_rdf.extraction.names import ENGLISH, KNOWN, english, nearest_type, type_of_noun
from sarag_rdf.extraction.normal_phrases import (
    COPULA,
    PREPOSITIONS,
    WILDCARD,
    Word,
    is_participle,
    stem,
    stems_of,
)
from sarag_rdf.extraction.typed_statements import UNIT_OF_LABEL, RangeKind, literal, range_kind
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.graph.ontology.schema_reader import COMMON, common_property

log = logging.getLogger(__name__)

_MAX_WILDCARD = 3
_COMPANIES = english("mentions", "companies")


@dataclass(frozen=True, slots=True)
class Argument:
    """The subject or object of a relation: a name, a value, a common noun, or an adjective.

    A noun of the kind "class" says what a thing is; it is not a value.
    `type` is the entity type that a recogniser assigned to a name; `classes` are the IRIs of
    classes to which it certainly belongs.
    """

    text: str
    kind: Literal["name", "value", "noun", "adjective", "class"] = "name"
    type: EntityType = "misc"
    classes: tuple[str, ...] = ()
    value: Value | None = None
    is_certain: bool = False
    """Whether the text says of what type a name is; else a recogniser guessed it."""


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """The property that a relation states; with subject and object exchanged if `is_inverse`.

    `fit` lies in [0, 6]: 0 to 3 for each argument (see `PhraseMatcher.fit`).
    """

    property: OntologyProperty
    is_inverse: bool
    specificity: float
    fit: int
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class _Pattern:
    words: tuple[str, ...]
    meaning: OntologyProperty
    is_inverse: bool
    is_label: bool = False
    is_packaged: bool = False
    is_verbatim: bool = False
    """Whether the words are a label as it stands, or its verb in the other voice."""
    is_bare: bool = False
    """Whether they are a label without the kind of the subjects, which must be known to be so."""

    @property
    def is_loose(self) -> bool:
        """Whether nouns may have any other before them, except "manager"."""
        return self.is_packaged and "manager" not in self.words

    @property
    def specificity(self) -> float:
        """The number of words but wildcards; less for a label, and least if it is packaged."""
        less = 0.5 * self.is_label + 0.75 * self.is_packaged
        return sum(word != WILDCARD for word in self.words) - less


_GENERAL_NOUNS: dict[EntityType, tuple[str, ...]] = {
    "person": ("person", "human", "human being"),
    "organization": ("organization",),
}
"""Labels of the class of all things of an entity type."""
_RELATIONAL = frozenset("part member on leader figur charact role".split())
"""Stems of nouns that name no kind of thing, so that a wildcard does not stand for them."""
_GENERAL = frozenset({"is", "in", "at", "on", "of", WILDCARD})
"""Words of phrases that say so little that the subject must fit the domain: "is a * in"."""
_MOVING = frozenset({"come", "mov", "return", "go"})
"""Verbs that lead to places, but also from one employer or department to another."""
_AWARDED = frozenset({"award", "grant", "present", "give"})
_GIVING = frozenset({"be", "give", "go", "present", "to"})
"""Words of phrases that both arguments must fit well: paintings are given to museums, too."""
_EVENT = re.compile(r"(?:(?:date|day|year)(?: of)? )?([a-z]+)(?: (?:date|day|year|in|on))?")
"""The event in the label of a date: "opening date", "year of construction", "opened on"."""


_EVENTS = [frozenset(map(stem, verbs)) for verbs in ENGLISH["phrases"]["events"]]
_SAME_EVENT = {verb: group for group in _EVENTS for verb in group}
"""Stem of a verb -> those of all verbs for the same event."""
_SAME_EVENT["make"] = frozenset(map(stem, english("phrases", "making")))
_APPOINTED = frozenset(map(stem, english("phrases", "appointing")))
_BELONGING = frozenset({"of", "at", "for", "to"})
"""Words between an office and whose it is."""
_THESES = (["thesis", "of"], ["dissertation", "of"])
_SUPERVISED = frozenset({"supervis", "advis", "direct", "examin"})
_MEASURES = {"weight": "weigh", "mass": "weigh"}
"""Nouns for a quantity -> the verb whose object it is: "weighs 3 kg"."""


class PhraseMatcher:
    """Finds the property of a schema that a phrase states between two arguments."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._ambiguous: set[tuple[str, ...]] = set()
        """Words and properties between which a warning did not choose."""
        self._patterns: dict[tuple[str, str], list[_Pattern]] = {}
        """The patterns of all properties by their first and last word."""
        self._labelled: dict[str, list[OntologyProperty]] = {}
        """Label of properties, in lower case and without a unit -> the properties."""
        for known in schema.properties.values():
            property_ = self._with_bare_names(known)
            for label in {property_.label, *property_.alternatives}:
                bare = UNIT_OF_LABEL.sub("", label).casefold()
                for name in dict.fromkeys((bare, bare.removeprefix("number of "))):
                    self._labelled.setdefault(name, []).append(property_)
            full = property_ if property_ == known else known
            whole = {(each.words, each.is_inverse) for each in self._patterns_with_packaged(full)}
            for each in set(self._patterns_with_packaged(property_)):
                pattern = replace(each, is_bare=(each.words, each.is_inverse) not in whole)
                self._patterns.setdefault((pattern.words[0], pattern.words[-1]), []).append(pattern)
        self._class_labels: dict[str, dict[str, str]] = {}
        """Label of classes -> namespace of an ontology -> the first of its classes."""
        for class_ in schema.classes.values():
            for label in (class_.label, *class_.alternatives):
                same = self._class_labels.setdefault(_spelt(label), {})
                same.setdefault(namespace(class_.iri), class_.iri)
        self._entity_types: dict[str, frozenset[EntityType]] = {}

    def _with_bare_names(self, property_: OntologyProperty) -> OntologyProperty:
        """With labels without the kind of its subjects: a "permit holder" is its holder."""
        domains = filter(None, map(self.schema.classes.get, property_.domains))
        kinds = {n.casefold() for class_ in domains for n in (class_.label, *class_.alternatives)}
        names = (name.partition(" ") for name in (property_.label, *property_.alternatives))
        bare = (noun for kind, _, noun in names if kind.casefold() in kinds)
        nouns = (noun for noun in bare if noun and noun.split()[0] not in PREPOSITIONS)
        return replace(property_, alternatives=(*property_.alternatives, *nouns))

    def labelled(self, label: str) -> Sequence[OntologyProperty]:
        """The properties with a label; packaged ones only if there is no other."""
        known = self._labelled.get(label.casefold(), [])
        own = [property_ for property_ in known if not property_.iri.startswith(COMMON)]
        return own or known

    def _patterns_with_packaged(self, property_: OntologyProperty) -> Iterator[_Pattern]:
        """Its patterns, and those of its packaged namesake, but for other events than its own."""
        for pattern in _patterns_of(property_):
            yield replace(pattern, is_packaged=property_.iri.startswith(COMMON))
        names, is_literal = (property_.label, *property_.alternatives), property_.is_literal
        named = (common_property(n.replace("year", "date"), is_literal=is_literal) for n in names)
        known = next(filter(None, named), property_)
        if known.iri in self.schema.properties:
            return
        events = filter(None, (_EVENT.fullmatch(name.casefold()) for name in names))
        own = frozenset().union(*(_SAME_EVENT.get(stem(event[1]), ()) for event in events))
        others = frozenset((_SAME_EVENT.keys() - own) | {stem("dates")} if own else ())
        for pattern in _patterns_of(replace(known, label="", alternatives=())):
            if others.isdisjoint(pattern.words):
                yield replace(pattern, meaning=property_, is_packaged=True)

    def match(
        self, words: Sequence[Word], subject: Argument, object_: Argument, phrase: str = ""
    ) -> PhraseMatch | None:
        """The property that the words state, or None if none fits or several do.

        Of several, the one whose label is the `phrase` of the text is chosen: "worked for".
        """
        matches = (self._match(said, subject, object_, phrase) for said in _readings_of(words))
        return next(filter(None, matches), None)

    def _match(
        self, words: Sequence[Word], subject: Argument, object_: Argument, phrase: str
    ) -> PhraseMatch | None:
        required = [word.stem for word in words if not word.is_optional]
        if not required:
            return None
        patterns = [
            pattern
            for first in (required[0], WILDCARD)
            for last in (required[-1], WILDCARD)
            for pattern in self._patterns.get((first, last), ())
        ]
        exact = [replace(w, is_optional=w.is_optional and not w.is_kind) for w in words]
        matched = [
            (pattern, match)
            for pattern in patterns
            if _matches(pattern.words, words if pattern.is_loose else exact)
            if (match := self._checked(pattern, subject, object_))
        ]
        matches = [match for _, match in matched]
        best = max(((m.specificity, m.fit) for m in matches), default=None)
        if best is None:
            return None
        candidates = {
            (m.property.iri, m.is_inverse and not m.property.is_symmetric): m
            for m in matches
            if (m.specificity, m.fit) == best
        }
        if len(candidates) > 1:
            above = {parent for iri, _ in candidates for parent in self.schema.superproperties(iri)}
            candidates = {key: m for key, m in candidates.items() if key[0] not in above}
            named = {key: m for key, m in candidates.items() if _is_named(m, required)}
            candidates = named or candidates
            as_said = {k: m for k, m in candidates.items() if m.property.label.casefold() == phrase}
            candidates = as_said or candidates
        direct = min(candidates.values(), key=lambda match: match.is_inverse, default=None)
        if direct and all(_readings(m) & _readings(direct) for m in candidates.values()):
            return direct
        stated = {p.meaning.iri for p, _ in matched if not p.is_packaged}
        own = sorted(stated.intersection(iri for iri, _ in candidates))
        said = " ".join(required)
        if len(own) > 1 and (said, *own) not in self._ambiguous:
            self._ambiguous.add((said, *own))
            named_by = " and ".join(f"<{iri}>" for iri in own)
            log.warning("the words '%s' may state %s: neither is stated", said, named_by)
        return None

    def _checked(
        self, pattern: _Pattern, subject: Argument, object_: Argument
    ) -> PhraseMatch | None:
        """A match of the pattern, unless an argument does not fit well enough."""
        property_ = pattern.meaning
        if pattern.is_inverse:
            subject, object_ = object_, subject
        if subject.kind != "name":
            return None
        domain_fit = self.fit(subject, property_.domains)
        is_own = pattern.is_verbatim and not pattern.is_packaged
        has_unit = object_.value is not None and object_.value.unit != ""
        is_vague = sum(word != WILDCARD for word in pattern.words) == 1 and not has_unit
        value = None
        if property_.is_literal:
            is_open = object_.kind == "noun" and not property_.examples
            value = None if is_open and not is_vague else _literal(object_, property_)
            range_fit = (1 if object_.kind == "name" else 2) if value else -1
        else:
            range_fit = self.fit(object_, property_.ranges) if object_.kind == "name" else -1
        match = PhraseMatch(
            property_, pattern.is_inverse, pattern.specificity, domain_fit + range_fit, value
        )
        if min(domain_fit, range_fit) < 0 or (pattern.is_bare and domain_fit < 2):
            return None
        if pattern.words[0] in _MOVING and range_fit < 2 and self._is_of_places(property_):
            return None
        if is_own:
            ends = (subject, domain_fit), (object_, range_fit)
            agent = _agent(pattern, subject, object_)
            misfits = [end for end, fit in ends if fit == 0]
            is_half = not (property_.domains and property_.ranges) and _is_verb(pattern)
            if is_half and min(domain_fit, range_fit) < 2:
                return None
            is_known = any(end.is_certain or (end is agent and " " in end.text) for end in misfits)
            return None if is_known or len(misfits) > 1 else match
        if max(domain_fit, range_fit) < 2:
            return None
        if pattern.is_label and WILDCARD in pattern.words and min(domain_fit, range_fit) < 2:
            return None
        if _GIVING.issuperset(pattern.words) and min(domain_fit, range_fit) < 2:
            return None
        if not property_.is_literal and not set(pattern.words) - _GENERAL and domain_fit < 2:
            return None
        is_special = domain_fit == 3 and not any(map(self._is_general, property_.domains))
        if is_vague and not is_special and (range_fit < 2 or domain_fit < 1):
            return None
        if property_.is_literal and domain_fit < (2 if is_vague else 1):
            return None
        return match

    def fit(self, argument: Argument, admitted: Sequence[str]) -> int:
        """How well a name fits the admitted classes: 3 surely, 2 well, 1 perhaps, 0 badly, -1 not.

        Recognisers confuse organizations with places and leave many names without a type, so that
        only classes that are certain exclude anything; those of another ontology by their type.
        """
        if argument.type in VALUE_TYPES:
            return -1
        if not admitted:
            return 2
        if self.schema.belongs(argument.classes, admitted):
            return 3
        if argument.classes and self.schema.may_belong(argument.classes, admitted):
            return 2
        types = frozenset().union(*(self.entity_types(class_) for class_ in admitted))
        spaces = set(map(namespace, argument.classes))
        if not spaces.isdisjoint(map(namespace, admitted)):
            return -1
        if argument.type != "misc" and argument.type in types:
            return 2 if any(self._is_general(class_) for class_ in admitted) else 1
        if argument.classes:
            return -1
        if argument.type == "misc":
            return 1
        if argument.type != "person" and types & {"organization", "geopolitical"}:
            return 1
        return 1 if argument.type != "person" and types == {"misc"} else 0

    def entity_types(self, class_: str) -> frozenset[EntityType]:
        """The entity types of a class, by its names and those of its superclasses."""
        return self.known_types(class_) or frozenset({"misc"})

    def known_types(self, class_: str) -> frozenset[EntityType]:
        """The same, but none if no name says of what type the instances are."""
        if class_ not in self._entity_types:
            self._entity_types[class_] = frozenset()
            self._entity_types[class_] = frozenset(self._types_upwards(class_))
        return self._entity_types[class_]

    def _types_upwards(self, class_: str) -> Iterator[EntityType]:
        for iri in (class_, *sorted(self.schema.superclasses(class_) - {class_})):
            known = self.schema.classes.get(iri)
            label = known.label if known else iri
            type_ = nearest_type(label)
            if type_ not in VALUE_TYPES and (type_ != "misc" or type_of_noun(label) == "misc"):
                yield type_
                return
        for iri in self.schema.subclasses.get(class_, ()):
            yield from self.known_types(iri)

    def _is_of_places(self, property_: OntologyProperty) -> bool:
        """Whether the objects of a property are places."""
        types = set().union(*map(self.entity_types, property_.ranges))
        return types == {"geopolitical"}

    def _is_general(self, class_: str) -> bool:
        """Whether all things of an entity type are in a class, as all persons are in Person.

        A superclass with the same label is the same class, in another ontology.
        """
        known, types = self.schema.classes, self.entity_types(class_)
        parents = (known[iri] for iri in self.schema.superclasses(class_) if iri in known)
        labels = {p.label.casefold() for p in parents if self.entity_types(p.iri) == types}
        return "misc" not in types and len(labels) < 2

    def classes_of_noun(self, noun: str) -> tuple[str, ...]:
        """The IRIs of the classes with a label, also in the plural, one of each ontology."""
        key, labels = _spelt(noun), self._class_labels
        return tuple((labels.get(key) or labels.get(key.removesuffix("s"), {})).values())

    def own_classes(self, noun: str) -> tuple[str, ...]:
        """The IRIs of the classes with a label in one's own ontologies, unless of persons."""
        own = tuple(c for c in self.classes_of_noun(noun) if not c.startswith(COMMON))
        return () if any("person" in self.entity_types(class_) for class_ in own) else own

    @cached_property
    def general_classes(self) -> Mapping[EntityType, str]:
        """The class of one's own of all persons, by its label, and of organizations."""
        result: dict[EntityType, str] = {}
        for type_, nouns in _GENERAL_NOUNS.items():
            classes = chain.from_iterable(map(self.classes_of_noun, nouns))
            own = (class_ for class_ in classes if not class_.startswith(COMMON))
            result.update((type_, class_) for class_ in islice(own, 1))
        return result

    def kinds_of(self, noun: str) -> tuple[str, ...]:
        """The first of these classes, then those above it."""
        above = self.own_classes(noun)[:1]
        return (*above, *(iri for class_ in above for iri in self.schema.superclasses(class_)))

    def classes_of_name(self, name: str) -> tuple[str, ...]:
        """The IRIs of the classes that a name contains, such as University in "Lund University".

        Only the head of the name counts: its last word before a preposition, or its first word
        ("Lake Geneva"). Classes of persons are not inferred from names.
        """
        head = re.split(r"\s+(?:of|for|in|at|on|to|de|du|des|der|di)\s+|[,(]", name)[0].split()
        if not name.split() or not head or (len(head) == 1 and head[0] == name):
            return ()
        if head[-1].islower() and head[-1].endswith("s") and not head[-1].endswith("ss"):
            return ()  # "Teams and services"
        known = KNOWN.get(name) or ("award" if name.startswith("Best ") else "")
        if known or name.split()[-1] in _COMPANIES:
            return self.classes_of_noun(known or "organization")
        is_titled = not any(map(str.islower, head))  # not "Depot round table"
        first = head[:1] if type_of_noun(head[-1]) is None and is_titled else []
        for words in (head[-2:], head[-1:], first):
            label = " ".join(words)
            classes = [c for c in self.classes_of_noun(label) if self._may_name(c, label)]
            if classes and "person" not in self.entity_types(classes[0]):
                return tuple(classes)
        inner = (self.classes_of_noun(word) for word in (head[1:-1] if first else ()))
        return next((c for c in inner if c and "organization" in self.entity_types(c[0])), ())

    def _may_name(self, class_: str, label: str) -> bool:
        """Whether a name that ends in a label is that of an instance.

        "Orbis Systems" is no system, if that is only another label of a class of one's own.
        """
        key, known = _spelt(label), self.schema.classes[class_]
        is_named = key.removesuffix("s") == _spelt(known.label)
        is_same = key in map(_spelt, (known.label, *known.alternatives))
        return is_same or is_named or class_.startswith(COMMON)


def _spelt(label: str) -> str:
    """A label in lower case and American spelling: an organisation is an organization."""
    return label.casefold().replace("isation", "ization")


def _readings_of(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """The words, and simpler ones that follow from them.

    "Is head of" follows from "became head of" and "was appointed head of", and "supervised" from
    "supervised the thesis of".
    """
    yield words
    required = [n for n, word in enumerate(words) if not word.is_optional]
    stems = [words[n].stem for n in required]
    begin = 1 if stems[:1] == ["become"] else 2 if stems[:1] == ["be"] else 0
    if begin == 2 and (len(stems) < 2 or stems[1] not in _APPOINTED):
        begin = 0
    begin += begin > 0 and stems[begin : begin + 1] == ["as"]
    if begin and stems[-1] in _BELONGING and stems[begin] not in PREPOSITIONS:
        yield (Word(COPULA), *words[required[begin - 1] + 1 :])
    if len(stems) == 3 and stems[0] in _SUPERVISED and stems[1:] in _THESES:
        yield (words[required[0]],)


def _readings(match: PhraseMatch) -> set[tuple[str, bool]]:
    """The properties that say the same as a match, each with whether it is read inversely."""
    known, is_inverse = match.property, match.is_inverse
    readings = {(iri, is_inverse) for iri in (known.iri, *known.equivalents)}
    return readings | ({(known.inverse, not is_inverse)} if known.inverse else set())


def _patterns_of(property_: OntologyProperty) -> Iterator[_Pattern]:
    """The phrases of a property in both directions, then those built from its labels."""
    for phrases, is_inverse in ((property_.phrases, False), (property_.inverse_phrases, True)):
        for phrase in phrases:
            if words := stems_of(phrase):
                yield from _voices(_Pattern(words, property_, is_inverse))
    for label in (property_.label, *property_.alternatives):
        words = stems_of(label)
        if not words:
            continue
        if property_.is_literal:
            for said in _value_phrases(label, range_kind(property_)):
                yield _Pattern(said, property_, False, True)
        verbatim = _Pattern(words, property_, False, True, is_verbatim=True)
        if words[0] == "be" and words[1:] and words[-1] in _AWARDED:  # and "awarded to"
            yield replace(verbatim, words=(*words, "to"), is_inverse=True)
        if len(words) > 1 and (words[0] == "be" or words[-1] in PREPOSITIONS):
            yield verbatim
            yield from _voices(replace(verbatim, words=stems_of(f"is {label}")))
            if len(words) == 2 and words[0] != "be":  # "studied mathematics at"
                yield _Pattern((words[0], WILDCARD, words[1]), property_, False, True)
            named, _, of = label.partition(" ")
            for verb in _verbs_of(named) if of == "of" else ():  # "manager of" as "manages"
                yield from _voices(replace(verbatim, words=verb))
            continue
        is_relation = bool(property_.domains or property_.ranges) and not property_.is_literal
        if is_relation and _may_be_verb(label):
            yield from _voices(verbatim)
        elif is_relation:
            for verb in _verbs_of(label):
                yield from _voices(replace(verbatim, words=verb, is_inverse=len(words) == 1))
        noun = words[1:] if words[0] == "have" else words
        yield replace(verbatim, words=("have", *noun))
        yield replace(verbatim, words=(COPULA, *noun, "of"), is_inverse=True)


def _value_phrases(label: str, kind: RangeKind) -> Iterator[tuple[str, ...]]:
    """The words in which texts state a date or a number: "opening date" as "was opened on".

    "Number of rooms" is also "has rooms", "depth" is "has a depth of", and "long" is "is long".
    """
    bare = UNIT_OF_LABEL.sub("", label).casefold()
    if kind == "number":
        noun = stems_of(bare.removeprefix("number of "))
        yield from ((_MEASURES[bare],),) if bare in _MEASURES else ()
        yield from (("have", *noun), ("have", *noun, "of"), (COPULA, *noun))
    if kind == "date" and (event := _EVENT.fullmatch(bare)):
        roots = {stem(event[1]), *map(event[1].removesuffix, ("ion", "tion", "ation"))}
        for root in roots.union(*(_SAME_EVENT.get(root, ()) for root in roots)):
            yield from (("be", root, "in"), ("be", root, "on"))
        if not roots.isdisjoint(_SAME_EVENT["make"]):
            yield stems_of("dates from")


def _verbs_of(label: str) -> Iterator[tuple[str, ...]]:
    """The verb in a label that is no verb: "maker" as "makes", "received prize" as "received"."""
    first, *others = label.casefold().split()
    if len(others) == 1 and is_participle(first):
        yield (stem(first),)
    elif not others and first.endswith(("er", "or")) and len(first) > 5:
        yield (stem(first[:-2] + "ed"),)


def _may_be_verb(label: str) -> bool:
    """Whether a label is a verb, or may be one: "wrote", "leads", which "awards" looks like."""
    word = label.casefold()
    is_plural = word.endswith("s") and stem(word) == stem(word[:-1])
    return word.isalpha() and word != "has" and (is_plural or is_participle(word))


def _voices(pattern: _Pattern) -> Iterator[_Pattern]:
    """A phrase, and its other voice: "was founded by" is "founded" with arguments exchanged.

    The verb of a label is also a noun for who does it: "manages" as "is the manager of".
    """
    yield pattern
    words, other = pattern.words, replace(pattern, is_inverse=not pattern.is_inverse)
    if len(words) == 3 and words[0] == "be" and words[2] == "by":
        active = replace(other, words=words[1:2])
        yield active
    elif len(words) == 1 and words[0] not in (COPULA, "become", "have"):
        active = pattern
        yield replace(other, words=("be", *words, "by"))
    else:
        return
    root = active.words[0].removesuffix("e")
    for noun in (f"{root}er", f"{root}or") if pattern.is_label else ():
        yield replace(active, words=(COPULA, noun, "of"))
        yield replace(active, words=("have", noun), is_inverse=not active.is_inverse)


def _is_verb(pattern: _Pattern) -> bool:
    """Whether the words are a verb alone, or its passive."""
    return len(pattern.words) == 1 or (pattern.words[0], pattern.words[-1]) == ("be", "by")


def _is_named(match: PhraseMatch, words: Sequence[str]) -> bool:
    """Whether the label for a value has the word of a phrase, as "weight" has that of "weighs"."""
    said = tuple(word for word in words if word not in _GENERAL | {"be", "have"})
    roots = stems_of(match.property.label) if match.value and said else ()
    return any(root.startswith(said) for root in roots)


def _agent(pattern: _Pattern, subject: Argument, object_: Argument) -> Argument | None:
    """Who acts, as persons do: the subject of an active verb, the object of a passive one."""
    if pattern.words[0] in ("be", COPULA) and pattern.words[-1] != "by":
        return None
    is_subject = (pattern.words[-1] == "by") == pattern.is_inverse
    return subject if is_subject else object_


def _matches(pattern: Sequence[str], words: Sequence[Word]) -> bool:
    """Whether a pattern has all words of a phrase but optional ones."""
    if not words:
        return not pattern
    if words[0].is_optional and _matches(pattern, words[1:]):
        return True
    if not pattern:
        return False
    if pattern[0] == WILDCARD:
        lengths = range(1, min(_MAX_WILDCARD, len(words)) + 1)
        return any(
            _matches(pattern[1:], words[length:])
            for length in lengths
            if words[length - 1].stem not in _RELATIONAL
        )
    return pattern[0] == words[0].stem and _matches(pattern[1:], words[1:])


def _literal(argument: Argument, property_: OntologyProperty) -> Value | None:
    """The literal for an argument, if the property admits it; a text if the property lists it.

    Without a list of examples it is any text but an adjective.
    """
    if argument.value is None:
        listed = {example.casefold() for example in property_.examples}
        is_open = not listed and argument.kind != "adjective"
        if argument.kind == "class" or not (is_open or argument.text.casefold() in listed):
            return None
    elif range_kind(property_) == "string":
        return None
    return literal(property_, argument.text, argument.value)
