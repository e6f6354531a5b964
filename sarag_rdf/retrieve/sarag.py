"""The default: synchronous activation with thresholds calibrated per question.

Builds on SA-RAG (arXiv 2512.15922, sections 5.4, 5.5). What differs: link weights and the
document threshold are quantiles of this question's similarities, so that they fit any embedder;
all entities of a round fire at once, so that no order matters; and activation takes part in the
ranking.
"""

from __future__ import annotations

import math

from sarag_rdf.algo.activation import spread
from sarag_rdf.algo.arcs import arcs_of
from sarag_rdf.algo.calibrate import calibrated
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.outcome import ScoredDocument, ranked_documents, retrieved
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.seeds import nearest_seeds
from sarag_rdf.graph.subgraph import neighbourhood, relationships_among
from sarag_rdf.graph.texts import documents_of
from sarag_rdf.graph.vectors import GraphVectors
from sarag_rdf.ports import Vector
from sarag_rdf.types import Link, Query, Retrieved, Seed, Subgraph


class Sarag:
    """Query-gated activation over the entities' links; see `__init__` for the parameters."""

    def __init__(
        self,
        reader: GraphReader,
        vectors: GraphVectors,
        *,
        k: int = 10,
        n: int = 3,
        c: float = 0.9,
        tau_a: float = 0.1,
        tau_d: float = 0.5,
        tau_r: float = 0.98,
        gain: float = 0.5,
        limit: int | None = None,
    ) -> None:
        """Parameters, none of which depends on the embedder.

        k: descriptions whose entities are seeds. n: hops, and rounds of activation. c, tau_d,
        tau_r: quantiles of the question's similarities, in [0, 1), to relationships below which
        a link passes nothing, to documents below which one is dropped, and to relationships
        below which one is not shown. tau_a: activation above which an entity counts as
        activated, in [0, 1). gain: what a fully activated entity, described by one document
        only, adds to that document's calibrated similarity.
        """
        if k < 1 or n < 0 or not all(0.0 <= x < 1.0 for x in (c, tau_a, tau_d, tau_r)):
            raise UsageError("sarag needs k of at least 1, n of at least 0, thresholds in [0, 1)")
        self._reader = reader
        self._vectors = vectors
        self._limit = limit
        self._k, self._n, self._c, self._gain = k, n, c, gain
        self._tau_a, self._tau_d, self._tau_r = tau_a, tau_d, tau_r

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        question = self._vectors.embedder.embed([query.text])[0]
        seeds = self._seeds(question)
        hops = neighbourhood(self._reader, (seed.entity for seed in seeds), self._n)
        links = self._links(question, hops)
        arcs = arcs_of((k.relationship, k.subject, k.object, k.weight) for k in links)
        outcome = spread(arcs, {s.entity: s.activation for s in seeds}, rounds=self._n)
        activated = frozenset(e for e, a in outcome.activation.items() if a > self._tau_a)
        shown_from, _ = self._vectors.index("relationship").quantile(question, self._tau_r)
        relationships = sorted(
            (k for k in links if k.similarity >= shown_from and {k.subject, k.object} <= activated),
            key=lambda k: (-k.similarity, k.relationship),
        )
        scored = self._documents(question, {e: outcome.activation[e] for e in activated})
        return retrieved(
            self._reader,
            query,
            "sarag",
            self._settings(),
            Subgraph(seeds, hops, links),
            outcome,
            activated,
            ranked_documents(self._reader, scored, self._limit),
            relationships,
        )

    def _settings(self) -> dict[str, float | int | str]:
        return {
            "k": self._k,
            "n": self._n,
            "c": self._c,
            "tau_a": self._tau_a,
            "tau_d": self._tau_d,
            "tau_r": self._tau_r,
            "gain": self._gain,
        }

    def _seeds(self, question: Vector) -> tuple[Seed, ...]:
        """Seeds, each active by the calibrated similarity of its description."""
        found = nearest_seeds(self._reader, self._vectors, question, self._k)
        floor, ceiling = self._vectors.index("description").quantile(question, self._c)
        return tuple(
            Seed(
                s.entity,
                s.description,
                s.similarity,
                max(0.05, (s.similarity - floor) / (ceiling - floor)) if ceiling > floor else 1.0,
            )
            for s in found
        )

    def _links(self, question: Vector, hops: dict[str, int]) -> tuple[Link, ...]:
        index = self._vectors.index("relationship")
        rows = sorted(relationships_among(self._reader, hops))
        cosines = index.similarities(question, [relationship for relationship, *_ in rows])
        weights = calibrated(cosines, *index.quantile(question, self._c))
        return tuple(
            Link(relationship, subject, object_, "", float(cosine), float(weight))
            for (relationship, subject, object_), cosine, weight in zip(
                rows, cosines, weights, strict=True
            )
        )

    def _documents(self, question: Vector, activation: dict[str, float]) -> list[ScoredDocument]:
        """Documents that describe activated entities, scored by similarity and activation.

        An entity's activation is divided by the root of the number of documents that describe
        it; the strongest entity speaks for a document.
        """
        best: dict[str, tuple[float, str]] = {}
        for entity, documents in sorted(documents_of(self._reader, activation).items()):
            share = activation[entity] / math.sqrt(len(documents))
            for document in documents:
                if document not in best or share > best[document][0]:
                    best[document] = share, entity
        index = self._vectors.index("document")
        iris = sorted(best)
        similarities = index.similarities(question, iris)
        floor, ceiling = index.quantile(question, self._tau_d)
        nearness = calibrated(similarities, floor, ceiling)
        return [
            ScoredDocument(
                iri,
                float(near) + self._gain * best[iri][0],
                float(similarity),
                activation[best[iri][1]],
                best[iri][1],
            )
            for iri, similarity, near in zip(iris, similarities, nearness, strict=True)
            if similarity >= floor
        ]
