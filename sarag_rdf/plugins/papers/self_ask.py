"""Self-ask: follow-up questions one at a time, each looked up (Press et al., EMNLP 2023)."""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.answering.conversation import (
    INSUFFICIENT,
    Conversation,
    abstains,
    citations_of,
    format_facts,
)
from sarag_rdf.answering.single import brief_text
from sarag_rdf.base.options import MAX_HOPS, max_tokens_option, option
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.types import Answer, Citation
from sarag_rdf.plugins.papers.kg_infused import WithFacts


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
