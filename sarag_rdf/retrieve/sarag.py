"""The default: query-gated activation with documents as nodes, calibrated per question.

Grown from SA-RAG (arXiv 2512.15922, sections 5.4, 5.5). Activation starts at the entities that
the question names, at those of the nearest descriptions, and at the nearest documents; it passes
from documents to what they describe, over relationships between entities, and back to documents.
Every relationship is gated by its similarity to the question, calibrated by quantiles of this
question's similarities, so that no threshold depends on the embedder; what leaves an entity is
divided by the number of documents that describe it; and all entities of a round fire at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sarag_rdf.algo.activation import spread
from sarag_rdf.algo.arcs import Arc, Spread
from sarag_rdf.algo.calibrate import calibrated
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.describing import salience, topics_of
from sarag_rdf.graph.outcome import ScoredDocument, ranked_documents, retrieved
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.seeds import named_seeds, nearest_seeds
from sarag_rdf.graph.subgraph import neighbourhood, relationships_among
from sarag_rdf.graph.texts import documents_of
from sarag_rdf.graph.vectors import GraphVectors, Kind
from sarag_rdf.ports import Vector
from sarag_rdf.types import Link, Query, Retrieved, Seed, Subgraph
from sarag_rdf.vocab import SARAG

CANDIDATES = 200
"""Documents that are scored beside those that activation reaches: the nearest ones."""
ACTIVATED = 0.1
"""Activation above which an entity counts as activated, in what is shown."""
SHOWN = 0.98
"""Quantile of the similarities to relationships from which on one is shown."""


class Sarag:
    """Query-gated activation; see `__init__` for the parameters."""

    def __init__(
        self,
        reader: GraphReader,
        vectors: GraphVectors,
        *,
        k: int = 5,
        n: int = 2,
        c: float = 0.98,
        decay: float = 0.3,
        gain: float = 0.4,
        limit: int | None = None,
    ) -> None:
        """Parameters, none of which depends on the embedder.

        k: nearest documents, and nearest descriptions, that activation starts at. n: hops over
        relationships. c: quantile of the question's similarities to relationships, in [0, 1), up
        to which a relationship passes nothing. decay: the share of its activation that an entity
        passes to the next, in [0, 1]. gain: how much activation counts in a document's score
        beside similarity, 0 for none.
        """
        if k < 1 or n < 0 or not 0.0 <= c < 1.0 or not 0.0 <= decay <= 1.0 or gain < 0.0:
            raise UsageError(
                "sarag needs k of at least 1, n of at least 0, c in [0, 1), decay in [0, 1] and "
                "gain of at least 0"
            )
        self._reader = reader
        self._vectors = vectors
        self._limit = limit
        self._k, self._n, self._c = k, n, c
        self._decay, self._gain = decay, gain

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if the question cannot be embedded, `StoreError` from the store."""
        question = self._vectors.embedder.embed([query.text])[0]
        seeds = self._seeds(query, question)
        described = self._described(question, seeds)
        starts = {s.node for s in seeds} - described.keys()
        starts |= {arc.target for arcs in described.values() for arc in arcs}
        hops = neighbourhood(self._reader, starts, self._n)
        documents = documents_of(self._reader, hops)
        links = self._links(question, hops)
        outcome = spread(
            described | self._arcs(links, documents),
            {s.node: s.activation for s in seeds},
            rounds=self._n + 1,
        )
        activated = frozenset(e for e, a in outcome.activation.items() if a > ACTIVATED)
        scored, calibration = self._documents(question, seeds, outcome, documents)
        return retrieved(
            self._reader,
            query,
            "sarag",
            {"k": self._k, "n": self._n, "c": self._c, "decay": self._decay, "gain": self._gain},
            calibration,
            Subgraph(seeds, hops, links),
            outcome,
            activated,
            ranked_documents(self._reader, scored, self._limit),
            self._shown(question, links, activated),
        )

    def _calibrated(self, kind: Kind, question: Vector, iris: list[str], q: float) -> list[float]:
        index = self._vectors.index(kind)
        similarities = index.similarities(question, iris)
        return [float(x) for x in calibrated(similarities, *index.quantile(question, q))]

    def _seeds(self, query: Query, question: Vector) -> tuple[Seed, ...]:
        """Entities that are named or nearest by description, and the nearest documents."""
        seeds = {seed.node: seed for seed in named_seeds(self._reader, query.text)}
        nearest = nearest_seeds(self._reader, self._vectors, question, self._k)
        strengths = self._calibrated("description", question, [s.text for s in nearest], 0.9)
        for seed, strength in zip(nearest, strengths, strict=True):
            if strength > 0.0:
                seeds.setdefault(seed.node, replace(seed, activation=strength / 2))
        documents = dict(self._vectors.index("document").nearest(question, self._k))
        strengths = self._calibrated("document", question, list(documents), 0.9)
        for (iri, similarity), strength in zip(documents.items(), strengths, strict=True):
            if strength > 0.0:
                seeds[iri] = Seed(iri, iri, similarity, strength)
        return tuple(sorted(seeds.values(), key=lambda s: (-s.activation, s.node)))

    def _described(self, question: Vector, seeds: Iterable[Seed]) -> dict[str, list[Arc]]:
        """Arcs from documents that are seeds to the entities that they describe."""
        documents = [seed.node for seed in seeds if seed.node == seed.text]
        passed = salience(self._reader, documents, self._gates(question, documents))
        return {
            document: [Arc(entity, SARAG.describes.value, share) for entity, share in found.items()]
            for document, found in passed.items()
        }

    def _gates(self, question: Vector, documents: Iterable[str]) -> dict[str, float]:
        """Weights of the relationships that documents state."""
        rows = self._reader.rows_for("document-relationships", documents)
        relationships = sorted({relationship.value for _, relationship, *_ in rows})
        weights = self._calibrated("relationship", question, relationships, self._c)
        return dict(zip(relationships, weights, strict=True))

    def _links(self, question: Vector, hops: Mapping[str, int]) -> tuple[Link, ...]:
        rows = sorted(relationships_among(self._reader, hops))
        iris = [relationship for relationship, *_ in rows]
        cosines = self._vectors.index("relationship").similarities(question, iris)
        weights = self._calibrated("relationship", question, iris, self._c)
        return tuple(
            Link(relationship, subject, object_, "", float(cosine), weight)
            for (relationship, subject, object_), cosine, weight in zip(
                rows, cosines, weights, strict=True
            )
        )

    def _arcs(
        self, links: Iterable[Link], documents: Mapping[str, list[str]]
    ) -> dict[str, list[Arc]]:
        """Arcs both ways; what leaves an entity is divided by its document frequency."""
        arcs: dict[str, list[Arc]] = {}
        for link in links:
            if link.weight > 0.0 and link.subject != link.object:
                for origin, target in ((link.subject, link.object), (link.object, link.subject)):
                    weight = self._decay * link.weight / max(1, len(documents.get(origin, ())))
                    arcs.setdefault(origin, []).append(Arc(target, link.relationship, weight))
        return arcs

    def _shown(
        self, question: Vector, links: Iterable[Link], activated: frozenset[str]
    ) -> list[Link]:
        floor, _ = self._vectors.index("relationship").quantile(question, SHOWN)
        shown = [k for k in links if k.similarity >= floor and {k.subject, k.object} <= activated]
        return sorted(shown, key=lambda k: (-k.similarity, k.relationship))

    def _documents(
        self,
        question: Vector,
        seeds: Iterable[Seed],
        outcome: Spread,
        documents: Mapping[str, list[str]],
    ) -> tuple[list[ScoredDocument], dict[str, float]]:
        """Score documents: ``z(similarity) + gain * z(sqrt(activation))``.

        A document's activation is that of the entity which speaks for it most, without what the
        document itself gave to it, divided by the entity's document frequency, and weighted more
        where the document is about the entity. z-scores are over all documents.
        """
        received = {seed.node: seed.activation for seed in seeds}
        own: dict[tuple[str, str], float] = {}
        for step in outcome.passes:
            received[step.target] = received.get(step.target, 0.0) + step.amount
            own[step.origin, step.target] = step.amount
        index = self._vectors.index("document")
        topics = topics_of(self._reader, {d for found in documents.values() for d in found})
        best: dict[str, tuple[float, str]] = {}
        for entity, total in sorted(received.items()):
            for document in documents.get(entity, ()):
                rest = min(1.0, total - own.get((document, entity), 0.0))
                about = 0.2 + 0.5 * (topics.get(document) == entity)
                amount = rest / len(documents[entity]) * about
                if amount > best.get(document, (0.0, ""))[0]:
                    best[document] = amount, entity
        roots = [math.sqrt(amount) for amount, _ in best.values()]
        count = max(1, len(index))
        mean = sum(roots) / count
        deviation = math.sqrt(max(0.0, sum(r * r for r in roots) / count - mean * mean))
        centre, width = index.moments(question)
        iris = sorted(best.keys() | dict(index.nearest(question, CANDIDATES)))
        scored = []
        for iri, similarity in zip(iris, index.similarities(question, iris), strict=True):
            activation, entity = best.get(iri, (0.0, ""))
            score = _z(float(similarity), centre, width)
            score += self._gain * _z(math.sqrt(activation), mean, deviation)
            scored.append(ScoredDocument(iri, score, float(similarity), activation, entity))
        return scored, {
            "similarity_mean": centre,
            "similarity_deviation": width,
            "root_activation_mean": mean,
            "root_activation_deviation": deviation,
        }


def _z(value: float, mean: float, deviation: float) -> float:
    return (value - mean) / deviation if deviation > 0.0 else 0.0
