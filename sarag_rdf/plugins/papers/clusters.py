"""The merge rules ``cluster`` and ``shared-alias``: entities with similar names, or equal ones.

DotRAG (section A.5) compares all pairs of entities, and clusters them greedily by cosine. Here no
matrix of all pairs is made: a vector index gives the neighbours of one entity at a time. The
members of a cluster are near to one entity, its centre, and not only to each other. Shared aliases
are those of the SA-RAG paper (section 5.3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

from sarag_rdf.base.vocab import SEMAPV
from sarag_rdf.building.merge_rules import MergeContext, MergeRule, Nearest, proposal
from sarag_rdf.graph.records import Match

SHARED, CHAINED = 0.7, 0.4
"""Confidence in a shared alias, and in a chain of them."""


def clusters(
    entities: Iterable[str], nearest: Nearest, least: float
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Each centre with the members of its cluster and their cosines with it, nearest first.

    Entities become centres in their order, unless they are in a cluster already; those nearer to
    a centre than `least` and in no cluster join it. Memory is that of one list of neighbours.
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


def _propose_shared_alias(context: MergeContext) -> Iterator[Match]:
    """Entities of which one has a name or alias of the other, and those of which this leads on.

    With N(e) the names and aliases of an entity, e and f are one if N(e) and N(f) overlap, or if a
    chain of overlaps leads from e to f: what comes of adding entities one by one to those with
    which their names overlap (SA-RAG paper, section 5.3), whatever their order. Each group has one
    target, so that it is merged as a whole.
    """
    import networkx as nx

    features = context.features
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for entity in sorted(features.names):
        for name in features.every_name[entity] - {""}:
            owners[name].append(entity)
    sharing = nx.Graph()
    sharing.add_nodes_from(features.names)
    sharing.add_edges_from(chain.from_iterable(map(pairwise, owners.values())))
    for members in nx.connected_components(sharing):
        target = min(
            members,
            key=lambda e: (
                *(e not in context.targets, e in context.merged),
                *(-len(features.texts[e]), -len(features.names[e]), e),
            ),
        )
        for duplicate in sorted(members - {target}):
            overlap = features.every_name[target] & features.every_name[duplicate]
            confidence = SHARED if overlap else CHAINED
            yield proposal(target, duplicate, SEMAPV.LexicalMatching, confidence)


CLUSTER = MergeRule(_propose_cluster, needs_review=True)
SHARED_ALIAS = MergeRule(_propose_shared_alias)
