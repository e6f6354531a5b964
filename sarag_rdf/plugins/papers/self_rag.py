"""Self-RAG: an answer from each passage, and the one that the model itself judges best.

Asai et al., Self-RAG: Learning to Retrieve, Generate, and Critique through Self-Reflection (arXiv
2310.11511), short answers: passages are retrieved once, each gives an answer with a judgement, and
the best judged answer is returned. With `facts` it is the plug-in of KG-Infused RAG (its appendix
G): the passages are those for the question and its expansion with the facts of a graph, and the
facts are worked into a note on each passage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sarag_rdf.answering.conversation import NO_EVIDENCE, Conversation
from sarag_rdf.base.errors import UnparsableReplyError
from sarag_rdf.base.options import MAX_COUNT, max_tokens_option, option
from sarag_rdf.base.prompts import BREAK, boolean, object_of, one_of, string
from sarag_rdf.base.types import Answer, Context, Excerpt, Section
from sarag_rdf.plugins.papers.kg_infused import KgInfused, WithFacts

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
