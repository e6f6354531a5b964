"""One-call prompts of "The Reasoning Bottleneck in Graph-RAG", and routing between them.

Chain of thought in the form of SPARQL (section 3.1), the generic chain of thought that it is
compared with, sub-questions in plain words (5.4), and routing by the type of question (5.5); and
the answer of a model from memory, the baseline that retrieval must improve on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sarag_rdf.answering.conversation import (
    IF_SUFFICIENT,
    Conversation,
    FromEvidence,
    ReasonerStrategy,
    final_properties,
    format_facts,
)
from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.options import max_tokens_option
from sarag_rdf.base.prompts import array_of, object_of, string
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.plugins.papers import PROMPTS

MOST = 4
"""Maximum number of patterns; further ones are ignored, as small models may repeat themselves."""
STEPS = 5
"""Maximum number of sub-questions."""
TYPES = ("bridge", "comparison", "inference")


@dataclass(frozen=True, kw_only=True)
class SparqlCot(FromEvidence):
    """One call: a query of at most four triple patterns, its bindings in the context, an answer."""

    name = "sparql-cot"
    prompts = PROMPTS
    max_tokens: int = max_tokens_option(1024)

    def step(self, talk: Conversation, context: Context) -> Answer:
        reply = sparql_cot_reply(talk, context, max_tokens=self.max_tokens, final=IF_SUFFICIENT)
        return talk.answer_from(reply, context, query_and_bindings(reply))


def sparql_cot_reply(
    talk: Conversation,
    context: Context,
    *,
    max_tokens: int = 1024,
    final: Mapping[str, bool] | None = None,
) -> dict[str, Any]:
    """The model's query, bindings and answer."""
    binding = object_of(variable=string(40), value=string(200))
    bindings = array_of(binding, 2 * MOST)
    schema = object_of(query=string(600), bindings=bindings, **final_properties(context))
    return talk.call(
        "sparql_cot", schema, context=context, max_tokens=max_tokens, final=final, most=MOST
    )


def query_and_bindings(reply: Mapping[str, Any]) -> str:
    """The query and its bindings as reasoning to read."""
    bindings = [f"{binding['variable']} = {binding['value']}" for binding in reply["bindings"]]
    return "\n".join([reply["query"], *bindings])


@dataclass(frozen=True, kw_only=True)
class GenericCot(FromEvidence):
    """One call that splits the question, answers the parts, and then the whole."""

    name = "generic-cot"
    prompts = PROMPTS
    max_tokens: int = max_tokens_option(1024)

    def step(self, talk: Conversation, context: Context) -> Answer:
        step = object_of(question=string(200), answer=string(200))
        schema = object_of(steps=array_of(step, STEPS, min_items=1), **final_properties(context))
        reply = talk.call(
            "generic_cot", schema, context=context, max_tokens=self.max_tokens, final=IF_SUFFICIENT
        )
        return talk.answer_from(reply, context, format_facts(reply["steps"]))


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
