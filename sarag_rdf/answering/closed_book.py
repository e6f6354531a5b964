"""The model without retrieval: the baseline that retrieval must improve on."""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.answering.conversation import Conversation
from sarag_rdf.base.json_schema import object_of, string
from sarag_rdf.base.options import Options, max_tokens_option
from sarag_rdf.base.ports import LLM, Gather
from sarag_rdf.base.types import Answer, Query


@dataclass(frozen=True, kw_only=True)
class ClosedBookOptions(Options):
    """Options of `ClosedBook`."""

    name = "closed-book"
    max_tokens: int = max_tokens_option(512)


class ClosedBook:
    """One call without retrieval; the answer cites nothing."""

    options = ClosedBookOptions

    def __init__(self, gather: Gather, llm: LLM, options: ClosedBookOptions | None = None) -> None:
        self._gather, self._llm = gather, llm
        self._options = options or ClosedBookOptions()

    def answer(self, query: Query) -> Answer:
        talk = Conversation(query, self._gather, self._llm)
        schema = object_of(reasoning=string(800), final_answer=string(300))
        reply = talk.call("closed_book", schema, max_tokens=self._options.max_tokens, final={})
        return talk.answer(reply["final_answer"], reasoning=reply["reasoning"])
