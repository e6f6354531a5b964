"""SPARQL chain of thought that is run on the graph: the model's patterns are matched with it.

Extends "The Reasoning Bottleneck in Graph-RAG" (section 3.1), where the query only
guides the reasoning. Here it is parsed, linked and executed; its bindings are evidence, with
provenance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sarag_rdf.answering.base import (
    IF_SUFFICIENT,
    Conversation,
    FromEvidence,
    final_properties,
)
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import max_tokens_option
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.grounding import Binding, Grounder, Grounding
from sarag_rdf.plugins.papers.patterns import PatternError, parse_patterns
from sarag_rdf.plugins.papers.sparql_cot import query_and_bindings, sparql_cot_reply

GIVEN = 5
"""Maximum number of bindings shown to the model."""


@dataclass(frozen=True, kw_only=True)
class SparqlGrounded(FromEvidence):
    """One call as in sparql-cot, and a second if the graph does not confirm its answer.

    The trace has a note ``grounding`` that says whether the query was parsed, linked and bound,
    what failed, and whether a binding agrees with the model's own answer. Where nothing is bound
    the answer is that of sparql-cot.
    """

    name = "sparql-grounded"
    prompts = PROMPTS
    max_tokens: int = max_tokens_option(1024)

    def step(self, talk: Conversation, context: Context) -> Answer:
        reply = sparql_cot_reply(talk, context, max_tokens=self.max_tokens)
        bindings, agrees = self._grounded(talk, reply)
        own = talk.answer_from(reply, context, query_and_bindings(reply))
        if not bindings or (own.outcome == "answered" and agrees):
            return own
        return self._decided(talk, context, reply, bindings[:GIVEN])

    def _grounded(
        self, talk: Conversation, reply: Mapping[str, Any]
    ) -> tuple[Sequence[Binding], bool]:
        """The bindings of the query, and whether one of the values is the model's answer."""
        parsed = True
        try:
            grounding = Grounder(talk.view).ground(parse_patterns(reply["query"]))
        except PatternError as error:
            parsed, grounding = False, Grounding(problem=str(error))
        agrees = _holds([b.value for b in grounding.bindings], reply["final_answer"])
        note = {
            "parsed": parsed,
            "linked": grounding.is_linked,
            "bound": bool(grounding.bindings),
            "agrees": agrees,
            "problem": grounding.problem,
            "links": {link.name: link.entity for link in reversed(grounding.linked)},
            "bindings": [
                {
                    "value": binding.value,
                    "entity": binding.entity,
                    "score": binding.score,
                    "variables": dict(binding.variables),
                    "relationships": [support.relationship for support in binding.support],
                    "documents": [support.document for support in binding.support],
                }
                for binding in grounding.bindings
            ],
            "sparql": grounding.sparql,
        }
        talk.say("note", "grounding", note)
        return grounding.bindings, agrees

    def _decided(
        self,
        talk: Conversation,
        context: Context,
        reply: Mapping[str, Any],
        bindings: Sequence[Binding],
    ) -> Answer:
        """A second call with the bindings, each with the sentences that support it."""
        rows = [
            {"value": binding.value, "support": [support.text for support in binding.support]}
            for binding in bindings
        ]
        schema = object_of(reasoning=string(800), **final_properties(context))
        final = talk.call(
            "sparql_grounded",
            schema,
            context=context,
            max_tokens=self.max_tokens,
            final=IF_SUFFICIENT,
            query=reply["query"],
            own=reply["final_answer"],
            bindings=rows,
        )
        return talk.answer_from(
            final, context, f"{query_and_bindings(reply)}\n{final['reasoning']}"
        )


def _holds(values: Sequence[str], answer: str) -> bool:
    """Whether one of the values is the answer, or either contains the other as whole words."""
    requested = f" {normalize_name(answer)} "
    if not requested.strip():
        return False
    padded = [f" {normalize_name(value)} " for value in values]
    return any(requested in value or (value.strip() and value in requested) for value in padded)
