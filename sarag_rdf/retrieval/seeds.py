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
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES
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


class ProperNames:
    """The entities that a name without capitals stands for, each looked up when it is tested.

    Such a name is rarely a common word: documents write it as several words with capitals, or those
    that describe the entity are not few among all that contain the rarest word of its name.
    """

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def __contains__(self, entity: object) -> bool:
        row = np.array([find(self._view.iris.entities, str(entity))])
        label, _ = self._view.labels([str(entity)]).get(str(entity), ("", ""))
        if row[0] < 0 or not label:
            return False
        words = label.split()
        if len(words) > 1 and all(word[0].isupper() or len(word) <= _SHORT for word in words):
            return True
        described = len(self._view.network.incoming(DESCRIBES, row))
        is_topic = len(self._view.network.incoming(ABOUT, row)) > 0
        rarest = min(
            map(self._view.words.frequency, re.findall(r"\w+", label.casefold())), default=0
        )
        return described >= rarest * (_OF_TOPIC if is_topic else _OF_OTHER) > 0.0


_OF_TOPIC, _OF_OTHER = 0.05, 0.5
"""The least share of the documents with a word that describe what the word is a name of."""
_SHORT = 3
"""The letters of the longest words without a capital within a name, such as "of"."""
_WORD = re.compile(r"\S+")
LONGEST = 12
"""The number of words of the longest name."""
NO_NAMES = frozenset(
    "who whom whose what which when where why how is are was were do does did has have had can "
    "could in on at of to for from by with the a an".split()
)
"""Words at the beginning of questions, which are not names by themselves."""


Span = tuple[int, int]
"""The offsets of the begin and end of words in a question."""
NamedSpan = tuple[Span, dict[str, float]]
"""A name in a question, and its entities with their shares in (0, 1]."""


def named_spans(
    names: Names, question: str, topics: Container[str] = frozenset()
) -> list[NamedSpan]:
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
    for length in range(min(LONGEST, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            is_common = not any(marked[first : first + length])
            if is_common and not is_plain:
                continue
            name = normalize_name(question[words[first][0] : words[first + length - 1][1]])
            if name and name not in NO_NAMES:
                spans[first, first + length] = name
                if is_common:
                    common.add(name)
    entities = names.entities(common, topics) | names.entities(set(spans.values()) - common)
    matches: list[NamedSpan] = []
    covered: set[int] = set()
    for (begin, end), name in spans.items():
        if name in entities and covered.isdisjoint(range(begin, end)):
            covered |= set(range(begin, end))
            matches.append(((words[begin][0], words[end - 1][1]), entities[name]))
    return matches
