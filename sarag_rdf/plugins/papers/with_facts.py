"""Reasoners that KG-Infused RAG is plugged into (its appendix G): Self-ask, DeepNote, Self-RAG.

Self-ask (Press et al., EMNLP 2023) asks follow-up questions one at a time, each looked up; with
`facts`, in its notes. DeepNote (Wang et al., arXiv 2410.08821) has a note that further searches
improve, as long as they do; with `facts` statements of a graph are selected and summarised once,
and worked into the note in each turn, while queries are refined as without. Self-RAG (Asai et al.,
arXiv 2310.11511, short answers) retrieves passages once, has an answer with a judgement from each,
and returns the one judged best; with `facts` the passages are those for the question and its
expansion with the facts, which are worked into a note on each passage.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sarag_rdf.answering.conversation import (
    INSUFFICIENT,
    NO_EVIDENCE,
    Conversation,
    ReasonerStrategy,
    abstains,
    citations_of,
    format_facts,
)
from sarag_rdf.answering.single import brief_text
from sarag_rdf.base.errors import UnparsableReplyError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, max_tokens_option, option
from sarag_rdf.base.prompts import BREAK, boolean, object_of, one_of, string
from sarag_rdf.base.types import Answer, Citation, Context, Excerpt, Section
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.decompose import joined
from sarag_rdf.plugins.papers.kg_infused import KgInfused, text_reply


@dataclass(frozen=True, kw_only=True)
class WithFacts(ReasonerStrategy):
    """A reasoner into which KG-Infused RAG can be plugged (its appendix G)."""

    prompts = PROMPTS
    facts: bool = option(
        False, "Use statements of a knowledge graph, as kg-infused does (KG-Infused RAG)."
    )
    rounds: int = option(
        2, "With facts, the maximum number of rounds that select statements.", ge=1, le=MAX_HOPS
    )

    @property
    @abstractmethod
    def max_tokens(self) -> int:
        """The maximum size of a reply, in tokens: an option of each of them."""

    @property
    def infusion(self) -> KgInfused:
        """The stages of KG-Infused RAG, with the options of this reasoner."""
        return KgInfused(rounds=self.rounds, max_tokens=self.max_tokens)


@dataclass(frozen=True, kw_only=True)
class SelfAsk(WithFacts):
    """At most `steps` follow-up questions, two calls each, and a call for the answer.

    Stops early at an answer, or at a follow-up question that is empty or repeated. With `facts` it
    is the plug-in of KG-Infused RAG (its appendix G), with `rounds` + 6 calls for each of them.
    """

    name = "self-ask"
    steps: int = option(
        3, "Maximum number of follow-up questions, a search and two calls each.", ge=1, le=MAX_HOPS
    )
    max_tokens: int = max_tokens_option(512)

    def answer(self, talk: Conversation) -> Answer:
        facts: list[dict[str, str]] = []
        citations: list[Citation] = []
        final = ""
        schema = object_of(
            needs_follow_up={"type": "boolean"}, follow_up=string(300), final_answer=string(300)
        )
        for step in range(self.steps + 1):
            last = step == self.steps
            end = {} if last else {"needs_follow_up": False}
            reply = talk.call(
                "self_ask", schema, max_tokens=self.max_tokens, final=end, facts=facts, last=last
            )
            final = reply["final_answer"]
            follow_up = " ".join(reply["follow_up"].split())
            repeated = any(fact["question"] == follow_up for fact in facts)
            if last or not reply["needs_follow_up"] or not follow_up or repeated:
                break
            finding, cited = self._looked_up(talk, follow_up)
            citations += cited
            facts.append({"question": follow_up, "answer": finding})
        return talk.answer(final, reasoning=format_facts(facts), citations=citations)

    def _looked_up(self, talk: Conversation, question: str) -> tuple[str, list[Citation]]:
        if self.facts:
            note, context = self.infusion.note(talk, question)
            answer = self.infusion.bare_answer(talk, note, question) if note else INSUFFICIENT
        else:
            context = talk.gather(question).context
            is_empty = context.is_empty
            answer = INSUFFICIENT if is_empty else brief_text(talk, context, question=question)
        return answer, [] if abstains(answer) else citations_of(answer, context)


@dataclass(frozen=True, kw_only=True)
class DeepNote(WithFacts):
    """3 `steps` + 2 calls at most; with `facts` 4 `steps` + `rounds` + 4.

    Ends early with an empty or repeated query, and after `failures` notes that were no better.
    """

    name = "deepnote"
    steps: int = option(
        3, "Maximum number of further searches, each with three calls.", ge=1, le=MAX_HOPS
    )
    failures: int = option(
        2, "Number of searches that may leave the note as it is.", ge=1, le=MAX_HOPS
    )
    passages: int = option(6, "Maximum number of documents that a search adds.", ge=1, le=MAX_COUNT)
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        """The answer cites the documents that contain it; without documents there is no note."""
        context = talk.gather(limit=self.passages).context
        if context.is_empty:
            return talk.answer("", reasoning=NO_EVIDENCE)
        summary = self.infusion.summary(talk) if self.facts else ""
        note = self._with_facts(talk, self.infusion.passage_note(talk, context), summary)
        queries, failures = [talk.question], 0
        for _ in range(self.steps):
            refined = self._refined(talk, note, queries)
            if not refined:
                break
            queries.append(refined)
            further = talk.gather(refined, limit=self.passages).context
            updated = self._with_facts(talk, self._updated(talk, note, further), summary)
            if self._is_better(talk, note, updated):
                note, context = updated, joined(context, further)
                continue
            failures += 1
            if failures == self.failures:
                break
        text = self.infusion.bare_answer(talk, note)
        return talk.answer(text, reasoning=note, citations=citations_of(text, context))

    def _with_facts(self, talk: Conversation, note: str, summary: str) -> str:
        return self.infusion.augmented(talk, None, note, summary) if summary else note

    def _refined(self, talk: Conversation, note: str, queries: list[str]) -> str:
        """A query for what the note lacks; empty if it is one of the `queries`."""
        values = {"max_tokens": 200, "note": note, "queries": queries}
        query = text_reply(talk, "refine_query", "query", 300, **values)
        known = {normalize_name(text) for text in queries}
        return "" if normalize_name(query) in known else query

    def _updated(self, talk: Conversation, note: str, context: Context) -> str:
        if context.is_empty:
            return note
        values = {"context": context, "max_tokens": self.max_tokens, "note": note}
        return text_reply(talk, "update_note", "note", **values) or note

    def _is_better(self, talk: Conversation, note: str, updated: str) -> bool:
        if updated == note:
            return False
        schema = object_of(second_is_better=boolean())
        reply = talk.call("compare_notes", schema, max_tokens=50, first=note, second=updated)
        return bool(reply["second_is_better"])


SUPPORT: Mapping[str, float] = {"fully": 1.0, "partially": 0.5, "none": 0.0}
"""How much of an answer a passage supports, by what the model says."""
_TOKENS: Mapping[str, tuple[str, float]] = {
    "[Relevant]": ("relevance", 1.0),
    "[Irrelevant]": ("relevance", 0.0),
    "[Fully supported]": ("support", 1.0),
    "[Partially supported]": ("support", 0.5),
    "[No support / Contradictory]": ("support", 0.0),
    **{f"[Utility:{number}]": ("utility", (number - 3) / 2) for number in range(1, 6)},
}
"""Reflection token -> what it judges, and the value; utility is between -1 and 1."""
_OTHERS = ("[Retrieval]", "[No Retrieval]", "[Continue to Use Evidence]", "</s>")
_PARAGRAPH = re.compile(r"<paragraph>.*?(?:</paragraph>|$)", re.DOTALL)
_ANY = re.compile("|".join(map(re.escape, (*_TOKENS, *_OTHERS, "<paragraph>", "</paragraph>"))))


@dataclass(frozen=True, slots=True)
class Reflection:
    """An answer with its judgement: relevance and support in [0, 1], utility in [-1, 1]."""

    answer: str
    relevance: float = 0.0
    support: float = 0.0
    utility: float = 0.0
    judged: bool = True

    @classmethod
    def parse(cls, output: str) -> Reflection:
        """An output with reflection tokens; the first of each kind counts, a missing one is 0.

        >>> Reflection.parse("[Relevant]Ulm[Partially supported][Utility:5]</s>")
        Reflection(answer='Ulm', relevance=1.0, support=0.5, utility=1.0, judged=True)
        >>> Reflection.parse("Ulm").judged
        False
        """
        text = _PARAGRAPH.sub(" ", output)
        values: dict[str, float] = {}
        for token in _ANY.findall(text):
            if token in _TOKENS:
                kind, value = _TOKENS[token]
                values.setdefault(kind, value)
        answer = " ".join(_ANY.sub(" ", text).split())
        return cls(answer, **values, judged=bool(values))


@dataclass(frozen=True, kw_only=True)
class SelfRag(WithFacts):
    """A call for each passage; with `facts` 3 `passages` + `rounds` + 2 calls at most.

    The answer with the highest score is returned, of equals that of the better rank::

        score = relevance w_relevance + support w_support + utility w_utility

    The published system weighs probabilities of tokens; here the judgement is as the model writes
    it, since a chat endpoint gives it without probabilities.
    """

    name = "self-rag"
    passages: int = option(6, "Maximum number of documents, each with a call.", ge=2, le=MAX_COUNT)
    tokens: bool = option(
        False,
        "The model was trained with the reflection tokens of Self-RAG, and its replies have them.",
    )
    relevance: float = option(1.0, "Weight of whether a document is relevant.", ge=0.0)
    support: float = option(1.0, "Weight of how far a document supports its answer.", ge=0.0)
    utility: float = option(0.5, "Weight of how useful an answer is.", ge=0.0)
    max_tokens: int = max_tokens_option(300)

    @property
    def infusion(self) -> KgInfused:
        return replace(super().infusion, passages=self.passages)

    def answer(self, talk: Conversation) -> Answer:
        """The answer cites the document that it was given from; without documents none is."""
        if self.facts:
            summary = self.infusion.summary(talk)
            context = self.infusion.gathered(talk, None, summary, expands=True)
        else:
            summary, context = "", talk.gather(limit=self.passages).context
        excerpts = list(context.excerpts.items())[: self.passages]
        if not excerpts:
            return talk.answer("", reasoning=NO_EVIDENCE)
        reflections = [
            (excerpt, self._reflection(talk, self._passage(talk, label, excerpt, summary)))
            for label, excerpt in excerpts
        ]
        if not any(reflection.judged for _, reflection in reflections):
            raise UnparsableReplyError(
                "the model writes no reflection tokens: use self-rag without tokens=true, or a "
                "model that was trained with them"
            )
        scores = [
            each.relevance * self.relevance
            + each.support * self.support
            + each.utility * self.utility
            for _, each in reflections
        ]
        answers = [reflection.answer for _, reflection in reflections]
        iris = [excerpt.document.iri for excerpt, _ in reflections]
        talk.say("note", "reflection", {"documents": iris, "answers": answers, "scores": scores})
        excerpt, best = reflections[scores.index(max(scores))]
        reasoning = "\n".join(
            f"{label}: {answer} ({score:g})"
            for (label, _), answer, score in zip(excerpts, answers, scores, strict=True)
        )
        return talk.answer(best.answer, reasoning=reasoning, citations=[excerpt.citation])

    def _passage(self, talk: Conversation, label: str, excerpt: Excerpt, summary: str) -> str:
        """The passage; with facts, the note on it into which they are worked."""
        if not summary:
            return excerpt.titled_text
        alone = Context((Section("", {label: excerpt}),))
        note = self.infusion.passage_note(talk, alone)
        return self.infusion.augmented(talk, None, note or excerpt.titled_text, summary)

    def _reflection(self, talk: Conversation, passage: str) -> Reflection:
        size = self.max_tokens
        if self.tokens:
            bare = without_tokens(passage)
            schema = object_of(output=string(2000))
            reply = talk.call("self_rag_tokens", schema, max_tokens=size, passage=bare)
            return Reflection.parse(reply["output"])
        schema = object_of(
            relevant=boolean(),
            final_answer=string(300),
            support=one_of(SUPPORT),
            utility={"type": "integer", "enum": [1, 2, 3, 4, 5]},
        )
        reply = talk.call("self_rag", schema, max_tokens=size, passage=passage)
        return Reflection(
            " ".join(reply["final_answer"].split()),
            float(reply["relevant"]),
            SUPPORT[reply["support"]],
            (reply["utility"] - 3) / 2,
        )


def without_tokens(text: str) -> str:
    """A text without reflection tokens: `BREAK` follows the first character of each.

    >>> without_tokens("[Relevant] [relevant]").replace(BREAK, "|")
    '[|Relevant] [relevant]'
    """
    return _ANY.sub(lambda match: f"{match[0][0]}{BREAK}{match[0][1:]}", text)
