"""Which entities, documents and links of a retrieval a picture shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from sarag_rdf.base.types import ActivatedEntity, Link, RankedDocument, Retrieved, Step
from sarag_rdf.base.vocab import SARAG

Kind = Literal["seed", "activated", "dormant"]
"""A dormant entity was fetched with the subgraph, but not activated."""
KINDS: tuple[Kind, ...] = ("seed", "activated", "dormant")

Role = Literal["path", "carried", "plain"]
"""Of a line: activation passed over it on its way to a retrieved document; or to an activated
entity; or it is nothing but a relationship."""
Hop = tuple[str, str]
"""Activation went from one node to the next: IRIs of entities or documents."""
Arrows = dict[tuple[int, int], None]
"""Directions between two nodes, given by their places; in order."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A document to draw: a retrieved one, or else (`ranked` is None) a seed or on a path."""

    iri: str
    title: str
    ranked: RankedDocument | None
    is_seed: bool
    path: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes that are joined, by their place among the picked entities, then documents.

    On a path or where activation was carried it went from `origin` to `target`, or `both` ways.
    """

    origin: int
    target: int
    relations: tuple[Link, ...]
    role: Role
    both: bool = False


@dataclass(frozen=True, slots=True)
class Picked:
    """What is drawn; retrieved documents come before others."""

    entities: list[ActivatedEntity]
    papers: list[Paper]
    pairs: list[Pair]


def kind_of(entity: ActivatedEntity) -> Kind:
    """Say how an entity is drawn; a seed is drawn as a seed whatever its activation is."""
    return "seed" if entity.is_seed else "activated" if entity.is_activated else "dormant"


def hops_of(steps: Iterable[Step]) -> tuple[Hop, ...]:
    """The hops of steps, in their order."""
    return tuple((step.origin, step.target) for step in steps)


def steps_to(document: RankedDocument) -> tuple[Step, ...]:
    """The steps from a seed to a document; empty if no activation came.

    A chain that ends at the entity of the document goes on to the document, which has the
    activation of the entity (sarag-paper).
    """
    chain = document.chain
    iri = document.document.iri
    if not document.entity or (chain and chain[-1].target == iri):
        return chain
    last = Step(
        chain[-1].round + 1 if chain else 1,
        document.entity,
        iri,
        SARAG.describes.value,
        1.0,
        document.activation,
        document.activation,
        "describes",
        "entity",
        "document",
    )
    return (*chain, last)


def _documents_on(document: RankedDocument) -> Iterator[str]:
    """The documents on the way to a document, the last first."""
    return (s.origin for s in reversed(document.chain) if s.origin_type == "document")


def pick(retrieved: Retrieved, max_nodes: int, max_documents: int) -> Picked:
    """Take seeds, entities on paths to documents, activated ones, then their neighbours.

    Documents are the best `max_documents`, and others that are seeds or on the path to one. An
    entity of an imported graph and its page, which have one IRI, are drawn once, as the page.
    """
    papers = _papers(retrieved, max_documents)
    leading = {iri for paper in papers for hop in paper.path for iri in hop}
    pages = {paper.iri for paper in papers}
    entities = [e for e in _entities(retrieved, leading) if e.iri not in pages][:max_nodes]
    nodes = [entity.iri for entity in entities] + [paper.iri for paper in papers]
    index = {iri: position for position, iri in enumerate(nodes)}
    strong = [e for e in entities if kind_of(e) != "dormant" or e.iri in leading]
    return Picked(entities, papers, _pairs(retrieved, papers, strong, index))


def _papers(retrieved: Retrieved, limit: int) -> list[Paper]:
    ranked = sorted(retrieved.documents, key=lambda d: (d.rank, d.document.iri))[:limit]
    seeds = {seed.node: seed.name for seed in retrieved.seeds if seed.node == seed.text}
    papers = {
        d.document.iri: Paper(
            d.document.iri,
            d.document.title or d.document.text[:80],
            d,
            d.document.iri in seeds,
            hops_of(steps_to(d)),
        )
        for d in ranked
    }
    others = dict.fromkeys(iri for d in ranked for iri in _documents_on(d))
    for iri in others | dict.fromkeys(seeds) if ranked else ():
        title = retrieved.names.get(iri) or seeds.get(iri, "")
        papers.setdefault(iri, Paper(iri, title, None, iri in seeds, ()))
    return list(papers.values())


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

    requested = (e for e in entities.values() if e.iri in active or e.iri in strength)
    return sorted(requested, key=order)


def _pairs(
    retrieved: Retrieved,
    papers: Sequence[Paper],
    strong: Sequence[ActivatedEntity],
    index: Mapping[str, int],
) -> list[Pair]:
    relations: dict[frozenset[int], list[Link]] = {}
    for link in retrieved.subgraph.links:
        if link.subject != link.object and link.subject in index and link.object in index:
            pair = frozenset((index[link.subject], index[link.object]))
            relations.setdefault(pair, []).append(link)
    paths = _arrows((hop for paper in papers for hop in paper.path), index)
    nodes = list(index)
    joined = {nodes[position] for pair in (*relations, *paths) for position in pair}
    carried = _arrows(_carried(retrieved, papers, strong, joined), index)
    pairs = []
    for pair in sorted({*relations, *paths, *carried}, key=sorted):
        role: Role = "path" if pair in paths else "carried" if pair in carried else "plain"
        arrows = paths.get(pair) or carried.get(pair) or {(min(pair), max(pair)): None}
        (origin, target), *back = arrows
        strongest_first = sorted(relations.get(pair, ()), key=lambda k: (-k.weight, k.relationship))
        pairs.append(Pair(origin, target, tuple(strongest_first), role, bool(back)))
    return pairs


def _arrows(hops: Iterable[Hop], index: Mapping[str, int]) -> dict[frozenset[int], Arrows]:
    """The directions of hops between drawn nodes, in the order in which they come."""
    arrows: dict[frozenset[int], Arrows] = {}
    for origin, target in hops:
        if origin != target and origin in index and target in index:
            ends = index[origin], index[target]
            arrows.setdefault(frozenset(ends), {})[ends] = None
    return arrows


def _carried(
    retrieved: Retrieved,
    papers: Sequence[Paper],
    strong: Sequence[ActivatedEntity],
    joined: Set[str],
) -> Iterator[Hop]:
    """Hops that brought activation to drawn entities, in the order in which they were made.

    Of the many from documents only those are told that join what is not `joined` otherwise: an
    entity, or a seed to what it activated most.
    """
    known = {entity.iri for entity in retrieved.entities}
    steps = sorted({(s.round, s.origin, s.target) for e in strong for s in e.chain})
    between = [(origin, target) for _, origin, target in steps if {origin, target} <= known]
    yield from between
    joined = joined | set(chain(*between))
    for paper in papers:
        if paper.is_seed and paper.iri not in joined:
            hops = (hops_of(entity.chain)[0] for entity in strong if entity.chain)
            yield from islice((hop for hop in hops if hop[0] == paper.iri), 1)
    yield from (hops_of(e.chain)[-1] for e in strong if e.chain and e.iri not in joined)
