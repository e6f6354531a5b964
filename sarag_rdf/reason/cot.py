"""Iterative retrieval (SA-RAG, arXiv 2512.15922, section 4 and appendix A, Listings 2 and 7)."""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.json_schema import array_of, object_of, one_of, string
from sarag_rdf.options import MAX_HOPS, Options, max_tokens_option, option
from sarag_rdf.ports import LLM, Gather
from sarag_rdf.reason.conversation import NO_DOCUMENT, Conversation, abstains
from sarag_rdf.types import Answer, Citation, Query


@dataclass(frozen=True, kw_only=True)
class CotOptions(Options):
    """Options of `Cot`."""

    name = "cot"
    steps: int = option(3, "Maximum number of searches, each with a call.", ge=1, le=MAX_HOPS)
    max_tokens: int = max_tokens_option(1024)


class Cot:
    """At most `steps` times: retrieve, sum up what is known, answer or ask what is missing.

    The summary is carried on, the documents are not. It ends early with an answer, or with a
    follow-up question that is empty or was asked before: that would retrieve the same again. No
    call is made if the question itself retrieves nothing.
    """

    options = CotOptions

    def __init__(self, gather: Gather, llm: LLM, options: CotOptions | None = None) -> None:
        self._gather, self._llm = gather, llm
        self._options = options or CotOptions()

    def answer(self, query: Query) -> Answer:
        talk = Conversation(query, self._gather, self._llm)
        asked = [talk.question]
        summary = ""
        citations: list[Citation] = []
        for step in range(1, self._options.steps + 1):
            context = talk.gather(None if step == 1 else asked[-1]).context
            excerpts = context.excerpts
            if step == 1 and not excerpts:
                return talk.answer("", reasoning=NO_DOCUMENT)
            last = step == self._options.steps
            labels = {"citations": array_of(one_of(excerpts), 2 * len(excerpts))}
            schema = object_of(
                summary=string(1500),
                answer_possible={"type": "boolean"},
                final_answer=string(300),
                **(labels if excerpts else {}),
                **({} if last else {"follow_up": string(300)}),
            )
            reply = talk.call(
                "cot",
                schema,
                context=context,
                max_tokens=self._options.max_tokens,
                summary=summary,
                labels=list(excerpts),
                last=last,
            )
            summary = " ".join(reply["summary"].split())
            citations += [excerpts[label].citation for label in reply.get("citations", ())]
            if reply["answer_possible"] and not abstains(reply["final_answer"]):
                return talk.answer(reply["final_answer"], reasoning=summary, citations=citations)
            follow_up = " ".join(reply.get("follow_up", "").split())
            if not follow_up or follow_up in asked:
                break
            asked.append(follow_up)
        return talk.answer("", reasoning=summary, citations=citations)
