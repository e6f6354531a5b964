"""How activation spread in one search: nodes, edges and rounds, read from its chains once.

The picture and the explorer's frames are made of it. A chain is the steps from a seed to a node, as
`sarag_rdf.kg.activation_export` writes them in RDF.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from sarag_rdf.base.iris import namespace
from sarag_rdf.base.types import (
    VALUE_TYPES,
    ActivatedEntity,
    NodeType,
    RankedDocument,
    Retrieved,
    Step,
)
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.kg.evidence import names_of

MAX_FRAME_NODES: Final = 500
"""Nodes of the frames at most: results and seeds first, then the most activated."""
_STAGES: Final = ("to entities", "between entities", "to documents")


@dataclass(slots=True)
class Node:
    """An entity or a document.

    `levels` maps a round to the activation that a step of it left. `depth` is the number of steps
    from a seed, or None if no activation came. It is `on_path` if a chain to a result leads over
    it. `chain` leads to an activated entity or to a result.
    """

    iri: str
    kind: NodeType
    name: str
    levels: dict[int, float] = field(default_factory=dict)
    depth: int | None = None
    is_seed: bool = False
    on_path: bool = False
    entity: ActivatedEntity | None = None
    ranked: RankedDocument | None = None
    chain: tuple[Step, ...] = ()

    @property
    def is_value(self) -> bool:
        """Whether it is a date, a quantity or an adjective, which names no thing."""
        return self.entity is not None and self.entity.type in VALUE_TYPES

    @property
    def activation(self) -> float:
        """The activation at the end, from 0; a document may have more than 1."""
        if self.ranked:
            return self.ranked.activation
        return self.entity.activation if self.entity else max(self.levels.values(), default=0.0)

    def at(self, round_: int) -> float:
        """The activation after a round."""
        return max((a for r, a in self.levels.items() if r <= round_), default=0.0)

    def reach(self, round_: int, activation: float) -> None:
        """Note the activation that a step of a round leaves."""
        self.levels[round_] = max(self.levels.get(round_, 0.0), activation)


@dataclass(slots=True)
class Edge:
    """A relationship or a description; `rounds` are those in which activation passed over it."""

    source: str
    target: str
    relationship: str
    kind: str
    text: str
    weight: float
    amount: float = 0.0
    rounds: set[int] = field(default_factory=set)
    on_path: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """Nodes by IRI; edges that passed activation come before the other relationships."""

    nodes: dict[str, Node]
    edges: list[Edge]
    rounds: list[int]

    def between(self, nodes: Iterable[str]) -> list[Edge]:
        """The edges between some nodes."""
        ends = set(nodes)
        return [edge for edge in self.edges if ends.issuperset((edge.source, edge.target))]


def chain_to(ranked: RankedDocument) -> tuple[Step, ...]:
    """The steps from a seed to a document; empty if no activation came.

    A chain that ends at the entity of the document goes on to the document, which has the
    activation of the entity (sarag-paper).
    """
    chain, iri, amount = ranked.chain, ranked.document.iri, ranked.activation
    if not ranked.entity or (chain and chain[-1].target == iri):
        return chain
    last = Step(
        chain[-1].round + 1 if chain else 1, ranked.entity, iri, SARAG.describes.value, 1.0,
        amount, amount, "describes", "entity", "document",
    )  # fmt: skip
    return (*chain, last)


def trace_of(retrieved: Retrieved) -> Trace:
    """The trace of a search; the order of results does not matter."""
    names = names_of(retrieved)
    nodes: dict[str, Node] = {}
    edges: dict[tuple[str, str, str], Edge] = {}

    def node(iri: str, kind: NodeType) -> Node:
        return nodes.setdefault(iri, Node(iri, kind, names.get(iri, "")))

    def walk(chain: Iterable[Step], *, on_path: bool) -> None:
        for number, step in enumerate(chain):
            key = step.origin, step.target, step.relationship
            text = names.get(step.relationship, "")
            edge = edges.setdefault(key, Edge(*key, step.kind, text, step.weight))
            edge.rounds.add(step.round)
            edge.weight, edge.amount = max(edge.weight, step.weight), max(edge.amount, step.amount)
            edge.on_path |= on_path
            ends = node(step.origin, step.origin_type), node(step.target, step.target_type)
            ends[1].reach(step.round, step.activation)
            for depth, end in enumerate(ends, number):
                end.depth = depth if end.depth is None else min(end.depth, depth)
                end.on_path |= on_path

    for ranked in sorted(retrieved.documents, key=lambda d: (d.rank, d.document.iri)):
        document = ranked.document
        result = node(document.iri, "document")
        result.name = result.name or document.title or " ".join(document.text[:60].split())
        result.ranked, result.chain = ranked, chain_to(ranked)
        walk(result.chain, on_path=True)
    for entity in sorted(retrieved.entities, key=lambda e: e.iri):
        walk(entity.chain, on_path=False)
        if entity.is_seed or entity.is_activated or entity.iri in nodes:
            reached = node(entity.iri, "entity")
            reached.entity, reached.chain = entity, reached.chain or entity.chain
            if reached.depth is None and not reached.ranked:
                reached.depth = max(1, entity.hop)
    for seed in retrieved.seeds:
        is_document = seed.reason == "document" or seed.node == seed.text
        start = node(seed.node, "document" if is_document else "entity")
        start.is_seed, start.depth = True, 0
        start.reach(0, seed.activation)
    counts = Counter(each.name for each in nodes.values() if each.kind == "entity")
    for each in nodes.values():
        if each.kind == "entity" and each.name and counts[each.name] > 1:  # of several graphs
            each.name += f" ({namespace(each.iri).partition('//')[2].rstrip('/#')})"
    passed = {edge.relationship for edge in edges.values()}
    for link in sorted(retrieved.subgraph.links, key=lambda k: (-k.weight, k.relationship)):
        key = link.subject, link.object, link.relationship
        if link.relationship not in passed and link.subject in nodes and link.object in nodes:
            edges[key] = Edge(*key, "related_to", link.text, link.weight)
    rounds = {0}.union(*(edge.rounds for edge in edges.values()))
    return Trace(nodes, list(edges.values()), sorted(rounds))


def activation_frames(retrieved: Retrieved, most: int = MAX_FRAME_NODES) -> dict[str, Any]:
    """Nodes, edges, and for each round what was active and which edges passed activation on."""
    trace = trace_of(retrieved)
    known = [n for n in trace.nodes.values() if n.levels or n.is_seed or n.ranked or n.on_path]
    known.sort(key=lambda n: (not (n.is_seed or n.ranked), -n.at(trace.rounds[-1]), n.iri))
    shown = known[:most]
    edges = trace.between(node.iri for node in shown)
    keys = ("source", "target", "relationship", "kind", "text", "weight", "amount")
    return {
        "nodes": [
            {
                "iri": node.iri,
                "name": node.name,
                "kind": "value" if node.is_value else node.kind,
                "seed": node.is_seed,
                "rank": node.ranked.rank if node.ranked else None,
            }
            for node in shown
        ],
        "edges": [{key: getattr(edge, key) for key in keys} for edge in edges],
        "frames": [
            {
                "round": number,
                "label": _label(number, retrieved.retriever),
                "activation": {node.iri: node.at(number) for node in shown if node.at(number) > 0},
                "passed": [place for place, edge in enumerate(edges) if number in edge.rounds],
            }
            for number in trace.rounds
        ],
        "left_out": {"nodes": len(known) - len(shown)},
    }


def _label(round_: int, retriever: str) -> str:
    """What a frame shows, in words."""
    if not round_:
        return "Seeds"
    if retriever != "sarag":
        return f"Step {round_}"
    return f"Round {(round_ + 2) // 3}: {_STAGES[(round_ - 1) % 3]}"
