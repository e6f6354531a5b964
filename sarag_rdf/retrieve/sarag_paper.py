"""SA-RAG as published: absolute thresholds, Algorithm 1 (arXiv 2512.15922, sections 5.4, 5.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sarag_rdf.arrays import rows_of
from sarag_rdf.options import MAX_COUNT, MAX_HOPS, RetrieverOptions, option
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


@dataclass(frozen=True, kw_only=True)
class SaragPaperOptions(RetrieverOptions):
    """Options of `SaragPaper`, with the values that the paper uses for MuSiQue as defaults.

    The presets are its values of k and n for MuSiQue and for 2WikiMultiHopQA (section 5.4).
    """

    name = "sarag-paper"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "musique": {"k": 3, "n": 4},
        "2wiki": {"k": 10, "n": 3},
    }
    k: int = option(
        3, "Number of nearest descriptions whose entities are seeds.", ge=1, le=MAX_COUNT
    )
    n: int = option(
        4, "Number of hops that the subgraph extends from the seeds.", ge=0, le=MAX_HOPS
    )
    c: float = option(
        0.4, "Cosine up to which a relationship has weight 0; above it weights rise to 1.",
        ge=0.0, lt=1.0,
    )  # fmt: skip
    tau_a: float = option(
        0.5, "Activation above which an entity is activated.", ge=0.0, le=1.0
    )  # fmt: skip
    tau_d: float = option(
        0.45, "Minimum cosine between the question and a returned document.", ge=-1.0, le=1.0
    )
    tau_r: float = option(
        0.5, "Cosine above which a relationship between activated entities is returned.",
        ge=-1.0, le=1.0,
    )  # fmt: skip


class SaragPaper:
    """SA-RAG as published; its thresholds suit an embedder whose cosines are high.

    Defects of the printed algorithm are settled: negative weights are clipped at 0 and the order
    is fixed (`algo.activation_paper`). The set is ordered by similarity to the question. A link to
    the same entity in another graph is an arc of weight 1.
    """

    options = SaragPaperOptions

    def __init__(self, view: GraphView, options: SaragPaperOptions | None = None) -> None:
        self._view = view
        self._reader = view.reader
        self._vectors = view.vectors
        self._options = options or SaragPaperOptions()

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        options = self._options
        question = self._vectors.embedder.embed([query.text])[0]
        seeds = nearest_seeds(self._reader, self._vectors, question, options.k)
        step, iris = self._view.traversal, self._view.iris
        start = rows_of(iris.entities, [seed.node for seed in seeds])
        hops = neighbourhood(step, start, options.n)
        inside = np.array(sorted(hops), dtype=np.int64)
        names = {int(row): iris.entities[row] for row in inside}
        rows = relationships_among(step, inside)
        cosines = self._view.relationship_cosines(question, rows[:, 0])
        links = tuple(
            Link(
                iris.relationships[r],
                names[s],
                names[o],
                "",
                float(w),
                rescale(float(w), options.c),
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
        activated = frozenset(e for e, a in outcome.activation.items() if a > options.tau_a)
        relationships = sorted(
            (
                k
                for k in links
                if k.similarity > options.tau_r and {k.subject, k.object} <= activated
            ),
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
            if similarity >= options.tau_d
        ]
        return retrieved(
            self._reader,
            query,
            "sarag-paper",
            options.settings(),
            {},
            Subgraph(seeds, {names[row]: hop for row, hop in hops.items()}, links),
            outcome,
            activated,
            ranked_documents(self._reader, scored, options.limit),
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
