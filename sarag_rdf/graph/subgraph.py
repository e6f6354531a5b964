"""The n-hop neighbourhood of the seeds, fetched hop by hop with a property path (paper 5.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sarag_rdf.graph.rows import GraphReader

MAX_ENTITIES = 50_000
"""Where a neighbourhood stops growing: whole hops are taken until it is this large."""


def neighbourhood(
    reader: GraphReader,
    seeds: Iterable[str],
    n: int,
    *,
    max_entities: int = MAX_ENTITIES,
    same: Mapping[str, set[str]] | None = None,
) -> dict[str, int]:
    """Entities within n hops over related_to, both ways, with their distance from a seed.

    One query a hop: a path of depth n in one query would enumerate every walk. What is linked as
    the same (`identities`, read if they are not given) is no hop away.
    """
    same = identities(reader) if same is None else same
    hops = dict.fromkeys(_with_same(set(seeds), same), 0)
    frontier = set(hops)
    for hop in range(1, n + 1):
        if not frontier or len(hops) >= max_entities:
            break
        found = {neighbour.value for _, neighbour in reader.rows_for("neighbours", frontier)}
        frontier = _with_same(found, same) - hops.keys()
        hops |= dict.fromkeys(sorted(frontier), hop)
    return hops


def identities(reader: GraphReader) -> dict[str, set[str]]:
    """Entity -> those of other graphs that it is linked with as the same, both ways."""
    same: defaultdict[str, set[str]] = defaultdict(set)
    for one, other, _ in reader.rows("identities"):
        same[one.value].add(other.value)
        same[other.value].add(one.value)
    return dict(same)


def _with_same(entities: set[str], same: Mapping[str, set[str]]) -> set[str]:
    return entities.union(*(same.get(entity, ()) for entity in entities))


def relationships_among(
    reader: GraphReader, entities: Iterable[str]
) -> Iterator[tuple[str, str, str]]:
    """(relationship, subject, object) for the relationships with both ends among the entities."""
    inside = set(entities)
    for relationship, subject, object_ in reader.rows_for("links", inside):
        if object_.value in inside:
            yield relationship.value, subject.value, object_.value
