"""The n-hop neighbourhood of the seeds, hop by hop (SA-RAG, arXiv 2512.15922, section 5.4)."""

from __future__ import annotations

import numpy as np

from sarag_rdf.retrieval.network.edges import Edges, Rows
from sarag_rdf.retrieval.network.kinds import RELATED_TO
from sarag_rdf.retrieval.network.traversal import Traversal

MAX_ENTITIES = 50_000
"""The size from which a neighbourhood is not extended by a further hop."""


def neighbourhood(
    traversal: Traversal, seeds: Rows, n: int, *, max_entities: int = MAX_ENTITIES
) -> dict[int, int]:
    """Entities within n hops over relationships, both ways, with their distance from a seed.

    Entities are rows. An identity is no hop: both its ends have the same distance.
    """
    frontier = _with_identical(traversal, np.unique(seeds))
    hops = dict.fromkeys(frontier.tolist(), 0)
    inside = frontier
    for hop in range(1, n + 1):
        if not len(frontier) or len(hops) >= max_entities:
            break
        reached = _with_identical(traversal, traversal.neighbours(frontier))
        frontier = np.setdiff1d(reached, inside, assume_unique=True)
        inside = np.union1d(inside, frontier)
        hops |= dict.fromkeys(frontier.tolist(), hop)
    return hops


def identities_of(traversal: Traversal, entities: Rows) -> Edges:
    """The edges of identities that start or end at these entities."""
    kinds = [kind for kind in traversal.kinds if kind.is_identity]
    return Edges.union([Edges.none(), *(traversal.incident(kind, entities) for kind in kinds)])


def _with_identical(traversal: Traversal, entities: Rows) -> Rows:
    edges = identities_of(traversal, entities)
    return np.union1d(entities, np.concatenate((edges.source, edges.target)))


def relationships_among(traversal: Traversal, entities: Rows) -> Edges:
    """The relationships with both ends among these entities."""
    edges = traversal.outgoing(RELATED_TO, entities)
    return edges.take(np.isin(edges.target, entities))
