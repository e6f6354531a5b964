"""Iterative retrieval (SA-RAG, arXiv 2512.15922, section 4 and appendix A, Listings 2 and 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

from sarag_rdf.answering.conversation import (
    NO_EVIDENCE,
    Conversation,
    ReasonerStrategy,
    abstains,
    cited_in,
    final_properties,
)
from sarag_rdf.answering.single import reasoned_reply
from sarag_rdf.base.options import MAX_HOPS, max_tokens_option, option
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.types import Answer, Citation, Context
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.decompose import joined


@dataclass(frozen=True, kw_only=True)
class Cot(ReasonerStrategy):
    """At most `steps` times: retrieve, sum up what is known, answer or ask what is missing.

    The summary is carried on, the documents are not. It ends early with an answer, or with a
    follow-up question that is empty or was asked before: that would retrieve the same again. No
    call is made if the question itself retrieves nothing.

    With a closing call it is CoT RAG of the paper, whose systems all answer with Listing 1: each
    step has the same prompt, a follow-up question that was asked before is searched for again, and
    nothing but the closing call abstains; its answer cites what the summary is based on, too.
    `steps` + 1 calls at most. The paper does not say whether an answer in Listing 2 ends it
    (``unanswered``) or is answered anew (``always``), nor whether the closing call reads the
    documents of earlier steps beside the summary of them.
    """

    name = "cot"
    prompts = PROMPTS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"closing": "unanswered"}}
    steps: int = option(3, "Maximum number of searches, each with a call.", ge=1, le=MAX_HOPS)
    closing: str = option(
        "never",
        "When a last call answers from the summary and documents, as `single` does: never, if the "
        "steps leave the question unanswered, or always.",
        choices=("never", "unanswered", "always"),
    )
    closing_documents: str = option(
        "last",
        "Documents that the closing call reads: those of the last step, or of all steps.",
        choices=("last", "all"),
    )
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        closes = self.closing != "never"
        asked = [talk.question]
        summary, answer = "", ""
        citations: list[Citation] = []
        contexts: list[Context] = []
        for step in range(1, self.steps + 1):
            context = talk.gather(None if step == 1 else asked[-1]).context
            contexts.append(context)
            if step == 1 and context.is_empty and not closes:
                return talk.answer("", reasoning=NO_EVIDENCE)
            last = step == self.steps and not closes
            schema = object_of(
                summary=string(1500),
                **final_properties(context, "answer_possible"),
                **({} if last else {"follow_up": string(300)}),
            )
            reply = talk.call(
                "cot",
                schema,
                context=context,
                max_tokens=self.max_tokens,
                final=None if self.closing == "always" else {"answer_possible": True},
                summary=summary,
                labels=list(context.excerpts),
                last=last,
            )
            summary = " ".join(reply["summary"].split())
            citations += cited_in(reply, context)
            if reply["answer_possible"] and not abstains(reply["final_answer"]):
                answer = reply["final_answer"]
                break
            follow_up = " ".join(reply.get("follow_up", "").split())
            if not follow_up or (follow_up in asked and not closes):
                break
            asked.append(follow_up)
        if self.closing == "always" or (closes and not answer):
            every = self.closing_documents == "all"
            context = reduce(joined, contexts) if every else contexts[-1]
            reply = reasoned_reply(talk, context, summary=summary, max_tokens=self.max_tokens)
            return talk.answer(
                reply["final_answer"],
                reasoning=f"{summary}\n\n{reply['reasoning']}",
                citations=[*citations, *cited_in(reply, context)],
                sufficient=reply["sufficient"],
            )
        return talk.answer(answer, reasoning=summary, citations=citations)
