"""Which entities, links and documents of a retrieval a picture shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sarag_rdf.types import ActivatedEntity, Link, RankedDocument, Retrieved

Kind = Literal["seed", "activated", "dormant"]
"""A dormant entity was fetched with the subgraph, but not activated."""
KINDS: tuple[Kind, ...] = ("seed", "activated", "dormant")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two linked entities, by their place among the picked; `carried` as in `picture_layout`."""

    origin: int
    target: int
    relations: tuple[Link, ...]
    carried: bool


@dataclass(frozen=True, slots=True)
class Picked:
    """What is drawn; `owners` aligns with `documents`, None where the entity is not drawn."""

    entities: list[ActivatedEntity]
    documents: list[RankedDocument]
    pairs: list[Pair]
    owners: list[int | None]


def kind_of(entity: ActivatedEntity) -> Kind:
    """Say how an entity is drawn; a seed is drawn as a seed whatever its activation is."""
    return "seed" if entity.is_seed else "activated" if entity.is_activated else "dormant"


def pick(retrieved: Retrieved, max_nodes: int, max_documents: int) -> Picked:
    """Take seeds, entities that led to a taken document, activated ones, then their neighbours."""
    documents = sorted(retrieved.documents, key=lambda d: (d.rank, d.document.iri))
    documents = documents[:max_documents]
    known = {entity.iri: entity for entity in retrieved.entities}
    leading = {
        iri
        for document in documents
        if (entity := known.get(document.entity))
        for iri in (entity.iri, *(step.origin for step in entity.chain))
    }
    entities = _entities(retrieved, leading)[:max_nodes]
    index = {entity.iri: i for i, entity in enumerate(entities)}
    strong = [e for e in entities if kind_of(e) != "dormant" or e.iri in leading]
    pairs = _pairs(retrieved, strong, index)
    return Picked(entities, documents, pairs, [index.get(d.entity) for d in documents])


def _entities(retrieved: Retrieved, leading: set[str]) -> list[ActivatedEntity]:
    entities = {entity.iri: entity for entity in retrieved.entities}
    active = {e.iri for e in entities.values() if kind_of(e) != "dormant"} | leading
    strength: dict[str, float] = {}
    for link in retrieved.subgraph.links:
        for end, other in ((link.subject, link.object), (link.object, link.subject)):
            if other in active:
                strength[end] = max(strength.get(end, 0.0), link.weight)

    def order(e: ActivatedEntity) -> tuple[int, float, float, str]:
        group = 0 if e.is_seed else 1 if e.iri in leading else 2 if e.is_activated else 3
        return group, -e.activation, -strength.get(e.iri, 0.0), e.iri

    wanted = (e for e in entities.values() if e.iri in active or e.iri in strength)
    return sorted(wanted, key=order)


def _pairs(
    retrieved: Retrieved, strong: Sequence[ActivatedEntity], index: dict[str, int]
) -> list[Pair]:
    relations: dict[frozenset[int], list[Link]] = {}
    for link in retrieved.subgraph.links:
        if link.subject != link.object and link.subject in index and link.object in index:
            pair = frozenset((index[link.subject], index[link.object]))
            relations.setdefault(pair, []).append(link)
    steps = sorted({(s.round, s.origin, s.target) for e in strong for s in e.chain})
    arrows: dict[frozenset[int], tuple[int, int]] = {}
    for _, origin, target in steps:
        if origin != target and origin in index and target in index:
            ends = index[origin], index[target]
            arrows.setdefault(frozenset(ends), ends)
    pairs = []
    for pair in sorted({*relations, *arrows}, key=sorted):
        first, second = arrows.get(pair) or sorted(pair)
        found = sorted(relations.get(pair, ()), key=lambda k: (-k.weight, k.relationship))
        pairs.append(Pair(first, second, tuple(found), pair in arrows))
    return pairs
