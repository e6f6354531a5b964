"""From what a retriever computed to what it returns: ranked documents and their explanation.

Every retriever returns its result through `retrieved`: it gives scored documents, and, if it
activates entities, an `Explanation`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sarag_rdf.base.arrays import Floats
from sarag_rdf.base.options import RetrieverOptions
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import (
    ActivatedEntity,
    Arrival,
    EntityType,
    Link,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
    Subgraph,
)
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.ontology.schema import weights_text
from sarag_rdf.graph.texts import entity_labels, relationship_texts
from sarag_rdf.retrieval.activation import Chain
from sarag_rdf.retrieval.network.kinds import SAME_AS
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A document with its score; the other fields are those of `RankedDocument`."""

    iri: str
    score: float
    similarity: float = 0.0
    activation: float = 0.0
    entity: str = ""
    chain: Chain = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    arrivals: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """How activation spread; entities are IRIs.

    activation: the activation of each entity in the explanation, in (0, 1]. activated: those that
    count as activated. chains: the steps from a seed to each of these entities. hops: the
    distance from a seed of each entity in the subgraph. links: the relationships in the subgraph.
    relationships: those among them that are retrieved. Names and texts are filled in later.
    """

    seeds: Sequence[Seed] = ()
    activation: Mapping[str, float] = field(default_factory=dict)
    activated: frozenset[str] = frozenset()
    chains: Mapping[str, Chain] = field(default_factory=dict)
    hops: Mapping[str, int] = field(default_factory=dict)
    links: Sequence[Link] = ()
    relationships: Sequence[Link] = ()


NOT_EXPLAINED = Explanation()
"""The explanation of a method without activation, or of one that was asked for none."""


@dataclass(frozen=True, kw_only=True)
class RetrieverStrategy(RetrieverOptions, ABC):
    """Ranks documents for a question; its fields are its options.

    Subclasses are found by the entry points ``sarag_rdf.retrievers``.
    """

    @abstractmethod
    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        """Raises `ModelError` if a text cannot be embedded, `StoreError` from the store."""

    def result(
        self,
        view: GraphView,
        query: Query,
        documents: Sequence[ScoredDocument],
        explanation: Explanation = NOT_EXPLAINED,
        calibration: Mapping[str, float] | None = None,
        settings: Mapping[str, float | int | str] | None = None,
    ) -> Retrieved:
        """The result with the texts and names of all that it mentions; see `retrieved`.

        `settings` are recorded beside the options.
        """
        every = self.settings() | dict(settings or {})
        return retrieved(view, query, self.name, every, documents, explanation, calibration)


def retrieved(
    view: GraphView,
    query: Query,
    retriever: str,
    settings: Mapping[str, float | int | str],
    documents: Sequence[ScoredDocument],
    explanation: Explanation = NOT_EXPLAINED,
    calibration: Mapping[str, float] | None = None,
) -> Retrieved:
    """The result of a retriever, with the texts and names of all that it mentions.

    `documents` are in order of rank; those that are not in the graph any more are left out.
    """
    chains = [*explanation.chains.values(), *(document.chain for document in documents)]
    steps = [step for chain in chains for step in chain]
    nodes = {(step.origin_type, step.origin) for step in steps}
    nodes |= {(step.target_type, step.target) for step in steps}
    nodes |= {("document" if s.node == s.text else "entity", s.node) for s in explanation.seeds}
    nodes |= {("document", document.iri) for document in documents}
    nodes |= {("entity", iri) for iri in explanation.activation}
    nodes |= {("entity", a.entity) for document in documents for a in document.arrivals}
    readers = (view.reader,) if view.facts is view else (view.reader, view.facts.reader)
    entities_shown = [iri for kind, iri in nodes if kind == "entity"]
    labels: dict[str, tuple[str, EntityType]] = {}
    for reader in readers:
        labels = entity_labels(reader, entities_shown) | labels
    texts = view.documents(iri for kind, iri in nodes if kind == "document")
    named = explanation.activation.keys()
    shown = {k.relationship for k in explanation.links if {k.subject, k.object} <= named}
    shown |= {k.relationship for k in explanation.relationships}
    shown |= {step.relationship for step in steps if step.kind == "related_to"}
    stated: dict[str, tuple[str, str]] = {}
    for reader in readers:
        stated = relationship_texts(reader, shown) | stated
    sentences = {iri: text for iri, (text, _) in stated.items()}
    origins = {
        k.relationship: stated[k.relationship][1]
        for k in explanation.relationships
        if k.relationship in stated
    }
    if not documents:
        texts |= view.documents(origins.values())
    names = {iri: name for iri, (name, _) in labels.items()}
    names |= {iri: document.title or document.text[:60] for iri, document in texts.items()}
    seeds = tuple(_described_seeds(readers, explanation.seeds, names))
    names |= sentences
    if any(step.kind == SAME_AS.name for step in steps):
        names[SAME_AS.predicate] = "is the same as"

    def with_text(link: Link) -> Link:
        return replace(link, text=sentences.get(link.relationship, link.text))

    starts = {seed.node for seed in seeds}
    entities = (
        ActivatedEntity(
            iri,
            *labels[iri],
            activation,
            iri in starts,
            iri in explanation.activated,
            len(explanation.chains[iri]),
            explanation.chains[iri],
        )
        for iri, activation in explanation.activation.items()
        if iri in labels
    )
    return Retrieved(
        query,
        retriever,
        settings,
        tuple(
            RankedDocument(
                texts[d.iri],
                d.score,
                d.similarity,
                d.activation,
                d.entity,
                rank,
                d.chain,
                d.measures,
                d.parts,
                d.arrivals,
            )
            for rank, d in enumerate((d for d in documents if d.iri in texts), start=1)
        ),
        tuple(map(with_text, explanation.relationships)),
        seeds,
        tuple(sorted(entities, key=lambda entity: (-entity.activation, entity.iri))),
        Subgraph(seeds, explanation.hops, tuple(map(with_text, explanation.links))),
        calibration or {},
        names if explanation is not NOT_EXPLAINED else {},
        sources={iri: texts[origin] for iri, origin in origins.items() if origin in texts},
    )


def weight_settings(view: GraphView, query: Query) -> dict[str, float | int | str]:
    """The activation weights of a search as a setting of its result, if there are any."""
    text = weights_text(view.rules(query))
    return {"weights": text} if text else {}


def _described_seeds(
    readers: Sequence[GraphReader], seeds: Sequence[Seed], names: Mapping[str, str]
) -> list[Seed]:
    """The seeds with their names, and the reasons why they are seeds."""
    descriptions = [seed.text for seed in seeds if seed.text not in ("", seed.node)]
    reasons = {
        iri.value: f"description: {text.value}"
        for reader in readers
        for iri, text, _ in reader.rows_for("description-sources", descriptions)
    }
    reasons |= {seed.node: "document" for seed in seeds if seed.text == seed.node}
    reasons[""] = "named in the question"
    return [
        replace(s, name=names.get(s.node, s.node), reason=reasons.get(s.text, "")) for s in seeds
    ]


def best_documents(
    view: GraphView, scores: Floats, limit: int | None, *, similarities: Floats | None = None
) -> list[ScoredDocument]:
    """Documents by falling score, ties by IRI, at most `limit` of them.

    `scores`, shape (documents,), is -inf for a document that was not found; `similarities`, of
    the same shape, are 0 by default.
    """
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(np.isfinite(scores))][:limit]
    cosines = np.zeros(len(scores)) if similarities is None else similarities
    return [
        ScoredDocument(view.iris.documents[row], float(scores[row]), float(cosines[row]))
        for row in order
    ]


def document_cosines(view: GraphView, question: Vector) -> Floats:
    """Cosines of all documents with the question, by row."""
    index = view.vectors.index("document")
    return index.cosines(question, np.arange(len(index))).astype(np.float64)
