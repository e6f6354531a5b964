"""Entities that a question names, and those of the k nearest descriptions (paper 5.4)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container

import numpy as np

from sarag_rdf.arrays import find
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.vectors import GraphVectors
from sarag_rdf.iris import normalize_name
from sarag_rdf.network.kinds import ABOUT
from sarag_rdf.ports import Vector
from sarag_rdf.retrieve.view import GraphView, Names
from sarag_rdf.types import Seed


def nearest_seeds(
    reader: GraphReader, vectors: GraphVectors, question: Vector, k: int
) -> tuple[Seed, ...]:
    """Seeds of the k nearest texts, by falling similarity, each entity once with its nearest text.

    Descriptions of equal text, such as those of overlapping chunks, count as one of the k.
    """
    index = vectors.index("description")
    requested = k + 1
    while True:
        nearest = index.nearest(question, min(requested, len(index)))
        rows = reader.rows_for("description-sources", [iri for iri, _ in nearest])
        texts = {iri: iri for iri, _ in nearest}
        texts |= {iri.value: text.value for iri, text, _ in sorted(rows, key=str)}
        if len(set(texts.values())) > k or requested >= len(index):
            break
        requested *= 2
    first = set(list(dict.fromkeys(texts[iri] for iri, _ in nearest))[:k])
    nearest = [(iri, similarity) for iri, similarity in nearest if texts[iri] in first]
    described: defaultdict[str, list[str]] = defaultdict(list)
    for text, entity in reader.rows_for("described-entities", [iri for iri, _ in nearest]):
        described[text.value].append(entity.value)
    seeds: dict[str, Seed] = {}
    for description, similarity in nearest:
        for entity in sorted(described[description]):
            seeds.setdefault(entity, Seed(entity, description, similarity))
    return tuple(seeds.values())


def nearest_entities(
    reader: GraphReader, vectors: GraphVectors, question: Vector, count: int
) -> tuple[Seed, ...]:
    """The `count` entities with the nearest descriptions, or all if there are fewer.

    Several of the nearest descriptions may be of one entity, so that more of them are looked at
    until the entities suffice.
    """
    size, k = len(vectors.index("description")), count
    while True:
        seeds = nearest_seeds(reader, vectors, question, min(k, size))
        if len(seeds) >= count or k >= size:
            return seeds[:count]
        k *= 4


class Topics:
    """The set of all topics of documents; an entity is looked up when its membership is tested."""

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def __contains__(self, entity: object) -> bool:
        row = find(self._view.iris.entities, str(entity))
        return row >= 0 and len(self._view.traversal.incoming(ABOUT, np.array([row]))) > 0


_WORD = re.compile(r"\S+")
_LONGEST = 12
"""The number of words of the longest name."""
_NO_NAMES = frozenset(
    "who whom whose what which when where why how is are was were do does did has have had can "
    "could in on at of to for from by with the a an".split()
)
"""Words at the beginning of questions, which are not names by themselves."""


def named_entities(
    names: Names, question: str, topics: Container[str] = frozenset()
) -> dict[str, float]:
    """Entities whose name or alias is in the question, with their activation in (0, 1].

    Several entities of one name share its activation; see `named_spans`.
    """
    named: dict[str, float] = {}
    for _, entities in named_spans(names, question, topics):
        named = entities | named
    return named


def named_spans(
    names: Names, question: str, topics: Container[str] = frozenset()
) -> list[tuple[tuple[int, int], dict[str, float]]]:
    """Where the question names entities, as offsets, the names of most words first.

    The longest names count, not those within another name ('York' in 'New York'). A name needs a
    capital letter or a digit in the question, so that common words do not count; in a question
    without capitals, it must be that of one of the `topics` instead ('coffee', if a document is
    about it). Several entities of one name share its activation.
    """
    words = [match.span() for match in _WORD.finditer(question)]
    spans: dict[tuple[int, int], str] = {}
    is_plain = not any(c.isupper() for c in question[1:])
    marked = [any(c.isupper() or c.isdigit() for c in question[b:e]) for b, e in words]
    common: set[str] = set()
    for length in range(min(_LONGEST, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            is_common = not any(marked[first : first + length])
            if is_common and not is_plain:
                continue
            name = normalize_name(question[words[first][0] : words[first + length - 1][1]])
            if name and name not in _NO_NAMES:
                spans[first, first + length] = name
                if is_common:
                    common.add(name)
    entities = names.entities(common, topics) | names.entities(set(spans.values()) - common)
    matches: list[tuple[tuple[int, int], dict[str, float]]] = []
    covered: set[int] = set()
    for (begin, end), name in spans.items():
        if name in entities and covered.isdisjoint(range(begin, end)):
            covered |= set(range(begin, end))
            matches.append(((words[begin][0], words[end - 1][1]), entities[name]))
    return matches
