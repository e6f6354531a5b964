"""The frames of an activation: which nodes are active after each round of a search.

They are read from the chains that explain a search, the same as `sarag_rdf.kg.export.activation`
writes: each step says over which edge activation came to a node, and how much the node then had.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from sarag_rdf.base.types import Retrieved, Step
from sarag_rdf.kg.report import names_of
from sarag_rdf.server.picture.selection import steps_to

MAX_NODES: Final = 500
"""Nodes of the frames at most: results and seeds first, then the most activated."""
_STAGES: Final = ("to entities", "between entities", "to documents")
_Json = dict[str, Any]


@dataclass(slots=True)
class _Node:
    """`levels` maps rounds to the activation that a step of the round left."""

    type: str
    levels: dict[int, float] = field(default_factory=dict)
    is_kept: bool = False

    def at(self, round_: int) -> float:
        return max((a for r, a in self.levels.items() if r <= round_), default=0.0)


def activation_frames(retrieved: Retrieved, most: int = MAX_NODES) -> _Json:
    """Nodes, edges, and for each round what was active and which edges passed activation on."""
    nodes: dict[str, _Node] = {}
    documents = {ranked.document.iri for ranked in retrieved.documents}
    known = {iri for step in _steps(retrieved) for iri in _documents_of(step)} | documents
    for seed in retrieved.seeds:
        kind = "document" if seed.node in known or seed.reason == "document" else "entity"
        node = nodes.setdefault(seed.node, _Node(kind, is_kept=True))
        node.levels[0] = max(node.levels.get(0, 0.0), seed.activation)
    steps = {(s.round, s.origin, s.target, s.relationship): s for s in _steps(retrieved)}
    for step in steps.values():
        nodes.setdefault(step.origin, _Node(step.origin_type))
        node = nodes.setdefault(step.target, _Node(step.target_type))
        node.levels[step.round] = max(node.levels.get(step.round, 0.0), step.activation)
    for iri in documents:
        nodes.setdefault(iri, _Node("document")).is_kept = True
    rounds = [0, *sorted({step.round for step in steps.values()})]
    last = rounds[-1]
    order = sorted(nodes, key=lambda iri: (not nodes[iri].is_kept, -nodes[iri].at(last), iri))
    shown = order[:most]
    edges = _edges(steps.values(), retrieved, set(shown))
    positions = {(e["source"], e["target"], e["relationship"]): i for i, e in enumerate(edges)}
    ranks = {ranked.document.iri: ranked.rank for ranked in retrieved.documents}
    seeds = {seed.node for seed in retrieved.seeds}
    names = _names(retrieved)
    return {
        "nodes": [
            {
                "iri": iri,
                "name": names.get(iri, ""),
                "kind": nodes[iri].type,
                "seed": iri in seeds,
                "rank": ranks.get(iri),
            }
            for iri in shown
        ],
        "edges": edges,
        "frames": [
            {
                "round": number,
                "label": _label(number, retrieved.retriever),
                "activation": {
                    iri: value for iri in shown if (value := nodes[iri].at(number)) > 0.0
                },
                "passed": sorted(
                    {
                        positions[key[1:]]
                        for key, step in steps.items()
                        if step.round == number and key[1:] in positions
                    }
                ),
            }
            for number in rounds
        ],
        "left_out": {"nodes": len(order) - len(shown)},
    }


def _steps(retrieved: Retrieved) -> Iterable[Step]:
    for ranked in retrieved.documents:
        yield from steps_to(ranked)
    for entity in retrieved.entities:
        yield from entity.chain


def _documents_of(step: Step) -> Iterable[str]:
    if step.origin_type == "document":
        yield step.origin
    if step.target_type == "document":
        yield step.target


def _edges(steps: Iterable[Step], retrieved: Retrieved, shown: set[str]) -> list[_Json]:
    """The edges that passed activation, each once with its largest weight, then other links."""
    names = names_of(retrieved)
    edges: dict[tuple[str, str, str], _Json] = {}
    for step in steps:
        if not shown.issuperset((step.origin, step.target)):
            continue
        key = step.origin, step.target, step.relationship
        edge = edges.setdefault(
            key,
            {
                "source": step.origin,
                "target": step.target,
                "relationship": step.relationship,
                "kind": step.kind,
                "text": names.get(step.relationship, ""),
                "weight": step.weight,
                "amount": step.amount,
            },
        )
        edge["weight"] = max(edge["weight"], step.weight)
        edge["amount"] = max(edge["amount"], step.amount)
    spoken = {edge["relationship"] for edge in edges.values()}
    for link in retrieved.subgraph.links:
        if link.relationship in spoken or not shown.issuperset((link.subject, link.object)):
            continue
        edges[link.subject, link.object, link.relationship] = {
            "source": link.subject,
            "target": link.object,
            "relationship": link.relationship,
            "kind": "related_to",
            "text": link.text,
            "weight": link.weight,
            "amount": 0.0,
        }
    return list(edges.values())


def _names(retrieved: Retrieved) -> dict[str, str]:
    titles = {
        ranked.document.iri: ranked.document.title or " ".join(ranked.document.text[:60].split())
        for ranked in retrieved.documents
    }
    return titles | {iri: name for iri, name in names_of(retrieved).items() if name}


def _label(round_: int, retriever: str) -> str:
    """What a frame shows, in words."""
    if not round_:
        return "Seeds"
    if retriever != "sarag":
        return f"Step {round_}"
    return f"Round {(round_ + 2) // 3}: {_STAGES[(round_ - 1) % 3]}"
