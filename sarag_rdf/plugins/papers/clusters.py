"""The merge rule ``cluster``: entities whose names have similar embeddings, in clusters.

DotRAG (section A.5) compares all pairs of entities, and clusters them greedily by cosine. Here no
matrix of all pairs is made: a vector index gives the neighbours of one entity at a time. The
members of a cluster are near to one entity, its centre, and not only to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sarag_rdf.base.vocab import SEMAPV
from sarag_rdf.building.merge_rules import MergeContext, MergeRule, Nearest, proposal
from sarag_rdf.graph.records import Match


def clusters(
    entities: Iterable[str], nearest: Nearest, least: float
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Each centre with the members of its cluster and their cosines with it, nearest first.

    Entities become centres in their order; those nearer than `least` and in no cluster join it.
    """
    order = list(entities)
    known, joined = set(order), set()
    for centre in order:
        if centre in joined:
            continue
        joined.add(centre)
        members = [
            (other, cosine)
            for other, cosine in nearest(centre, least)
            if other in known and other not in joined
        ]
        joined |= {other for other, _ in members}
        if members:
            yield centre, sorted(members, key=lambda member: (-member[1], member[0]))


def _propose_cluster(context: MergeContext) -> Iterator[Match]:
    """The members of each cluster with its most described entity, unless their numbers differ."""
    features = context.features
    order = sorted(
        features.names, key=lambda e: (-len(features.texts[e]), -len(features.names[e]), e)
    )
    for centre, members in clusters(order, context.nearest, context.minimum_cosine):
        numbers = _numbers(features.names[centre])
        for member, cosine in members:
            if _numbers(features.names[member]) != numbers:
                continue
            justification = SEMAPV.SemanticSimilarityThresholdMatching
            yield proposal(centre, member, justification, min(1.0, round(cosine, 4)))


def _numbers(name: str) -> list[str]:
    return sorted(word for word in name.split() if any(map(str.isdigit, word)))


CLUSTER = MergeRule(_propose_cluster, needs_review=True)
