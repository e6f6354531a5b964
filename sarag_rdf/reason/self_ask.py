"""Self-ask: follow-up questions one at a time, each looked up (Press et al., EMNLP 2023)."""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.json_schema import object_of, string
from sarag_rdf.options import MAX_HOPS, Options, max_tokens_option, option
from sarag_rdf.ports import LLM, Gather
from sarag_rdf.reason.conversation import Conversation, format_facts
from sarag_rdf.reason.single import looked_up
from sarag_rdf.types import Answer, Citation, Query


@dataclass(frozen=True, kw_only=True)
class SelfAskOptions(Options):
    """Options of `SelfAsk`."""

    name = "self-ask"
    steps: int = option(
        3,
        "Maximum number of follow-up questions, each with a search and two calls.",
        ge=1,
        le=MAX_HOPS,
    )
    max_tokens: int = max_tokens_option(512)


class SelfAsk:
    """At most `steps` follow-up questions, two calls each, and a call for the answer.

    Stops early at an answer, or at a follow-up question that is empty or repeated.
    """

    options = SelfAskOptions

    def __init__(self, gather: Gather, llm: LLM, options: SelfAskOptions | None = None) -> None:
        self._gather, self._llm = gather, llm
        self._options = options or SelfAskOptions()

    def answer(self, query: Query) -> Answer:
        talk = Conversation(query, self._gather, self._llm)
        facts: list[dict[str, str]] = []
        citations: list[Citation] = []
        final = ""
        schema = object_of(
            needs_follow_up={"type": "boolean"}, follow_up=string(300), final_answer=string(300)
        )
        for step in range(self._options.steps + 1):
            last = step == self._options.steps
            reply = talk.call(
                "self_ask", schema, max_tokens=self._options.max_tokens, facts=facts, last=last
            )
            final = reply["final_answer"]
            follow_up = " ".join(reply["follow_up"].split())
            repeated = any(fact["question"] == follow_up for fact in facts)
            if last or not reply["needs_follow_up"] or not follow_up or repeated:
                break
            found, cited = looked_up(talk, follow_up)
            citations += cited
            facts.append({"question": follow_up, "answer": found})
        return talk.answer(final, reasoning=format_facts(facts), citations=citations)
