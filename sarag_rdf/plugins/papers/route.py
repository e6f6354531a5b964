"""Routing by the type of question ("The Reasoning Bottleneck in Graph-RAG", section 5.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sarag_rdf.answering.base import Conversation, FromEvidence
from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.options import max_tokens_option
from sarag_rdf.base.prompts import object_of
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.generic_cot import GenericCot
from sarag_rdf.plugins.papers.sparql_cot import SparqlCot

TYPES = ("bridge", "comparison", "inference")


@dataclass(frozen=True, kw_only=True)
class Route(FromEvidence):
    """Bridge questions go to SPARQL, the others to the generic chain of thought.

    At most three calls: one that classifies (anything but a type counts as bridge), one that
    answers, and where that abstains one with the other prompt over the same evidence.
    """

    name = "route"
    prompts = PROMPTS
    max_tokens: int = max_tokens_option(1024)

    def step(self, talk: Conversation, context: Context) -> Answer:
        kind = self._classified(talk)
        size = self.max_tokens
        ways: list[FromEvidence] = [SparqlCot(max_tokens=size), GenericCot(max_tokens=size)]
        if kind != "bridge":
            ways.reverse()
        answer = ways[0].step(talk, context)
        if answer.outcome == "answered":
            return answer
        again = ways[1].step(talk, context)
        return replace(again, reasoning="\n\n".join([answer.reasoning, again.reasoning]).strip())

    def _classified(self, talk: Conversation) -> str:
        schema = object_of(type={"type": "string", "enum": list(TYPES)})
        try:
            return str(talk.call("route", schema, max_tokens=20)["type"])
        except (TruncatedReplyError, UnparsableReplyError) as error:
            talk.say("note", "route", {"problem": str(error), "type": "bridge"})
            return "bridge"
