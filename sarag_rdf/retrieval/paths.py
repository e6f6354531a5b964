"""Relation paths: the sequence of properties that a question asks for, found without a model.

From each topic of the question, the sequences of properties that the graph admits are put into
words, compared with the question, and ranked; the best one that leads anywhere is followed by one
SPARQL query. Ranking relation paths before instances is the order of the semantic parsers for
knowledge-base questions, such as Yih et al. (2015), "Semantic Parsing via Staged Query Graph
Generation"; the score is a linear model over `sarag_rdf.retrieval.path_model.FEATURES`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from pyoxigraph import NamedNode

from sarag_rdf.base.arrays import Floats, find
from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.iris import normalize_name, statement_iri
from sarag_rdf.base.options import MAX_COUNT, option
from sarag_rdf.base.ports import Table
from sarag_rdf.base.resources import render_query
from sarag_rdf.base.types import (
    PathAnswer,
    Query,
    RelationPath,
    Retrieved,
    Seed,
    Step,
)
from sarag_rdf.graph.schema_use import term_reader
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.retrieval.activation import Chain
from sarag_rdf.retrieval.base import (
    Explanation,
    RetrieverStrategy,
    ScoredDocument,
    best_documents,
    document_cosines,
)
from sarag_rdf.retrieval.network.kinds import ABOUT, DESCRIBES
from sarag_rdf.retrieval.path_model import PathModel, packaged_model, read_model
from sarag_rdf.retrieval.path_ranking import MOST_HOPS, PathIndex
from sarag_rdf.retrieval.path_schema import THING, HopSequence, path_parts
from sarag_rdf.retrieval.seeds import Topics, named_spans, nearest_entities
from sarag_rdf.retrieval.view import GraphView

TRIED: Final = 20
"""The most paths that are followed until one leads somewhere."""
_MARKED: Final = re.compile(r"\[([^\[\]]+)\]")
_NEAREST: Final = 3
"""Entities with the nearest descriptions that stand for a topic, if the question names none."""
_ABOUT, _DESCRIBES = 1.0, 0.5
"""The share of an entity's activation that a document about it gets, and one that describes it."""
_BETWEEN: Final = 0.5
"""The activation of the entities between a topic and an answer, which has 1."""


@dataclass(frozen=True, kw_only=True)
class Paths(RetrieverStrategy):
    """Entities at the end of the relation path that a question asks for, and their documents."""

    name = "paths"
    hops: int = option(3, "Maximum number of properties in a path.", ge=1, le=MOST_HOPS)
    followed: int = option(
        1, "Number of paths that are followed, the best ones that lead anywhere.", ge=1, le=20
    )
    ranked: int = option(5, "Number of paths that are shown, followed or not.", ge=1, le=MAX_COUNT)
    candidates: int = option(
        1000,
        "Maximum number of paths from a topic that are all compared with the question.",
        ge=10,
        le=10_000,
    )
    beam: int = option(
        60,
        "Where there are more, number of paths of each length that are compared with the question "
        "and extended: those whose properties are nearest to it.",
        ge=1,
        le=1000,
    )
    answers: int = option(
        1000, "Maximum number of answers of a path.", ge=1, le=100_000, recorded=False
    )
    walks: int = option(
        20_000, "Maximum number of walks that are read for a path.", ge=1, le=1_000_000
    )
    model: str = option("", "A file by 'evaluate fit-paths', in place of the packaged model.")
    explain: bool = option(
        True, "Read the entities between topic and answers, too.", recorded=False
    )

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        search = PathSearch(view, self)
        return search.retrieved(query, *search.find(query.text))


@dataclass(frozen=True, slots=True)
class Topic:
    """An entity that a question is about, its ends, and the question with its name masked."""

    seed: Seed
    name: str
    ends: frozenset[str]
    question: str


@dataclass(frozen=True, slots=True)
class RankedPath:
    """A path from a topic with its score; nothing is known yet of what it leads to."""

    topic: Topic
    hops: HopSequence
    score: float


class PathSearch:
    """The paths of one graph, with the vectors of their phrases."""

    def __init__(self, view: GraphView, options: Paths | None = None) -> None:
        self.view = view
        self._options = options or Paths()

    @cached_property
    def model(self) -> PathModel:
        """The templates and weights."""
        name = self._options.model
        return read_model(Path(name)) if name else packaged_model()

    @cached_property
    def index(self) -> PathIndex:
        """The schema of the graph, and the vectors of its phrases."""
        if self._options.model:
            return PathIndex(self.view, self.model)
        return self.view.derived(_packaged_index)

    def find(self, question: str) -> tuple[list[Topic], tuple[RelationPath, ...]]:
        """What a question is about, and its paths: first those that were followed."""
        topics = self.topics(question)
        ranked = self.ranked(topics)
        followed: list[RelationPath] = []
        others: list[RelationPath] = []
        for number, path in enumerate(ranked[: max(TRIED, self._options.ranked)]):
            relation_path = self._described(path)
            if number < TRIED and len(followed) < self._options.followed:
                relation_path = self.follow(path)
            (followed if relation_path.answers else others).append(relation_path)
        return topics, (*followed, *others)[: max(self._options.ranked, len(followed))]

    # Topics

    def topics(self, question: str) -> list[Topic]:
        """What the question is about: a name in square brackets, or else the longest name.

        Without a name in the question, the entities with the nearest descriptions; but nothing if
        it marks a name that no entity has.
        """
        text, spans = self._spans(question)
        if not spans and _MARKED.search(question):
            return []
        if not spans:
            vector = self.view.vectors.embed_query(text)
            seeds = nearest_entities(self.view.reader, self.view.vectors, vector, _NEAREST)
            return self._described_topics([(seed, text, None) for seed in seeds])
        (begin, end), entities = max(spans, key=lambda span: span[0][1] - span[0][0])
        labels = entity_labels(self.view.reader, entities)
        exact = {iri for iri in entities if labels.get(iri, ("",))[0] == text[begin:end]}
        requested = sorted(exact or entities)
        return self._described_topics(
            [(Seed(iri, "", 1.0, 1.0), text, (begin, end)) for iri in requested]
        )

    def topic(self, entity: str) -> Topic:
        """An entity as a topic, without a question."""
        [topic] = self._described_topics([(Seed(entity, "", 1.0, 1.0), "", None)])
        return topic

    def _spans(
        self, question: str
    ) -> tuple[str, list[tuple[tuple[int, int], Mapping[str, float]]]]:
        """The question without brackets, and where it names which entities."""
        marked = _MARKED.search(question)
        text = _MARKED.sub(r"\1", question)
        if marked:
            name = marked[1].strip()
            known = self.view.names.entities({normalize_name(name)})
            begin = marked.start()
            if known:
                [entities] = known.values()
                return text, [((begin, begin + len(marked[1])), entities)]
        return text, [*named_spans(self.view.names, text, Topics(self.view))]

    def _described_topics(
        self, seeds: Sequence[tuple[Seed, str, tuple[int, int] | None]]
    ) -> list[Topic]:
        reader = self.view.reader
        iris = [seed.node for seed, _, _ in seeds]
        ends: defaultdict[str, set[str]] = defaultdict(set)
        for part in path_parts(reader):
            for entity, end in term_reader(reader, part).rows_for("entity-ends", iris):
                ends[entity.value].add(end.value)
        labels = entity_labels(reader, iris)
        topics = []
        for seed, text, span in seeds:
            own = frozenset(ends[seed.node] & self.index.schema.joins.keys())
            masked = text
            if span is not None:
                noun = self.index.start(self.index.schema.kind(own) or THING)
                masked = f"{text[: span[0]]}{noun}{text[span[1] :]}"
            topics.append(Topic(seed, labels.get(seed.node, (seed.node,))[0], own, masked))
        return topics

    # Paths

    def ranked(self, topics: Sequence[Topic]) -> list[RankedPath]:
        """The paths from topics by falling score."""
        ranked = []
        for topic in topics:
            paths, features = self.compared(topic)
            scores = features @ self.model.vector if paths else ()
            ranked += [
                RankedPath(topic, path, round(float(score), 4))
                for path, score in zip(paths, scores, strict=True)
            ]
        return sorted(ranked, key=lambda p: (-p.score, len(p.hops), p.hops, p.topic.seed.node))

    def compared(self, topic: Topic) -> tuple[tuple[HopSequence, ...], Floats]:
        """The paths from a topic, and their features, shape (paths, features)."""
        index, options = self.index, self._options
        question = index.queries([topic.question])[0]
        compared = index.candidates(
            topic.ends, question, options.hops, options.candidates, options.beam
        )
        return compared.paths, index.features(topic.question, compared)

    def follow_hops(self, topic: Topic, hops: HopSequence) -> RelationPath:
        """A path that was not ranked, with its query and what it leads to."""
        return self.follow(RankedPath(topic, hops, 0.0))

    def follow(self, path: RankedPath) -> RelationPath:
        """The path with its query and what it leads to."""
        hops, options = path.hops, self._options
        nodes = [f"?n{number}" for number in range(1, len(hops))] + ["?answer"]
        turns = [
            (nodes[at - 2], nodes[at])
            for at in range(2, len(hops))
            if hops[at - 1].reverse == hops[at]
        ]
        returns = any(hop.end in path.topic.ends for hop in hops[1:])
        is_path = not (turns or returns) and (len(hops) == 1 or not options.explain)
        text = render_query(
            "patterns/path",
            is_path=is_path,
            graphs=self._graphs,
            topic=str(NamedNode(path.topic.seed.node)),
            hops=[(str(NamedNode(hop.predicate)), hop.is_inverse) for hop in hops],
            nodes=nodes,
            turns=turns,
            walks=options.walks,
            limit=options.answers + 1,
        ).strip()
        result = self.view.reader.store.query(text)
        if not isinstance(result, Table):
            raise StoreError("a SELECT query was expected")
        via, walks = {}, 0
        for row in result.rows:
            values = dict(zip(result.variables, row, strict=True))
            answer, between, count = (values.get(name) for name in ("answer", "via", "walks"))
            walks += int(count.value) if count else 0
            if answer is not None and answer.value != path.topic.seed.node:
                via[answer.value] = tuple(between.value.split()) if between else ()
        labels = entity_labels(self.view.reader, via)
        answers = sorted(
            (PathAnswer(iri, labels[iri][0], nodes) for iri, nodes in via.items() if iri in labels),
            key=lambda answer: (answer.name, answer.iri),
        )
        relation_path = self._described(path)
        is_cut = len(result.rows) > options.answers or walks >= options.walks
        return replace(
            relation_path, sparql=text, answers=tuple(answers[: options.answers]), is_cut=is_cut
        )

    def _described(self, path: RankedPath) -> RelationPath:
        return RelationPath(
            path.topic.seed.node,
            path.topic.name,
            tuple((hop.predicate, hop.is_inverse) for hop in path.hops),
            self.index.text(path.hops),
            path.score,
        )

    @cached_property
    def _graphs(self) -> list[str]:
        """The graphs whose union is queried; none for the default graph."""
        parts = path_parts(self.view.reader)
        graphs = [part.graphs["kg"] for part in parts]
        return [str(NamedNode(graph)) for graph in graphs] if all(graphs) else []

    # Documents

    def retrieved(
        self, query: Query, topics: Sequence[Topic], paths: tuple[RelationPath, ...]
    ) -> Retrieved:
        """The documents of entities on paths, then others by their similarity to the question."""
        view = self.view
        chains = dict(_chains(paths))
        nodes = {topic.seed.node: () for topic in topics if any(topic.ends)} | chains
        activation = {
            iri: 1.0 if any(iri == a.iri for p in paths for a in p.answers) else _BETWEEN
            for iri in nodes
        }
        if not len(view.iris.documents):
            return self._options.result(view, query, [])
        question = view.vectors.embed_query(_MARKED.sub(r"\1", query.text))
        cosines = document_cosines(view, question)
        amounts = self._telling(activation)
        scores = cosines.copy()
        for row, (amount, _) in amounts.items():
            scores[row] += amount
        documents = [
            self._with_chain(document, amounts, chains)
            for document in best_documents(view, scores, self._options.limit, similarities=cosines)
        ]
        explanation = Explanation(
            [topic.seed for topic in topics],
            activation,
            frozenset(iri for iri, amount in activation.items() if amount == 1.0),
            {iri: chains.get(iri, ()) for iri in nodes},
            {iri: len(chains.get(iri, ())) for iri in nodes},
        )
        result = self._options.result(view, query, documents, explanation)
        return replace(result, paths=paths, names={**result.names, **self._sentences(result)})

    def _telling(self, activation: Mapping[str, float]) -> dict[int, tuple[float, str]]:
        """Document -> what it gets from the entities that it describes, and the most active one."""
        iris = self.view.iris.entities
        rows = {find(iris, iri): iri for iri in activation}
        here = np.array(sorted(row for row in rows if row >= 0), dtype=np.int64)
        shares: dict[int, dict[str, float]] = defaultdict(dict)
        for kind, share in ((DESCRIBES, _DESCRIBES), (ABOUT, _ABOUT)):
            for document, entity in self.view.network.incoming(kind, here).pairs().tolist():
                iri = rows[entity]
                shares[document][iri] = share * activation[iri]
        return {
            document: (
                min(2.0, sum(several.values())),
                min(several, key=lambda iri: (-several[iri], iri)),
            )
            for document, several in shares.items()
        }

    def _with_chain(
        self,
        document: ScoredDocument,
        amounts: Mapping[int, tuple[float, str]],
        chains: Mapping[str, Chain],
    ) -> ScoredDocument:
        row = find(self.view.iris.documents, document.iri)
        if row not in amounts:
            return replace(document, parts={"similarity": document.similarity})
        amount, entity = amounts[row]
        parts = {"similarity": document.similarity, "entities": amount}
        chain = chains.get(entity, ())
        return replace(document, activation=amount, entity=entity, chain=chain, parts=parts)

    def _sentences(self, result: Retrieved) -> dict[str, str]:
        """Statement -> its words, for those of chains that no relationship has a text for."""
        steps = [step for entity in result.entities for step in entity.chain]
        names, schema = result.names, self.index.schema
        sentences = {}
        for step in steps:
            subject, object_ = step.origin, step.target
            for hop in schema.hops:
                ends = (object_, subject) if hop.is_inverse else (subject, object_)
                if step.relationship == statement_iri(ends[0], hop.predicate, ends[1]):
                    parts = names.get(ends[0], ""), schema.names[hop.predicate], names.get(ends[1])
                    sentences[step.relationship] = " ".join(filter(None, parts))
        return {iri: text for iri, text in sentences.items() if iri not in names}


def _packaged_index(view: GraphView) -> PathIndex:
    return PathIndex(view, packaged_model())


def _chains(paths: Sequence[RelationPath]) -> Iterator[tuple[str, Chain]]:
    """Entity -> the steps from a topic to it, for the answers of paths and what is between."""
    for path in reversed(paths):
        for answer in path.answers:
            nodes = [path.topic, *answer.nodes, answer.iri]
            if len(nodes) != len(path.hops) + 1:
                nodes = [path.topic, answer.iri]
            steps: list[Step] = []
            for number, (origin, target) in enumerate(pairwise(nodes), start=1):
                property_, is_inverse = path.hops[min(number, len(path.hops)) - 1]
                ends = (target, origin) if is_inverse else (origin, target)
                amount = 1.0 if target == answer.iri else _BETWEEN
                steps.append(
                    Step(
                        number, origin, target, statement_iri(ends[0], property_, ends[1]),
                        1.0, amount, amount, "related_to", "entity", "entity",
                    )
                )  # fmt: skip
                yield target, tuple(steps)
