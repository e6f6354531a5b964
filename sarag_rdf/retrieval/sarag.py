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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, Rows, Scale, distinct, places_in, rows_of
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import (
    VALUE_TYPES,
    Link,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
)
from sarag_rdf.retrieval.activation import Activation, Chains, Gate, Rates, Round, Spreading
from sarag_rdf.retrieval.asked_classes import AskedClasses
from sarag_rdf.retrieval.network import ABOUT, Network
from sarag_rdf.retrieval.retriever import (
    NOT_EXPLAINED,
    Explanation,
    RetrieverStrategy,
    activated,
    scored,
)
from sarag_rdf.retrieval.seeds import names_in
from sarag_rdf.retrieval.view import GraphView

BEAM = 30
"""The number of documents that a further round starts from: those activated most before."""
HEADS = 3
"""The number of documents whose entities of a class that the question names lead on."""
ACTIVATED = 0.05
"""The activation from which an entity counts as activated in the explanation."""
ENTITIES = 100
"""The most active entities in the explanation; seeds and those on chains to documents are added."""
LINKS = 500
"""The most relationships in the explanation, the nearest to the question first."""
DIGITS = 5
"""Decimals by which cosines differ; those of equal texts may differ in the seventh."""


@dataclass(frozen=True, kw_only=True)
class Sarag(RetrieverStrategy):
    """Query-gated spreading activation over documents, entities and relationships."""

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
    class_gain: float = option(
        2.0,
        "Added to the score of a document about an instance of a class that the question names, "
        "if one of the first 3 documents describes that instance.",
        ge=0.0,
        le=MAX_COUNT,
    )
    topic_penalty: float = option(
        3.0,
        "What the score of a document loses for each better document about the same topic.",
        ge=0.0,
        le=MAX_COUNT,
    )
    near: float = option(
        0.5,
        "Least probability of a near name, for words of the question that are misspelt or a part "
        "of a name. With 1 only names as the graph has them count.",
        ge=0.0,
        le=1.0,
    )
    explain: bool = option(
        True,
        "Return seeds, paths, entities and relationships; without them the ranking is the same.",
        recorded=False,
    )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        names = names_in(view, query.text, self.near)
        question = view.vectors.embed_query(names.text)
        named = names.entities(view, question)
        relevance = Relevance(view, names.text, question, list(named))
        order = np.argsort(-relevance.candidate_scores, kind="stable")
        nearest = relevance.candidates[order[: self.k]].tolist()
        entities = rows_of(view.iris.entities, list(named)).tolist()
        floor, ceiling = view.vectors.index("relationship").quantile(question, self.c)

        def gate(rows: Rows) -> Floats:
            return calibrated(view.relationship_cosines(question, rows), floor, ceiling)

        spreading = Spreading(view.network, gate, Rates(self.decay), view.steering(query))
        rounds = spreading.rounds(
            Activation.of(dict.fromkeys(nearest, 1.0)),
            Activation.of(dict(zip(entities, named.values(), strict=True))),
            self.n,
            BEAM,
        )
        asked = view.derived(AskedClasses).named(query.text) if self.class_gain else {}
        classes = frozenset[str]().union(*asked.values())
        documents, calibration = self.ordered(view, query, relevance, rounds, classes)
        calibration |= {"weight_floor": floor, "weight_ceiling": ceiling}
        explanation = NOT_EXPLAINED
        if self.explain:
            documents, explanation = explained(view, question, spreading, rounds, documents)
            explanation = replace(explanation, seeds=names.described(view, explanation.seeds))
        settings = {"classes": " and ".join(asked)} if asked else {}
        return self.result(view, query, documents, explanation, calibration, settings)

    def ordered(
        self,
        view: GraphView,
        query: Query,  # noqa: ARG002 - for subclasses
        relevance: Relevance,
        rounds: Sequence[Round],
        classes: frozenset[str],
    ) -> tuple[list[RankedDocument], dict[str, float]]:
        """The best of the documents that are near or reached, and the scales of their z-scores.

        With z over all documents, s the cosine with the question less `MASK` times that with
        the names in it, and a(t) the activation of round t::

            score = z(s) + WORDS z(BM25) + gain * sum of z(sqrt(a(t)))
                    + class_gain * i - topic_penalty * r

        i is 1 if one of the `HEADS` best documents, by the first three summands, describes what
        this document is about, and that is an instance of one of `classes`; else 0. r is the number
        of documents about the same topic whose score without r is higher.
        """
        touched = [rows for r in rounds for rows in (r.sources.rows, r.documents.rows)]
        rows = distinct(np.concatenate([relevance.candidates, *touched]))
        scales = {"meaning": relevance.masked_scale, "words": relevance.words_scale}
        parts: dict[str, Floats] = {}
        for number, round_ in enumerate(rounds, start=1):
            name, roots = f"activation_{number}", np.sqrt(round_.documents.at(rows))
            scales[name] = Scale.of_sparse(roots, len(view.iris.documents))
            parts[name] = self.gain * scales[name].z(roots)
        added = np.sum(list(parts.values()), axis=0)
        asked = np.zeros(len(rows))
        if classes:
            heads = rows[best(relevance, rows, added, HEADS)]
            asked_documents = view.derived(AskedClasses).documents(view, heads, classes)
            asked = (places_in(asked_documents, rows) >= 0).astype(np.float64)
        parts["asked"] = self.class_gain * asked
        topics = topics_of(view.network, rows)
        few = promising(relevance, rows, added + parts["asked"], topics, self.limit)
        rows, parts = rows[few], {name: values[few] for name, values in parts.items()}
        similarity, named = relevance.cosines(rows)
        measures = {"similarity": similarity, "named": named, "words": relevance.words[rows]}
        measures["asked"] = asked[few]
        parts = {
            "meaning": relevance.masked_scale.z(similarity - MASK * named),
            "words": WORDS * relevance.words_scale.z(measures["words"]),
            **parts,
        }
        scores = np.sum(list(parts.values()), axis=0)
        measures["repetition"] = repetitions(scores, topics[few])
        parts["repetition"] = 0.0 - self.topic_penalty * measures["repetition"]
        scores += parts["repetition"]
        amounts = np.stack([round_.documents.at(rows) for round_ in rounds])
        documents = []
        for i in np.lexsort((rows, -scores))[: self.limit].tolist():
            last = rounds[int(np.argmax(amounts[:, i]))].passes[4]
            at = last.largest(int(rows[i]))
            ranked = scored(
                view.iris.documents[int(rows[i])],
                float(scores[i]),
                float(similarity[i]),
                sum(amounts[:, i].tolist()),
                view.iris.entities[int(last.edges.source[at])] if at >= 0 else "",
                measures={name: float(values[i]) for name, values in measures.items()},
            )
            summands = {name: float(values[i]) for name, values in parts.items()}
            documents.append(replace(ranked, parts=summands))
        calibration = {"mask_weight": MASK, "words_weight": WORDS}
        for name, scale in scales.items():
            calibration |= {f"{name}_mean": scale.mean, f"{name}_deviation": scale.deviation}
        return documents, calibration


def explained(
    view: GraphView,
    question: Vector,
    spreading: Spreading,
    rounds: Sequence[Round],
    documents: Sequence[RankedDocument],
) -> tuple[list[RankedDocument], Explanation]:
    """The documents with their chains, and the explanation of how activation reached them.

    A shared year or adjective explains little: if most came over one, the chain of a document is
    the largest over its own topic, which another document names, if there is one. The largest
    contributions, whatever they came over, are its `arrivals`.
    """
    iris, chains = view.iris, Chains(spreading, rounds)
    rows = rows_of(iris.documents, [ranked.document.iri for ranked in documents]).tolist()
    types = view.labels({ranked.entity for ranked in documents if ranked.entity})

    def with_chain(ranked: RankedDocument, row: int) -> RankedDocument:
        _, type_ = types.get(ranked.entity, ("", "misc"))
        chain = chains.to_document(row, ABOUT) if type_ in VALUE_TYPES else ()
        chain = chain or chains.to_document(row)
        entity = chain[-1].origin if chain else ""
        return replace(ranked, entity=entity, chain=chain, arrivals=chains.arrivals(row))

    documents = [*map(with_chain, documents, rows)]
    active = distinct(np.concatenate([round_.entities.rows for round_ in rounds]))
    sums = np.sum([round_.entities.at(active) for round_ in rounds], axis=0)
    total = Activation(active, np.minimum(1.0, sums))
    steps = [step for ranked in documents for step in ranked.chain]
    ends = {step.origin for step in steps if step.origin_type == "entity"}
    ends |= {step.target for step in steps if step.target_type == "entity"}
    named = rounds[0].seeds.rows, rows_of(iris.entities, sorted(ends))
    shown = distinct(np.concatenate((total.best(ENTITIES).rows, *named)))
    amounts = total.at(shown)
    order = np.lexsort((shown, -amounts))
    names = map(iris.entities.__getitem__, shown[order].tolist())
    columns = zip(names, amounts[order].tolist(), chains.to_entities(shown[order]), strict=True)
    entities = {
        iri: activated(iri, amount, chain, is_activated=amount >= ACTIVATED)
        for iri, amount, chain in columns
    }
    links = _links(view, question, spreading.gate, shown, shown[amounts >= ACTIVATED])
    retrieved = [
        link
        for link in links
        if link.weight > 0.0
        and entities[link.subject].is_activated
        and entities[link.object].is_activated
    ]
    seeds = _seeds(view, question, rounds[0])
    return documents, Explanation(seeds, tuple(entities.values()), links, retrieved)


def _links(view: GraphView, question: Vector, gate: Gate, rows: Rows, active: Rows) -> list[Link]:
    """Relationships among these entities, at least one end in `active`, the nearest first."""
    iris, edges = view.iris, view.network.relationships_among(rows)
    is_active = [places_in(active, end) >= 0 for end in (edges.source, edges.target)]
    edges = edges.take(np.any(is_active, axis=0))
    cosines = view.relationship_cosines(question, edges.statement)
    order = np.lexsort((edges.statement, -cosines.round(DIGITS)))[:LINKS]
    weights, edges = gate(edges.statement)[order], edges.take(order)
    columns = [column.tolist() for column in (*edges.columns(), cosines[order], weights)]
    return [
        Link(iris.relationships[row], iris.entities[subject], iris.entities[object_], "", *numbers)
        for subject, object_, row, *numbers in zip(*columns, strict=True)
    ]


def _seeds(view: GraphView, question: Vector, first: Round) -> list[Seed]:
    """The entities and documents that the first round starts from, the most active first."""
    iris, seeds, sources = view.iris, first.seeds, first.sources
    amounts = zip(seeds.rows.tolist(), seeds.amounts.tolist(), strict=True)
    every = [Seed(iris.entities[row], "", 1.0, amount) for row, amount in amounts]
    names = [iris.documents[row] for row in sources.rows.tolist()]
    cosines = view.vectors.index("document").vectors(sources.rows) @ question
    columns = zip(names, names, cosines.tolist(), sources.amounts.tolist(), strict=True)
    every += [Seed(*column) for column in columns]
    return sorted(every, key=lambda seed: (-seed.activation, seed.node))


MASK = 0.4
"""The share of the names' mean vector that is subtracted from the question's."""
WORDS = 0.2
"""The weight of BM25 relative to the cosine, both as z-scores."""
CANDIDATES = 200
"""The number of candidates by cosine, and of candidates by BM25."""

TOLERANCE = 1e-5
"""The error of cosines that are computed in 32 bits."""


class Relevance:
    """The relevance of documents to a question without activation: cosines and BM25 scores.

    The names in the question are subtracted from it in part: activation finds the documents about
    what the question names, similarity those about the rest of the question.
    """

    def __init__(self, view: GraphView, text: str, question: Vector, named: Sequence[str]) -> None:
        """`named` are the entities that the question names."""
        self._index = view.vectors.index("document")
        self._question = question
        self._names = np.zeros_like(question)
        if named:
            labels = view.labels(named)
            texts = [labels[entity][0] for entity in named]
            self._names = view.vectors.embedder.embed(texts).mean(axis=0)
        self.masked_question: Vector = np.asarray(
            question - np.float32(MASK) * self._names, dtype=np.float32
        )
        self.words = view.words.scores(text).astype(np.float64)
        self.masked_scale = Scale(*self._index.moments(self.masked_question))
        self.words_scale = Scale.of(self.words)

        nearest, cosines = self._index.nearest_rows(self.masked_question, CANDIDATES)
        best = highest(self.words, CANDIDATES)
        self.candidates = distinct(np.concatenate((nearest, best[self.words[best] > 0.0])))
        """Rows of the documents with the highest cosines or BM25 scores, ascending."""
        self.candidate_scores = self.scores(self.candidates)
        self.bound = self._bound(cosines[-1:], self.words[best[-1:]])
        """The upper bound of the score of any other document."""

    def _bound(self, cosine: Vector, word: Floats) -> float:
        meaning = self.masked_scale.z(cosine.astype(np.float64) + TOLERANCE)
        return float(meaning.sum() + WORDS * self.words_scale.z(word).sum())

    def cosines(self, rows: Sequence[int] | Rows) -> tuple[Floats, Floats]:
        """The cosines of documents, by row, with the question and with the mean of the names."""
        vectors = self._index.vectors(np.array(rows, dtype=np.int64)).astype(np.float64)
        return vectors @ self._question, vectors @ self._names

    def scores(self, rows: Sequence[int] | Rows) -> Floats:
        """The scores of documents, by row: the sum of both z-scores."""
        similarity, named = self.cosines(rows)
        masked = self.masked_scale.z(similarity - MASK * named)
        return masked + WORDS * self.words_scale.z(self.words[np.array(rows, dtype=np.int64)])


def highest(values: Floats, count: int) -> Rows:
    """Positions of the `count` highest values, best first, ties by position."""
    few = np.arange(len(values))
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        few = np.flatnonzero(values >= least)
    return few[np.argsort(-values[few], kind="stable")][:count]


def topics_of(network: Network, documents: Rows) -> Rows:
    """What each document is about, -1 for nothing: shape (len(documents),).

    `documents` ascend; of several topics, the one of the lowest row counts.
    """
    topics = np.full(len(documents), -1)
    edges = network.outgoing(ABOUT, documents)
    topics[np.searchsorted(documents, edges.source[::-1])] = edges.target[::-1]
    return topics


def repetitions(scores: Floats, topics: Rows) -> Floats:
    """The number of better documents about the same topic, of equals the first: shape (n,).

    0 for a document without a topic (-1).
    """
    order = np.lexsort((-scores, topics))
    first = np.flatnonzero(np.diff(topics[order], prepend=-2))
    sizes = np.diff(first, append=len(order))
    counts = np.zeros(len(order))
    counts[order] = np.arange(len(order)) - np.repeat(first, sizes)
    return np.where(topics < 0, 0.0, counts)


def best(relevance: Relevance, documents: Rows, added: Floats, count: int) -> Rows:
    """Positions in `documents` of the `count` best; `added` as for `promising`."""
    few = promising(relevance, documents, added, np.full(len(documents), -1), count)
    return few[highest(relevance.scores(documents[few]) + added[few], count)]


def promising(
    relevance: Relevance, documents: Rows, added: Floats, topics: Rows, limit: int | None
) -> Rows:
    """Positions in `documents` of those that can be among the `limit` best; all without a limit.

    `added` is what is added to the relevance of each document. The relevance of a
    document that is not a candidate is bounded by that of the last candidates, so if its score
    cannot reach that of the best candidates about different topics, its vector is not read.
    """
    if limit is None or len(documents) <= limit:
        return np.arange(len(documents))
    closest = np.searchsorted(documents, relevance.candidates)
    scores = relevance.candidate_scores + added[closest]
    scores = scores[repetitions(scores, topics[closest]) == 0.0]
    least = scores[highest(scores, limit)[-1]] if len(scores) >= limit else -np.inf
    is_promising = added + relevance.bound >= least
    is_promising[closest] = True
    return np.flatnonzero(is_promising)


def calibrated(
    similarities: NDArray[np.float32], floor: float, ceiling: float
) -> NDArray[np.float64]:
    """Map `floor` to 0 and `ceiling` to 1, linearly, clipped: shape (n,), in [0, 1].

    If both are a quantile and the maximum of the similarities to one question, an affine change of
    all similarities changes nothing. A ceiling not above the floor gives zeros.
    """
    values = np.asarray(similarities, dtype=np.float64)
    if not ceiling > floor:
        return np.zeros(len(values))
    return np.clip((values - floor) / (ceiling - floor), 0.0, 1.0)
