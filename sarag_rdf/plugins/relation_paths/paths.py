"""Relation paths: the sequence of properties that a question asks for, found without a model.

From each topic of the question, the sequences of properties that the graph admits are put into
words, compared with the question, and ranked; the best one that leads anywhere is followed by one
SPARQL query. Ranking relation paths before instances is the order of the semantic parsers for
knowledge-base questions, such as Yih et al. (2015), "Semantic Parsing via Staged Query Graph
Generation"; the score is a linear model over `FEATURES`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from sarag_rdf.base.arrays import Floats, IriList, find
from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.iris import normalize_name, sha256_hex, statement_iri, statement_of
from sarag_rdf.base.options import MAX_COUNT, option
from sarag_rdf.base.ports import Arrays, Matrix, Table, embed_queries
from sarag_rdf.base.questions import spelled_out
from sarag_rdf.base.resources import render_query
from sarag_rdf.base.types import (
    PathAnswer,
    Query,
    RelationPath,
    Retrieved,
    Seed,
    Step,
)
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.parts import imported_graphs
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.graph.stored_ontologies import stored_ontologies
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.plugins.relation_paths.description_seeds import nearest_entities
from sarag_rdf.plugins.relation_paths.path_model import (
    FEATURES,
    FORM,
    GAPS,
    THING,
    VALUE_KINDS,
    HopSequence,
    PathModel,
    PathSchema,
    packaged_model,
    read_model,
    read_schema,
)
from sarag_rdf.retrieval.activation import Chain, passed
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES
from sarag_rdf.retrieval.retriever import (
    Explanation,
    RetrieverStrategy,
    activated,
    best_documents,
    document_cosines,
)
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

MOST_HOPS: Final = 3
"""Hops of the longest paths."""
LEAST: Final = 0.25
"""The least probability of paths that are followed by default: see `benchmarks/paths.md`."""
TRIED: Final = 20
"""The most paths that are followed until one leads somewhere."""
_NEAREST: Final = 3
"""Entities with the nearest descriptions that stand for a topic, if the question names none."""
_ABOUT, _DESCRIBES = 1.0, 0.5
"""The share of an entity's activation that a document about it gets, and one that describes it."""
_MIDNIGHT: Final = "T00:00:00Z"
"""The end of dates in Wikibase's RDF."""
_BETWEEN: Final = 0.5
"""The activation of the entities between a topic and an answer, which has 1."""


@dataclass(frozen=True, kw_only=True)
class Paths(RetrieverStrategy):
    """Entities, dates or numbers at the end of the relation path asked for, and documents."""

    name = "paths"
    hops: int = option(3, "Maximum number of properties in a path.", ge=1, le=MOST_HOPS)
    followed: int = option(
        1, "Number of paths that are followed, the best ones that lead anywhere.", ge=1, le=20
    )
    ranked: int = option(5, "Number of paths that are shown, followed or not.", ge=1, le=MAX_COUNT)
    candidates: int = option(
        30,
        "Number of paths from a topic whose whole phrases are compared with the question: those "
        "that score best by the phrases of their properties.",
        ge=10,
        le=10_000,
    )
    beam: int = option(
        1000,
        "Number of paths of each length that are scored and extended: those whose properties are "
        "nearest to the question.",
        ge=1,
        le=10_000,
    )
    least: float = option(
        LEAST,
        "Least probability that a path says what is asked: less probable ones are not followed.",
        ge=0.0,
        le=1.0,
    )
    answers: int = option(
        1000, "Maximum number of answers of a path.", ge=1, le=100_000, recorded=False
    )
    walks: int = option(
        20_000, "Maximum number of walks that are read for a path.", ge=1, le=1_000_000
    )
    model: str = option("", "A file by 'evaluate fit-paths', in place of the packaged model.")
    imported: bool = option(False, "Follow statements of imported graphs only.")
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
    """A path from a topic with its score and `GAPS`; it is not known what it leads to."""

    topic: Topic
    hops: HopSequence
    score: float = 0.0
    gaps: tuple[float, float] = (1.0, 1.0)


class PathSearch:
    """The paths of one graph, with the vectors of their phrases."""

    def __init__(self, view: GraphView, options: Paths | None = None) -> None:
        self.view = view
        self._options = options or Paths()
        self.in_use = SchemaInUse(_reader(view, is_imported=self._options.imported))

    @cached_property
    def model(self) -> PathModel:
        """The templates and weights."""
        name = self._options.model
        return read_model(Path(name)) if name else packaged_model()

    @cached_property
    def index(self) -> PathIndex:
        """The schema of the graph, and the vectors of its phrases."""
        if self._options.model:
            return PathIndex(self.view, self.model, is_imported=self._options.imported)
        return self.view.derived(_packaged_index, self._options.imported)

    def find(self, question: str) -> tuple[list[Topic], tuple[RelationPath, ...]]:
        """What a question is about, and its paths: first those that were followed."""
        topics, options = self.topics(question), self._options
        followed: list[RelationPath] = []
        others: list[RelationPath] = []
        for number, path in enumerate(self.ranked(topics)[: max(TRIED, options.ranked)]):
            is_likely = self.model.probability(path.score, path.gaps) >= options.least
            is_followed = is_likely and number < TRIED and len(followed) < options.followed
            relation_path = self.follow(path) if is_followed else self._described(path)
            (followed if relation_path.answers else others).append(relation_path)
        return topics, (*followed, *others)[: max(options.ranked, len(followed))]

    # Topics

    def topics(self, question: str) -> list[Topic]:
        """The topics: a name in brackets, else the longest name, else the nearest entities."""
        question = spelled_out(question)
        view, marked = self.view, MARKED.search(question)
        text = MARKED.sub(r"\1", question)
        known = view.names.entities({normalize_name(marked[1].strip())}) if marked else {}
        if marked and known:
            [entities] = known.values()
            begin, end = marked.start(), marked.start() + len(marked[1])
        elif spans := named_spans(view.names, text, ProperNames(view)):
            (begin, end), entities = max(spans, key=lambda span: span[0][1] - span[0][0])
        elif marked:
            return []
        else:
            vector = view.vectors.embed_query(text)
            seeds = nearest_entities(view.reader, view.vectors, vector, _NEAREST)
            return self._described_topics(seeds, text)
        labels = entity_labels(view.reader, entities)
        exact = {iri for iri in entities if labels.get(iri, ("",))[0] == text[begin:end]}
        seeds = tuple(Seed(iri, "", 1.0, 1.0) for iri in sorted(exact or entities))
        return self._described_topics(seeds, text, (begin, end))

    def topic(self, entity: str) -> Topic:
        """An entity as a topic, without a question."""
        [topic] = self._described_topics([Seed(entity, "", 1.0, 1.0)], "")
        return topic

    def _described_topics(
        self, seeds: Sequence[Seed], text: str, span: tuple[int, int] | None = None
    ) -> list[Topic]:
        """Topics of a question that names them, if it does, at `span`."""
        iris, index = [seed.node for seed in seeds], self.index
        ends: defaultdict[str, set[str]] = defaultdict(set)
        for entity, end in self.in_use.rows_for("entity-ends", iris):
            ends[entity.value].add(end.value)
        labels = entity_labels(self.view.reader, iris)
        topics = []
        for seed in seeds:
            own = frozenset(ends[seed.node] & index.schema.joins.keys())
            masked = text
            if span is not None:
                noun = index.start(index.schema.kind(own) or THING)
                masked = f"{text[: span[0]]}{noun}{text[span[1] :]}"
            topics.append(Topic(seed, labels.get(seed.node, (seed.node,))[0], own, masked))
        return topics

    # Paths

    def ranked(self, topics: Sequence[Topic]) -> list[RankedPath]:
        """The paths from topics by falling score."""
        ranked = []
        for topic in topics:
            compared = self.compared(topic)
            scores = compared.features @ self.model.vector
            ranked += [
                RankedPath(topic, path, round(float(score), 4), (float(unsaid), float(is_open)))
                for path, score, (unsaid, is_open) in zip(
                    compared.paths, scores, compared.gaps, strict=True
                )
            ]
        return sorted(ranked, key=lambda p: (-p.score, len(p.hops), p.hops, p.topic.seed.node))

    def compared(self, topic: Topic) -> ComparedPaths:
        """The best paths from a topic."""
        return self.index.compared(topic.ends, topic.question, self._options)

    def follow_hops(self, topic: Topic, hops: HopSequence) -> RelationPath:
        """A path that was not ranked, with its query and what it leads to."""
        return self.follow(RankedPath(topic, hops))

    def follow(self, path: RankedPath) -> RelationPath:
        """The path with its query and what it leads to."""
        hops, options, reader = path.hops, self._options, self.view.reader
        nodes = [f"?n{number}" for number in range(1, len(hops))] + ["?answer"]
        turns = [
            (nodes[at - 2], nodes[at])
            for at in range(2, len(hops))
            if hops[at - 1].reverse == hops[at]
        ]
        returns = any(hop.end in path.topic.ends for hop in hops[1:])
        text = render_query(
            "patterns/path",
            is_path=not (turns or returns) and (len(hops) == 1 or not options.explain),
            graphs=[str(NamedNode(graph)) for graph in self.in_use.graphs],
            topic=str(NamedNode(path.topic.seed.node)),
            hops=[(str(NamedNode(hop.predicate)), hop.is_inverse) for hop in hops],
            nodes=nodes,
            is_answer="isIRI" if hops[-1].end in self.index.schema.joins else "isLiteral",
            turns=turns,
            walks=options.walks,
            limit=options.answers + 1,
        ).strip()
        result = reader.store.query(text)
        if not isinstance(result, Table):
            raise StoreError("a SELECT query was expected")
        via, walks = {}, 0
        for row in result.rows:
            values = dict(zip(result.variables, row, strict=True))
            answer, between, count = (values.get(name) for name in ("answer", "via", "walks"))
            walks += int(count.value) if count else 0
            if answer is not None and answer.value != path.topic.seed.node:
                via[answer] = tuple(between.value.split()) if between else ()
        labels = entity_labels(reader, (term.value for term in via if isinstance(term, NamedNode)))
        ends = [
            PathAnswer("", term.value.removesuffix(_MIDNIGHT), nodes)
            if isinstance(term, Literal)
            else PathAnswer(term.value, labels[term.value][0], nodes)
            for term, nodes in via.items()
            if isinstance(term, Literal) or term.value in labels
        ]
        answers = sorted(ends, key=lambda answer: (answer.name, answer.iri))
        is_cut = len(result.rows) > options.answers or walks >= options.walks
        first = tuple(answers[: options.answers])
        return replace(self._described(path), sparql=text, answers=first, is_cut=is_cut)

    def _described(self, path: RankedPath) -> RelationPath:
        return RelationPath(
            path.topic.seed.node,
            path.topic.name,
            tuple((hop.predicate, hop.is_inverse) for hop in path.hops),
            self.index.text(path.hops),
            path.score,
            probability=round(self.model.probability(path.score, path.gaps), 4),
        )

    # Documents

    def retrieved(
        self, query: Query, topics: Sequence[Topic], paths: tuple[RelationPath, ...]
    ) -> Retrieved:
        """The documents of entities on paths, then others by their similarity to the question."""
        view, options = self.view, self._options
        answers = {answer.iri for path in paths for answer in path.answers if answer.iri}
        nodes: dict[str, Chain] = {topic.seed.node: () for topic in topics if topic.ends}
        activation = dict.fromkeys(nodes, _BETWEEN) | dict.fromkeys(answers, 1.0)
        nodes |= dict(_chains(paths, activation))
        activation = {iri: activation.get(iri, _BETWEEN) for iri in nodes}
        problem = self.problem(topics, paths)
        if not len(view.iris.documents):
            return replace(options.result(view, query, []), problem=problem)
        question = view.vectors.embed_query(MARKED.sub(r"\1", query.text))
        cosines = document_cosines(view, question)
        amounts, entities = self._amounts(activation)
        best = best_documents(view, cosines + amounts, options.limit, similarities=cosines)
        documents = []
        for ranked in best:
            row, parts = find(view.iris.documents, ranked.document.iri), {}
            if row in entities:
                parts["entities"] = float(amounts[row])
                ranked = replace(
                    ranked,
                    activation=parts["entities"],
                    entity=entities[row],
                    chain=nodes[entities[row]],
                )
            documents.append(replace(ranked, parts={"similarity": ranked.similarity, **parts}))
        explanation = Explanation(
            [topic.seed for topic in topics],
            [
                activated(iri, amount, nodes[iri], is_activated=amount == 1.0)
                for iri, amount in activation.items()
            ],
        )
        result = options.result(view, query, documents, explanation)
        names = {**result.names, **self._sentences(result)}
        return replace(result, paths=paths, problem=problem, names=names)

    def problem(self, topics: Sequence[Topic], paths: Sequence[RelationPath]) -> str:
        """Why no path was answered with; empty if one was."""
        if any(path.answers for path in paths):
            return ""
        unlikely = [path for path in paths if path.probability < self._options.least]
        if unlikely:
            unlikely.sort(key=lambda path: -path.probability)
            nearest = (f"{p.text} ({p.topic_name}), {p.probability:.0%}" for p in unlikely[:2])
            return f"no path of this graph says what is asked; the nearest: {'; '.join(nearest)}"
        start = ", ".join(dict.fromkeys(topic.name for topic in topics))
        origin = f" from {start}" if start else ": no entity was found to start from"
        return f"no relation path leads anywhere{origin}"

    def _amounts(self, activation: Mapping[str, float]) -> tuple[Floats, dict[int, str]]:
        """What documents get from the entities that they describe, and the most active of these."""
        view = self.view
        rows = {find(view.iris.entities, iri): iri for iri in activation}
        here = np.array(sorted(row for row in rows if row >= 0), dtype=np.int64)
        shares: dict[int, dict[str, float]] = defaultdict(dict)
        for kind, share in ((DESCRIBES, _DESCRIBES), (ABOUT, _ABOUT)):
            for document, entity in view.network.incoming(kind, here).pairs().tolist():
                shares[document][rows[entity]] = share * activation[rows[entity]]
        amounts, best = np.zeros(len(view.iris.documents)), {}
        for document, several in shares.items():
            amounts[document] = min(2.0, sum(several.values()))
            best[document] = min(several, key=lambda iri: (-several[iri], iri))
        return amounts, best

    def _sentences(self, result: Retrieved) -> dict[str, str]:
        """Statement -> its words, for those of chains that no relationship has a text for."""
        names, labels = result.names, self.index.schema.names
        sentences = {}
        for step in (step for entity in result.entities for step in entity.chain):
            triple = statement_of(step.relationship)
            if triple and step.relationship not in names:
                words = names.get(triple[0]), labels.get(triple[1]), names.get(triple[2])
                sentences[step.relationship] = " ".join(filter(None, words))
        return sentences


def _packaged_index(view: GraphView, is_imported: bool) -> PathIndex:
    return PathIndex(view, packaged_model(), is_imported=is_imported)


def _reader(view: GraphView, *, is_imported: bool) -> GraphReader:
    """What paths lead through: all that is read, or the imported graphs among it."""
    return view.reader.imported if is_imported else view.reader


def _chains(
    paths: Sequence[RelationPath], activation: Mapping[str, float]
) -> Iterator[tuple[str, Chain]]:
    """Entity -> the steps from a topic to it, for the answers of paths and what is between."""
    for path in reversed(paths):
        for answer in path.answers:
            nodes = [path.topic, *answer.nodes, answer.iri]
            if len(nodes) != len(path.hops) + 1:
                nodes = [path.topic, answer.iri]
            if not answer.iri:  # a date or number, which is no node
                nodes.pop()
            steps: list[Step] = []
            for number, (origin, target) in enumerate(pairwise(nodes), start=1):
                property_, is_inverse = path.hops[min(number, len(path.hops)) - 1]
                ends = (target, origin) if is_inverse else (origin, target)
                amount = activation.get(target, _BETWEEN)
                weight = amount / activation.get(origin, _BETWEEN)
                iri = statement_iri(ends[0], property_, ends[1])
                steps.append(passed(number, origin, target, iri, weight, amount))
                yield target, tuple(steps)


# Ranking


@dataclass(frozen=True, slots=True)
class TextGroups:
    """The vectors of texts, shape (texts, dimensions), of which group i begins at `begins[i]`."""

    vectors: Matrix
    begins: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Sequence[Sequence[str]], embed: Callable[[Sequence[str]], Matrix]) -> Self:
        """Groups of at least one text each."""
        sizes = np.array([0, *map(len, groups)], dtype=np.int64)
        return cls(embed([text for group in groups for text in group]), sizes.cumsum()[:-1])

    def nearest(self, vectors: Matrix) -> Floats:
        """The cosine of each vector with the nearest text of each group: (groups, vectors)."""
        return np.asarray(np.maximum.reduceat(self.vectors @ vectors.T, self.begins))

    def mean(self, vectors: Matrix) -> Floats:
        """The mean cosine of each vector with the texts of each group: (groups, vectors)."""
        sizes = np.diff(np.append(self.begins, len(self.vectors)))
        return np.asarray(
            np.add.reduceat(self.vectors @ vectors.T, self.begins) / sizes[:, np.newaxis]
        )


class ComparedPaths(NamedTuple):
    """Paths with their `FEATURES`, shape (paths, features), and `GAPS`, shape (paths, gaps)."""

    paths: tuple[HopSequence, ...]
    features: Floats
    gaps: Floats


class PathIndex:
    """The schema of one revision of a graph, and the vectors of the phrases of its hops."""

    def __init__(self, view: GraphView, model: PathModel, *, is_imported: bool = False) -> None:
        self._view, self._model = view, model
        self._reader = _reader(view, is_imported=is_imported)
        if view.reader.readable is None:
            has_documents = any(part.name == DOCUMENTS for part in self._reader.parts)
            name = "relation-paths" if has_documents else "imported-paths"
            state = "" if has_documents else self._state
            arrays = view.vectors.cached_arrays(name, self._arrays, state=f"{FORM}{state}")
        else:  # the phrases of readable graphs are not those of all
            arrays = self._arrays()
        self.schema = PathSchema(**json.loads(IriList.of_arrays(arrays, "schema")[0]))
        self._number = {hop: at for at, hop in enumerate(self.schema.hops)}

    def _arrays(self) -> Arrays:
        schema = read_schema(self._reader).to_json()
        return IriList.packed([schema]).arrays("schema")

    @property
    def _state(self) -> str:
        """A digest of imported graphs and ontologies: reading them takes seconds."""
        read = [part.name for part in self._reader.parts]
        graphs = [graph for graph in imported_graphs(self._reader) if graph.name in read]
        return sha256_hex(repr((read, graphs, stored_ontologies(self._reader))))

    @cached_property
    def _groups(self) -> tuple[TextGroups, TextGroups, TextGroups]:
        """For each hop its phrases, the words of these, and what stands at its end."""
        phrases, words, ends = [], [], []
        for hop in self.schema.hops:
            own = self._model.phrases(self.schema, hop)
            phrases.append(self._model.texts(self.schema, (hop,)))
            words.append(self._model.words(" ".join(own)) or (" ".join(own),))
            first = own[0].split()
            role = first[:-1] if first[-1] in self._model.prepositions else first[:1]
            kind = self.schema.kinds.get(hop.end, "")
            ends.append(tuple(text for text in (kind, " ".join(role), first[0]) if text))
        every = list(dict.fromkeys(chain.from_iterable((*phrases, *words, *ends))))
        vectors = dict(zip(every, self._view.vectors.embedder.embed(every), strict=True))

        def known(texts: Sequence[str]) -> Matrix:
            return np.array([vectors[text] for text in texts])

        return (
            TextGroups.of(phrases, known),
            TextGroups.of(words, known),
            TextGroups.of(ends, known),
        )

    @cached_property
    def _said(self) -> list[frozenset[str]]:
        """For each hop the stems of the words in which a question may say it."""
        return [self._model.words_for(self.schema, hop) for hop in self.schema.hops]

    def text(self, path: HopSequence) -> str:
        """A path in words, from the kind of thing at its start."""
        return self._model.texts(self.schema, path)[0]

    def start(self, kind: str) -> str:
        """What stands for a topic of that kind."""
        return self._model.templates["start"].format(kind=kind)

    def compared(self, ends: Collection[str], question: str, options: Paths) -> ComparedPaths:
        """The best paths from these ends; the name of the topic must be masked in the question.

        All paths are first scored with the mean cosine of their hops in place of that of their
        whole phrases, which depends on no other path; the phrases of the best ones are embedded.
        """
        none = ComparedPaths((), np.zeros((0, len(FEATURES))), np.zeros((0, len(GAPS))))
        starting = [self._number[hop] for hop in self.schema.starting(ends)]
        if not starting:
            return none
        model, embedder = self._model, self._view.vectors.embedder
        asked, words = model.asked(question), model.words(question) or (question,)
        vectors = embed_queries(embedder, [question, *words, *([asked] if asked else [])])
        phrases = self._groups[0]
        cosines = np.column_stack((phrases.nearest(vectors[:1]), phrases.mean(vectors[:1])))
        paths = self._enumerated(starting, cosines[:, 0], options)
        paths = paths[self._may_answer(asked)[_last(paths)]]
        if not len(paths):
            return none
        features = self._features(paths, cosines, vectors[1:], len(words))
        best = np.argsort(-(features @ model.vector), kind="stable")[: options.candidates]
        hops, paths, features = self.schema.hops, paths[best], features[best]
        sequences = tuple(tuple(hops[at] for at in row if at >= 0) for row in paths.tolist())
        phrases = TextGroups.of([model.texts(self.schema, p) for p in sequences], embedder.embed)
        features[:, :1], features[:, 1:2] = phrases.nearest(vectors[:1]), phrases.mean(vectors[:1])
        return ComparedPaths(
            sequences, features, self._gaps(paths, question, self.schema.kind(ends))
        )

    def _may_answer(self, asked: str) -> NDArray[np.bool_]:
        """For each hop, whether a path may end with it if that kind of thing is asked for.

        Who asks for a person or a place wants no date or number; who asks for a height does.
        """
        if not asked or asked in VALUE_KINDS:
            return np.ones(len(self.schema.hops), bool)
        stems = self._model.content(asked)
        return np.array(
            [
                hop.end in self.schema.joins or not own.isdisjoint(stems)
                for hop, own in zip(self.schema.hops, self._said, strict=True)
            ],
            bool,
        )

    def _gaps(self, paths: NDArray[np.int64], question: str, kind: str) -> Floats:
        """The `GAPS` of paths from a topic of that kind, shape (paths, 2).

        A word that occurs twice is said by two hops, and each hop needs a word of its own: so many
        words as hops, of all its hops and of any of them (Hall 1935). The topic itself says what
        kind of thing it is.
        """
        model, of_topic = self._model, self._model.content(kind)
        before, _, after = question.partition(self.start(kind or THING))
        *first, last = before.split() or [""]
        if not of_topic.keys().isdisjoint(model.content(last)):  # "the director of film X"
            before = " ".join(first)
        content = model.content(f"{before} {after}")
        words = np.array([[word in own for word in content] for own in self._said], bool)
        is_hop = paths >= 0
        is_said = words[paths] & is_hop[:, :, np.newaxis]
        times = np.array([*content.values()], dtype=np.int64)
        asked = np.where([word in of_topic for word in content], 0, times)
        unsaid = asked.sum() - np.minimum(is_said.sum(axis=1), asked).sum(axis=1)
        unsaid += is_hop.sum(axis=1) - is_said.any(axis=2).sum(axis=1)
        is_open = unsaid > 0
        for size in range(1, MOST_HOPS + 1):
            for some in map(list, combinations(range(MOST_HOPS), size)):
                own = is_said[:, some].any(axis=1) @ times
                is_open |= own < is_hop[:, some].sum(axis=1)
        share = unsaid / (asked.sum() + is_hop.sum(axis=1))
        return np.column_stack((share, is_open.astype(np.float64)))

    def _enumerated(
        self, starting: Sequence[int], cosines: Floats, options: Paths
    ) -> NDArray[np.int64]:
        """Paths as the numbers of their hops, shape (paths, `MOST_HOPS`), with -1 after the last.

        Of more than `options.beam` of one length, those with the nearest hops are extended.
        """
        last = np.array(starting, dtype=np.int64)[:, np.newaxis]
        every = []
        for length in range(1, options.hops + 1):
            if not len(last):  # all ended at dates or numbers
                break
            if len(last) > options.beam:
                order = np.argsort(-cosines[last].mean(axis=1), kind="stable")
                last = last[np.sort(order[: options.beam])]
            every.append(np.pad(last, ((0, 0), (0, MOST_HOPS - length)), constant_values=-1))
            after = [self._after[at] for at in last[:, -1].tolist()]
            before = np.repeat(last, list(map(len, after)), axis=0)
            last = np.column_stack((before, np.concatenate(after)))
        return np.concatenate(every)

    @cached_property
    def _after(self) -> list[NDArray[np.int64]]:
        """The numbers of the hops that can follow each hop."""
        return [
            np.array([self._number[following] for following in self.schema.after(hop)], np.int64)
            for hop in self.schema.hops
        ]

    def _features(
        self, paths: NDArray[np.int64], cosines: Floats, vectors: Matrix, words: int
    ) -> Floats:
        """Shape (paths, features) in the order of `FEATURES`, with the mean `cosines` of hops.

        `vectors` are those of the words of the question, and then of what it asks for, if it does.
        """
        is_hop = paths >= 0
        length = is_hop.sum(axis=1)
        means = np.where(is_hop[:, :, np.newaxis], cosines[paths], 0.0).sum(axis=1)
        nearest, mean = (means / length[:, np.newaxis]).T
        fan_out = np.log([self.schema.fan_out[hop.start] for hop in self.schema.hops])
        reverse = np.array([self._number.get(hop.reverse, -1) for hop in self.schema.hops])
        follows = (reverse[paths[:, :-1]] == paths[:, 1:]) & is_hop[:, 1:]
        _, hop_words, hop_ends = self._groups
        closest = hop_words.nearest(vectors[:words])
        matrix = np.where(is_hop[:, :, np.newaxis], closest[paths], -2.0)
        aligned = _aligned(matrix.copy(), length)
        covered = matrix.max(axis=1)
        asked = np.zeros(len(paths))
        if len(vectors) > words:
            asked = hop_ends.nearest(vectors[words:])[_last(paths), 0]
        return np.column_stack(
            (
                nearest,
                mean,
                length == 2,
                length == 3,
                asked,
                np.where(is_hop, fan_out[paths], 0.0).sum(axis=1),
                aligned.sum(axis=1) / length,
                np.where(is_hop, aligned, 2.0).min(axis=1),
                covered.mean(axis=1),
                covered.min(axis=1),
                follows.sum(axis=1),
            )
        ).astype(np.float64)


def _last(paths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the last hop of each path."""
    last: NDArray[np.int64] = paths[np.arange(len(paths)), (paths >= 0).sum(axis=1) - 1]
    return last


def _aligned(matrix: Floats, length: NDArray[np.int64]) -> Floats:
    """The cosine of each hop with a word of its own, or 0, in falling order: (paths, hops)."""
    paths, hops, words = matrix.shape
    rows = np.arange(paths)
    aligned = np.zeros((paths, hops))
    for number in range(min(hops, words)):
        hop, word = np.divmod(matrix.reshape(paths, -1).argmax(axis=1), words)
        best = matrix[rows, hop, word]
        aligned[:, number] = np.where(number < length, np.maximum(best, 0.0), 0.0)
        matrix[rows, hop, :] = -2.0
        matrix[rows, :, word] = -2.0
    return aligned
