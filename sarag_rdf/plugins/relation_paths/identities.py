"""Nodes of several graphs that are one thing: what a relation path may cross on its way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sarag_rdf.retrieval.network import SAME_AS
from sarag_rdf.retrieval.view import GraphView


class Identities:
    """The nodes that links join, directly or over others; each stands for all of its thing.

    A thing is called by its first item in an imported graph, if there is one.
    """

    def __init__(self, view: GraphView) -> None:
        pairs = view.network.edges(SAME_AS).pairs()
        rows, numbers = np.unique(pairs, return_inverse=True)
        starts, ends = numbers.reshape(-1, 2).T
        shape = len(rows), len(rows)
        graph = coo_array((np.ones(len(starts)), (starts, ends)), shape=shape)
        own = f"{view.reader.minter.base}entity/"
        things = defaultdict[int, list[str]](list)
        for row, thing in zip(rows.tolist(), connected_components(graph)[1].tolist(), strict=True):
            things[thing].append(view.iris.entities[row])
        self._of = {
            node: tuple(sorted(nodes, key=lambda iri: (iri.startswith(own), iri)))
            for nodes in things.values()
            for node in nodes
        }

    def __bool__(self) -> bool:
        return bool(self._of)

    def several(self) -> list[tuple[str, ...]]:
        """The nodes of each thing that has more than one."""
        return sorted(set(self._of.values()))

    def of(self, node: str) -> tuple[str, ...]:
        """All nodes for the same thing, the one that it is called by first."""
        return self._of.get(node, (node,))

    def one(self, node: str) -> str:
        """What the thing is called by; a text that is no node stays as it is."""
        return self.of(node)[0]

    def every(self, nodes: Iterable[str]) -> list[str]:
        """All nodes for the same things, ascending."""
        return sorted({same for node in nodes for same in self.of(node)})
