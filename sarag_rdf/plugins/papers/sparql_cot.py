"""Chain of thought in the form of SPARQL ("The Reasoning Bottleneck in Graph-RAG", section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sarag_rdf.answering.base import (
    IF_SUFFICIENT,
    Conversation,
    FromEvidence,
    final_properties,
)
from sarag_rdf.base.options import max_tokens_option
from sarag_rdf.base.prompts import array_of, object_of, string
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.patterns import MOST


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
    schema = object_of(
        query=string(600),
        bindings=array_of(binding, 2 * MOST),
        **final_properties(context),
    )
    return talk.call(
        "sparql_cot", schema, context=context, max_tokens=max_tokens, final=final, most=MOST
    )


def query_and_bindings(reply: Mapping[str, Any]) -> str:
    """The query and its bindings as reasoning to read."""
    bindings = [f"{binding['variable']} = {binding['value']}" for binding in reply["bindings"]]
    return "\n".join([reply["query"], *bindings])
