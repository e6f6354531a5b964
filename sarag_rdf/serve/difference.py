"""What a write changes, as the engine sees it: two states of a store, compared graph by graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

import pyoxigraph as ox

from sarag_rdf.terms import text_of

Graph = str | None
"""The IRI of a graph; None is the default graph."""


@dataclass(slots=True)
class Difference:
    """The quads by which two states differ.

    `gone` and `come` have them by graph, without graphs of which nothing is left: those are in
    `emptied`. `removed` are named graphs that exist no more, `created` those that did not exist; a
    graph may exist without quads.
    """

    gone: dict[Graph, set[ox.Quad]] = field(default_factory=dict)
    come: dict[Graph, set[ox.Quad]] = field(default_factory=dict)
    emptied: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    created: set[str] = field(default_factory=set)

    @property
    def graphs(self) -> list[Graph]:
        """The graphs whose quads differ, the default graph first."""
        return sorted({*self.gone, *self.come, *self.emptied}, key=lambda graph: graph or "")

    def add(self, graph: Graph, gone: set[ox.Quad], come: set[ox.Quad]) -> None:
        """Note what differs in a graph, be it nothing."""
        self.gone.update({graph: gone} if gone else {})
        self.come.update({graph: come} if come else {})


def compare(old: ox.Store, new: ox.Store, graphs: Iterable[str] | None = None) -> Difference:
    """How the default graph and these named graphs differ; None stands for all named graphs.

    Reads what the graphs hold in both states, but of a graph that is empty in one of them only what
    it needs. Memory grows with what differs, not with what is read.
    """
    before, after = _named(old), _named(new)
    if graphs is not None:
        wanted = frozenset(graphs)
        before, after = before & wanted, after & wanted
    difference = Difference(removed=before - after, created=after - before)
    for graph in sorted(before | after):
        if next(quads_in(new, graph), None) is None:
            if next(quads_in(old, graph), None) is not None:
                difference.emptied.add(graph)
        else:
            difference.add(graph, *_differing(quads_in(old, graph), quads_in(new, graph)))
    difference.add(None, *_differing(quads_in(old, None), quads_in(new, None)))
    return difference


def quads_in(store: ox.Store, graph: Graph) -> Iterator[ox.Quad]:
    """The quads of one graph."""
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    return store.quads_for_pattern(None, None, None, name)


def _named(store: ox.Store) -> set[str]:
    return {text_of(graph) for graph in store.named_graphs() if isinstance(graph, ox.NamedNode)}


def _differing(old: Iterator[ox.Quad], new: Iterator[ox.Quad]) -> tuple[set[ox.Quad], set[ox.Quad]]:
    """What only the first has, and what only the second has.

    Both come in the order of the same index, so a quad that both have is soon met on both sides.
    """
    gone: set[ox.Quad] = set()
    come: set[ox.Quad] = set()
    for left, right in zip_longest(old, new):
        if left == right:
            continue
        for quad, mine, others in ((left, gone, come), (right, come, gone)):
            if quad is None:
                continue
            if quad in others:
                others.remove(quad)
            else:
                mine.add(quad)
    return gone, come
