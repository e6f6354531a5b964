"""From raw activation to the values a caller sees: named entities with chains, ranked documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import entity_labels, full_documents, relationship_texts
from sarag_rdf.ports import Vector
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import (
    ActivatedEntity,
    Link,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
    Step,
    Subgraph,
)

Floats = NDArray[np.float64]
NOTHING = Subgraph((), {}, ())
"""The subgraph of a method that looks at no entity."""


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A document to return: `entity` is the activated one that speaks for it most."""

    iri: str
    score: float
    similarity: float
    activation: float
    entity: str


def activated_entities(
    reader: GraphReader, subgraph: Subgraph, outcome: Spread, activated: frozenset[str]
) -> tuple[ActivatedEntity, ...]:
    """All reached entities by falling activation, each with the chain that led to it."""
    passes: defaultdict[str, list[Pass]] = defaultdict(list)
    for step in outcome.passes:
        passes[step.target].append(step)
    seeds = {seed.node for seed in subgraph.seeds}
    labels = entity_labels(reader, [e for e, a in outcome.activation.items() if a > 0.0])
    entities = []
    for iri, (name, type_) in labels.items():
        chain = tuple(
            Step(p.round, p.origin, p.target, p.link, p.weight, p.amount, p.activation)
            for p in chain_to(iri, passes, seeds)
        )
        activation = outcome.activation[iri]
        entities.append(
            ActivatedEntity(
                iri, name, type_, activation, iri in seeds, iri in activated, len(chain), chain
            )
        )
    return tuple(sorted(entities, key=lambda e: (-e.activation, e.iri)))


def ranked_documents(
    reader: GraphReader, scored: Iterable[ScoredDocument], limit: int | None
) -> tuple[RankedDocument, ...]:
    """Documents by falling score, ties by IRI, at most `limit` of them, with their texts."""
    ordered = sorted(scored, key=lambda d: (-d.score, d.iri))[:limit]
    documents = full_documents(reader, [d.iri for d in ordered])
    return tuple(
        RankedDocument(documents[d.iri], d.score, d.similarity, d.activation, d.entity, rank)
        for rank, d in enumerate(ordered, start=1)
        if d.iri in documents
    )


def retrieved(
    reader: GraphReader,
    query: Query,
    retriever: str,
    settings: Mapping[str, float | int | str],
    calibration: Mapping[str, float],
    subgraph: Subgraph,
    outcome: Spread,
    activated: frozenset[str],
    documents: Sequence[RankedDocument],
    relationships: Sequence[Link],
) -> Retrieved:
    """Put together what was retrieved; texts of links are fetched for those that are shown."""
    entities = activated_entities(reader, subgraph, outcome, activated)
    shown = {link.relationship for link in relationships}
    shown |= {step.relationship for e in entities for step in e.chain}
    shown |= {
        link.relationship
        for link in subgraph.links
        if link.subject in outcome.activation and link.object in outcome.activation
    }
    texts = relationship_texts(reader, shown)

    def with_text(link: Link) -> Link:
        return (
            replace(link, text=texts[link.relationship][0]) if link.relationship in texts else link
        )

    subgraph = replace(
        subgraph,
        seeds=_told(reader, subgraph.seeds),
        links=tuple(with_text(link) for link in subgraph.links),
    )
    chains = {entity.iri: entity.chain for entity in entities}
    names = {seed.node: seed.name for seed in subgraph.seeds}
    names |= {entity.iri: entity.name for entity in entities}
    names |= {relationship: text for relationship, (text, _) in texts.items()}
    return Retrieved(
        query,
        retriever,
        settings,
        tuple(replace(document, chain=chains[document.entity]) for document in documents),
        tuple(with_text(link) for link in relationships),
        subgraph.seeds,
        entities,
        subgraph,
        calibration,
        names,
    )


def document_cosines(view: GraphView, question: Vector) -> Floats:
    """Cosines of all documents with the question, by row."""
    index = view.vectors.index("document")
    return index.cosines(question, np.arange(len(index))).astype(np.float64)


def listed(
    view: GraphView,
    query: Query,
    retriever: str,
    settings: Mapping[str, float | int | str],
    scores: Floats,
    limit: int | None,
    *,
    similarities: Floats | None = None,
    subgraph: Subgraph = NOTHING,
) -> Retrieved:
    """What a method without activation found: documents by falling score, ties by IRI.

    `scores` has one for every document, -inf for those that were not found;
    without `similarities`, likewise of all documents, they are 0.
    """
    order = np.argsort(-scores, kind="stable")
    documents = view.iris.documents
    best = order[: np.count_nonzero(np.isfinite(scores))][:limit]
    found = (
        ScoredDocument(
            documents[row],
            float(scores[row]),
            0.0 if similarities is None else float(similarities[row]),
            0.0,
            "",
        )
        for row in best
    )
    shown = ranked_documents(view.reader, found, limit)
    seeds = _told(view.reader, subgraph.seeds)
    subgraph = replace(subgraph, seeds=seeds)
    return Retrieved(query, retriever, settings, shown, (), seeds, (), subgraph)


def _told(reader: GraphReader, seeds: Sequence[Seed]) -> tuple[Seed, ...]:
    """Give each seed its name, and the reason in words."""
    names = {iri: name for iri, (name, _) in entity_labels(reader, [s.node for s in seeds]).items()}
    texts = [seed.text for seed in seeds if seed.text]
    reasons = {"": "named in the question"}
    for iri, text, _ in reader.rows_for("description-sources", texts):
        reasons[iri.value] = f"description: {text.value}"
    for iri, document in full_documents(reader, texts).items():
        names[iri] = document.title or document.text[:60]
        reasons[iri] = "document"
    return tuple(
        replace(s, name=names.get(s.node, s.node), reason=reasons.get(s.text, "")) for s in seeds
    )


class Arc(NamedTuple):
    """One direction of a link; `link` names it. The weight lies in [0, 1]."""

    target: str
    link: str
    weight: float


class Pass(NamedTuple):
    """Activation handed over one arc: ``amount = weight * activation of origin``.

    `round` grows with time; `activation` is the target's afterwards, in [0, 1].
    """

    round: int
    origin: str
    target: str
    link: str
    weight: float
    amount: float
    activation: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Activations of all nodes that were reached, in [0, 1], and every pass that moved some."""

    activation: Mapping[str, float]
    passes: Sequence[Pass]


def arcs_of(links: Iterable[tuple[str, str, str, float]]) -> dict[str, list[Arc]]:
    """Arcs both ways of (link, subject, object, weight), in a fixed order.

    Self-loops are left out, and links of weight 0. Parallel links stay parallel.
    """
    arcs: defaultdict[str, list[Arc]] = defaultdict(list)
    for link, subject, object_, weight in links:
        if subject != object_ and weight > 0.0:
            arcs[subject].append(Arc(object_, link, weight))
            arcs[object_].append(Arc(subject, link, weight))
    return {node: sorted(found) for node, found in arcs.items()}


def chain_to(node: str, passes: Mapping[str, Sequence[Pass]], seeds: Iterable[str]) -> list[Pass]:
    """Passes that lead from a seed to a node, following the largest amount back in time.

    `passes` maps each node to those that reached it. A seed needs no chain.
    """
    starts = frozenset(seeds)
    found: list[Pass] = []
    before = float("inf")
    while node not in starts:
        earlier = [p for p in passes.get(node, ()) if p.round < before]
        if not earlier:
            return []
        best = min(earlier, key=lambda p: (-p.amount, p.round, p.origin, p.link))
        found.append(best)
        node, before = best.origin, best.round
    return found[::-1]
