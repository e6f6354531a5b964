"""The answer of a model from memory: the baseline that retrieval must improve on."""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.answering.conversation import Conversation, ReasonerStrategy
from sarag_rdf.base.options import max_tokens_option
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.types import Answer
from sarag_rdf.plugins.papers import PROMPTS


@dataclass(frozen=True, kw_only=True)
class ClosedBook(ReasonerStrategy):
    """One call without retrieval; the answer cites nothing."""

    name = "closed-book"
    prompts = PROMPTS
    max_tokens: int = max_tokens_option(512)

    def answer(self, talk: Conversation) -> Answer:
        schema = object_of(reasoning=string(800), final_answer=string(300))
        reply = talk.call("closed_book", schema, max_tokens=self.max_tokens, final={})
        return talk.answer(reply["final_answer"], reasoning=reply["reasoning"])
