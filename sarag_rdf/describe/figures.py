"""Counts of a graph for VoID, taken while its triples go by in order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

import pyoxigraph as ox

from sarag_rdf.vocab import RDF, SARAG

_EXAMPLES = 3


@dataclass(slots=True)
class Partition:
    """Of one class or property: its triples, or of a class its instances; distinct ends."""

    triples: int = 0
    subjects: int = 0
    objects: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Figures:
    """Counts of distinct triples; `examples` are the entities with the most links."""

    triples: int = 0
    subjects: int = 0
    entities: int = 0
    objects: set[bytes] = field(default_factory=set)
    properties: dict[str, Partition] = field(default_factory=dict)
    classes: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


def count(triples: Iterable[ox.Triple]) -> Figures:
    """Count triples that come sorted by subject, each once."""
    figures = Figures()
    best: list[tuple[int, str]] = []
    for subject, group in groupby(triples, key=lambda triple: triple.subject):
        listed = list(group)
        figures.subjects += 1
        figures.triples += len(listed)
        links = _count_subject(figures, listed)
        if links is not None:
            figures.entities += 1
            best = sorted([*best, (-links, str(subject)[1:-1])])[:_EXAMPLES]
    figures.examples = [name for _, name in best]
    return figures


def _count_subject(figures: Figures, triples: Iterable[ox.Triple]) -> int | None:
    """Count what is said of one subject; how many links it has if it is an entity."""
    seen: set[str] = set()
    links, entity = 0, False
    for triple in triples:
        name, mark = triple.predicate.value, _mark(triple.object)
        partition = figures.properties.setdefault(name, Partition())
        partition.triples += 1
        partition.subjects += name not in seen
        partition.objects.add(mark)
        seen.add(name)
        figures.objects.add(mark)
        links += triple.predicate == SARAG.relatedTo
        if triple.predicate == RDF.type and isinstance(triple.object, ox.NamedNode):
            figures.classes[triple.object.value] += 1
            entity = entity or triple.object == SARAG.Entity
    return links if entity else None


def _mark(term: object) -> bytes:
    """Stands for a term, in little room."""
    return hashlib.blake2b(str(term).encode("utf-8", "surrogatepass"), digest_size=12).digest()
