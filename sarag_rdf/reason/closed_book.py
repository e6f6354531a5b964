"""What the model knows by itself: the floor that any retrieval must rise above."""

from __future__ import annotations

from sarag_rdf.options import Tokens
from sarag_rdf.ports import LLM, Gather
from sarag_rdf.reason.conversation import Conversation, schema_of, text_of
from sarag_rdf.types import Answer, Query


class ClosedBook:
    """One call without any retrieval; the answer cites nothing."""

    def __init__(self, gather: Gather, llm: LLM, *, max_tokens: Tokens = 512) -> None:
        self._gather, self._llm, self._max_tokens = gather, llm, max_tokens

    def answer(self, query: Query) -> Answer:
        talk = Conversation(query, self._gather, self._llm)
        schema = schema_of(reasoning=text_of(800), final_answer=text_of(300))
        reply = talk.call("closed_book", schema, max_tokens=self._max_tokens)
        return talk.answer(reply["final_answer"], reasoning=reply["reasoning"])
