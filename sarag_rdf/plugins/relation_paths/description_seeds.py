"""The entities of the k nearest descriptions (SA-RAG, arXiv 2512.15922, section 5.4)."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import Seed
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.vectors.graph_vectors import GraphVectors

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
