"""KG-Infused RAG without a language model: facts expand the question, passages answer to both.

Derived from "KG-Infused RAG: Augmenting Corpus-Based RAG with External Knowledge Graphs", sections
3.3 and 3.4. Where a model there selects statements and writes a query, here

- a statement is selected if the query gate of `sarag` lets activation pass: its similarity to the
  question is above a quantile of those of all statements;
- the expanded question is the question followed by the texts of the best selected statements.

As in equation 7, the passages found for either question are joined: their rankings by embedding in
turn, each document once, at the better of its two places::

    place(d) = min(2 * rank of d for the question - 1, 2 * rank of d for the expansion)
    score(d) = 1 / place(d)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sarag_rdf.base.arrays import find, rows_of
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import Link, Query, Retrieved, Step
from sarag_rdf.graph.texts import relationship_texts
from sarag_rdf.retrieval.activation import Chain
from sarag_rdf.retrieval.network import DESCRIBES, RELATED_TO
from sarag_rdf.retrieval.relevance import calibrated
from sarag_rdf.retrieval.retriever import (
    Explanation,
    RetrieverStrategy,
    ScoredDocument,
    document_cosines,
)
from sarag_rdf.retrieval.rrf import ranks
from sarag_rdf.retrieval.seeds import Start, nearest_entities
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, slots=True)
class Activated:
    """What was activated: entities with their activation and chain, and the selected statements.

    Both are in the order in which they were reached; entities are rows of the graph of facts.
    """

    activation: Mapping[int, float]
    chains: Mapping[int, Chain]
    links: Sequence[Link]


@dataclass(frozen=True, kw_only=True)
class KgInfusedSearch(RetrieverStrategy):
    """Documents by their similarity to the question, and to the question with facts."""

    name = "kg-infused"
    k: int = option(
        3,
        "Number of entities at which activation starts, those with statements whose descriptions "
        "are nearest to the question.",
        ge=1,
        le=MAX_COUNT,
    )
    n: int = option(2, "Number of rounds of activation.", ge=0, le=MAX_HOPS)
    c: float = option(
        0.98,
        "Quantile of the similarities between the question and all statements; statements above "
        "it are selected.",
        ge=0.0,
        lt=1.0,
    )
    entities: int = option(
        10, "Maximum number of entities that a round starts from.", ge=1, le=MAX_COUNT
    )
    texts: int = option(
        3,
        "Maximum number of statements whose texts expand the question, the nearest to it.",
        ge=0,
        le=MAX_COUNT,
    )
    inverse: bool = option(False, "Select statements that end at an entity, too.")

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        facts = view.facts
        question = view.vectors.embed_query(query.text)
        starts: Start = "incident" if self.inverse else "outgoing"
        seeds = nearest_entities(facts.reader, facts.vectors, question, self.k, starts=starts)
        floor, ceiling = facts.vectors.index("relationship").quantile(question, self.c)
        rows = rows_of(facts.iris.entities, [seed.node for seed in seeds])
        reached = self._activate(facts, question, rows.tolist(), floor, ceiling)
        nearest = sorted(reached.links, key=lambda link: -round(link.similarity, 5))
        expanded = question
        if best := self._texts(facts, nearest):
            expanded = view.vectors.embed_query(" ".join([query.text, *best]))
        iris = facts.iris.entities
        return self.result(
            view,
            query,
            self._scored(view, question, expanded, reached),
            Explanation(
                seeds,
                {iris[row]: amount for row, amount in reached.activation.items()},
                frozenset(iris[row] for row in reached.activation),
                {iris[row]: chain for row, chain in reached.chains.items()},
                {iris[row]: len(chain) for row, chain in reached.chains.items()},
                nearest,
                nearest,
            ),
            {"weight_floor": floor, "weight_ceiling": ceiling},
        )

    def _activate(
        self, facts: GraphView, question: Vector, seeds: Sequence[int], floor: float, ceiling: float
    ) -> Activated:
        """Rounds of activation: an entity has that of the strongest chain to it, from 1 at a seed.

        Each round starts from the entities that the last one reached, the most active first, and
        none is activated twice (equation 5).
        """
        iris, known = facts.iris, set[int]()
        activation = dict.fromkeys(seeds, 1.0)
        chains: dict[int, Chain] = dict.fromkeys(seeds, ())
        links: list[Link] = []
        frontier = list(dict.fromkeys(seeds))
        for round_ in range(1, self.n + 1):
            frontier = sorted(frontier, key=lambda row: (-activation[row], row))
            rows = np.array(sorted(frontier[: self.entities]), dtype=np.int64)
            step = facts.network.incident if self.inverse else facts.network.outgoing
            edges = step(RELATED_TO, rows)
            cosines = facts.relationship_cosines(question, edges.statement)
            weights = calibrated(cosines, floor, ceiling)
            inside, reached = set(rows.tolist()), dict[int, tuple[float, Step]]()
            for at in np.argsort(-weights, kind="stable").tolist():
                weight, statement = float(weights[at]), int(edges.statement[at])
                if weight <= 0.0:
                    break
                subject, object_ = int(edges.source[at]), int(edges.target[at])
                ends = iris.relationships[statement], iris.entities[subject], iris.entities[object_]
                if statement not in known:
                    links.append(Link(*ends, "", float(cosines[at]), weight))
                    known.add(statement)
                for start, end in ((subject, object_), (object_, subject)):
                    is_step = start in inside and (start == subject or self.inverse)
                    amount = weight * activation[start] if is_step else 0.0
                    if end not in activation and amount > reached.get(end, (0.0,))[0]:
                        reached[end] = amount, Step(
                            round_, iris.entities[start], iris.entities[end], ends[0], weight,
                            amount, amount, "related_to", "entity", "entity",
                        )  # fmt: skip
            for end, (amount, passed) in reached.items():
                activation[end] = amount
                chains[end] = (*chains[find(iris.entities, passed.origin)], passed)
            frontier = list(reached)
            if not frontier:
                break
        return Activated(activation, chains, links)

    def _texts(self, facts: GraphView, nearest: Sequence[Link]) -> list[str]:
        """Distinct texts of the nearest statements."""
        texts = relationship_texts(facts.reader, [link.relationship for link in nearest])
        distinct = dict.fromkeys(
            " ".join(texts[link.relationship][0].split())
            for link in nearest
            if link.relationship in texts
        )
        return list(distinct)[: self.texts]

    def _scored(
        self, view: GraphView, question: Vector, expanded: Vector, reached: Activated
    ) -> list[ScoredDocument]:
        """All documents by falling score."""
        view = view
        cosines, others = (document_cosines(view, vector) for vector in (question, expanded))
        positions = [2.0 * ranks(cosines) - 1.0, 2.0 * ranks(others)]
        scores = 1.0 / np.minimum(*positions)
        describing = _describing(view, reached)
        entities = view.facts.iris.entities
        scored = []
        for row in np.argsort(-scores, kind="stable")[: self.limit].tolist():
            entity = describing.get(row, -1)
            scored.append(
                ScoredDocument(
                    view.iris.documents[row],
                    float(scores[row]),
                    float(cosines[row]),
                    reached.activation[entity] if entity >= 0 else 0.0,
                    entities[entity] if entity >= 0 else "",
                    reached.chains[entity] if entity >= 0 else (),
                    {"similarity": float(cosines[row]), "expanded": float(others[row])},
                )
            )
        return scored


def _describing(view: GraphView, reached: Activated) -> dict[int, int]:
    """Document -> the most activated entity that it describes, both as rows.

    Entities of a graph that is not searched have no documents.
    """
    names = view.facts.iris.entities
    rows = {find(view.iris.entities, names[row]): row for row in reached.activation}
    here = np.array(sorted(row for row in rows if row >= 0), dtype=np.int64)
    best: dict[int, int] = {}
    for document, entity in view.network.incoming(DESCRIBES, here).pairs().tolist():
        position, known = rows[entity], best.get(document)
        amount = reached.activation[position]
        if known is None or amount > reached.activation[known]:
            best[document] = position
    return best
