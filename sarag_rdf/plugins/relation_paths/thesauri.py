"""The concepts above and below others in thesauri, by ``skos:broader`` and ``skos:narrower``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from sarag_rdf.base.arrays import find_all
from sarag_rdf.base.iris import statement_of
from sarag_rdf.base.vocab import SKOS
from sarag_rdf.retrieval.network import RELATED_TO
from sarag_rdf.retrieval.view import GraphView

_READ: Final = 10_000
"""Concepts below one that are read, at most."""
_BROADER: Final = {SKOS.broader.value, SKOS.broaderTransitive.value}
_NARROWER: Final = {SKOS.narrower.value, SKOS.narrowerTransitive.value}
HIERARCHICAL: Final = frozenset(_BROADER | _NARROWER)
"""The properties between concepts above and below each other."""
Ways = Mapping[str, tuple[str, ...]]
"""Concepts with those between one that they are below or above, the nearest to it first."""


def chained(view: GraphView, start: str, *, up: bool) -> Ways:
    """The concepts above or below one, all steps of the way, or the first that are too many."""
    ways: dict[str, tuple[str, ...]] = {}
    latest: dict[str, tuple[str, ...]] = {start: ()}
    while latest and len(ways) <= _READ:
        following: dict[str, tuple[str, ...]] = {}
        for lower, upper in _broader(view, latest):
            origin, target = (lower, upper) if up else (upper, lower)
            if origin in latest and target not in ways and target != start:
                way = () if origin == start else (*latest[origin], origin)
                following.setdefault(target, way)
        ways |= following
        latest = following
    return ways


def _broader(view: GraphView, concepts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of concepts, one of these among them: the second is broader than the first."""
    rows = find_all(view.iris.entities, sorted(concepts))
    edges = view.network.incident(RELATED_TO, np.sort(rows[rows >= 0]))
    for row in edges.statement.tolist():
        if triple := statement_of(view.iris.relationships[row]):
            subject, property_, object_ = triple
            if property_ in _BROADER:
                yield subject, object_
            elif property_ in _NARROWER:
                yield object_, subject
