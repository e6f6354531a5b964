"""DotRAG: paths of a graph, found and judged in rounds within a division of it.

"DotRAG: Retrieval-Time Reasoning Along Paths" (Moore et al.), sections 3.1 to 3.4. A model names
the anchors of a question and the kinds of things that may stand on the way, judges the paths, and
answers from the statements and documents of those that it accepts.

Departures: the anchors share one division with one set of rules, where each concept has its own in
the paper; and the rounds end with a complete path that nothing else is asked after, where the paper
always takes them all. Where the paper is open: the numbers (table of the options), the first query
is the question, anchors are exempt from the restriction, things without a class are, too, and
without an anchor the topics are used, or else the entities nearest to the question.

The search does without a model:

- anchors are the entities with the descriptions nearest to the question;
- the division is what statements reach from the anchors in `h` steps; types are not restricted;
- each of `t` rounds takes the unseen entities nearest to its query, and the shortest loopless paths
  (Yen's algorithm) from every anchor to each of them. A step of a path has all statements between
  its two entities, and the weight of the best, as calibrated by the query gate. A path is accepted
  if the mean weight of its steps is above 0;
- the next query is the question followed by the texts of the best path accepted. Where none is, the
  rounds end.

Documents are ranked by embedding and by the best path to an entity that they describe; each has the
better of its two places, as in `kg-infused`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise
from typing import Any, Final

import numpy as np

from sarag_rdf.answering.conversation import NO_EVIDENCE, Conversation, ReasonerStrategy
from sarag_rdf.answering.single import answer_from
from sarag_rdf.base.arrays import batches, find, rows_of
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, Options, max_tokens_option, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.prompts import array_of, object_of, one_of, string
from sarag_rdf.base.types import (
    Answer,
    Context,
    Evidence,
    Excerpt,
    Link,
    Query,
    Retrieved,
    Section,
    Seed,
)
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.schema_use import local_words
from sarag_rdf.graph.texts import entity_labels, relationship_texts
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.baselines import in_turn, most_active
from sarag_rdf.plugins.papers.kg_infused import activated_documents, one_line, text_reply
from sarag_rdf.plugins.relation_paths.description_seeds import nearest_entities
from sarag_rdf.retrieval import retriever
from sarag_rdf.retrieval.activation import Chain, passed
from sarag_rdf.retrieval.context import Budget, approximate_tokens
from sarag_rdf.retrieval.network import RELATED_TO
from sarag_rdf.retrieval.retriever import Explanation, RetrieverStrategy
from sarag_rdf.retrieval.sarag import calibrated
from sarag_rdf.retrieval.view import GraphView

TEXTS = 10
"""Maximum number of texts of a step of a path."""
_ANCHORS: Final = 3
"""Anchors that a model may name."""
_TOPICS: Final = 5
"""Topics that a model may name."""
_CLASSES: Final = 30
"""Classes that are offered, the most frequent ones."""
_JUDGED: Final = 10
"""Paths that are judged in one call."""
_WEIGHTS: Final = {"complete": 1.0, "partial": 0.5}
"""How an accepted path counts in the ranking of documents."""


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
            ends = zip(*edges.pairs().T.tolist(), edges.statement.tolist(), strict=True)
            for one, other, statement in sorted(ends):
                if len(seen) >= most:
                    return
                if one != other and statement not in seen:
                    seen.add(statement)
                    self._graph.add_edge(one, other)
                    self._graph.edges[one, other].setdefault("statements", []).append(statement)
            frontier = set(self._graph) - before
            if not frontier:
                return

    def restrict(self, classes: Collection[str]) -> None:
        """Remove entities that have classes, but none of these; anchors stay."""
        by_entity = self.classes()
        self._graph.remove_nodes_from(
            [row for row, several in by_entity.items() if several.isdisjoint(classes)]
        )

    def classes(self) -> dict[int, set[str]]:
        """Entity but no anchor -> its classes; those of the extraction if it has no others."""
        iris = self.view.iris.entities
        numbers = {iris[row]: row for row in self._graph if row not in self.anchors}
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
        rows = np.array(sorted(set(self._graph) - set(seen)), dtype=np.int64)
        if not len(rows):
            return []
        cosines = self.view.vectors.index("entity").vectors(rows) @ vector
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
        texts = relationship_texts(self.view.reader, [iri for step in iris for iri in step])
        several = [
            dict.fromkeys(" ".join(texts[iri][0].split()) for iri in step if iri in texts)
            for step in iris
        ]
        return ["; ".join(islice(each, TEXTS)) for each in several if each]


@dataclass(frozen=True, kw_only=True)
class _PathOptions(Options):
    name = "dotrag"
    h: int = option(3, "Maximum number of steps from the anchors.", ge=1, le=MAX_HOPS)
    t: int = option(3, "Maximum number of rounds of search.", ge=1, le=MAX_HOPS)
    nodes: int = option(10, "Number of destinations of a query.", ge=1, le=MAX_COUNT)
    paths: int = option(3, "Paths from an anchor to a destination.", ge=1, le=MAX_COUNT)
    candidates: int = option(30, "Maximum number of paths in a round.", ge=1, le=MAX_COUNT)
    statements: int = option(
        20_000, "Maximum number of statements among which paths are looked for.", ge=1, le=1_000_000
    )


@dataclass(frozen=True, kw_only=True)
class DotRagSearch(_PathOptions, RetrieverStrategy):
    """Documents by their similarity to the question, and by paths from its anchors."""

    k: int = option(3, "Number of anchors.", ge=1, le=MAX_COUNT)
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
        anchors = dict.fromkeys(seed.node for seed in seeds if find(iris.entities, seed.node) >= 0)
        best: dict[int, EntityPath] = {}
        for path in paths:
            end = path.entities[-1]
            if end not in best or path.weight > best[end].weight:
                best[end] = path
        chains: dict[str, Chain] = dict.fromkeys(anchors, ())
        links: dict[int, Link] = {}
        for path in best.values():
            steps: Chain = ()
            hops = zip(pairwise(path.entities), path.statements, strict=True)
            for number, ((one, other), several) in enumerate(hops, start=1):
                ends = iris.entities[one], iris.entities[other]
                cosines = facts.relationship_cosines(question, np.array(several)).tolist()
                for row, cosine in zip(several, cosines, strict=True):
                    links[row] = Link(iris.relationships[row], *ends, "", cosine, path.weight)
                nearest = links[several[int(np.argmax(cosines))]].relationship
                share = path.weight if number == 1 else 1.0  # of the activation before
                steps = (*steps, passed(number, *ends, nearest, share, path.weight))
                chains.setdefault(ends[1], steps)
            chains[iris.entities[path.entities[-1]]] = steps
        activation = {
            **{iris.entities[row]: p.weight for p in best.values() for row in p.entities[1:]},
            **{iris.entities[end]: path.weight for end, path in best.items()},
            **dict.fromkeys(anchors, 1.0),
        }
        every = sorted(links.values(), key=lambda link: -round(link.similarity, 5))
        entities = [
            retriever.activated(iri, amount, chains[iri]) for iri, amount in activation.items()
        ]
        cosines = retriever.document_cosines(view, question)
        reached = {iri: amount for iri, amount in activation.items() if chains[iri]}
        owners = most_active(view, reached)
        order = sorted(owners, key=lambda row: (-reached[owners[row]], -cosines[row], row))
        places = np.full(len(cosines), np.inf)
        places[order] = np.arange(1, len(order) + 1)
        scores, measures = in_turn(cosines, places), {"similarity": cosines}
        return self.result(
            view,
            query,
            activated_documents(view, scores, self.limit, reached, chains, measures),
            Explanation(seeds, entities, every, every),
            {"weight_floor": gate[0], "weight_ceiling": gate[1]},
        )


def _weighted(
    facts: GraphView, question: Vector, path: EntityPath, gate: tuple[float, float]
) -> EntityPath:
    """The path with the mean weight of its steps; that of a step is its best statement's."""
    rows = np.array([row for step in path.statements for row in step], dtype=np.int64)
    weights = calibrated(facts.relationship_cosines(question, rows), *gate)
    starts = np.cumsum([0, *map(len, path.statements)])[:-1]
    return replace(path, weight=float(np.maximum.reduceat(weights, starts).mean()))


@dataclass(slots=True)
class _Search:
    """What is known after some rounds: accepted paths with their judgements, and past queries."""

    accepted: dict[EntityPath, str] = field(default_factory=dict)
    texts: dict[EntityPath, str] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)

    @property
    def maximal(self) -> dict[EntityPath, str]:
        """The accepted paths that no other one continues, with their texts; complete ones first."""
        paths = [p for p in self.accepted if not any(p.starts(other) for other in self.accepted)]
        paths.sort(key=lambda path: self.accepted[path] != "complete")
        return {path: self.texts[path] for path in paths}

    def new(self, queries: Iterable[str]) -> list[str]:
        """Queries on one line, without empty ones and those that were searched."""
        past = {"", *map(normalize_name, self.queries)}
        distinct: dict[str, str] = {}
        for query in queries:
            distinct.setdefault(normalize_name(query), one_line(query))
        return [query for name, query in distinct.items() if name not in past]


@dataclass(frozen=True, kw_only=True)
class DotRag(_PathOptions, ReasonerStrategy):
    """Calls for anchors, division, the paths of each round, and the answer.

    A round has a call for each ten `candidates`, and all but the last may have one for a further
    query: at most 2 + `t` * ceil(`candidates` / 10) + `t` - 1 + 1 calls, 14 by default. The trace
    has a note ``paths`` with the accepted paths in words, their judgements, and the queries that
    were searched. With fewer than two classes the division is not restricted.
    """

    prompts = PROMPTS
    tau: float = option(
        0.6, "Minimum cosine of a named anchor and an entity's description.", ge=-1.0, le=1.0
    )
    k: int = option(10, "Number of entities that topics stand for.", ge=1, le=MAX_COUNT)
    documents: int = option(10, "Maximum number of documents that are read.", ge=1, le=MAX_COUNT)
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        """Where no path is accepted, passages answer; without passages, no call is made for it."""
        facts, seeds = talk.view.facts, self._seeds(talk)
        rows = rows_of(facts.iris.entities, [seed.node for seed in seeds]).tolist()
        division = Division(facts, rows, self.h, self.statements)
        rules = self._rules(talk, division, seeds)
        search = self._search(talk, division, rules)
        paths = [
            {"text": text, "judgement": search.accepted[path]}
            for path, text in search.maximal.items()
        ]
        talk.say("note", "paths", {"queries": search.queries, "paths": paths})
        return self._answered(talk, seeds, search)

    # Selection (section 3.1)

    def _seeds(self, talk: Conversation) -> list[Seed]:
        """The entities that a model's anchors and topics stand for."""
        facts = talk.view.facts
        schema = object_of(
            anchors=array_of(object_of(name=string(100), description=string(300)), _ANCHORS),
            topics=array_of(string(100), _TOPICS),
            route=one_of(("local", "global")),
        )
        reply = talk.call("select_anchors", schema, max_tokens=self.max_tokens)

        def nearest(text: str, count: int) -> tuple[Seed, ...]:
            vector = facts.vectors.embed_query(text)
            return nearest_entities(facts.reader, facts.vectors, vector, count)

        seeds: list[Seed] = []
        for named in reply["anchors"]:
            name = normalize_name(named["name"])
            owners = facts.names.entities({name}).get(name, {})
            closest = () if owners else nearest(f"{named['name']}. {named['description']}", 1)
            seeds += [Seed(iri, "", 1.0) for iri in sorted(owners)]
            seeds += [seed for seed in closest if seed.similarity >= self.tau]
        if reply["route"] == "global" or not seeds:
            topics = [topic for topic in reply["topics"] if topic.strip()]
            for topic in topics:
                seeds += nearest(topic, max(1, self.k // len(topics)))
        seeds = seeds or [*nearest(talk.question, _ANCHORS)]
        names = entity_labels(facts.reader, [seed.node for seed in seeds])
        known = {seed.node: seed for seed in reversed(seeds) if seed.node in names}
        return [replace(seed, name=names[iri][0]) for iri, seed in reversed(known.items())]

    # Construction (section 3.2)

    def _rules(
        self, talk: Conversation, division: Division, seeds: Sequence[Seed]
    ) -> dict[str, str]:
        """What may stand on a path and at its end, to which the division is restricted."""
        every = Counter(chain.from_iterable(division.classes().values()))
        classes = every.most_common(_CLASSES)
        if len(classes) < 2:
            return {}
        labels = entity_labels(talk.view.facts.reader, [iri for iri, _ in classes])
        names = {iri: labels[iri][0] if iri in labels else local_words(iri) for iri, _ in classes}
        number = {"type": "integer", "enum": list(range(1, len(classes) + 1))}
        rules = ("constraints", "intermediate", "terminal")
        schema = dict.fromkeys(rules, string(300)) | {"types": array_of(number, len(classes))}
        reply = talk.call(
            "construct_division",
            object_of(**schema),
            max_tokens=self.max_tokens,
            anchors=[seed.name for seed in seeds],
            types=[f"{names[iri]} ({count})" for iri, count in classes],
        )
        allowed = {classes[number - 1][0] for number in reply["types"]}
        if allowed:
            division.restrict(allowed | (every.keys() - dict(classes).keys()))
        return {name: str(reply[name]) for name in rules}

    # Search (section 3.3)

    def _search(self, talk: Conversation, division: Division, rules: dict[str, str]) -> _Search:
        facts, search = talk.view.facts, _Search()
        queries, seen = [talk.question], set(division.anchors)
        for left in reversed(range(self.t)):
            search.queries += queries
            ends: list[int] = []
            for query in queries:
                vector = facts.vectors.embed_query(query)
                ends += division.nearest(vector, {*seen, *ends}, self.nodes)
            seen.update(ends)
            paths = division.paths(ends, self.paths, self.candidates)
            queries = self._judged(talk, division, paths, rules, search)
            if not left:
                break
            if not queries and "complete" not in search.accepted.values():
                query = text_reply(
                    *(talk, "next_search", "query", 200),
                    max_tokens=200,
                    kept=[*search.maximal.values()],
                    searched=search.queries,
                    left=left,
                )
                queries = search.new([query])
            if not queries:
                break
        return search

    def _judged(
        self,
        talk: Conversation,
        division: Division,
        paths: Sequence[EntityPath],
        rules: dict[str, str],
        search: _Search,
    ) -> list[str]:
        """Add the paths that the model accepts, and return the further queries that it has."""
        further: list[str] = []
        for batch in batches(paths, _JUDGED):
            texts = [" -> ".join(division.texts(path)) for path in batch]
            judgement = object_of(
                number={"type": "integer", "enum": list(range(1, len(batch) + 1))},
                judgement=one_of(("complete", "partial", "irrelevant")),
                reason=string(200),
                confidence={"type": "number", "minimum": 0, "maximum": 1},
                next_question=string(200),
            )
            reply = talk.call(
                "judge_paths",
                object_of(judgements=array_of(judgement, len(batch))),
                max_tokens=max(self.max_tokens, 120 * len(batch)),
                rules=rules,
                paths=texts,
                kept=[*search.maximal.values()],
            )
            for each in reply["judgements"]:
                path = batch[each["number"] - 1]
                if each["judgement"] == "irrelevant":
                    continue
                search.accepted[path] = each["judgement"]
                search.texts[path] = texts[each["number"] - 1]
                if each["judgement"] == "partial":
                    further.append(each["next_question"])
        return search.new(further)

    # Aggregation (section 3.4)

    def _answered(self, talk: Conversation, seeds: Sequence[Seed], search: _Search) -> Answer:
        if not search.accepted:
            context = talk.gather(limit=self.documents).context
        else:
            paths = [
                EntityPath(path.entities, path.statements, _WEIGHTS[search.accepted[path]])
                for path in search.maximal
            ]
            search_options = DotRagSearch(h=self.h, t=self.t)
            evidence = search_options.of_paths(talk.view, talk.query, seeds, paths, (0.0, 1.0))
            closest = sorted(evidence.documents, key=lambda ranked: -ranked.similarity)
            budget = Budget(approximate_tokens, talk.query.budget)
            texts = [text for text in search.maximal.values() if budget.take(text)]
            named = [Excerpt.whole(ranked.document) for ranked in closest if ranked.entity]
            read = [e for e in named[: self.documents] if budget.take(e.titled_text)]
            excerpts = {f"D{position}": excerpt for position, excerpt in enumerate(read, start=1)}
            section = Section("", excerpts, tuple(texts))
            context = Context((section,) if texts or excerpts else (), budget.used, self.name)
            talk.add(Evidence(evidence, context))
        if context.is_empty:
            return talk.answer("", reasoning=NO_EVIDENCE)
        return answer_from(talk, context, max_tokens=self.max_tokens)
