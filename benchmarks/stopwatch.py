"""Where the time of a search goes: the stages of `sarag`, each without those within it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from sarag_rdf.retrieval import sarag
from sarag_rdf.retrieval.activation import Spreading
from sarag_rdf.retrieval.sarag import Sarag
from sarag_rdf.retrieval.view import GraphView

STAGES = ("encode", "seeds", "subgraph", "weights", "activation", "documents")
_STEPS = ("outgoing", "incoming", "incident")


@dataclass
class Stopwatch:
    """Milliseconds by stage, and how much was touched, since `clear`."""

    milliseconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    touched: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _within: list[float] = field(default_factory=list)

    def clear(self) -> None:
        """Begin anew."""
        self.milliseconds.clear()
        self.touched.clear()

    def timed(self, stage: str, function: Callable[..., Any], *given: Any, **options: Any) -> Any:
        """Call a function; its time counts for the stage, but for what other stages take in it."""
        begin = time.process_time()
        self._within.append(0.0)
        found = function(*given, **options)
        whole = 1000.0 * (time.process_time() - begin)
        self.milliseconds[stage] += whole - self._within.pop()
        if self._within:
            self._within[-1] += whole
        self._count(function, given, found)
        return found

    def _count(self, function: Callable[..., Any], given: Sequence[Any], found: Any) -> None:
        name = getattr(function, "__name__", "")
        if name == "incident" and given[0].has_statements:
            self.touched["relationships weighed"] += len(found)
        elif name in _STEPS:
            self.touched["pairs read"] += len(found)
        if name == "rounds":
            for nodes in ("documents", "entities"):
                active = [getattr(round_, nodes).rows for round_ in found]
                self.touched[f"{nodes} reached"] += len(np.unique(np.concatenate(active)))

    @contextmanager
    def watching(self, view: GraphView) -> Iterator[None]:
        """While this lasts, searches of the view are timed."""
        with ExitStack() as stack:

            def watch(target: Any, name: str, stage: str) -> None:
                timed = partial(self.timed, stage, getattr(target, name))
                stack.enter_context(patch.object(target, name, timed))

            watch(view.vectors, "embed_query", "encode")
            watch(sarag, "named_entities", "seeds")
            watch(sarag, "Relevance", "seeds")
            rounds = Spreading.rounds
            stack.enter_context(
                patch.object(
                    Spreading, "rounds", lambda *given: self.timed("activation", rounds, *given)
                )
            )
            watch(view, "relationship_cosines", "weights")
            watch(sarag, "explained", "documents")
            watch(sarag, "retrieved", "documents")
            for step in _STEPS:
                watch(view.network, step, "subgraph")
            scored = Sarag._scored
            stack.enter_context(
                patch.object(
                    Sarag,
                    "_scored",
                    lambda *given: self.timed("documents", scored, *given),
                )
            )
            yield
