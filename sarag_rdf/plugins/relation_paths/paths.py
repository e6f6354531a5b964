"""Relation paths: the sequence of properties that a question asks for, found without a model.

From each topic of the question, the sequences of properties that the graph admits are put into
words, compared with the question, and ranked; the best one that leads anywhere is followed by one
SPARQL query. Ranking relation paths before instances is the order of the semantic parsers for
knowledge-base questions, such as Yih et al. (2015), "Semantic Parsing via Staged Query Graph
Generation"; the score is a linear model over `FEATURES`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from pyoxigraph import Literal, NamedNode

from sarag_rdf.base.arrays import Floats, find
from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.iris import normalize_name, statement_iri, statement_of
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
from sarag_rdf.base.vocab import OWL, SKOS, text_of
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.graph.texts import by_language, entity_labels
from sarag_rdf.plugins.relation_paths.description_seeds import nearest_entities
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_index import (
    ComparedPaths,
    PathIndex,
    all_in_use,
    imported_in_use,
)
from sarag_rdf.plugins.relation_paths.path_model import (
    MOST_HOPS,
    THING,
    HopSequence,
    PathModel,
    alike_ends,
    packaged_model,
    read_model,
)
from sarag_rdf.plugins.relation_paths.path_wording import spoken
from sarag_rdf.plugins.relation_paths.path_words import Asking
from sarag_rdf.plugins.relation_paths.relatives import spelled_out
from sarag_rdf.retrieval.activation import Chain, passed
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES, SAME_AS
from sarag_rdf.retrieval.retriever import (
    Explanation,
    RetrieverStrategy,
    activated,
    best_documents,
    document_cosines,
)
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

LEAST: Final = 0.3
"""The least probability of paths that are followed by default: see `benchmarks/paths.md`."""
TRIED: Final = 20
"""The most paths that are followed until one leads somewhere."""
_NEAREST: Final = 3
"""Entities with the nearest descriptions that stand for a topic, if the question names none."""
_ABOUT, _DESCRIBES = 1.0, 0.5
"""The share of an entity's activation that a document about it gets, and one that describes it."""
_MIDNIGHT: Final = "T00:00:00Z"
"""The end of dates in Wikibase's RDF."""
_OWNER: Final = re.compile(r"['\u2019]s?\s?$")
"""Ends a name of which something is named, with the character after it."""
_LINKS: Final = "|".join(f"{term}|^{term}" for term in (SKOS.exactMatch, OWL.sameAs))
"""The SPARQL property path over a link between nodes for the same thing."""
_BETWEEN: Final = 0.5
"""The activation of the entities between a topic and an answer, which has 1."""


@dataclass(frozen=True, kw_only=True)
class Paths(RetrieverStrategy):
    """Entities or values at the end of the relation path asked for, and documents."""

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
    """An entity that a question is about, its ends, and the question about it."""

    seed: Seed
    name: str
    ends: frozenset[str]
    asking: Asking

    @property
    def question(self) -> str:
        """The question with its name masked."""
        return self.asking.question


@dataclass(frozen=True, slots=True)
class RankedPath:
    """A path from a topic with its score and `GAPS`; it is not known what it leads to."""

    topic: Topic
    hops: HopSequence
    score: float = 0.0
    gaps: tuple[float, float] = (1.0, 1.0)


Triple = tuple[str, str, str]
"""Subject, property and object of a statement, or the text of a value."""


class Stated(NamedTuple):
    """What a document says of a statement, and how certain it is that it says so."""

    confidence: float
    text: str
    document: str
    relationship: str


class PathSearch:
    """The paths of one graph, with the vectors of their phrases."""

    def __init__(
        self, view: GraphView, options: Paths | None = None, followed: SchemaInUse | None = None
    ) -> None:
        """Paths are found in some graphs, and `followed` in those of a schema in use, or there."""
        self.view = view
        self._options = options or Paths()
        self.in_use = view.derived(imported_in_use if self._options.imported else all_in_use)
        self.followed = followed or self.in_use
        self.identities = view.derived(Identities)
        self._read: set[str] = set()  # the subjects of which `statements` knows all
        self._statements: defaultdict[Triple, set[Stated]] = defaultdict(set)

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
        ranked = self.ranked(topics)
        tried: dict[int, RelationPath] = {}
        followed = [*islice(self._leading(ranked, tried), options.followed)]
        others = [number for number in range(len(ranked)) if number not in followed]
        shown = [*followed, *others][: max(options.ranked, len(followed))]
        return topics, tuple(tried.get(n) or self._described(ranked[n]) for n in shown)

    def likely(self, topics: Sequence[Topic]) -> Iterator[tuple[RelationPath, ...]]:
        """The paths from topics, first the likeliest that leads anywhere, then the next likeliest.

        Each comes with the others that are likely; a path is followed when it is asked for.
        """
        ranked, tried = self.ranked(topics), dict[int, RelationPath]()
        for number in self._leading(ranked, tried):
            others = [n for n in range(len(ranked)) if n != number][: self._options.ranked - 1]
            described = (tried.get(n) or self._described(ranked[n]) for n in others)
            yield tried[number], *described

    def _leading(
        self, ranked: Sequence[RankedPath], tried: dict[int, RelationPath]
    ) -> Iterator[int]:
        """The numbers of the likely paths that lead anywhere; `tried` has what was followed."""
        least = self._options.least
        is_likely = [self.model.probability(p.score, p.gaps) >= least for p in ranked]
        for number in np.flatnonzero(is_likely)[:TRIED].tolist():
            tried[number] = self.follow(ranked[number])
            if tried[number].answers:
                yield number

    # Topics

    def topics(self, question: str, *, is_preferred: bool = True) -> list[Topic]:
        """The topics: a name in brackets, else the longest name, else the nearest entities.

        With `is_preferred` only those that are called exactly so, if there are any.
        """
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
        chosen = self.identities.every((is_preferred and exact) or entities)
        seeds = tuple(Seed(iri, "", 1.0, 1.0) for iri in chosen)
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
        for entity, end in self.followed.rows_for("entity-ends", iris):
            ends[entity.value].add(end.value)
        labels = entity_labels(self.view.reader, iris)
        begin, end = span or (len(text), len(text))
        owner = "" if text[end : end + 1] in "'’" else "'s"  # which the span of a name may include
        before = self._spelled_out(text[:begin])
        after = self._spelled_out(owner + text[end:]).removeprefix(owner)
        is_owner = _OWNER.search(text, begin, end + 1) is not None
        topics = []
        for seed in seeds:
            alike = alike_ends(self.in_use.ontology, ends[seed.node])
            own = frozenset(alike & index.schema.joins.keys())
            kind = index.schema.kind(own)
            asking = Asking(before)
            if span is not None:
                asking = Asking(before, index.start(kind or THING), after, kind, is_owner)
            topics.append(Topic(seed, labels.get(seed.node, (seed.node,))[0], own, asking))
        return topics

    def _spelled_out(self, text: str) -> str:
        """The text in two steps for relatives of relatives, of which the graph has no property."""
        known = {name.casefold() for name in self.index.schema.names.values()}
        return text if known.intersection(text.casefold().split()) else spelled_out(text)

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
        options = self._options
        return self.index.compared(
            topic.ends,
            topic.asking,
            hops=options.hops,
            beam=options.beam,
            candidates=options.candidates,
        )

    def follow_hops(self, topic: Topic, hops: HopSequence) -> RelationPath:
        """A path that was not ranked, with its query and what it leads to."""
        return self.follow(RankedPath(topic, hops))

    def follow(self, path: RankedPath) -> RelationPath:
        """The path with its query and what it leads to."""
        hops, options, reader = path.hops, self._options, self.view.reader
        is_linked, graphs = bool(self.identities) and len(hops) > 1, self.followed.graphs
        if is_linked and graphs:
            graphs = [*graphs, reader.minter.links_graph]
        nodes = [f"?n{number}" for number in range(1, len(hops))] + ["?answer"]
        turns = [
            (nodes[at - 2], nodes[at])
            for at in range(2, len(hops))
            if hops[at - 1].reverse == hops[at]
        ]
        returns = any(hop.end in path.topic.ends for hop in hops[1:])
        text = render_query(
            "patterns/path",
            is_path=not (turns or returns or is_linked) and (len(hops) == 1 or not options.explain),
            graphs=[str(NamedNode(graph)) for graph in graphs],
            links=_LINKS if is_linked else "",
            topic=str(NamedNode(path.topic.seed.node)),
            topics=[str(NamedNode(iri)) for iri in self.identities.of(path.topic.seed.node)],
            hops=[(self._property_path(hop.predicate), hop.is_inverse) for hop in hops],
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
            if answer is not None and answer.value not in self.identities.of(path.topic.seed.node):
                via[answer] = tuple(between.value.split()) if between else ()
        labels = entity_labels(reader, (term.value for term in via if isinstance(term, NamedNode)))
        literals = [term for term in via if isinstance(term, Literal)]
        language = min((by_language(literal)[0] for literal in literals), default=0)
        ends = [
            PathAnswer("", term.value.removesuffix(_MIDNIGHT), nodes)
            if isinstance(term, Literal)
            else PathAnswer(term.value, labels[term.value][0], nodes)
            for term, nodes in via.items()
            if term.value in labels
            or (isinstance(term, Literal) and by_language(term)[0] == language)
        ]
        answers = sorted(ends, key=lambda answer: (answer.name, answer.iri))
        is_cut = len(result.rows) > options.answers or walks >= options.walks
        first = tuple(answers[: options.answers])
        return replace(self._described(path), sparql=text, answers=first, is_cut=is_cut)

    def _property_path(self, property_: str) -> str:
        """The SPARQL of a hop, which equivalent and inverse properties state as well."""
        ontology = self.in_use.ontology
        equal = (str(NamedNode(iri)) for iri in sorted(ontology.equivalents.get(property_, ())))
        inverses = (f"^{NamedNode(iri)}" for iri in sorted(ontology.inverses.get(property_, ())))
        either = "|".join((str(NamedNode(property_)), *equal, *inverses))
        return f"({either})" if "|" in either else either

    def _described(self, path: RankedPath) -> RelationPath:
        return RelationPath(
            path.topic.seed.node,
            path.topic.name,
            tuple((hop.predicate, hop.is_inverse) for hop in path.hops),
            spoken(self.model, self.index.schema, self.in_use.ontology, path.hops),
            path.score,
            probability=round(self.model.probability(path.score, path.gaps), 4),
        )

    # Documents

    def statements(self, paths: Sequence[RelationPath]) -> dict[Triple, list[Stated]]:
        """What documents say of the statements on paths, the most certain first.

        Statements of imported graphs stand in no document.
        """
        triples = {triple for path in paths for walk in walks(path) for triple in walk}
        if not self.view.reader.extracted.parts:
            return {}
        subjects = {subject for subject, _, _ in triples}
        subjects |= {
            object_
            for _, property_, object_ in triples
            if property_ in self.in_use.ontology.inverses
        }
        subjects -= self._read
        self._read |= subjects
        rows = self.view.reader.select_provenance_for("statements-made", subjects)
        for subject, property_, *objects, text, confidence, document, relationship in rows:
            own = Stated(float(confidence.value), *map(text_of, (text, document, relationship)))
            for object_ in filter(None, objects):
                triple = subject.value, property_.value, object_.value.removesuffix(_MIDNIGHT)
                self._statements[triple].add(own)
                for inverse in self.in_use.ontology.inverses.get(triple[1], ()):
                    self._statements[triple[2], inverse, triple[0]].add(own)
                for equal in self.in_use.ontology.equivalents.get(triple[1], ()):
                    self._statements[triple[0], equal, triple[2]].add(own)
        made = self._statements
        return {triple: sorted(made[triple], reverse=True) for triple in triples & made.keys()}

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
        names = {**result.names, **self._sentences(result, paths)}
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

    def _sentences(self, result: Retrieved, paths: Sequence[RelationPath]) -> dict[str, str]:
        """Statement -> its text in a document, or else its words, for those of chains."""
        names, labels, stated = result.names, self.index.schema.names, self.statements(paths)
        sentences = {}
        for step in (step for entity in result.entities for step in entity.chain):
            triple = statement_of(step.relationship)
            if triple and step.relationship not in names:
                words = names.get(triple[0]), labels.get(triple[1]), names.get(triple[2])
                in_words = " ".join(filter(None, words))
                sentences[step.relationship] = (
                    stated[triple][0].text if triple in stated else in_words
                )
        return sentences


def _packaged_index(view: GraphView, is_imported: bool) -> PathIndex:
    return PathIndex(view, packaged_model(), is_imported=is_imported)


def _passes(path: RelationPath, answer: PathAnswer) -> list[tuple[str, str]]:
    """The nodes at both ends of each hop to an answer, or of all hops if none between is known.

    Where links are followed, a hop may start at another node for what the one before ends at.
    """
    nodes = [path.topic, *answer.nodes, answer.iri or answer.name]
    if len(nodes) == 2 * len(path.hops):
        return [*zip(nodes[::2], nodes[1::2], strict=True)]
    return [*pairwise(nodes if len(nodes) == len(path.hops) + 1 else (nodes[0], nodes[-1]))]


def walks(path: RelationPath) -> Iterator[list[Triple]]:
    """The statements that lead to each answer of a path."""
    for answer in path.answers:
        yield [
            (target, property_, origin) if is_inverse else (origin, property_, target)
            for (origin, target), (property_, is_inverse) in zip(
                _passes(path, answer), path.hops, strict=False
            )
        ]


def _chains(
    paths: Sequence[RelationPath], activation: Mapping[str, float]
) -> Iterator[tuple[str, Chain]]:
    """Entity -> the steps from a topic to it, for the answers of paths and what is between."""
    for path in reversed(paths):
        for answer in path.answers:
            passes = _passes(path, answer)
            if not answer.iri:  # a value, which is no node
                passes.pop()
            steps: list[Step] = []
            for number, (origin, target) in enumerate(passes, start=1):
                if steps and origin != steps[-1].target:
                    steps.append(_crossed(number, steps[-1].target, origin))
                    yield origin, tuple(steps)
                property_, is_inverse = path.hops[min(number, len(path.hops)) - 1]
                ends = (target, origin) if is_inverse else (origin, target)
                amount = activation.get(target, _BETWEEN)
                weight = amount / activation.get(origin, _BETWEEN)
                iri = statement_iri(ends[0], property_, ends[1])
                steps.append(passed(number, origin, target, iri, weight, amount))
                yield target, tuple(steps)


def _crossed(number: int, origin: str, target: str) -> Step:
    """A step over a link, before the hop of that number."""
    step = passed(number, origin, target, SAME_AS.predicate, 1.0, _BETWEEN)
    return replace(step, kind=SAME_AS.name)
