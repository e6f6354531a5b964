"""The default: query-gated spreading activation with documents as nodes.

Derived from SA-RAG (arXiv 2512.15922, sections 5.4, 5.5). Activation starts at the entities that
the question names and at the nearest documents. It passes from documents to the entities that
they describe, over relationships between entities, and back to documents; a further round starts
from the documents that it reached. Every relationship is gated by its similarity to the question,
calibrated by quantiles of this question's similarities, so that no threshold depends on the
embedder; the activation that leaves an entity is divided by the number of documents that describe
the entity. The score of a document is the sum of its similarity, its words and its activation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import rows_of
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, RetrieverOptions, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import Link, Query, Retrieved, Seed
from sarag_rdf.retrieval.chains import (
    arrivals,
    strongest_chain_to_document,
    strongest_chain_to_entity,
)
from sarag_rdf.retrieval.explanation import Explanation, ScoredDocument, retrieved, weight_settings
from sarag_rdf.retrieval.neighbourhood import relationships_among
from sarag_rdf.retrieval.network.edges import Rows
from sarag_rdf.retrieval.network.spreading import Gate, Rates, Spreading, spread
from sarag_rdf.retrieval.relevance import MASK, WORDS, Relevance, Scale, calibrated, promising
from sarag_rdf.retrieval.seeds import Topics, named_entities
from sarag_rdf.retrieval.view import GraphView

BEAM = 30
"""The number of documents that a further round starts from: those activated most before."""
ACTIVATED = 0.05
"""The activation from which an entity counts as activated in the explanation."""
ENTITIES = 100
"""The most active entities in the explanation; seeds and those on chains to documents are added."""
LINKS = 500
"""The most relationships in the explanation, the nearest to the question first."""
DIGITS = 5
"""Decimals by which cosines differ; those of equal texts may differ in the seventh."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SaragOptions(RetrieverOptions):
    """Options of `Sarag`; none depends on the embedder."""

    name = "sarag"
    is_steered = True
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
        question = view.vectors.embed_query(query.text)
        named = named_entities(view.names, query.text, Topics(view))
        relevance = Relevance(view, query.text, question, list(named))
        closest = relevance.candidates
        order = np.argsort(-relevance.scores(closest), kind="stable")
        nearest = [closest[i] for i in order[: options.k]]
        entities = rows_of(view.iris.entities, list(named)).tolist()
        floor, ceiling = view.vectors.index("relationship").quantile(question, options.c)
        gate = self._gate(question, floor, ceiling)
        spreading = spread(
            view.traversal,
            view.iris,
            gate,
            self._rates,
            sources=dict.fromkeys(nearest, 1.0),
            seeds=dict(zip(entities, named.values(), strict=True)),
            rounds=options.n,
            beam=BEAM,
            candidates=closest,
            steering=view.steering(query),
        )
        documents, calibration = self._scored(relevance, spreading)
        calibration |= {"weight_floor": floor, "weight_ceiling": ceiling}
        settings = options.settings() | weight_settings(view, query)
        if not options.explain:
            return retrieved(view, query, "sarag", settings, documents, calibration=calibration)
        documents, explanation = explained(view, question, gate, spreading, documents)
        return retrieved(view, query, "sarag", settings, documents, explanation, calibration)

    def _gate(self, question: Vector, floor: float, ceiling: float) -> Gate:
        def gate(rows: Rows) -> Floats:
            return calibrated(self._view.relationship_cosines(question, rows), floor, ceiling)

        return gate

    def _scored(
        self, relevance: Relevance, spreading: Spreading
    ) -> tuple[list[ScoredDocument], dict[str, float]]:
        """The best of the documents that are near or reached, and the scales of their z-scores.

        With z over all documents, s the cosine with the question less `MASK` times that with
        the names in it, and a(t) the activation of round t::

            score = z(s) + WORDS z(BM25) + gain * sum of z(sqrt(a(t)))
        """
        parts: dict[str, Floats] = {}
        scales = {"meaning": relevance.masked_scale, "words": relevance.words_scale}
        for number, round_ in enumerate(spreading.rounds, start=1):
            name, roots = f"activation_{number}", np.sqrt(round_.documents)
            scales[name] = Scale.of_sparse(roots, len(self._view.iris.documents))
            parts[name] = self._options.gain * scales[name].z(roots)
        activation = np.sum(list(parts.values()), axis=0)
        positions = promising(relevance, spreading.documents, activation, self._options.limit)
        rows = spreading.documents[positions]
        similarity, named = relevance.cosines(rows)
        words = relevance.words[rows]
        parts = {
            "meaning": relevance.masked_scale.z(similarity - MASK * named),
            "words": WORDS * relevance.words_scale.z(words),
            **{name: values[positions] for name, values in parts.items()},
        }
        scores = np.sum(list(parts.values()), axis=0)
        best = np.lexsort((rows, -scores))[: self._options.limit]
        network, rounds = spreading.network, spreading.rounds
        activations = np.stack([round_.documents for round_ in rounds])
        scored = []
        for i in best:
            row = int(positions[i])
            most = rounds[int(np.argmax(activations[:, row]))]
            entity = int(most.top_contributors[row])
            scored.append(
                ScoredDocument(
                    network.documents[row],
                    float(scores[i]),
                    float(similarity[i]),
                    sum(activations[:, row].tolist()),
                    network.entities[entity] if entity >= 0 else "",
                    parts={name: float(values[i]) for name, values in parts.items()},
                    measures={
                        "similarity": float(similarity[i]),
                        "named": float(named[i]),
                        "words": float(words[i]),
                    },
                )
            )
        calibration = {"mask_weight": MASK, "words_weight": WORDS}
        for name, scale in scales.items():
            calibration |= {f"{name}_mean": scale.mean, f"{name}_deviation": scale.deviation}
        return scored, calibration


def explained(
    view: GraphView,
    question: Vector,
    gate: Gate,
    spreading: Spreading,
    documents: Sequence[ScoredDocument],
) -> tuple[list[ScoredDocument], Explanation]:
    """The documents with their chains, and the explanation of how activation reached them."""
    network, rounds = spreading.network, spreading.rounds
    rows = rows_of(network.documents, [document.iri for document in documents]).tolist()
    documents = [
        replace(
            document,
            chain=strongest_chain_to_document(rounds, row),
            arrivals=arrivals(rounds, row),
        )
        for document, row in zip(documents, rows, strict=True)
    ]
    total = np.minimum(1.0, np.sum([round_.entities for round_ in rounds], axis=0))
    order = np.argsort(-total, kind="stable")[:ENTITIES]
    steps = [step for document in documents for step in document.chain]
    ends = {step.origin for step in steps if step.origin_type == "entity"}
    ends |= {step.target for step in steps if step.target_type == "entity"}
    shown = {int(row) for row in order if total[row] > 0.0} | rounds[0].seeds.keys()
    shown |= set(rows_of(network.entities, sorted(ends)).tolist())
    entities = np.array(sorted(shown, key=lambda row: (-total[row], row)), dtype=np.int64)
    activation = {network.entities[row]: float(total[row]) for row in entities.tolist()}
    activated = frozenset(iri for iri, value in activation.items() if value >= ACTIVATED)
    chains = {
        network.entities[row]: strongest_chain_to_entity(rounds, row) for row in entities.tolist()
    }
    links = _links(view, question, gate, spreading.entities[np.sort(entities)], activation)
    return documents, Explanation(
        _seeds(view, question, spreading),
        activation,
        activated,
        chains,
        {iri: len(chain) for iri, chain in chains.items()},
        links,
        [k for k in links if k.weight > 0.0 and {k.subject, k.object} <= activated],
    )


def _links(
    view: GraphView,
    question: Vector,
    gate: Gate,
    entities: Rows,
    activation: Mapping[str, float],
) -> list[Link]:
    """Relationships among these entities, at least one end activated, the nearest first."""
    edges, names = relationships_among(view.traversal, entities), view.iris.entities
    iris = {row: names[row] for row in entities.tolist()}
    ends = [(iris[one], iris[other]) for one, other in edges.pairs().tolist()]
    active = [max(activation[one], activation[other]) >= ACTIVATED for one, other in ends]
    at = np.flatnonzero(active)
    rows = edges.statement[at]
    cosines = view.relationship_cosines(question, rows)
    weights = gate(rows)
    order = np.lexsort((rows, -cosines.round(DIGITS)))[:LINKS]
    return [
        Link(
            view.iris.relationships[int(rows[i])],
            ends[at[i]][0],
            ends[at[i]][1],
            "",
            float(cosines[i]),
            float(weights[i]),
        )
        for i in order
    ]


def _seeds(view: GraphView, question: Vector, spreading: Spreading) -> list[Seed]:
    """The entities and documents that the first round starts from, the most active first."""
    network, first = spreading.network, spreading.rounds[0]
    seeds = [
        Seed(network.entities[row], "", 1.0, activation) for row, activation in first.seeds.items()
    ]
    sources = spreading.documents[np.array(list(first.sources), dtype=np.int64)]
    cosines = view.document_vectors(sources) @ question
    seeds += [
        Seed(network.documents[row], network.documents[row], float(cosine), activation)
        for (row, activation), cosine in zip(first.sources.items(), cosines, strict=True)
    ]
    return sorted(seeds, key=lambda seed: (-seed.activation, seed.node))
