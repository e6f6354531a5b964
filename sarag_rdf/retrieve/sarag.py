"""The default: query-gated spreading activation with documents as nodes.

Grown from SA-RAG (arXiv 2512.15922, sections 5.4, 5.5). Activation starts at the entities that
the question names and at the nearest documents. It passes from documents to what they describe,
over relationships between entities, and back to documents; and once more from the documents that
it reached. Every relationship is gated by its similarity to the question, calibrated by quantiles
of this question's similarities, so that no threshold depends on the embedder; and what leaves an
entity is divided by the number of documents that describe it. A document's score adds up its
similarity, its words and its activation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.arrays import rows_of
from sarag_rdf.network.spreading import Rates, Spreading, Weigh, spread
from sarag_rdf.options import MAX_COUNT, MAX_HOPS, RetrieverOptions, option
from sarag_rdf.ports import Vector
from sarag_rdf.retrieve.explain import Outcome, Scored, explained, ranked
from sarag_rdf.retrieve.relevance import MASK, WORDS, Relevance, Scale, calibrated, promising
from sarag_rdf.retrieve.seeds import Topics, named_entities
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Query, Retrieved

FEW = 30
"""Documents that a further round starts from: those that the round before activated most."""

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class SaragOptions(RetrieverOptions):
    """Options of `Sarag`; none depends on the embedder."""

    name = "sarag"
    k: int = option(
        3,
        "Number of nearest documents at which activation starts, beside the entities that the "
        "question names.",
        ge=0,
        le=MAX_COUNT,
    )
    n: int = option(
        2,
        "Number of rounds, each from documents over entities and relationships to documents.",
        ge=1,
        le=MAX_HOPS,
    )
    c: float = option(
        0.98,
        "Quantile of the similarities between the question and all relationships; relationships "
        "up to it pass no activation on.",
        ge=0.0,
        lt=1.0,
    )
    decay: float = option(
        0.15, "Share of its activation that a document or entity passes on.", ge=0.0, le=1.0
    )
    gain: float = option(
        0.4,
        "Weight of the activation of each round in a document's score; similarity has weight 1.",
        ge=0.0,
        le=MAX_COUNT,
    )
    explain: bool = option(
        True,
        "Return seeds, paths, entities and relationships; without them the ranking is the same.",
        recorded=False,
    )


class Sarag:
    """Query-gated spreading activation over documents, entities and relationships."""

    options = SaragOptions

    def __init__(self, view: GraphView, options: SaragOptions | None = None) -> None:
        self._view = view
        self._options = options or SaragOptions()
        self._rates = Rates(decay=self._options.decay)

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        view, options = self._view, self._options
        question = view.vectors.embedder.embed([query.text])[0]
        named = named_entities(view.names, query.text, Topics(view))
        relevance = Relevance(view, query.text, question, list(named))
        near = relevance.candidates
        order = np.argsort(-relevance.scores(near), kind="stable")
        nearest = [near[i] for i in order[: options.k]]
        entities = rows_of(view.iris.entities, list(named)).tolist()
        floor, ceiling = view.vectors.index("relationship").quantile(question, options.c)
        weigh = self._weigh(question, floor, ceiling)
        spreading = spread(
            view.traversal,
            view.iris,
            weigh,
            self._rates,
            held=dict.fromkeys(nearest, 1.0),
            seeds=dict(zip(entities, named.values(), strict=True)),
            rounds=options.n,
            few=FEW,
            documents=near,
        )
        scored, calibration = self._scored(relevance, spreading)
        calibration |= {"weight_floor": floor, "weight_ceiling": ceiling}
        settings = options.settings()
        outcome = Outcome(query, "sarag", settings, calibration, question, spreading, scored, weigh)
        return (explained if options.explain else ranked)(view, outcome)

    def _weigh(self, question: Vector, floor: float, ceiling: float) -> Weigh:
        def weigh(rows: Rows) -> Floats:
            return calibrated(self._view.relationship_cosines(question, rows), floor, ceiling)

        return weigh

    def _scored(
        self, relevance: Relevance, spreading: Spreading
    ) -> tuple[list[Scored], dict[str, float]]:
        """The best of what is near or was reached, and the scales behind their z-scores.

        With z over all documents, s the cosine with the question less `MASK` times that with
        what it names, and a(t) the activation of round t::

            score = z(s) + WORDS z(BM25) + gain * sum of z(sqrt(a(t)))
        """
        parts: dict[str, Floats] = {}
        scales = {"meaning": relevance.masked_scale, "words": relevance.words_scale}
        for number, round_ in enumerate(spreading.rounds, start=1):
            name, roots = f"activation_{number}", np.sqrt(round_.documents)
            scales[name] = Scale.of_few(roots, len(self._view.iris.documents))
            parts[name] = self._options.gain * scales[name].z(roots)
        activation = np.sum(list(parts.values()), axis=0)
        places = promising(relevance, spreading.documents, activation, self._options.limit)
        rows = spreading.documents[places]
        similarity, named = relevance.cosines(rows)
        words = relevance.words[rows]
        parts = {
            "meaning": relevance.masked_scale.z(similarity - MASK * named),
            "words": WORDS * relevance.words_scale.z(words),
            **{name: values[places] for name, values in parts.items()},
        }
        scores = np.sum(list(parts.values()), axis=0)
        best = np.lexsort((rows, -scores))[: self._options.limit]
        scored = [
            Scored(
                int(places[i]),
                float(scores[i]),
                {name: float(values[i]) for name, values in parts.items()},
                {
                    "similarity": float(similarity[i]),
                    "named": float(named[i]),
                    "words": float(words[i]),
                },
            )
            for i in best
        ]
        calibration = {"mask_weight": MASK, "words_weight": WORDS}
        for name, scale in scales.items():
            calibration |= {f"{name}_mean": scale.mean, f"{name}_deviation": scale.deviation}
        return scored, calibration
