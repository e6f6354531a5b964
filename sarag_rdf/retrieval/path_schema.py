"""The hops that a graph has: which property leads from what to what, and what can follow it.

A hop is a property in one direction. Two hops can follow each other if some entity stands both at
the end of the one and at the start of the other. All is read once for a revision of a graph.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

import pyoxigraph as ox

from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.types import PropertyUse
from sarag_rdf.base.vocab import SARAG, text_of
from sarag_rdf.base.vocab import iri as iri_of
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader, Part
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import common_schema, schema_of
from sarag_rdf.graph.parts import LINKS
from sarag_rdf.graph.schema_use import local_words, schema_use, term_reader, used_terms
from sarag_rdf.graph.stored_ontologies import ontology_triples, stored_ontologies
from sarag_rdf.graph.texts import by_language

MOST_PROPERTIES: Final = 300
"""Properties that paths consist of, those with the most statements."""
_WORDING: Final = frozenset((SARAG.forwardPhrase.value, SARAG.inversePhrase.value))
THING: Final = "thing"
"""What stands at an end of which no class is known."""


@dataclass(frozen=True, slots=True, order=True)
class Hop:
    """A property, from its subject to its object, or the other way if it is inverse."""

    predicate: str
    is_inverse: bool = False

    @property
    def start(self) -> str:
        """The end of the property where the hop starts: + and the property is its subject."""
        return ("-" if self.is_inverse else "+") + self.predicate

    @property
    def end(self) -> str:
        """The end of the property where the hop ends."""
        return ("+" if self.is_inverse else "-") + self.predicate

    @property
    def reverse(self) -> Hop:
        """The same property in the other direction."""
        return Hop(self.predicate, not self.is_inverse)


HopSequence = tuple[Hop, ...]


@dataclass(frozen=True)
class PathSchema:
    """The hops of a graph.

    names: a property -> its label. kinds: an end of a property -> what stands there, in a word
    (``movie``). fan_out: a hop -> how many entities it leads to from one, on average. phrases: a
    hop -> its annotated phrases. stated: a hop -> how texts state it. joins: an end -> the ends at
    which the same entities stand.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    fan_out: Mapping[Hop, float] = field(default_factory=dict)
    phrases: Mapping[Hop, tuple[str, ...]] = field(default_factory=dict)
    stated: Mapping[Hop, tuple[str, ...]] = field(default_factory=dict)
    joins: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def hops(self) -> tuple[Hop, ...]:
        """All hops, in order."""
        return tuple(sorted(self.fan_out))

    def kind(self, ends: Iterable[str]) -> str:
        """What stands at these ends, in a word: that of most ends, subjects first; or nothing."""
        known = sorted(end for end in set(ends) if end in self.kinds)
        subject = [self.kinds[end] for end in known if end[0] == "+"]
        either = subject or [self.kinds[end] for end in known]
        return max(either, key=either.count) if either else ""

    def starting(self, ends: Iterable[str]) -> tuple[Hop, ...]:
        """The hops that start at one of these ends."""
        requested = frozenset(ends)
        return tuple(hop for hop in self.hops if hop.start in requested)

    def after(self, hop: Hop) -> tuple[Hop, ...]:
        """The hops that can follow a hop."""
        return self._after[hop]

    @cached_property
    def _after(self) -> dict[Hop, tuple[Hop, ...]]:
        return {hop: self.starting(self.joins.get(hop.end, ())) for hop in self.hops}

    def to_json(self) -> str:
        """The schema as text, which `from_json` reads."""
        return json.dumps(
            {
                "names": dict(self.names),
                "kinds": dict(self.kinds),
                "joins": {end: sorted(others) for end, others in self.joins.items()},
                "hops": [
                    [
                        *(hop.predicate, hop.is_inverse, self.fan_out[hop]),
                        *(self.phrases.get(hop, ()), self.stated.get(hop, ())),
                    ]
                    for hop in self.hops
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> PathSchema:
        """The schema of a text that `to_json` wrote."""
        data = json.loads(text)
        rows = [(Hop(p, inverse), *rest) for p, inverse, *rest in data["hops"]]
        return cls(
            data["names"],
            data["kinds"],
            {hop: fan_out for hop, fan_out, _, _ in rows},
            {hop: tuple(phrases) for hop, _, phrases, _ in rows if phrases},
            {hop: tuple(stated) for hop, _, _, stated in rows if stated},
            {end: frozenset(others) for end, others in data["joins"].items()},
        )


def path_parts(reader: GraphReader) -> tuple[Part, ...]:
    """The parts of a graph that paths lead through."""
    return tuple(p for p in reader.parts if p.name != LINKS and p.store is reader.store)


def followed_ontology(reader: GraphReader) -> Schema:
    """The schema of the stored ontologies, or else of the packaged one."""
    stored = stored_ontologies(reader)
    return schema_of(ontology_triples(reader)) if stored else common_schema()


def read_schema(reader: GraphReader) -> PathSchema:
    """The schema of the parts of a graph; raises a `StoreError`."""
    parts = path_parts(reader)
    ontology = followed_ontology(reader)
    uses: defaultdict[str, list[PropertyUse]] = defaultdict(list)
    joins: defaultdict[str, set[str]] = defaultdict(set)
    for part in parts:
        for use in _properties(reader, part, ontology):
            uses[use.iri].append(use)
        for ends, _ in term_reader(reader, part).rows_for("shared-ends", uses):
            together = ends.value.split()
            for end in together:
                joins[end] |= set(together)
    fan_out: dict[Hop, float] = {}
    for iri, several in uses.items():
        if "+" + iri in joins:
            statements = sum(use.statements for use in several)
            fan_out[Hop(iri)] = statements / max(1, sum(use.subjects for use in several))
            fan_out[Hop(iri, True)] = statements / max(1, sum(use.objects for use in several))
    kinds, classes = _kinds(uses, ontology)
    names = term_names(reader, parts, ontology, {hop.predicate for hop in fan_out} | classes)
    return PathSchema(
        {hop.predicate: names[hop.predicate] for hop in fan_out},
        {end: names[class_].lower() for end, class_ in kinds.items() if end in joins},
        fan_out,
        {hop: texts for hop, texts in _annotated(reader).items() if hop in fan_out},
        {hop: texts for hop, texts in _stated(ontology).items() if texts and hop in fan_out},
        {end: frozenset(others) for end, others in joins.items()},
    )


def used_properties(reader: GraphReader, part: Part, ontology: Schema) -> list[PropertyUse]:
    """The properties of the statements of a part, the most frequent ones first."""
    terms = used_terms(reader, part, ontology.classes, ontology.properties)
    used = (use for _, use in terms if use and use.iri not in _WORDING)
    return sorted(used, key=lambda use: (-use.statements, use.iri))


def _properties(reader: GraphReader, part: Part, ontology: Schema) -> tuple[PropertyUse, ...]:
    """The properties of a part with the classes at their ends, the most frequent ones."""
    used = used_properties(reader, part, ontology)
    iris = [use.iri for use in used[:MOST_PROPERTIES]]
    if not iris and part.name == DOCUMENTS:
        iris = [SARAG.relatedTo.value]
    return schema_use(reader, part.graphs["kg"], (), iris).properties


def _kinds(
    uses: Mapping[str, Sequence[PropertyUse]], ontology: Schema
) -> tuple[dict[str, str], set[str]]:
    """The class at each end of a property: the declared one, or else the most frequent one."""
    kinds: dict[str, str] = {}
    for iri, several in uses.items():
        declared = ontology.properties.get(iri)
        for sign in "+-":
            known = (declared.domains if sign == "+" else declared.ranges) if declared else ()
            counts: Counter[str] = Counter()
            for use in several:
                for term in use.domains if sign == "+" else use.ranges:
                    counts[term.iri] += term.count
            if known:
                kinds[sign + iri] = known[0]
            elif counts:
                kinds[sign + iri] = min(counts, key=lambda class_: (-counts[class_], class_))
    return kinds, set(kinds.values())


def term_names(
    reader: GraphReader, parts: Sequence[Part], ontology: Schema, iris: Iterable[str]
) -> dict[str, str]:
    """IRI -> its label in the ontologies or the graph, or else the words of its local name."""
    requested = sorted(iris)
    labels: defaultdict[str, list[Any]] = defaultdict(list)
    for part in parts:
        for term, label in term_reader(reader, part).rows_for("term-labels", requested):
            labels[term.value].append(label)
    names = {}
    for iri in requested:
        declared = ontology.properties.get(iri) or ontology.classes.get(iri)
        label = declared.label if declared else ""
        if not label and labels[iri]:
            label = min(labels[iri], key=by_language).value
        names[iri] = " ".join((label or local_words(iri)).split())
    return names


def _annotated(reader: GraphReader) -> dict[Hop, tuple[str, ...]]:
    """The phrases that ontologies and graphs bring along, English ones if there are any."""
    phrases_of: defaultdict[Hop, set[Any]] = defaultdict(set)
    for property_, annotation, phrase, _ in reader.select_provenance("path-phrases"):
        phrases_of[Hop(property_.value, annotation == SARAG.inversePhrase)].add(phrase)
    return {
        hop: tuple(" ".join(p.value.split()) for p in sorted(phrases, key=by_language))
        for hop, phrases in phrases_of.items()
    }


@cache
def packaged_phrases() -> dict[Hop, tuple[str, ...]]:
    """The phrases of SKOS and of the packaged ontology, for graphs that bring none."""
    path = ontology_path("phrases.ttl")
    return {
        Hop(iri_of(quad.subject), quad.predicate == SARAG.inversePhrase): (text_of(quad.object),)
        for quad in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE)
    }


def _stated(ontology: Schema) -> dict[Hop, tuple[str, ...]]:
    """How texts state properties, as ontologies say."""
    stated = {}
    for iri, own in ontology.properties.items():
        stated[Hop(iri)] = own.inverse_phrases
        stated[Hop(iri, True)] = own.phrases
    return stated
