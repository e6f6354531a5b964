"""The n-hop neighbourhood of the seeds, hop by hop (paper 5.4)."""

from __future__ import annotations

import numpy as np

from sarag_rdf.network.edges import Rows
from sarag_rdf.network.traversal import Traversal

MAX_ENTITIES = 50_000
"""Where a neighbourhood stops growing: whole hops are taken until it is this large."""


def neighbourhood(
    traversal: Traversal, seeds: Rows, n: int, *, max_entities: int = MAX_ENTITIES
) -> dict[int, int]:
    """Entities within n hops over related_to, both ways, with their distance from a seed.

    Entities go by row. What is linked as the same is no hop away.
    """
    frontier = _with_same(traversal, np.unique(seeds))
    hops = dict.fromkeys(frontier.tolist(), 0)
    inside = frontier
    for hop in range(1, n + 1):
        if not len(frontier) or len(hops) >= max_entities:
            break
        found = _with_same(traversal, traversal.neighbours_of(frontier))
        frontier = np.setdiff1d(found, inside, assume_unique=True)
        inside = np.union1d(inside, frontier)
        hops |= dict.fromkeys(frontier.tolist(), hop)
    return hops


def _with_same(traversal: Traversal, entities: Rows) -> Rows:
    return np.union1d(entities, traversal.same_as(entities)[:, 1])


def relationships_among(traversal: Traversal, entities: Rows) -> Rows:
    """(relationship, subject, object), by row, for those with both ends among the entities."""
    found = traversal.relationships_from(entities)
    return found[np.isin(found[:, 2], entities)]
