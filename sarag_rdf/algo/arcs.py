"""Weighted arcs between nodes, and the trace that spreading leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Arc(NamedTuple):
    """One direction of a link; `link` names it. The weight lies in [0, 1]."""

    target: str
    link: str
    weight: float


class Pass(NamedTuple):
    """Activation handed over one arc: ``amount = weight * activation of origin``.

    `round` grows with time; `activation` is the target's afterwards, in [0, 1].
    """

    round: int
    origin: str
    target: str
    link: str
    weight: float
    amount: float
    activation: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Activations of all nodes that were reached, in [0, 1], and every pass that moved some."""

    activation: Mapping[str, float]
    passes: Sequence[Pass]


def arcs_of(links: Iterable[tuple[str, str, str, float]]) -> dict[str, list[Arc]]:
    """Arcs both ways of (link, subject, object, weight), in a fixed order.

    Self-loops are left out, and links of weight 0. Parallel links stay parallel.
    """
    arcs: defaultdict[str, list[Arc]] = defaultdict(list)
    for link, subject, object_, weight in links:
        if subject != object_ and weight > 0.0:
            arcs[subject].append(Arc(object_, link, weight))
            arcs[object_].append(Arc(subject, link, weight))
    return {node: sorted(found) for node, found in arcs.items()}


def chain_to(node: str, passes: Mapping[str, Sequence[Pass]], seeds: Iterable[str]) -> list[Pass]:
    """Passes that lead from a seed to a node, following the largest amount back in time.

    `passes` maps each node to those that reached it. A seed needs no chain.
    """
    starts = frozenset(seeds)
    found: list[Pass] = []
    before = float("inf")
    while node not in starts:
        earlier = [p for p in passes.get(node, ()) if p.round < before]
        if not earlier:
            return []
        best = min(earlier, key=lambda p: (-p.amount, p.round, p.origin, p.link))
        found.append(best)
        node, before = best.origin, best.round
    return found[::-1]
