"""KG-Infused RAG: facts of a knowledge graph in the search for passages and in what is read.

"KG-Infused RAG: Augmenting Corpus-Based RAG with External Knowledge Graphs", sections 3.3 to 3.5. A
model spreads activation over a graph by selecting statements round by round, a summary of them
expands the question, and they join the note on the passages from which the answer is given.

Where the paper is open: the model selects numbers of the statements offered, so that it can invent
none, and at most `selected` of them; the statements nearest to the question come first, and where
an entity has too many, only they are offered (the published system offers a random sample); the
passages of question and expansion are joined, each document once; and with nothing selected the
question is expanded without facts.

The search does without a model: a statement is selected if the query gate of `sarag` lets
activation pass, its similarity to the question being above a quantile of those of all statements;
the expanded question is the question followed by the texts of the best selected statements; and as
in equation 7 the passages for either question are joined, by `in_turn`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarag_rdf.answering.conversation import (
    NO_EVIDENCE,
    Conversation,
    ReasonerStrategy,
    citations_of,
)
from sarag_rdf.base.arrays import Floats, rows_of
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, max_tokens_option, option
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.prompts import array_of, object_of, string
from sarag_rdf.base.types import (
    Activation,
    Answer,
    Context,
    Link,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
    Selection,
    Statement,
)
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.texts import entity_labels, relationship_texts, statements_from
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.baselines import in_turn, most_active, ranks
from sarag_rdf.plugins.papers.decompose import joined
from sarag_rdf.plugins.relation_paths.description_seeds import nearest_entities
from sarag_rdf.retrieval import retriever
from sarag_rdf.retrieval.activation import Chain, passed
from sarag_rdf.retrieval.network import RELATED_TO
from sarag_rdf.retrieval.retriever import Explanation, RetrieverStrategy
from sarag_rdf.retrieval.sarag import calibrated
from sarag_rdf.retrieval.view import GraphView

PROSE = 6000
"""Maximum number of characters of a summary or note."""
NO_NOTE = "The model found nothing to note in the documents."
_PER_NUMBER = 8
"""Tokens that the number of a statement may take in a reply."""
_DIGITS = 5
"""Decimals by which similarities differ; those of equal texts may differ in the seventh."""


def _seeds_option() -> Any:
    return option(
        3,
        "Number of entities at which activation starts, those with statements whose descriptions "
        "are nearest to the question.",
        ge=1,
        le=MAX_COUNT,
    )


def activated_documents(
    view: GraphView,
    scores: Floats,
    limit: int | None,
    activation: Mapping[str, float],
    chains: Mapping[str, Chain],
    measures: Mapping[str, Floats],
) -> list[RankedDocument]:
    """Documents by falling score, with their most active entities and `measures` by row."""
    best = most_active(view, activation)
    return [
        retriever.scored(
            view.iris.documents[row],
            float(scores[row]),
            float(measures["similarity"][row]),
            activation.get(best.get(row, ""), 0.0),
            best.get(row, ""),
            chains.get(best.get(row, ""), ()),
            {name: float(values[row]) for name, values in measures.items()},
        )
        for row in np.argsort(-scores, kind="stable")[:limit].tolist()
    ]


@dataclass(frozen=True, kw_only=True)
class KgInfusedSearch(RetrieverStrategy):
    """Documents by their similarity to the question, and to the question with facts."""

    name = "kg-infused"
    k: int = _seeds_option()
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
        seeds = nearest_entities(
            *(facts.reader, facts.vectors, question, self.k),
            with_statements=True,
            inverse=self.inverse,
        )
        gate = facts.vectors.index("relationship").quantile(question, self.c)
        activation, chains, links = self._activate(facts, question, [s.node for s in seeds], gate)
        nearest = sorted(links, key=lambda link: -round(link.similarity, _DIGITS))
        expanded = question
        if best := self._texts(facts, nearest):
            expanded = view.vectors.embed_query(" ".join([query.text, *best]))
        cosines, others = (
            retriever.document_cosines(view, vector) for vector in (question, expanded)
        )
        scores = in_turn(cosines, ranks(others))
        measures = {"similarity": cosines, "expanded": others}
        entities = [
            retriever.activated(iri, amount, chains[iri]) for iri, amount in activation.items()
        ]
        return self.result(
            view,
            query,
            activated_documents(view, scores, self.limit, activation, chains, measures),
            Explanation(seeds, entities, nearest, nearest),
            {"weight_floor": gate[0], "weight_ceiling": gate[1]},
        )

    def _activate(
        self, facts: GraphView, question: Vector, seeds: Sequence[str], gate: tuple[float, float]
    ) -> tuple[dict[str, float], dict[str, Chain], list[Link]]:
        """The activation and chain of each entity reached, and the statements selected, in order.

        An entity has the activation of the strongest chain to it, from 1 at a seed. Each round
        starts from the entities that the last one reached, the most active first, and none is
        activated twice (equation 5).
        """
        iris, network = facts.iris, facts.network
        activation = dict.fromkeys(seeds, 1.0)
        chains: dict[str, Chain] = dict.fromkeys(seeds, ())
        links: dict[str, Link] = {}
        frontier = list(activation)
        for round_ in range(1, self.n + 1):
            frontier = sorted(frontier, key=lambda iri: (-activation[iri], iri))[: self.entities]
            rows = rows_of(iris.entities, sorted(frontier))
            step = network.incident if self.inverse else network.outgoing
            edges = step(RELATED_TO, rows)
            cosines = facts.relationship_cosines(question, edges.statement)
            weights = calibrated(cosines, *gate)
            inside, reached = set(frontier), dict[str, Chain]()
            for at in np.argsort(-weights, kind="stable").tolist():
                weight = float(weights[at])
                if weight <= 0.0:
                    break
                statement = iris.relationships[int(edges.statement[at])]
                subject = iris.entities[int(edges.source[at])]
                object_ = iris.entities[int(edges.target[at])]
                link = Link(statement, subject, object_, "", float(cosines[at]), weight)
                links.setdefault(statement, link)
                for start, end in ((subject, object_), (object_, subject)):
                    is_step = start in inside and (start == subject or self.inverse)
                    amount = weight * activation[start] if is_step else 0.0
                    before = reached[end][-1].amount if end in reached else 0.0
                    if end not in activation and amount > before:
                        taken = passed(round_, start, end, statement, weight, amount)
                        reached[end] = (*chains[start], taken)
            activation |= {end: chain[-1].amount for end, chain in reached.items()}
            chains |= reached
            frontier = list(reached)
            if not frontier:
                break
        return activation, chains, [*links.values()]

    def _texts(self, facts: GraphView, nearest: Sequence[Link]) -> list[str]:
        texts = relationship_texts(facts.reader, [link.relationship for link in nearest])
        distinct = dict.fromkeys(
            one_line(texts[link.relationship][0]) for link in nearest if link.relationship in texts
        )
        return list(distinct)[: self.texts]


@dataclass(frozen=True, kw_only=True)
class KgInfused(ReasonerStrategy):
    """At most `rounds` + 5 calls: selections, summary, expansion, note, augmentation, answer."""

    name = "kg-infused"
    prompts = PROMPTS
    baseline: str = option(
        "none",
        "The same pipeline without a graph: no-retrieval answers at once, rag from a note on the "
        "passages, expansion from passages for the question and for a query that the model writes.",
        choices=("none", "no-retrieval", "rag", "expansion"),
    )
    rounds: int = option(
        2, "Maximum number of rounds of activation, one call each.", ge=1, le=MAX_HOPS
    )
    seeds: int = _seeds_option()
    statements: int = option(
        50, "Maximum number of statements of an entity that are offered.", ge=1, le=MAX_COUNT
    )
    entities: int = option(
        10, "Maximum number of entities that a round starts from.", ge=1, le=MAX_COUNT
    )
    selected: int = option(
        10,
        "Maximum number of statements that a round selects; a small model takes all that it may.",
        ge=1,
        le=MAX_COUNT,
    )
    inverse: bool = option(False, "Offer statements that end at an entity, too.")
    passages: int = option(
        6,
        "Maximum number of documents read; half of them each for the question and its expansion.",
        ge=2,
        le=MAX_COUNT,
    )
    expansion: bool = option(True, "Search with an expanded question, too; without is an ablation.")
    augmentation: bool = option(
        True, "Work the summary of the facts into the note; without is an ablation."
    )
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        """The answer cites documents that contain it; without documents and facts there is none."""
        if self.baseline == "no-retrieval":
            return talk.answer(self.bare_answer(talk, ""))
        note, context = self.note(talk)
        if not note:
            return talk.answer("", reasoning=NO_EVIDENCE if context.is_empty else NO_NOTE)
        text = self.bare_answer(talk, note)
        return talk.answer(text, reasoning=note, citations=citations_of(text, context))

    # The stages before the answer, for a question or one of its parts

    def note(self, talk: Conversation, question: str | None = None) -> tuple[str, Context]:
        """The note on a question, with its passages; empty without documents and facts."""
        is_baseline = self.baseline != "none"
        uses_facts = not is_baseline and (self.expansion or self.augmentation)
        expands = self.baseline == "expansion" or (not is_baseline and self.expansion)
        summary = self.summary(talk, question) if uses_facts else ""
        context = self.gathered(talk, question, summary, expands=expands)
        note = "" if context.is_empty else self.passage_note(talk, context, question)
        if not note or not summary or not self.augmentation:
            return note or (summary if self.augmentation else ""), context
        return self.augmented(talk, question, note, summary), context

    def summary(self, talk: Conversation, question: str | None = None) -> str:
        """The facts that activation reaches, as a text; empty if nothing is selected."""
        asked = question or talk.question
        activation = self.activate(talk, asked)
        selected = [selection.statement for selection in activation.selections]
        talk.remember(activation)
        talk.say(
            "note",
            "activation",
            {
                "seeds": [seed.node for seed in activation.seeds],
                "rounds": activation.rounds,
                "statements": [statement.iri for statement in selected],
                "texts": [" | ".join(statement.parts) for statement in selected],
                "found": bool(selected),
            },
        )
        if not selected:
            return ""
        parts, size = [statement.parts for statement in selected], self.max_tokens
        values = {"question": asked, "max_tokens": size, "selected": parts}
        return text_reply(talk, "summarize_statements", "summary", **values)

    def activate(self, talk: Conversation, question: str) -> Activation:
        """Rounds of activation; ends early if nothing is selected or no new entity is reached.

        With G the statements selected, and E the entities of round i (equations 3 to 5)::

            E(1) = the entities with the nearest descriptions, of those with statements
            E(i + 1) = the ends of the statements selected in round i, less E(1), ..., E(i)
        """
        view = talk.view.facts
        vector = view.vectors.embed_query(question)
        seeds = nearest_entities(
            *(view.reader, view.vectors, vector, self.seeds),
            with_statements=True,
            inverse=self.inverse,
        )
        selections: list[Selection] = []
        entities = [seed.node for seed in seeds][: self.entities]
        earlier: set[str] = set()
        for round_ in range(1, self.rounds + 1):
            earlier |= set(entities)
            known = {selection.statement.iri for selection in selections}
            offered = self._offered(view, vector, entities, known)
            if not offered:
                break
            numbers = self._selected(talk, question, offered, selections)
            for start, statement in (offered[number - 1] for number in numbers):
                order = len(selections) + 1
                selections.append(Selection(statement, start, round_, order, talk.last_step))
            ends = [s.end for s in selections if s.round == round_]
            entities = [end for end in dict.fromkeys(ends) if end not in earlier]
            entities = entities[: self.entities]
            if not entities:
                break
        return Activation(question, _described(view.reader, seeds), tuple(selections))

    def augmented(self, talk: Conversation, question: str | None, note: str, summary: str) -> str:
        """A note with the facts of a summary worked in (equation 9)."""
        values = {"question": question, "note": note, "summary": summary}
        augmented = text_reply(talk, "augment_note", "note", max_tokens=self.max_tokens, **values)
        return augmented or note

    def bare_answer(self, talk: Conversation, note: str, question: str | None = None) -> str:
        """The bare answer from a note; without a note from what the model knows (equation 10)."""
        final: dict[str, bool] | None = {} if question is None else None
        values = {"question": question, "note": note, "final": final, "max_tokens": 200}
        return text_reply(talk, "answer_from_note", "final_answer", 300, **values)

    def _selected(
        self,
        talk: Conversation,
        question: str,
        offered: Sequence[tuple[str, Statement]],
        selections: Sequence[Selection],
    ) -> list[int]:
        """The numbers that the model selects, each once, in its order."""
        number = {"type": "integer", "enum": list(range(1, len(offered) + 1))}
        most = min(len(offered), self.selected)
        reply = talk.call(
            "select_statements",
            object_of(numbers=array_of(number, most)),
            question=question,
            max_tokens=max(self.max_tokens, _PER_NUMBER * most),
            offered=[statement.parts for _, statement in offered],
            selected=[selection.statement.parts for selection in selections],
        )
        return list(dict.fromkeys(reply["numbers"]))

    def _offered(
        self, view: GraphView, question: Vector, entities: Sequence[str], known: Set[str]
    ) -> list[tuple[str, Statement]]:
        """(entity, statement) without those `known`, the nearest to the question first."""
        by_entity = statements_from(view.reader, entities, inverse=self.inverse)
        distinct: dict[str, tuple[str, Statement]] = {}
        for entity in entities:
            for statement in by_entity[entity]:
                distinct.setdefault(statement.iri, (entity, statement))
        every = [pair for iri, pair in distinct.items() if iri not in known]
        if not every:
            return []
        vectors = view.vectors.embedder.embed([s.text for _, s in every])
        order = np.argsort(-(vectors @ question).round(_DIGITS), kind="stable").tolist()
        counts: Counter[str] = Counter()
        offered = []
        for entity, statement in (every[position] for position in order):
            counts[entity] += 1
            if counts[entity] <= self.statements:
                offered.append((entity, statement))
        return offered

    def gathered(
        self, talk: Conversation, question: str | None, summary: str, *, expands: bool
    ) -> Context:
        """The union of the passages for the question and its expansion (equations 6 and 7)."""
        most = self.passages
        asked = question or talk.question
        query = ""
        if expands:
            values = {"question": question, "summary": summary, "max_tokens": 200}
            query = text_reply(talk, "expand_question", "query", 300, **values)
        if not query or normalize_name(query) == normalize_name(asked):
            return talk.gather(question, limit=most).context
        first = talk.gather(question, limit=most - most // 2).context
        return joined(first, talk.gather(query, limit=most // 2).context)

    def passage_note(
        self, talk: Conversation, context: Context, question: str | None = None
    ) -> str:
        """A note on the question from its passages (equation 8)."""
        values = {"question": question, "context": context, "max_tokens": self.max_tokens}
        return text_reply(talk, "passage_note", "note", **values)


def _described(reader: GraphReader, seeds: Sequence[Seed]) -> tuple[Seed, ...]:
    labels = entity_labels(reader, (seed.node for seed in seeds))
    rows = reader.rows_for("description-sources", (seed.text for seed in seeds))
    texts = {row[0].value: row[1].value for row in rows}
    return tuple(
        replace(
            seed,
            name=labels.get(seed.node, (seed.node,))[0],
            reason=f"description: {texts.get(seed.text, '')}",
        )
        for seed in seeds
    )


def text_reply(
    talk: Conversation, prompt: str, key: str, most: int = PROSE, /, **values: Any
) -> str:
    """The reply to a call for one text of at most `most` characters, on one line."""
    return one_line(talk.call(prompt, object_of(**{key: string(most)}), **values)[key])


def one_line(text: str) -> str:
    """A text of the model on one line."""
    return " ".join(text.split())
