"""Synchronous spreading activation: the result does not depend on any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sarag_rdf.algo.arcs import Arc, Pass, Spread


def spread(arcs: Mapping[str, Sequence[Arc]], seeds: Mapping[str, float], *, rounds: int) -> Spread:
    """Spread in rounds: every node fires once, in the round after activation first reached it.

    All nodes of a round fire at the same time, with what they held when it began, along their
    arcs to nodes that have not fired in an earlier round; so activation flows away from the
    seeds and no node hears its own echo. Of parallel arcs the strongest counts (the smallest
    link name among equals). A node holds at most 1.

    `seeds` maps nodes to their activation in (0, 1]. Activation of j after round t:
    ``a_t(j) = min(1, a_{t-1}(j) + sum of w(i, j) a_{t-1}(i) over the nodes i that fire)``.
    """
    activation = {node: min(1.0, value) for node, value in seeds.items() if value > 0.0}
    passes: list[Pass] = []
    fired: set[str] = set()
    frontier = set(activation)
    for round_ in range(1, rounds + 1):
        incoming: dict[str, list[tuple[str, Arc]]] = {}
        for node in sorted(frontier):
            for arc in strongest(arcs.get(node, ())):
                if arc.target not in fired:
                    incoming.setdefault(arc.target, []).append((node, arc))
        updated = {
            target: min(
                1.0,
                activation.get(target, 0.0)
                + sum(arc.weight * activation[origin] for origin, arc in found),
            )
            for target, found in incoming.items()
        }
        passes += [
            Pass(
                round_,
                origin,
                target,
                arc.link,
                arc.weight,
                arc.weight * activation[origin],
                updated[target],
            )
            for target, found in sorted(incoming.items())
            for origin, arc in found
        ]
        fired |= frontier
        frontier = set(updated) - set(activation)
        activation |= updated
    return Spread(activation, passes)


def strongest(arcs: Iterable[Arc]) -> list[Arc]:
    """Of the arcs to one target the strongest, in the order of their targets."""
    best: dict[str, Arc] = {}
    for arc in sorted(arcs):
        if arc.target not in best or arc.weight > best[arc.target].weight:
            best[arc.target] = arc
    return list(best.values())
