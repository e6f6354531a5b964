"""The properties of an export as entity documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyoxigraph import Literal

from sarag_rdf.base.iris import Minter
from sarag_rdf.plugins.wikibase import model
from sarag_rdf.plugins.wikibase.contents import ExportContents
from sarag_rdf.plugins.wikibase.numbers import WikibaseIds, number
from sarag_rdf.plugins.wikibase.ontology import ITEM, Ontologies, TypedProperty
from sarag_rdf.plugins.wikibase.own_properties import (
    CLOSE_MATCH,
    DOMAIN,
    EQUIVALENT_PROPERTY,
    EXACT_MATCH,
    RANGE,
    OwnProperty,
    phrase_key,
)
from sarag_rdf.plugins.wikibase.vocabulary import PREDICATES, WIKIDATA

_WIKIDATA_PROPERTY = re.compile(re.escape(WIKIDATA) + r"(P[1-9]\d*)")


@dataclass(frozen=True, slots=True)
class PropertyBuilder:
    """Builds the content of all properties, with unique labels."""

    minter: Minter
    contents: ExportContents
    numbers: WikibaseIds

    def properties(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(id, content) by number; ids are added to equal labels, which Wikibase does not allow."""
        contents: dict[str, dict[str, Any]] = {}
        for own in self.contents.own_properties:
            contents[own.key(self.minter)] = self._own_property(own)
        for name, label in self.contents.properties.items():
            contents[name] = self._relation_property(name, label, target=name)
        for canonical, label in self.contents.phrases.items():
            name = phrase_key(self.minter, canonical)
            contents[name] = self._relation_property(name, label)
        for name, typed in self.contents.typed.items():
            contents[name] = self._typed_property(name, typed)
        used_labels: set[tuple[str, str]] = set()
        for name in sorted(contents, key=lambda name: number(self.numbers[name])):
            id_, content = self.numbers[name], contents[name]
            for language, label in content["labels"].items():
                if (language, label["value"]) in used_labels:
                    label["value"] = f"{label['value'][: model.TEXT_LIMIT - len(id_) - 3]} ({id_})"
                used_labels.add((language, label["value"]))
            yield id_, content

    def _own_property(self, own: OwnProperty) -> dict[str, Any]:
        key = own.key(self.minter)
        targets = [own.term.value] if own.term else []
        return {
            "datatype": own.datatype,
            "labels": model.texts({"en": own.label}),
            "descriptions": model.texts({"en": own.description}),
            "claims": model.claims(self._urls(key, EXACT_MATCH, targets)),
        }

    def _relation_property(
        self, key: str, label: Literal | None, *, target: str = ""
    ) -> dict[str, Any]:
        """A property of an imported graph, or of a frequent phrase."""
        words = {} if label is None else {label.language or model.NO_LANGUAGE: label.value}
        words = words or {model.NO_LANGUAGE: target.rpartition("/")[2].rpartition("#")[2]}
        about = (
            f"property {target}" if target else f"relationship in these words ({self.numbers[key]})"
        )
        return {
            "datatype": ITEM,
            "labels": model.texts(words),
            "descriptions": model.texts({"en": about}),
            "claims": model.claims(self._urls(key, EXACT_MATCH, [target] if target else [])),
        }

    def _typed_property(self, key: str, typed: TypedProperty) -> dict[str, Any]:
        """A property of an ontology, with its domain, range, and equal properties."""
        ontologies = self.contents.ontologies
        labels = ontologies.labels(typed.iri)
        descriptions = {"en": f"property {typed.iri}", **ontologies.descriptions(typed.iri)}
        if not ontologies.is_declared(typed):
            labels = {code: f"{label} ({typed.datatype})" for code, label in labels.items()}
        claims = self._urls(key, EXACT_MATCH, [typed.iri])
        equal = [other for other, _ in equal_predicates(ontologies, typed)]
        claims += self._urls(key, EQUIVALENT_PROPERTY, equal)
        claims += self._urls(key, CLOSE_MATCH, ontologies.close_terms(typed.iri))
        claims += self._items(key, DOMAIN, ontologies.domains(typed.iri))
        if typed.datatype == ITEM:
            claims += self._items(key, RANGE, ontologies.ranges(typed.iri))
        return {
            "datatype": typed.datatype,
            "labels": model.texts(labels),
            "descriptions": model.texts(descriptions),
            "aliases": model.aliases(labels, ontologies.aliases(typed.iri)),
            "claims": model.claims(claims),
        }

    def _urls(self, key: str, own: OwnProperty, targets: list[str]) -> list[model.Statement]:
        same = self.numbers[own.key(self.minter)] if targets else ""
        return [
            model.statement(
                self.numbers[key], (key, target), model.string_snak(same, target, "url")
            )
            for target in targets
        ]

    def _items(self, key: str, own: OwnProperty, targets: tuple[str, ...]) -> list[model.Statement]:
        property_id = self.numbers[own.key(self.minter)] if targets else ""
        return [
            model.statement(
                self.numbers[key],
                (key, target),
                model.item_snak(property_id, self.numbers[target]),
            )
            for target in targets
        ]


def equal_predicates(ontologies: Ontologies, typed: TypedProperty) -> list[tuple[str, str]]:
    """Properties that ontologies declare equal, each with the predicate of its triples.

    A property of Wikidata has direct values with the predicate ``wdt:``. Values of another datatype
    than the ontology declares do not belong to the equal properties.
    """
    if not ontologies.is_declared(typed):
        return []
    return [(other, _predicate(other)) for other in ontologies.equal_properties(typed.iri)]


def _predicate(property_: str) -> str:
    match = _WIKIDATA_PROPERTY.fullmatch(property_)
    base = WIKIDATA.removesuffix("entity/") + PREDICATES["wdt"]
    return base + match[1] if match else property_
