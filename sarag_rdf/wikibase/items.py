"""Entities of the graph, sources and classes as items: texts and statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pyoxigraph import Literal

from sarag_rdf.iris import Minter
from sarag_rdf.terms import iri
from sarag_rdf.wikibase import build
from sarag_rdf.wikibase.numbers import Numbers, number
from sarag_rdf.wikibase.own_properties import (
    CLASS_LABELS,
    CONFIDENCE,
    DIGEST,
    DOCUMENT,
    EXACT_MATCH,
    INSTANCE_OF,
    ORIGINAL,
    PHRASE,
    RELATED_TO,
    STATED_IN,
    TEXT,
    OwnProperty,
    canonical_phrase,
    phrase_key,
)
from sarag_rdf.wikibase.survey import Row, Survey

NO_LANGUAGE = "mul"
"""Language code of Wikibase for a label in no language, or in all."""


@dataclass(slots=True)
class Facts:
    """Rows of the queries about one entity."""

    labels: list[Row] = field(default_factory=list)
    names: list[Literal] = field(default_factory=list)
    descriptions: list[Literal] = field(default_factory=list)
    statements: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Items:
    """Makes the content of items; descriptions are kept apart over all that are made."""

    minter: Minter
    survey: Survey
    numbers: Numbers
    links: dict[str, list[str]]
    _described: set[int] = field(default_factory=set)

    def item(self, name: str, facts: Facts) -> dict[str, Any]:
        """What the item of an IRI holds, whatever the IRI is of."""
        labels, aliases = _names(facts)
        made = [self._url(name, ORIGINAL, name)]
        made += [self._url(name, EXACT_MATCH, target) for target in self.links.get(name, ())]
        descriptions = _descriptions(facts)
        if name in self.survey.sources:
            made += self._source(name)
            labels = labels or self._title(name)
            descriptions = descriptions or {"en": f"source: {_tail(name)}"}
        if name in self.survey.classes:
            labels = labels or {"en": CLASS_LABELS.get(name, _tail(name))}
            descriptions = {"en": "kind of thing"}
        made += self._classes(name, facts)
        made += self._relations(name, facts.statements)
        return {
            "labels": build.texts(labels),
            "descriptions": self._unlike_others(name, labels, build.texts(descriptions)),
            "aliases": aliases,
            "claims": build.claims(made),
        }

    def _id(self, own: OwnProperty) -> str:
        return self.numbers[own.key(self.minter)]

    def _url(self, name: str, own: OwnProperty, target: str) -> build.Statement:
        snak = build.string_snak(self._id(own), target, "url")
        return build.statement(self.numbers[name], (name, target), snak)

    def _source(self, name: str) -> Iterator[build.Statement]:
        digest = self.survey.sources[name].digest
        if digest:
            snak = build.string_snak(self._id(DIGEST), digest)
            yield build.statement(self.numbers[name], (name, digest), snak)

    def _title(self, name: str) -> dict[str, str]:
        title = self.survey.sources[name].title
        if title is None or not title.value.strip():
            return {NO_LANGUAGE: _tail(name)}
        return {title.language or NO_LANGUAGE: title.value}

    def _classes(self, name: str, facts: Facts) -> Iterator[build.Statement]:
        for class_ in sorted({iri(row[2]) for row in facts.labels if row[2] is not None}):
            snak = build.item_snak(self._id(INSTANCE_OF), self.numbers[class_])
            yield build.statement(self.numbers[name], (name, class_), snak)

    def _relations(self, name: str, rows: Iterable[Row]) -> Iterator[build.Statement]:
        groups: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in rows:
            relationship, _, object_, property_, *_ = row
            target = iri(object_)
            for key in self._properties(row):
                groups[key, target, iri(relationship)].append(row)
            if property_ is None:
                generic = RELATED_TO.key(self.minter)
                groups[generic, target, iri(relationship)].append(row)
        order = sorted(groups, key=lambda k: (number(self.numbers[k[1]]), k[2], k[0]))
        for key, target, relationship in order:
            yield self._relation(name, key, target, relationship, groups[key, target, relationship])

    def _properties(self, row: Row) -> Iterator[str]:
        """Keys of typed properties that say what a statement says."""
        if row[3] is not None:
            yield iri(row[3])
        elif row[4] is not None:
            canonical = canonical_phrase(row[4].value)
            if canonical in self.survey.phrases:
                yield phrase_key(self.minter, canonical)

    def _relation(
        self, name: str, key: str, target: str, relationship: str, rows: list[Row]
    ) -> build.Statement:
        qualifiers: list[build.Snak] = []
        references = []
        for _, _, _, property_, phrase, text, confidence, document in sorted(rows, key=str):
            if text is not None:
                qualifiers.append(_text_snak(self._id(TEXT), text))
            if phrase is not None and property_ is None:
                qualifiers.append(_text_snak(self._id(PHRASE), phrase))
            if confidence is not None:
                qualifiers.append(build.quantity_snak(self._id(CONFIDENCE), confidence.value))
            if document is not None and iri(document) != name:
                references.append(self._reference(iri(document)))
        snak = build.item_snak(self.numbers[key], self.numbers[target])
        return build.statement(
            self.numbers[name], (relationship, name, target), snak, qualifiers, references
        )

    def _reference(self, document: str) -> dict[str, Any]:
        source = self.numbers[self.survey.documents[document]]
        return build.reference(
            [
                build.item_snak(self._id(STATED_IN), source),
                build.string_snak(self._id(DOCUMENT), document, "url"),
            ]
        )

    def _unlike_others(
        self, name: str, labels: dict[str, str], descriptions: build.Texts
    ) -> build.Texts:
        """A Wikibase takes no two items of one label and description: then the id is added."""
        for language, held in descriptions.items():
            key = hash((language, labels.get(language), held["value"]))
            if language in labels and key in self._described:
                mark = f" ({self.numbers[name]})"
                held["value"] = held["value"][: build.TEXT_LIMIT - len(mark)] + mark
            self._described.add(key)
        return descriptions


def _text_snak(property_id: str, text: Literal) -> build.Snak:
    return build.text_snak(property_id, text.value, text.language or "")


def _names(facts: Facts) -> tuple[dict[str, str], dict[str, Any]]:
    """Labels, one a language, and aliases: all other names."""
    labels: dict[str, str] = {}
    for name in sorted({row[1] for row in facts.labels if row[1] is not None}, key=str):
        labels.setdefault(name.language or NO_LANGUAGE, name.value)
    aliases: defaultdict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for name in sorted(set(facts.names), key=str):
        language = name.language or NO_LANGUAGE
        held = build.text(name.value, language)
        if held["value"] and held["value"] != " ".join(labels.get(language, "").split()):
            aliases[language][held["value"]] = held
    return labels, {language: list(aliases[language].values()) for language in sorted(aliases)}


def _descriptions(facts: Facts) -> dict[str, str]:
    """The shortest description of each language; in English the class goes before it."""
    made: dict[str, str] = {}
    for text in sorted(set(facts.descriptions), key=lambda t: (len(t.value), str(t))):
        made.setdefault(text.language or NO_LANGUAGE, text.value)
    classes = sorted({iri(row[2]) for row in facts.labels if row[2] is not None})
    words = ", ".join(CLASS_LABELS[class_] for class_ in classes if class_ in CLASS_LABELS)
    if words:
        made["en"] = f"{words}: {made['en']}" if "en" in made else words
    return made


def _tail(name: str) -> str:
    """The end of an IRI, to be read by people."""
    return unquote(name.rstrip("/#").rpartition("#")[2].rpartition("/")[2]) or name
