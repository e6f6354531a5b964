"""Routing by the type of question ("The Reasoning Bottleneck in Graph-RAG", section 5.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sarag_rdf.answering.conversation import Conversation, from_evidence
from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.json_schema import object_of
from sarag_rdf.base.options import Options, max_tokens_option
from sarag_rdf.base.ports import LLM, Gather
from sarag_rdf.base.types import Answer, Context, Query
from sarag_rdf.plugins.papers.generic_cot import generic_cot_answer
from sarag_rdf.plugins.papers.sparql_cot import sparql_cot_answer

TYPES = ("bridge", "comparison", "inference")


@dataclass(frozen=True, kw_only=True)
class RouteOptions(Options):
    """Options of `Route`."""

    name = "route"
    max_tokens: int = max_tokens_option(1024)


class Route:
    """Bridge questions go to SPARQL, the others to the generic chain of thought.

    At most three calls: one that classifies (anything but a type counts as bridge), one that
    answers, and where that abstains one with the other prompt over the same evidence.
    """

    options = RouteOptions

    def __init__(self, gather: Gather, llm: LLM, options: RouteOptions | None = None) -> None:
        self._gather, self._llm = gather, llm
        self._options = options or RouteOptions()

    def answer(self, query: Query) -> Answer:
        return from_evidence(query, self._gather, self._llm, self._routed)

    def _routed(self, talk: Conversation, context: Context) -> Answer:
        kind = self._classified(talk)
        ways = [sparql_cot_answer, generic_cot_answer]
        if kind != "bridge":
            ways.reverse()
        answer = ways[0](talk, context, max_tokens=self._options.max_tokens)
        if answer.outcome == "answered":
            return answer
        again = ways[1](talk, context, max_tokens=self._options.max_tokens)
        return replace(again, reasoning="\n\n".join([answer.reasoning, again.reasoning]).strip())

    def _classified(self, talk: Conversation) -> str:
        schema = object_of(type={"type": "string", "enum": list(TYPES)})
        try:
            return str(talk.call("route", schema, max_tokens=20)["type"])
        except (TruncatedReplyError, UnparsableReplyError) as error:
            talk.say("note", "route", {"problem": str(error), "type": "bridge"})
            return "bridge"
