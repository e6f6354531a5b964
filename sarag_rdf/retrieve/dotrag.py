"""Paths between entities, found in rounds, without a language model.

After DotRAG ("division of thought"). Where a model there selects anchors, restricts types and
judges paths, here embeddings do:

- anchors are the entities with the descriptions nearest to the question;
- the division is what statements reach from the anchors in `h` steps; types are not restricted,
  and of several statements between two entities only one is in it;
- each of `t` rounds takes the unseen entities nearest to its query, and the shortest loopless paths
  (Yen's algorithm) from every anchor to each of them. A path is kept if the mean weight of its
  statements, as calibrated by the query gate, is above 0;
- the next query is the question followed by the texts of the best path kept. Where none is kept,
  the rounds end.

Documents are ranked by embedding and by the best path to an entity that they describe; each has the
better of its two places, as in `kg-infused`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np

from sarag_rdf.arrays import find, rows_of
from sarag_rdf.graph.texts import relationship_texts
from sarag_rdf.network.edges import Rows
from sarag_rdf.network.kinds import DESCRIBES, RELATED_TO
from sarag_rdf.options import MAX_COUNT, MAX_HOPS, RetrieverOptions, option
from sarag_rdf.ports import Vector
from sarag_rdf.retrieve.chains import Chain
from sarag_rdf.retrieve.explanation import Explanation, ScoredDocument, document_cosines, retrieved
from sarag_rdf.retrieve.relevance import calibrated
from sarag_rdf.retrieve.seeds import nearest_entities
from sarag_rdf.retrieve.view import GraphView
from sarag_rdf.types import Link, Query, Retrieved, Step


@dataclass(frozen=True, kw_only=True)
class DotRagSearchOptions(RetrieverOptions):
    """Options of `DotRagSearch`."""

    name = "dotrag"
    k: int = option(3, "Number of anchors.", ge=1, le=MAX_COUNT)
    h: int = option(3, "Maximum number of steps from the anchors.", ge=1, le=MAX_HOPS)
    t: int = option(3, "Maximum number of rounds of search.", ge=1, le=MAX_HOPS)
    nodes: int = option(10, "Number of destinations in a round.", ge=1, le=MAX_COUNT)
    paths: int = option(3, "Paths from an anchor to a destination.", ge=1, le=MAX_COUNT)
    candidates: int = option(30, "Maximum number of paths in a round.", ge=1, le=MAX_COUNT)
    c: float = option(
        0.98,
        "Quantile of the similarities between the question and all statements; statements above "
        "it have a weight above 0.",
        ge=0.0,
        lt=1.0,
    )


class DotRagSearch:
    """Documents by their similarity to the question, and by paths from its anchors."""

    options = DotRagSearchOptions

    def __init__(self, view: GraphView, options: DotRagSearchOptions | None = None) -> None:
        self._view, self._facts = view, view.facts
        self._options = options or DotRagSearchOptions()

    def retrieve(self, query: Query) -> Retrieved:
        """Raises `ModelError` if a query cannot be embedded, `StoreError` from the store."""
        facts, options, embedder = self._facts, self._options, self._view.vectors.embedder
        question = embedder.embed([query.text])[0]
        seeds = nearest_entities(facts.reader, facts.vectors, question, options.k)
        anchors = list(
            dict.fromkeys(rows_of(facts.iris.entities, [seed.node for seed in seeds]).tolist())
        )
        floor, ceiling = facts.vectors.index("relationship").quantile(question, options.c)
        graph = self._division(anchors)
        kept: dict[int, tuple[float, list[int]]] = {}
        links: dict[int, Link] = {}
        seen, vector = set(anchors), question
        for _ in range(options.t):
            ends = self._nearest(vector, [row for row in graph if row not in seen])
            seen.update(ends)
            found = []
            for path in self._paths(graph, anchors, ends):
                hops = list(pairwise(path))
                rows = np.array([graph.edges[hop]["statement"] for hop in hops], dtype=np.int64)
                cosines = facts.relationship_cosines(question, rows)
                weight = float(calibrated(cosines, floor, ceiling).mean())
                if weight > 0.0:
                    found.append((weight, path, rows.tolist()))
            if not found:
                break
            for weight, path, _rows in found:
                if weight > kept.get(path[-1], (0.0, []))[0]:
                    kept[path[-1]] = weight, path
            best = max(found, key=lambda one: one[0])[2]
            vector = embedder.embed([" ".join([query.text, *self._texts(best)])])[0]
        iris = facts.iris
        chains: dict[int, Chain] = dict.fromkeys(anchors, ())
        for end, (weight, path) in kept.items():
            steps = []
            for at, (one, other) in enumerate(pairwise(path), 1):
                row = graph.edges[one, other]["statement"]
                names = iris.entities[one], iris.entities[other], iris.relationships[row]
                steps.append(
                    Step(at, *names, weight, weight, weight, "related_to", "entity", "entity")
                )
                cosine = facts.relationship_cosines(question, np.array([row]))
                links[row] = Link(names[2], *names[:2], "", float(cosine[0]), weight)
            chains[end] = tuple(steps)
        activation = dict.fromkeys(anchors, 1.0) | {end: one[0] for end, one in kept.items()}
        every = sorted(links.values(), key=lambda link: -round(link.similarity, 5))
        return retrieved(
            self._view, query, "dotrag", options.settings(),
            self._scored(question, activation, chains),
            Explanation(
                seeds,
                {iris.entities[row]: amount for row, amount in activation.items()},
                frozenset(iris.entities[row] for row in activation),
                {iris.entities[row]: chain for row, chain in chains.items()},
                {iris.entities[row]: len(chain) for row, chain in chains.items()},
                every,
                every,
            ),
            {"weight_floor": floor, "weight_ceiling": ceiling},
        )  # fmt: skip

    def _division(self, anchors: Sequence[int]) -> Any:
        """The undirected graph of the statements within `h` steps of the anchors."""
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(anchors)
        frontier = set(anchors)
        for _ in range(self._options.h):
            rows = np.array(sorted(frontier), dtype=np.int64)
            edges = self._facts.traversal.incident(RELATED_TO, rows)
            before = set(graph)
            triples = zip(
                edges.source.tolist(), edges.target.tolist(), edges.statement.tolist(), strict=True
            )
            for one, other, statement in sorted(triples):
                if one != other and not graph.has_edge(one, other):
                    graph.add_edge(one, other, statement=statement)
            frontier = set(graph) - before
            if not frontier:
                break
        return graph

    def _nearest(self, vector: Vector, rows: list[int]) -> list[int]:
        """The entities with the names nearest to a query."""
        every: Rows = np.array(sorted(rows), dtype=np.int64)
        if not len(every):
            return []
        cosines = self._facts.entity_vectors(every) @ vector
        return [
            int(row) for row in every[np.argsort(-cosines, kind="stable")][: self._options.nodes]
        ]

    def _paths(self, graph: Any, anchors: list[int], ends: list[int]) -> list[list[int]]:
        """The shortest loopless paths of at most `h` steps, to the nearest ends first."""
        import networkx

        found: list[list[int]] = []
        for end in ends:
            for anchor in anchors:
                if networkx.has_path(graph, anchor, end):
                    every = networkx.shortest_simple_paths(graph, anchor, end)
                    few = islice(every, self._options.paths)
                    found.extend(path for path in few if len(path) <= self._options.h + 1)
        return found[: self._options.candidates]

    def _texts(self, rows: Sequence[int]) -> list[str]:
        """The texts of statements."""
        iris = [self._facts.iris.relationships[row] for row in rows]
        texts = relationship_texts(self._facts.reader, iris)
        return [" ".join(texts[iri][0].split()) for iri in iris if iri in texts]

    def _scored(
        self, question: Vector, activation: dict[int, float], chains: dict[int, Chain]
    ) -> list[ScoredDocument]:
        """Documents by falling score."""
        view, names = self._view, self._facts.iris.entities
        cosines = document_cosines(view, question)
        rows = {find(view.iris.entities, names[row]): row for row in activation if chains[row]}
        here = np.array(sorted(row for row in rows if row >= 0), dtype=np.int64)
        best: dict[int, int] = {}
        for document, entity in view.traversal.incoming(DESCRIBES, here).pairs().tolist():
            found, known = rows[entity], best.get(document)
            if known is None or activation[found] > activation[known]:
                best[document] = found
        places = np.empty(len(cosines))
        places[np.argsort(-cosines, kind="stable")] = 2.0 * np.arange(1, len(cosines) + 1) - 1.0
        order = sorted(best, key=lambda row: (-activation[best[row]], -cosines[row], row))
        for place, row in enumerate(order, 1):
            places[row] = min(places[row], 2.0 * place)
        return [
            ScoredDocument(
                view.iris.documents[row], 1.0 / float(places[row]), float(cosines[row]),
                activation[best[row]] if row in best else 0.0,
                names[best[row]] if row in best else "",
                chains[best[row]] if row in best else (),
                {"similarity": float(cosines[row])},
            )
            for row in np.argsort(places, kind="stable")[: self._options.limit].tolist()
        ]  # fmt: skip
