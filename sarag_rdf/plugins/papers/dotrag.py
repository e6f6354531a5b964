"""Paths between entities, found in rounds, without a language model.

After "DotRAG: Retrieval-Time Reasoning Along Paths" (Moore et al.). Where a model there selects
anchors, restricts types and judges paths, here embeddings do:

- anchors are the entities with the descriptions nearest to the question;
- the division is what statements reach from the anchors in `h` steps; types are not restricted;
- each of `t` rounds takes the unseen entities nearest to its query, and the shortest loopless paths
  (Yen's algorithm) from every anchor to each of them. A step of a path has all statements between
  its two entities, and the weight of the best, as calibrated by the query gate. A path is accepted
  if the mean weight of its steps is above 0;
- the next query is the question followed by the texts of the best path accepted. Where none is, the
  rounds end.

Documents are ranked by embedding and by the best path to an entity that they describe; each has the
better of its two places, as in `kg-infused`. The calls of the paper are in
`sarag_rdf.plugins.papers.dotrag_reasoner`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np

from sarag_rdf.base.arrays import Rows, find, rows_of
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import Link, Query, Retrieved, Seed, Step
from sarag_rdf.base.vocab import SARAG
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
from sarag_rdf.retrieval.seeds import nearest_entities
from sarag_rdf.retrieval.view import GraphView

TEXTS = 10
"""Texts that a step of a path has at most."""


@dataclass(frozen=True, slots=True)
class EntityPath:
    """A path as rows of entities, the anchor first, and of all statements between each two."""

    entities: tuple[int, ...]
    statements: tuple[tuple[int, ...], ...]
    weight: float = 0.0

    def starts(self, other: EntityPath) -> bool:
        """Whether the other path goes on where this one ends."""
        return self.entities == other.entities[: len(self.entities)] and self != other


class Division:
    """The statements within some steps of the anchors, in which paths are found."""

    def __init__(self, view: GraphView, anchors: Iterable[int], steps: int, most: int) -> None:
        """`view` is that of the facts; `anchors` are rows of its entities."""
        import networkx

        self.view = view
        self.anchors = [row for row in dict.fromkeys(anchors) if row >= 0]
        self._steps = steps
        self._graph: Any = networkx.Graph()
        self._graph.add_nodes_from(self.anchors)
        frontier, seen = set(self.anchors), set[int]()
        for _ in range(steps):
            rows = np.array(sorted(frontier), dtype=np.int64)
            edges = view.network.incident(RELATED_TO, rows)
            before = set(self._graph)
            triples = zip(
                edges.source.tolist(), edges.target.tolist(), edges.statement.tolist(), strict=True
            )
            for one, other, statement in sorted(triples):
                if len(seen) >= most:
                    return
                if one != other and statement not in seen:
                    seen.add(statement)
                    self._graph.add_edge(one, other)
                    self._graph.edges[one, other].setdefault("statements", []).append(statement)
            frontier = set(self._graph) - before
            if not frontier:
                return

    def classes(self) -> Counter[str]:
        """The classes of the entities besides the anchors, with their numbers."""
        by_entity = self._classes(row for row in self._graph if row not in self.anchors)
        return Counter(class_ for several in by_entity.values() for class_ in several)

    def restrict(self, classes: Collection[str]) -> None:
        """Remove entities that have classes, but none of these; anchors stay."""
        by_entity = self._classes(row for row in self._graph if row not in self.anchors)
        self._graph.remove_nodes_from(
            [row for row, several in by_entity.items() if several.isdisjoint(classes)]
        )

    def _classes(self, rows: Iterable[int]) -> dict[int, set[str]]:
        """Entity -> its classes; of those of the extraction, only where there are no others."""
        iris = self.view.iris.entities
        numbers = {iris[row]: row for row in rows}
        by_entity: defaultdict[int, set[str]] = defaultdict(set)
        for entity, _, class_ in self.view.reader.rows_for("entity-labels", sorted(numbers)):
            if class_ is not None:
                by_entity[numbers[entity.value]].add(class_.value)
        for classes in by_entity.values():
            others = {class_ for class_ in classes if not class_.startswith(SARAG.base)}
            if others:
                classes.intersection_update(others)
        return by_entity

    def nearest(self, vector: Vector, seen: Collection[int], count: int) -> list[int]:
        """The entities, of those not seen, with the names nearest to a query."""
        rows: Rows = np.array(sorted(set(self._graph) - set(seen)), dtype=np.int64)
        if not len(rows):
            return []
        cosines = self.view.entity_vectors(rows) @ vector
        return [int(row) for row in rows[np.argsort(-cosines, kind="stable")][:count]]

    def paths(self, ends: Sequence[int], each: int, most: int) -> list[EntityPath]:
        """The shortest loopless paths from each anchor, to the first ends first."""
        import networkx

        paths: list[EntityPath] = []
        for end in ends:
            for anchor in self.anchors:
                if end in self._graph and networkx.has_path(self._graph, anchor, end):
                    every = networkx.shortest_simple_paths(self._graph, anchor, end)
                    paths += map(self._path, islice(every, each))
        return [path for path in paths if len(path.statements) <= self._steps][:most]

    def _path(self, entities: Sequence[int]) -> EntityPath:
        steps = [tuple(self._graph.edges[step]["statements"]) for step in pairwise(entities)]
        return EntityPath(tuple(entities), tuple(steps))

    def texts(self, path: EntityPath) -> list[str]:
        """The text of each step: the first distinct texts of its statements."""
        names = self.view.iris.relationships
        iris = [[names[row] for row in step] for step in path.statements]
        texts = relationship_texts(self.view.reader, chain.from_iterable(iris))
        several = [
            dict.fromkeys(" ".join(texts[iri][0].split()) for iri in step if iri in texts)
            for step in iris
        ]
        return ["; ".join(islice(each, TEXTS)) for each in several if each]


@dataclass(frozen=True, kw_only=True)
class DotRagSearch(RetrieverStrategy):
    """Documents by their similarity to the question, and by paths from its anchors."""

    name = "dotrag"
    k: int = option(3, "Number of anchors.", ge=1, le=MAX_COUNT)
    h: int = option(3, "Maximum number of steps from the anchors.", ge=1, le=MAX_HOPS)
    t: int = option(3, "Maximum number of rounds of search.", ge=1, le=MAX_HOPS)
    nodes: int = option(10, "Number of destinations in a round.", ge=1, le=MAX_COUNT)
    paths: int = option(3, "Paths from an anchor to a destination.", ge=1, le=MAX_COUNT)
    candidates: int = option(30, "Maximum number of paths in a round.", ge=1, le=MAX_COUNT)
    statements: int = option(
        20_000, "Maximum number of statements among which paths are looked for.", ge=1, le=1_000_000
    )
    c: float = option(
        0.98,
        "Quantile of the similarities between the question and all statements; statements above "
        "it have a weight above 0.",
        ge=0.0,
        lt=1.0,
    )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        facts = view.facts
        question = vector = facts.vectors.embed_query(query.text)
        seeds = nearest_entities(facts.reader, facts.vectors, question, self.k)
        anchors = rows_of(facts.iris.entities, [seed.node for seed in seeds]).tolist()
        division = Division(facts, anchors, self.h, self.statements)
        gate = facts.vectors.index("relationship").quantile(question, self.c)
        paths: list[EntityPath] = []
        seen = set(division.anchors)
        for _ in range(self.t):
            ends = division.nearest(vector, seen, self.nodes)
            seen.update(ends)
            accepted = [
                weighted
                for path in division.paths(ends, self.paths, self.candidates)
                if (weighted := _weighted(facts, question, path, gate)).weight > 0.0
            ]
            if not accepted:
                break
            paths += accepted
            best = max(accepted, key=lambda path: path.weight)
            vector = facts.vectors.embed_query(" ".join([query.text, *division.texts(best)]))
        return self.of_paths(view, query, seeds, paths, gate)

    def of_paths(
        self,
        view: GraphView,
        query: Query,
        seeds: Sequence[Seed],
        paths: Sequence[EntityPath],
        gate: tuple[float, float],
    ) -> Retrieved:
        """The documents that paths lead to, among those nearest to the question."""
        facts, iris = view.facts, view.facts.iris
        question = facts.vectors.embed_query(query.text)
        rows = rows_of(iris.entities, [seed.node for seed in seeds]).tolist()
        anchors = [row for row in dict.fromkeys(rows) if row >= 0]
        best: dict[int, EntityPath] = {}
        links: dict[int, Link] = {}
        for path in paths:
            end = path.entities[-1]
            if end not in best or path.weight > best[end].weight:
                best[end] = path
        chains: dict[int, Chain] = dict.fromkeys(anchors, ())
        for end, path in best.items():
            steps = []
            hops = zip(pairwise(path.entities), path.statements, strict=True)
            for number, ((one, other), several) in enumerate(hops, start=1):
                ends = iris.entities[one], iris.entities[other]
                cosines = facts.relationship_cosines(question, np.array(several)).tolist()
                for row, cosine in zip(several, cosines, strict=True):
                    links[row] = Link(iris.relationships[row], *ends, "", cosine, path.weight)
                nearest = links[several[int(np.argmax(cosines))]].relationship
                share = path.weight if number == 1 else 1.0  # of the activation before
                amounts = share, path.weight, path.weight
                kinds: Any = "related_to", "entity", "entity"
                steps.append(Step(number, *ends, nearest, *amounts, *kinds))
                chains.setdefault(other, tuple(steps))
            chains[end] = tuple(steps)
        activation = {
            **{step: path.weight for path in best.values() for step in path.entities[1:]},
            **{end: path.weight for end, path in best.items()},
            **dict.fromkeys(anchors, 1.0),
        }
        every = sorted(links.values(), key=lambda link: -round(link.similarity, 5))
        return self.result(
            view, query,
            self._scored(view, question, activation, chains),
            Explanation(
                seeds,
                {iris.entities[row]: amount for row, amount in activation.items()},
                frozenset(iris.entities[row] for row in activation),
                {iris.entities[row]: chain for row, chain in chains.items()},
                {iris.entities[row]: len(chain) for row, chain in chains.items()},
                every,
                every,
            ),
            {"weight_floor": gate[0], "weight_ceiling": gate[1]},
        )  # fmt: skip

    def _scored(
        self,
        view: GraphView,
        question: Vector,
        activation: dict[int, float],
        chains: dict[int, Chain],
    ) -> list[ScoredDocument]:
        """Documents by falling score."""
        names = view.facts.iris.entities
        cosines = document_cosines(view, question)
        rows = {find(view.iris.entities, names[row]): row for row in activation if chains[row]}
        here = np.array(sorted(row for row in rows if row >= 0), dtype=np.int64)
        best: dict[int, int] = {}
        for document, entity in view.network.incoming(DESCRIBES, here).pairs().tolist():
            row, known = rows[entity], best.get(document)
            if known is None or activation[row] > activation[known]:
                best[document] = row
        positions = np.empty(len(cosines))
        positions[np.argsort(-cosines, kind="stable")] = 2.0 * np.arange(1, len(cosines) + 1) - 1.0
        order = sorted(best, key=lambda row: (-activation[best[row]], -cosines[row], row))
        for position, row in enumerate(order, 1):
            positions[row] = min(positions[row], 2.0 * position)
        return [
            ScoredDocument(
                view.iris.documents[row], 1.0 / float(positions[row]), float(cosines[row]),
                activation[best[row]] if row in best else 0.0,
                names[best[row]] if row in best else "",
                chains[best[row]] if row in best else (),
                {"similarity": float(cosines[row])},
            )
            for row in np.argsort(positions, kind="stable")[: self.limit].tolist()
        ]  # fmt: skip


def _weighted(
    facts: GraphView, question: Vector, path: EntityPath, gate: tuple[float, float]
) -> EntityPath:
    """The path with the mean weight of its steps; that of a step is its best statement's."""
    rows = np.array([row for step in path.statements for row in step], dtype=np.int64)
    weights = calibrated(facts.relationship_cosines(question, rows), *gate)
    starts = np.cumsum([0, *map(len, path.statements)])[:-1]
    return replace(path, weight=float(np.maximum.reduceat(weights, starts).mean()))
