"""SA-RAG as published: absolute thresholds, Algorithm 1 (arXiv 2512.15922, sections 5.4, 5.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sarag_rdf.arrays import rows_of
from sarag_rdf.errors import UsageError
from sarag_rdf.options import Count, Hops
from sarag_rdf.retrieve.neighbourhood import neighbourhood, relationships_among
from sarag_rdf.retrieve.outcome import (
    Arc,
    Pass,
    ScoredDocument,
    Spread,
    arcs_of,
    ranked_documents,
    retrieved,
)
from sarag_rdf.retrieve.seeds import nearest_seeds
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import SAME_AS, Link, Query, Retrieved, Subgraph

PRESETS: dict[str, dict[str, int]] = {"musique": {"k": 3, "n": 4}, "2wiki": {"k": 10, "n": 3}}
"""The values of k and n that the paper used for MuSiQue and for 2WikiMultiHopQA (5.4)."""


class SaragPaper:
    """The published method. Its thresholds are cosines and fit an embedder whose cosines are high.

    Defects of the printed algorithm are settled: negative weights are clipped at 0 and the order
    is fixed (`algo.activation_paper`). The set is ordered by similarity to the question. A link to
    the same entity in another graph is an arc of weight 1.
    """

    def __init__(
        self,
        view: GraphView,
        *,
        k: Count = 3,
        n: Hops = 4,
        c: float = 0.4,
        tau_a: float = 0.5,
        tau_d: float = 0.45,
        tau_r: float = 0.5,
        limit: int | None = None,
    ) -> None:
        """`k` descriptions, `n` hops, `c` in [0, 1), thresholds on activation and cosines."""
        if k < 1 or n < 0 or not 0.0 <= c < 1.0:
            raise UsageError("sarag-paper needs k of at least 1, n of at least 0, c in [0, 1)")
        self._view = view
        self._reader = view.reader
        self._vectors = view.vectors
        self._limit = limit
        self._k, self._n, self._c = k, n, c
        self._tau_a, self._tau_d, self._tau_r = tau_a, tau_d, tau_r

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        question = self._vectors.embedder.embed([query.text])[0]
        seeds = nearest_seeds(self._reader, self._vectors, question, self._k)
        step, iris = self._view.traversal, self._view.iris
        start = rows_of(iris.entities, [seed.node for seed in seeds])
        hops = neighbourhood(step, start, self._n)
        inside = np.array(sorted(hops), dtype=np.int64)
        names = {int(row): iris.entities[row] for row in inside}
        rows = relationships_among(step, inside)
        cosines = self._view.relationship_cosines(question, rows[:, 0])
        links = tuple(
            Link(
                iris.relationships[r], names[s], names[o], "", float(w), rescale(float(w), self._c)
            )
            for (r, s, o), w in zip(rows.tolist(), cosines, strict=True)
        )
        same = [
            (SAME_AS, names[one], names[other], 1.0)
            for one, other in step.same_as(inside).tolist()
            if one < other
        ]
        arcs = arcs_of([*((k.relationship, k.subject, k.object, k.weight) for k in links), *same])
        outcome = spread_paper(arcs, [seed.node for seed in seeds])
        activated = frozenset(e for e, a in outcome.activation.items() if a > self._tau_a)
        relationships = sorted(
            (k for k in links if k.similarity > self._tau_r and {k.subject, k.object} <= activated),
            key=lambda k: (-k.similarity, k.relationship),
        )
        best: dict[str, tuple[float, str]] = {}
        speaking = rows_of(iris.entities, sorted(activated))
        for row, speaker in step.documents_of(speaking).tolist():
            document, entity = iris.documents[row], names[speaker]
            activation = outcome.activation[entity]
            if document not in best or activation > best[document][0]:
                best[document] = activation, entity
        described = sorted(best)
        similarities = self._vectors.index("document").similarities(question, described)
        scored = [
            ScoredDocument(iri, float(similarity), float(similarity), *best[iri])
            for iri, similarity in zip(described, similarities, strict=True)
            if similarity >= self._tau_d
        ]
        return retrieved(
            self._reader,
            query,
            "sarag-paper",
            {
                "k": self._k,
                "n": self._n,
                "c": self._c,
                "tau_a": self._tau_a,
                "tau_d": self._tau_d,
                "tau_r": self._tau_r,
            },
            {},
            Subgraph(seeds, {names[row]: hop for row, hop in hops.items()}, links),
            outcome,
            activated,
            ranked_documents(self._reader, scored, self._limit),
            relationships,
        )


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
