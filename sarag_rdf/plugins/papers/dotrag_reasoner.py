"""DotRAG: paths of a graph, found and judged in rounds within a division of it.

"DotRAG: Retrieval-Time Reasoning Along Paths" (Moore et al.), sections 3.1 to 3.4. A model names
the anchors of a question, says which kinds of things may stand on the way, and judges the paths
that are found; statements and documents of the paths that it accepts are what it answers from.

Departures: the anchors share one division with one set of rules, where each concept has its own in
the paper; and the rounds end with a complete path that nothing else is asked after, where the paper
always takes them all. Where the paper is open: the numbers (table of the options), the first query
is the question, anchors are exempt from the restriction, things without a class are, too, and
without an anchor the topics are used, or else the entities nearest to the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sarag_rdf.answering.base import NO_EVIDENCE, Conversation, ReasonerStrategy
from sarag_rdf.answering.single import reasoned_answer
from sarag_rdf.base.arrays import rows_of
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, max_tokens_option, option
from sarag_rdf.base.prompts import array_of, object_of, one_of, string
from sarag_rdf.base.types import Answer, Evidence, Excerpt, Section, Seed
from sarag_rdf.graph.schema_use import local_words
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.dotrag import Division, DotRagSearch, EntityPath
from sarag_rdf.retrieval.context.base import measured
from sarag_rdf.retrieval.seeds import nearest_entities

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


@dataclass(slots=True)
class _Search:
    """What is known after some rounds: accepted paths with their judgements, and past queries."""

    accepted: dict[EntityPath, str] = field(default_factory=dict)
    texts: dict[EntityPath, str] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)

    @property
    def maximal(self) -> list[EntityPath]:
        """The accepted paths, without those that another one continues; complete ones first."""
        paths = [p for p in self.accepted if not any(p.starts(other) for other in self.accepted)]
        return sorted(paths, key=lambda path: self.accepted[path] != "complete")


@dataclass(frozen=True, kw_only=True)
class DotRag(ReasonerStrategy):
    """Calls for anchors, division, the paths of each round, and the answer.

    A round has a call for each ten `candidates`, and all but the last may have one for a further
    query: 2 + `t` * ceil(`candidates` / 10) + `t` - 1 + 1 calls at most, 14 with the defaults. The
    trace has a note ``paths`` with the accepted paths in words, their judgements, and the queries
    that were searched. With fewer than two classes the division is not restricted.
    """

    name = "dotrag"
    prompts = PROMPTS
    t: int = option(3, "Maximum number of rounds of search.", ge=1, le=MAX_HOPS)
    h: int = option(3, "Maximum number of steps from the anchors.", ge=1, le=MAX_HOPS)
    tau: float = option(
        0.6, "Minimum cosine of a named anchor and an entity's description.", ge=-1.0, le=1.0
    )
    k: int = option(10, "Number of entities that topics stand for.", ge=1, le=MAX_COUNT)
    nodes: int = option(10, "Number of destinations of a query.", ge=1, le=MAX_COUNT)
    paths: int = option(3, "Paths from an anchor to a destination.", ge=1, le=MAX_COUNT)
    candidates: int = option(30, "Maximum number of paths in a round.", ge=1, le=MAX_COUNT)
    documents: int = option(10, "Maximum number of documents that are read.", ge=1, le=MAX_COUNT)
    statements: int = option(
        20_000, "Maximum number of statements among which paths are looked for.", ge=1, le=1_000_000
    )
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        """Where no path is accepted, passages answer; without passages, no call is made for it."""
        facts, seeds = talk.view.facts, self._seeds(talk)
        rows = rows_of(facts.iris.entities, [seed.node for seed in seeds]).tolist()
        division = Division(facts, rows, self.h, self.statements)
        rules = self._rules(talk, division, seeds)
        search = self._search(talk, division, rules)
        detail = {
            "queries": search.queries,
            "paths": [
                {"text": search.texts[path], "judgement": search.accepted[path]}
                for path in search.maximal
            ],
        }
        talk.say("note", "paths", detail)
        return self._answered(talk, seeds, search)

    # Selection (section 3.1)

    def _seeds(self, talk: Conversation) -> list[Seed]:
        """The entities that a model's anchors and topics stand for."""
        facts = talk.view.facts
        anchor = object_of(name=string(100), description=string(300))
        reply = talk.call(
            "select_anchors",
            object_of(
                anchors=array_of(anchor, _ANCHORS),
                topics=array_of(string(100), _TOPICS),
                route=one_of(("local", "global")),
            ),
            max_tokens=self.max_tokens,
        )
        seeds: list[Seed] = []
        for named in reply["anchors"]:
            name = normalize_name(named["name"])
            owners = facts.names.entities({name}).get(name, {})
            if owners:
                seeds += [Seed(iri, "", 1.0) for iri in sorted(owners)]
                continue
            vector = facts.vectors.embed_query(f"{named['name']}. {named['description']}")
            closest = nearest_entities(facts.reader, facts.vectors, vector, 1)
            seeds += [seed for seed in closest if seed.similarity >= self.tau]
        if reply["route"] == "global" or not seeds:
            topics = [topic for topic in reply["topics"] if topic.strip()]
            each = max(1, self.k // max(1, len(topics)))
            for topic in topics:
                vector = facts.vectors.embed_query(topic)
                seeds += nearest_entities(facts.reader, facts.vectors, vector, each)
        if not seeds:
            vector = facts.vectors.embed_query(talk.question)
            seeds += nearest_entities(facts.reader, facts.vectors, vector, _ANCHORS)
        names = entity_labels(facts.reader, [seed.node for seed in seeds])
        known = {seed.node: seed for seed in reversed(seeds) if seed.node in names}
        return [replace(seed, name=names[iri][0]) for iri, seed in reversed(known.items())]

    # Construction (section 3.2)

    def _rules(
        self, talk: Conversation, division: Division, seeds: Sequence[Seed]
    ) -> dict[str, str]:
        """What may stand on a path and at its end; the division is restricted to it.

        Classes that are too rare to be offered are allowed.
        """
        every = division.classes()
        classes = every.most_common(_CLASSES)
        if len(classes) < 2:
            return {}
        labels = entity_labels(talk.view.facts.reader, [iri for iri, _ in classes])
        names = {iri: labels[iri][0] if iri in labels else local_words(iri) for iri, _ in classes}
        number = {"type": "integer", "enum": list(range(1, len(classes) + 1))}
        reply = talk.call(
            "construct_division",
            object_of(
                constraints=string(300),
                intermediate=string(300),
                terminal=string(300),
                types=array_of(number, len(classes)),
            ),
            max_tokens=self.max_tokens,
            anchors=[seed.name for seed in seeds],
            types=[f"{names[iri]} ({count})" for iri, count in classes],
        )
        allowed = {classes[number - 1][0] for number in reply["types"]}
        if allowed:
            division.restrict(allowed | (every.keys() - dict(classes).keys()))
        return {name: str(reply[name]) for name in ("constraints", "intermediate", "terminal")}

    # Search (section 3.3)

    def _search(self, talk: Conversation, division: Division, rules: dict[str, str]) -> _Search:
        facts, search = talk.view.facts, _Search()
        queries, seen = [talk.question], set(division.anchors)
        for left in reversed(range(self.t)):
            search.queries += queries
            ends: list[int] = []
            for query in queries:
                vector = facts.vectors.embed_query(query)
                closest = division.nearest(vector, {*seen, *ends}, self.nodes)
                ends += closest
            seen.update(ends)
            paths = division.paths(ends, self.paths, self.candidates)
            queries = self._judged(talk, division, paths, rules, search)
            if not left:
                break
            if not queries and "complete" not in search.accepted.values():
                queries = self._next(talk, search, left)
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
        further: dict[str, str] = {}
        for begin in range(0, len(paths), _JUDGED):
            batch = paths[begin : begin + _JUDGED]
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
                kept=[search.texts[path] for path in search.maximal],
            )
            for each in reply["judgements"]:
                path, text = batch[each["number"] - 1], texts[each["number"] - 1]
                if each["judgement"] == "irrelevant":
                    continue
                search.accepted[path] = each["judgement"]
                search.texts[path] = text
                following = " ".join(each["next_question"].split())
                if each["judgement"] == "partial" and following:
                    further.setdefault(normalize_name(following), following)
        past = {normalize_name(query) for query in search.queries}
        return [text for name, text in further.items() if name not in past]

    def _next(self, talk: Conversation, search: _Search, left: int) -> list[str]:
        """A further query where no path has one; none if the model has no idea."""
        reply = talk.call(
            "next_search",
            object_of(query=string(200)),
            max_tokens=200,
            kept=[search.texts[path] for path in search.maximal],
            searched=search.queries,
            left=left,
        )
        query = " ".join(reply["query"].split())
        past = {normalize_name(each) for each in search.queries}
        return [query] if query and normalize_name(query) not in past else []

    # Aggregation (section 3.4)

    def _answered(self, talk: Conversation, seeds: Sequence[Seed], search: _Search) -> Answer:
        if not search.accepted:
            context = talk.gather(limit=self.documents).context
        else:
            paths = [
                EntityPath(path.entities, path.statements, _WEIGHTS[search.accepted[path]])
                for path in search.maximal
            ]
            retriever = DotRagSearch(h=self.h, t=self.t)
            evidence = retriever.of_paths(talk.view, talk.query, seeds, paths, (0.0, 1.0))
            closest = sorted(evidence.documents, key=lambda ranked: -ranked.similarity)
            excerpts = {
                f"D{position}": Excerpt.whole(ranked.document)
                for position, ranked in enumerate(
                    [ranked for ranked in closest if ranked.entity][: self.documents], start=1
                )
            }
            section = Section("", excerpts, tuple(search.texts[path] for path in search.maximal))
            context = measured((section,), self.name)
            talk.add(Evidence(evidence, context))
        if context.is_empty:
            return talk.answer("", reasoning=NO_EVIDENCE)
        return reasoned_answer(talk, context, max_tokens=self.max_tokens)
