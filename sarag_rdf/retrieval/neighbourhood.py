"""The n-hop neighbourhood of the seeds, hop by hop (SA-RAG, arXiv 2512.15922, section 5.4)."""

from __future__ import annotations

import numpy as np

from sarag_rdf.base.arrays import Rows
from sarag_rdf.retrieval.network.network import Network

MAX_ENTITIES = 50_000
"""The size from which a neighbourhood is not extended by a further hop."""


def neighbourhood(
    network: Network, seeds: Rows, n: int, *, max_entities: int = MAX_ENTITIES
) -> dict[int, int]:
    """Entities within n hops over relationships, both ways, with their distance from a seed.

    Entities are rows. An identity is no hop: both its ends have the same distance.
    """
    frontier = network.with_identical(np.unique(seeds))
    hops = dict.fromkeys(frontier.tolist(), 0)
    inside = frontier
    for hop in range(1, n + 1):
        if not len(frontier) or len(hops) >= max_entities:
            break
        reached = network.with_identical(network.neighbours(frontier))
        frontier = np.setdiff1d(reached, inside, assume_unique=True)
        inside = np.union1d(inside, frontier)
        hops |= dict.fromkeys(frontier.tolist(), hop)
    return hops
