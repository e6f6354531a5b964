"""Sub-questions in plain words within one call.

The generic chain of thought that "The Reasoning Bottleneck in Graph-RAG" compares its SPARQL
prompt with (section 5.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sarag_rdf.answering.conversation import (
    IF_SUFFICIENT,
    Conversation,
    final_properties,
    format_facts,
    from_evidence,
)
from sarag_rdf.base.json_schema import array_of, object_of, string
from sarag_rdf.base.options import Options, max_tokens_option
from sarag_rdf.base.ports import LLM, Gather
from sarag_rdf.base.types import Answer, Context, Query

STEPS = 5


@dataclass(frozen=True, kw_only=True)
class GenericCotOptions(Options):
    """Options of `GenericCot`."""

    name = "generic-cot"
    max_tokens: int = max_tokens_option(1024)


class GenericCot:
    """One call that splits the question, answers the parts, and then the whole."""

    options = GenericCotOptions

    def __init__(self, gather: Gather, llm: LLM, options: GenericCotOptions | None = None) -> None:
        self._gather, self._llm = gather, llm
        self._options = options or GenericCotOptions()

    def answer(self, query: Query) -> Answer:
        step = partial(generic_cot_answer, max_tokens=self._options.max_tokens)
        return from_evidence(query, self._gather, self._llm, step)


def generic_cot_answer(talk: Conversation, context: Context, *, max_tokens: int = 1024) -> Answer:
    """The call, and what it gives."""
    step = object_of(question=string(200), answer=string(200))
    schema = object_of(steps=array_of(step, STEPS, min_items=1), **final_properties(context))
    reply = talk.call(
        "generic_cot", schema, context=context, max_tokens=max_tokens, final=IF_SUFFICIENT
    )
    return talk.answer_from(reply, context, format_facts(reply["steps"]))
