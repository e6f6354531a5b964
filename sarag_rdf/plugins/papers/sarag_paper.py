"""SA-RAG as published: absolute thresholds, Algorithm 1 (arXiv 2512.15922, sections 5.4, 5.5)."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Rows, rows_of
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, option
from sarag_rdf.base.types import Link, Query, Retrieved, Step
from sarag_rdf.graph.texts import relationship_texts
from sarag_rdf.plugins.papers.baselines import most_active
from sarag_rdf.plugins.relation_paths.description_seeds import nearest_seeds
from sarag_rdf.retrieval.activation import Chain
from sarag_rdf.retrieval.network import RELATED_TO, SAME_AS, Edges
from sarag_rdf.retrieval.retriever import (
    Explanation,
    RetrieverStrategy,
    activated,
    scored,
)
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class SaragPaper(RetrieverStrategy):
    """SA-RAG as published; its thresholds suit an embedder whose cosines are high.

    Where the printed algorithm is not well-defined, negative weights are clipped at 0 and the
    order is fixed (`rescale`, `spread_paper`). Relationships of equal subject, object and text,
    such as those of overlapping chunks, are one arc, that of the first IRI. The result is ordered
    by similarity to the question. An identity of two entities, in different graphs, is an edge of
    weight 1.
    """

    name = "sarag-paper"
    is_steered = True
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
    spreading: str = option(
        "walk",
        "How activation spreads: walk is Algorithm 1, breadth-first from each seed in turn; "
        "synchronous is the formula of the text, n times for all entities at once.",
        choices=("walk", "synchronous"),
    )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        question = view.vectors.embed_query(query.text)
        seeds = nearest_seeds(view.reader, view.vectors, question, self.k)
        network, iris = view.network, view.iris
        hops = network.neighbourhood(rows_of(iris.entities, [seed.node for seed in seeds]), self.n)
        inside = np.array(sorted(hops), dtype=np.int64)
        names = {int(row): iris.entities[row] for row in inside}
        edges = network.relationships_among(inside)
        cosines = view.relationship_cosines(question, edges.statement)
        distinct = self._distinct(view, edges, cosines)
        edges, cosines = edges.take(distinct), cosines[distinct]
        columns = zip(
            edges.statement.tolist(), *edges.pairs().T.tolist(), cosines.tolist(), strict=True
        )
        links = [
            Link(iris.relationships[row], names[s], names[o], "", cosine, rescale(cosine, self.c))
            for row, s, o, cosine in columns
        ]
        weights = np.array([link.weight for link in links])[:, None] * np.ones(2)
        if (steering := view.steering(query)) is not None:
            weights = np.minimum(1.0, weights * steering.factors(RELATED_TO, edges).factor)
        joined = [
            (RELATED_TO.name, link.relationship, link.subject, link.object, *both)
            for link, both in zip(links, weights.tolist(), strict=True)
        ]
        joined += [
            (SAME_AS.name, SAME_AS.predicate, names[s], names[o], 1.0, 1.0)
            for s, o in network.identities_of(inside).pairs().tolist()
        ]
        starts = frozenset(seed.node for seed in seeds)
        arcs = both_ways(joined)
        if self.spreading == "synchronous":
            activation, transfers = spread_synchronously(arcs, starts, self.n)
        else:
            activation, transfers = spread_paper(arcs, starts)
        maxima = running_maxima(transfers)
        entities = {
            iri: activated(
                iri, amount, strongest_chain(iri, maxima, starts), is_activated=amount > self.tau_a
            )
            for iri, amount in activation.items()
            if amount > 0.0
        }
        active = {iri: e.activation for iri, e in entities.items() if e.is_activated}
        between = (link for link in links if {link.subject, link.object} <= active.keys())
        relationships = sorted(
            (link for link in between if link.similarity > self.tau_r),
            key=lambda link: (-link.similarity, link.relationship),
        )
        best = {iris.documents[row]: iri for row, iri in most_active(view, active).items()}
        similarities = view.vectors.index("document").similarities(question, sorted(best))
        documents = [
            scored(iri, cosine, cosine, active[best[iri]], best[iri], entities[best[iri]].chain)
            for iri, cosine in zip(sorted(best), map(float, similarities), strict=True)
            if cosine >= self.tau_d
        ]
        documents.sort(key=lambda ranked: (-ranked.score, ranked.document.iri))
        distances = {names[row]: hop for row, hop in hops.items()}
        explanation = Explanation(seeds, (*entities.values(),), links, relationships, distances)
        return self.result(view, query, documents[: self.limit], explanation)

    def _distinct(self, view: GraphView, edges: Edges, cosines: NDArray[np.float32]) -> Rows:
        """The first of relationships of equal ends and text; equal texts have equal cosines."""
        groups: defaultdict[tuple[int, int, float], list[int]] = defaultdict(list)
        ends, rounded = edges.pairs().tolist(), cosines.astype(np.float64).round(5).tolist()
        for position, ((subject, object_), cosine) in enumerate(zip(ends, rounded, strict=True)):
            groups[subject, object_, cosine].append(position)
        several = [position for group in groups.values() if len(group) > 1 for position in group]
        iris = {p: view.iris.relationships[int(edges.statement[p])] for p in several}
        texts = relationship_texts(view.reader, iris.values())
        seen: set[tuple[int, int, str]] = set()
        copies: set[int] = set()
        for position in sorted(several, key=iris.__getitem__):
            key = (*ends[position], texts.get(iris[position], (iris[position], ""))[0])
            copies |= {position} if key in seen else set()
            seen.add(key)
        return np.array([p for p in range(len(ends)) if p not in copies], dtype=np.int64)


def rescale(similarity: float, c: float) -> float:
    """The link weight ``(w - c) / (1 - c)``, clipped to [0, 1]; `c` lies in [0, 1).

    The paper does not clip: below c its weights are negative, and two of them make a positive.
    """
    return min(1.0, max(0.0, (similarity - c) / (1.0 - c)))


class WeightedEdge(NamedTuple):
    """One direction of an edge between entities, by IRI; the weight lies in [0, 1]."""

    target: str
    relationship: str
    weight: float
    kind: str


def both_ways(
    edges: Iterable[tuple[str, str, str, str, float, float]],
) -> dict[str, list[WeightedEdge]]:
    """The outgoing edges of each entity, both ways, in a fixed order, without loops.

    Edges are given as (kind, relationship, subject, object, weight, weight from object to subject).
    Those of weight 0 pass nothing, but count in the order of the walk; parallel ones stay parallel.
    """
    outgoing: defaultdict[str, list[WeightedEdge]] = defaultdict(list)
    for kind, relationship, subject, object_, forward, backward in edges:
        if subject != object_:
            outgoing[subject].append(WeightedEdge(object_, relationship, forward, kind))
            outgoing[object_].append(WeightedEdge(subject, relationship, backward, kind))
    return {entity: sorted(several) for entity, several in outgoing.items()}


class Transfer(NamedTuple):
    """Activation passed between entities, like a `Step`, which takes many times as long to make."""

    round: int
    origin: str
    target: str
    relationship: str
    weight: float
    amount: float
    activation: float
    kind: str


def spread_paper(
    edges: Mapping[str, Sequence[WeightedEdge]], seeds: Iterable[str]
) -> tuple[dict[str, float], list[Transfer]]:
    """Algorithm 1 with its order fixed: seeds ascending, outgoing edges in the order given.

    Each seed in turn is set to 1, and a breadth-first walk from it adds to every target ``weight
    * activation of the node``, bounded by 1; `visited` is reset for each seed, so that a node
    fires again. Returns the activation of all nodes that were reached, in [0, 1], and every
    transfer above 0, numbered from 0. The result depends on the order, which is therefore fixed.
    """
    activation: dict[str, float] = {}
    transfers: list[Transfer] = []
    for seed in sorted(set(seeds)):
        activation[seed] = 1.0
        visited: set[str] = set()
        queue = deque([seed])
        while queue:
            node = queue.popleft()
            if node in visited:
                continue
            visited.add(node)
            for target, relationship, weight, kind in edges.get(node, ()):
                amount = weight * activation[node]
                activation[target] = total = min(1.0, activation.get(target, 0.0) + amount)
                if amount > 0.0:
                    transfer = (len(transfers), node, target, relationship, weight, amount, total)
                    transfers.append(Transfer(*transfer, kind))
                if target not in visited:
                    queue.append(target)
    return activation, transfers


def spread_synchronously(
    edges: Mapping[str, Sequence[WeightedEdge]], seeds: Iterable[str], iterations: int
) -> tuple[dict[str, float], list[Transfer]]:
    """The formula of section 5.5, for all nodes at once: ``a_j = min(1, a_j + sum a_i w_ij)``.

    Seeds begin with 1. Returns the activation of all nodes that were reached, in (0, 1], and every
    transfer above 0, numbered by its iteration from 0. The order has no effect.
    """
    activation = dict.fromkeys(sorted(set(seeds)), 1.0)
    transfers: list[Transfer] = []
    for iteration in range(iterations):
        passed = [
            (node, edge, edge.weight * activation[node])
            for node in sorted(activation)
            for edge in edges.get(node, ())
            if edge.weight > 0.0
        ]
        gained: defaultdict[str, list[float]] = defaultdict(list)
        for _, edge, amount in passed:
            gained[edge.target].append(amount)
        totals = {
            node: min(1.0, activation.get(node, 0.0) + fsum(amounts))
            for node, amounts in gained.items()
        }
        transfers += [
            Transfer(iteration, node, *edge[:3], amount, totals[edge.target], edge.kind)
            for node, edge, amount in passed
        ]
        activation |= totals
    return activation, transfers


def running_maxima(transfers: Iterable[Transfer]) -> dict[str, list[Transfer]]:
    """The transfers to each entity that are larger than all earlier ones to it, in order.

    The last one before a round is the largest before it, and the first of equals.
    """
    maxima: defaultdict[str, list[Transfer]] = defaultdict(list)
    for transfer in transfers:
        earlier = maxima[transfer.target]
        if not earlier or transfer.amount > earlier[-1].amount:
            earlier.append(transfer)
    return dict(maxima)


def strongest_chain(
    entity: str, maxima: Mapping[str, Sequence[Transfer]], seeds: Collection[str]
) -> Chain:
    """Steps from a seed to an entity, each the largest of those before the next; none to a seed.

    `maxima` are those of `running_maxima`.
    """
    chain: list[Step] = []
    before = sys.maxsize
    while entity not in seeds:
        several = maxima.get(entity, ())
        place = bisect_left(several, before, key=lambda transfer: transfer.round)
        if not place:
            return ()
        largest = several[place - 1]
        chain.append(Step(*largest, "entity", "entity"))
        entity, before = largest.origin, largest.round
    return tuple(reversed(chain))
