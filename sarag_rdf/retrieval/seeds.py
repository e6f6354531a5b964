"""Entities that a question names, and those of the k nearest descriptions (paper 5.4)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container
from typing import Final

import numpy as np

from sarag_rdf.base.arrays import find
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import Seed
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.vectors.graph_vectors import GraphVectors
from sarag_rdf.retrieval.network import ABOUT
from sarag_rdf.retrieval.view import GraphView, Names

MARKED: Final = re.compile(r"\[([^\[\]]+)\]")
"""The topic of a question, in brackets."""
_LOOKED_AT: Final = 1000
"""Descriptions that are looked at, if statements are needed."""


def nearest_seeds(
    reader: GraphReader, vectors: GraphVectors, question: Vector, k: int
) -> tuple[Seed, ...]:
    """Seeds of the k nearest descriptions, nearest first, each entity with its nearest one.

    Descriptions of equal text and entities, such as those of overlapping chunks, count as one of
    the k; those of equal text and different entities are as many nodes of the graph as entities.
    """
    index = vectors.index("description")
    requested = k + 1
    while True:
        nearest = index.nearest(question, min(requested, len(index)))
        iris = [iri for iri, _ in nearest]
        texts = {iri: iri for iri in iris}
        for iri, text, _ in sorted(reader.rows_for("description-sources", iris), key=str):
            texts[iri.value] = text.value
        described: defaultdict[str, set[str]] = defaultdict(set)
        for iri, entity in reader.rows_for("described-entities", iris):
            described[iri.value].add(entity.value)
        nodes = {iri: (texts[iri], frozenset(described[iri])) for iri in iris}
        distinct = dict.fromkeys(nodes.values())
        if len(distinct) > k or requested >= len(index):
            break
        requested *= 2
    first = set(list(distinct)[:k])
    seeds: dict[str, Seed] = {}
    for description, similarity in nearest:
        if nodes[description] in first:
            for entity in sorted(described[description]):
                seeds.setdefault(entity, Seed(entity, description, similarity))
    return tuple(seeds.values())


def nearest_entities(
    reader: GraphReader,
    vectors: GraphVectors,
    question: Vector,
    count: int,
    *,
    with_statements: bool = False,
    inverse: bool = False,
) -> tuple[Seed, ...]:
    """The `count` entities with the nearest descriptions, or all if there are fewer.

    `with_statements` leaves out those without a statement to another entity, or with `inverse` from
    one; for these, at most `_LOOKED_AT` descriptions are looked at, or `count` if that is more.
    """
    columns = {"links": 1, "links-to": 2} if inverse else {"links": 1}
    size, k = len(vectors.index("description")), count
    size = min(size, max(count, _LOOKED_AT)) if with_statements else size
    while True:
        seeds = nearest_seeds(reader, vectors, question, min(k, size))
        if with_statements:
            entities = [seed.node for seed in seeds]
            starts = {
                row[column].value
                for query, column in columns.items()
                for row in reader.rows_for(query, entities)
                if row[1] != row[2]
            }
            seeds = tuple(seed for seed in seeds if seed.node in starts)
        if len(seeds) >= count or k >= size:
            return seeds[:count]
        k *= 4


class Topics:
    """The set of all topics of documents; an entity is looked up when its membership is tested."""

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def __contains__(self, entity: object) -> bool:
        row = find(self._view.iris.entities, str(entity))
        return row >= 0 and len(self._view.network.incoming(ABOUT, np.array([row]))) > 0


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
    """Entities whose name is in the question, with activation in (0, 1]: see `named_spans`."""
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
