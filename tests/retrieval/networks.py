"""Networks for tests, from pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sarag_rdf.retrieval.network.edges import Edges, Network, Rows
from sarag_rdf.retrieval.network.kinds import ABOUT, DESCRIBES, RELATED_TO, SAME_AS
from sarag_rdf.retrieval.network.spreading import Gate

Pairs = Sequence[tuple[int, int]]


def rows(*values: int) -> Rows:
    return np.array(values, dtype=np.int64)


def network_of(
    documents: Sequence[str],
    entities: Sequence[str],
    relationships: Sequence[str],
    described: Pairs = (),
    topics: Sequence[int] = (),
    ends: Pairs = (),
    identical: Pairs = (),
) -> Network:
    """A network in which each document describes its topics, if it has any (-1 for none).

    `described` are (document, entity), `topics` the entity of each document, `ends` the (subject,
    object) of each relationship, `identical` pairs of entities.
    """
    about = [(document, entity) for document, entity in enumerate(topics) if entity >= 0]
    return Network(
        documents,
        entities,
        relationships,
        {
            DESCRIBES: edges(described),
            ABOUT: edges([pair for pair in about if pair in set(described)]),
            RELATED_TO: edges(ends, statement=list(range(len(ends)))),
            SAME_AS: edges(identical),
        },
        ("p",),
    )


def edges(pairs: Pairs, statement: Sequence[int] | int = -1) -> Edges:
    """Edges between pairs of nodes."""
    return Edges.of([s for s, _ in pairs], [t for _, t in pairs], statement=statement)


def weighted(network: Network, weights: Sequence[float]) -> Network:
    """The network with these weights of relationships."""
    related = network[RELATED_TO]
    table = np.array(weights, dtype=np.float64)
    related = replace(related, weight=table[related.statement])
    return Network(
        network.documents,
        network.entities,
        network.relationships,
        {**network.edges, RELATED_TO: related},
        network.predicates,
    )


def gate_of(weights: Sequence[float]) -> Gate:
    """Weights of relationships from a list."""
    table = np.array(weights, dtype=np.float64)
    return lambda wanted: table[wanted]


def described_pairs(network: Network) -> list[tuple[int, int]]:
    return [(d, e) for d, e in network[DESCRIBES].pairs().tolist()]


def ends_of(network: Network) -> list[tuple[int, int]]:
    """The ends of each relationship, in order."""
    return [(s, o) for s, o in network[RELATED_TO].pairs().tolist()]
