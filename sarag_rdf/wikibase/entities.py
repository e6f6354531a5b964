"""A knowledge graph as entity documents: properties, then items, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.graph.rows import BATCH, GraphReader
from sarag_rdf.terms import iri
from sarag_rdf.vocab import OWL, RDFS
from sarag_rdf.wikibase import build
from sarag_rdf.wikibase.items import NO_LANGUAGE, Facts, Items
from sarag_rdf.wikibase.model import Entity
from sarag_rdf.wikibase.numbers import Numbers, number
from sarag_rdf.wikibase.own_properties import (
    EXACT_MATCH,
    OWN_PROPERTIES,
    RELATED_TO,
    OwnProperty,
    phrase_key,
)
from sarag_rdf.wikibase.survey import Survey, links_of
from sarag_rdf.wikibase.vocabulary import Vocabulary

_NEVER = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Export:
    """A graph that is ready to be written; `added` are numbers that its table does not have yet.

    `page` is the revision that every document bears, the number of runs of the indexer, and when
    the last of them ended.
    """

    reader: GraphReader
    survey: Survey
    numbers: Numbers
    added: tuple[tuple[str, str], ...]
    page: tuple[int, str]

    def entities(self) -> Iterator[Entity]:
        """Every document, made a batch at a time; may be called again."""
        yield from self._properties()
        items = Items(self.reader.minter, self.survey, self.numbers, links_of(self.reader))
        names = iter(sorted(self.items(), key=lambda name: number(self.numbers[name])))
        while batch := list(islice(names, BATCH)):
            facts = self._facts(batch)
            for name in batch:
                held = items.item(name, facts[name])
                yield Entity(build.entity(self.numbers[name], self.page, held))

    def items(self) -> set[str]:
        """IRIs of all that is an item."""
        return {*self.survey.entities, *self.survey.classes, *self.survey.sources}

    def _facts(self, batch: list[str]) -> dict[str, Facts]:
        facts = {name: Facts() for name in batch}
        for row in self.reader.rows_for("entity-labels", batch):
            facts[iri(row[0])].labels.append(row)
        for entity, name in self.reader.rows_for("entity-names", batch):
            facts[iri(entity)].names.append(name)
        for entity, text in self.reader.rows_for("entity-descriptions", batch):
            facts[iri(entity)].descriptions.append(text)
        for row in self.reader.rows_for("statements", batch):
            facts[iri(row[1])].statements.append(row)
        return facts

    def _properties(self) -> Iterator[Entity]:
        """A Wikibase takes no two properties of one label: then the id is added."""
        minter = self.reader.minter
        made: dict[str, dict[str, Any]] = {}
        for own in OWN_PROPERTIES:
            made[own.key(minter)] = self._own(own)
        for name, label in self.survey.properties.items():
            made[name] = self._typed(name, label, target=name)
        for canonical, label in self.survey.phrases.items():
            name = phrase_key(minter, canonical)
            made[name] = self._typed(name, label)
        taken: set[tuple[str, str]] = set()
        for name in sorted(made, key=lambda name: number(self.numbers[name])):
            id_, held = self.numbers[name], made[name]
            for language, label in held["labels"].items():
                if (language, label["value"]) in taken:
                    label["value"] = f"{label['value'][: build.TEXT_LIMIT - len(id_) - 3]} ({id_})"
                taken.add((language, label["value"]))
            yield Entity(build.entity(id_, self.page, held))

    def _own(self, own: OwnProperty) -> dict[str, Any]:
        key = own.key(self.reader.minter)
        return {
            "datatype": own.datatype,
            "labels": build.texts({"en": own.label}),
            "descriptions": build.texts({"en": own.description}),
            "claims": self._match(key, own.term.value if own.term else ""),
        }

    def _typed(self, key: str, label: Literal | None, *, target: str = "") -> dict[str, Any]:
        """A property of an imported graph, or of a phrase that recurs."""
        words = {} if label is None else {label.language or NO_LANGUAGE: label.value}
        words = words or {NO_LANGUAGE: target.rpartition("/")[2].rpartition("#")[2]}
        about = (
            f"property {target}" if target else f"relationship in these words ({self.numbers[key]})"
        )
        return {
            "datatype": "wikibase-item",
            "labels": build.texts(words),
            "descriptions": build.texts({"en": about}),
            "claims": self._match(key, target),
        }

    def _match(self, key: str, target: str) -> dict[str, Any]:
        if not target:
            return {}
        same = self.numbers[EXACT_MATCH.key(self.reader.minter)]
        snak = build.string_snak(same, target, "url")
        return build.claims([build.statement(self.numbers[key], (key, target), snak)])


def prepare(reader: GraphReader, found: Survey) -> Export:
    """Number what has no number yet of what was found in a graph (`survey`).

    What is in `added` must be written (`write_numbers`) before anything is exported.
    """
    numbers, minter = Numbers.read(reader), reader.minter
    added = numbers.add("P", [own.key(minter) for own in OWN_PROPERTIES])
    added += numbers.add("P", sorted(found.properties))
    added += numbers.add("P", [phrase_key(minter, canonical) for canonical in found.phrases])
    for group in (found.classes, found.sources, found.entities):
        added += numbers.add("Q", sorted(group))
    ((runs, ended),) = reader.kept("last-run")
    page = (max(1, int(runs.value)), ended.value if ended is not None else _NEVER)
    return Export(reader, found, numbers, tuple(added), page)


def equivalences(export: Export, vocabulary: Vocabulary) -> Iterator[Triple]:
    """What the exported properties mean elsewhere; a Wikibase itself has no place for it."""
    minter, numbers = export.reader.minter, export.numbers
    for own in OWN_PROPERTIES:
        if own.term is not None:
            id_ = numbers[own.key(minter)]
            yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, own.term)
            if own.predicate:
                predicate = vocabulary.predicate(own.predicate, id_)
                yield Triple(predicate, OWL.equivalentProperty, own.term)
    for name in sorted(export.survey.properties):
        id_, term = numbers[name], NamedNode(name)
        yield Triple(vocabulary.thing(id_), OWL.equivalentProperty, term)
        yield Triple(vocabulary.predicate("wdt", id_), OWL.equivalentProperty, term)
    related = vocabulary.predicate("wdt", numbers[RELATED_TO.key(minter)])
    for canonical in export.survey.phrases:
        typed = vocabulary.predicate("wdt", numbers[phrase_key(minter, canonical)])
        yield Triple(typed, RDFS.subPropertyOf, related)
