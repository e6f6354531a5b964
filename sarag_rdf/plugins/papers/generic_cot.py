"""Sub-questions in plain words within one call.

The generic chain of thought that "The Reasoning Bottleneck in Graph-RAG" compares its SPARQL
prompt with (section 5.4).
"""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.answering.base import (
    IF_SUFFICIENT,
    Conversation,
    FromEvidence,
    final_properties,
    format_facts,
)
from sarag_rdf.base.options import max_tokens_option
from sarag_rdf.base.prompts import array_of, object_of, string
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.plugins.papers import PROMPTS

STEPS = 5


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
