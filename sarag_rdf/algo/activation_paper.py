"""Spreading activation as SA-RAG prints it (arXiv 2512.15922, section 5.5, Algorithm 1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from sarag_rdf.algo.arcs import Arc, Pass, Spread


def rescale(similarity: float, c: float) -> float:
    """The link weight ``(w - c) / (1 - c)``, clipped to [0, 1]; `c` lies in [0, 1).

    The paper does not clip: below c its weights are negative, and two of them make a positive.
    """
    return min(1.0, max(0.0, (similarity - c) / (1.0 - c)))


def spread_paper(arcs: Mapping[str, Sequence[Arc]], seeds: Iterable[str]) -> Spread:
    """Algorithm 1 with its order fixed: seeds ascending, arcs in the order given.

    For each seed in turn: it is set to 1, and a breadth-first walk from it adds to every target
    ``weight * activation of the node``, bounded by 1; `visited` is reset for each seed, so that
    activation fires again. The result depends on the order, which is therefore part of it.
    """
    activation: dict[str, float] = {}
    passes: list[Pass] = []
    for seed in sorted(set(seeds)):
        activation[seed] = 1.0
        visited: set[str] = set()
        queue = deque([seed])
        while queue:
            node = queue.popleft()
            if node in visited:
                continue
            visited.add(node)
            for target, link, weight in arcs.get(node, ()):
                before = activation.get(target, 0.0)
                amount = weight * activation[node]
                activation[target] = min(1.0, before + amount)
                passes.append(
                    Pass(len(passes), node, target, link, weight, amount, activation[target])
                )
                if target not in visited:
                    queue.append(target)
    return Spread(activation, passes)
