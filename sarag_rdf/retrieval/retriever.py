"""Retrievers, and the steps they share: from a question to ranked documents with an explanation.

A retriever gives scored documents and, if it activates entities, an `Explanation`, both by IRI; its
`RetrieverStrategy.result` reads the texts and names of all that they mention.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarag_rdf.base.arrays import Floats
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import RetrieverOptions
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import (
    ActivatedEntity,
    Document,
    EntityType,
    Link,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
    Subgraph,
)
from sarag_rdf.graph.ontology.schema import weights_text
from sarag_rdf.retrieval.activation import Chain
from sarag_rdf.retrieval.network import SAME_AS
from sarag_rdf.retrieval.view import GraphView

MAX_WORDS = 1000
"""Longer questions are refused: an embedding model reads a few hundred words at most."""


def question_of(text: str) -> Query:
    """Fold white space; raise `UsageError` for an empty question or one that is too long."""
    words = text.split()
    if not words:
        raise UsageError("the question is empty: ask something")
    if len(words) > MAX_WORDS:
        raise UsageError(f"the question has {len(words):,} words: ask in at most {MAX_WORDS:,}")
    return Query(" ".join(words))


def scored(
    iri: str,
    score: float,
    similarity: float = 0.0,
    activation: float = 0.0,
    entity: str = "",
    chain: Chain = (),
    measures: Mapping[str, float] | None = None,
) -> RankedDocument:
    """A document by its IRI, whose text and rank `RetrieverStrategy.result` fills in."""
    bare = Document(iri, "", "", "", 0, 0)
    return RankedDocument(bare, score, similarity, activation, entity, 0, chain, measures or {})


def activated(
    iri: str, activation: float, chain: Chain = (), *, is_activated: bool = True
) -> ActivatedEntity:
    """An entity of an `Explanation`, whose name `RetrieverStrategy.result` fills in."""
    return ActivatedEntity(iri, "", "misc", activation, False, is_activated, len(chain), chain)


@dataclass(frozen=True, slots=True)
class Explanation:
    """How activation spread, without names and texts.

    entities: those in the explanation, with an activation in (0, 1]. links: the relationships in
    the subgraph. relationships: those among them that are retrieved. hops: the distance from a seed
    of each entity in the subgraph; by default that of `entities`.
    """

    seeds: Sequence[Seed] = ()
    entities: Sequence[ActivatedEntity] = ()
    links: Sequence[Link] = ()
    relationships: Sequence[Link] = ()
    hops: Mapping[str, int] | None = None

    def without(self, absent: Collection[str]) -> Explanation:
        """The same without some relationships."""
        links, relationships = (
            [link for link in some if link.relationship not in absent]
            for some in (self.links, self.relationships)
        )
        return replace(self, links=links, relationships=relationships)


NOT_EXPLAINED = Explanation()
"""The explanation of a method without activation, or of one that was asked for none."""


@dataclass(frozen=True, kw_only=True)
class RetrieverStrategy(RetrieverOptions, ABC):
    """Ranks documents for a question; an entry point of ``sarag_rdf.retrievers``."""

    @abstractmethod
    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        """Raises `ModelError` if a text cannot be embedded, `StoreError` from the store."""

    def result(
        self,
        view: GraphView,
        query: Query,
        documents: Sequence[RankedDocument],
        explanation: Explanation = NOT_EXPLAINED,
        calibration: Mapping[str, float] | None = None,
        settings: Mapping[str, float | int | str] | None = None,
    ) -> Retrieved:
        """The result with the texts and names of all that it mentions.

        `documents` (see `scored`) are in order of rank; those that are not in the graph any more
        are left out. `settings` are recorded beside the options, and so are activation weights.
        """
        if explanation is not NOT_EXPLAINED and (absent := view.absent(query)):
            explanation = explanation.without(absent)
        seeds, entities, links = explanation.seeds, explanation.entities, explanation.links
        chains = (*(e.chain for e in entities), *(ranked.chain for ranked in documents))
        steps = [step for chain in chains for step in chain]
        nodes = {(step.origin_type, step.origin) for step in steps}
        nodes |= {(step.target_type, step.target) for step in steps}
        nodes |= {("document" if s.node == s.text else "entity", s.node) for s in seeds}
        nodes |= {("document", ranked.document.iri) for ranked in documents}
        nodes |= {("entity", entity.iri) for entity in entities}
        nodes |= {("entity", a.entity) for ranked in documents for a in ranked.arrivals}
        texts = view.documents(iri for kind, iri in nodes if kind == "document")
        shown_entities = [iri for kind, iri in nodes if kind == "entity"]
        named = {entity.iri for entity in entities}
        shown = {k.relationship for k in links if {k.subject, k.object} <= named}
        shown |= {k.relationship for k in explanation.relationships}
        shown |= {step.relationship for step in steps if step.kind == "related_to"}
        labels: dict[str, tuple[str, EntityType]] = {}
        stated: dict[str, tuple[str, str]] = {}
        times: dict[str, dict[str, Any]] = {}
        views = dict.fromkeys((view, view.facts))
        for each in views:
            labels = each.labels(shown_entities) | labels
            stated = each.statements(shown) | stated
            times |= each.times(shown)
        origins = {
            link.relationship: stated[link.relationship][1]
            for link in explanation.relationships
            if link.relationship in stated
        }
        if not documents:
            texts |= view.documents(origins.values())
        names = {iri: name for iri, (name, _) in labels.items()}
        names |= {iri: document.title or document.text[:60] for iri, document in texts.items()}
        seeds = tuple(_described_seeds(views, seeds, names))
        names |= {iri: text for iri, (text, _) in stated.items()}
        if any(step.kind == SAME_AS.name for step in steps):
            names[SAME_AS.predicate] = "is the same as"

        texts_of = {
            link: replace(
                link,
                text=stated.get(link.relationship, (link.text,))[0],
                **times.get(link.relationship, {}),
            )
            for link in (*links, *explanation.relationships)
        }
        starts = {seed.node for seed in seeds}
        named_entities = [
            ActivatedEntity(
                *(e.iri, *labels[e.iri], e.activation, e.iri in starts),
                *(e.is_activated, e.hop, e.chain),
            )
            for e in entities
            if e.iri in labels
        ]
        known = [ranked for ranked in documents if ranked.document.iri in texts]
        hops = explanation.hops
        recorded = self.settings() | dict(settings or {})
        if self.is_steered and (weights := weights_text(view.rules(query))):
            recorded["weights"] = weights
        if query.at:
            recorded["at"] = query.at
        return Retrieved(
            query,
            self.name,
            recorded,
            tuple(
                replace(ranked, document=texts[ranked.document.iri], rank=rank)
                for rank, ranked in enumerate(known, start=1)
            ),
            tuple(map(texts_of.__getitem__, explanation.relationships)),
            seeds,
            tuple(sorted(named_entities, key=lambda entity: (-entity.activation, entity.iri))),
            Subgraph(
                seeds,
                {entity.iri: entity.hop for entity in entities} if hops is None else hops,
                tuple(map(texts_of.__getitem__, links)),
            ),
            calibration or {},
            names if explanation is not NOT_EXPLAINED else {},
            sources={iri: texts[origin] for iri, origin in origins.items() if origin in texts},
        )


def _described_seeds(
    views: Iterable[GraphView], seeds: Sequence[Seed], names: Mapping[str, str]
) -> list[Seed]:
    """The seeds with their names, and the reasons why they are seeds."""
    descriptions = [seed.text for seed in seeds if seed.text not in ("", seed.node)]
    reasons = {
        iri.value: f"description: {text.value}"
        for view in views
        for iri, text, _ in view.reader.rows_for("description-sources", descriptions)
    }
    reasons |= {seed.node: "document" for seed in seeds if seed.text == seed.node}
    reasons[""] = "named in the question"
    return [
        replace(s, name=names.get(s.node, s.node), reason=s.reason or reasons.get(s.text, ""))
        for s in seeds
    ]


def best_documents(
    view: GraphView, scores: Floats, limit: int | None, *, similarities: Floats | None = None
) -> list[RankedDocument]:
    """Documents by falling score, ties by IRI, at most `limit` of them; see `scored`.

    `scores`, shape (documents,), is -inf for a document that was not found; `similarities`, of
    the same shape, are 0 by default.
    """
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(np.isfinite(scores))][:limit]
    cosines = np.zeros(len(scores)) if similarities is None else similarities
    return [
        scored(view.iris.documents[row], float(scores[row]), float(cosines[row])) for row in order
    ]


def document_cosines(view: GraphView, question: Vector) -> Floats:
    """Cosines of all documents with the question, by row."""
    index = view.vectors.index("document")
    return index.cosines(question, np.arange(len(index))).astype(np.float64)
