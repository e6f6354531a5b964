"""One call over the retrieved evidence, or without any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sarag_rdf.answering.conversation import (
    IF_SUFFICIENT,
    Conversation,
    FromEvidence,
    citations_of,
    final_properties,
)
from sarag_rdf.base.options import max_tokens_option, option
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.types import Answer, Context


@dataclass(frozen=True, kw_only=True)
class Single(FromEvidence):
    """Reasons, then answers; with `brief` it answers at once, which suits small models."""

    name = "single"
    brief: bool = option(False, "Ask for the bare answer, without reasoning; suits small models.")
    max_tokens: int = max_tokens_option(1024)

    def step(self, talk: Conversation, context: Context) -> Answer:
        return answer_from(talk, context, brief=self.brief, max_tokens=self.max_tokens)


def answer_from(
    talk: Conversation,
    context: Context,
    facts: Sequence[dict[str, str]] = (),
    *,
    brief: bool = False,
    max_tokens: int = 1024,
) -> Answer:
    """A call for reasoning, the answer, and citations of its documents.

    A brief answer comes alone, and cites the excerpts that contain it word for word.
    """
    if brief:
        text = brief_text(talk, context, facts)
        return talk.answer(text, citations=citations_of(text, context))
    reply = reasoned_reply(talk, context, facts, max_tokens=max_tokens)
    return talk.answer_from(reply, context, reply["reasoning"])


def reasoned_reply(
    talk: Conversation,
    context: Context,
    facts: Sequence[dict[str, str]] = (),
    *,
    question: str | None = None,
    summary: str = "",
    max_tokens: int = 1024,
) -> dict[str, Any]:
    """The reply of that call, with `facts` and a `summary` of what was found before.

    It is about the question, or about a sub-question.
    """
    return talk.call(
        "answer",
        object_of(reasoning=string(2000), **final_properties(context)),
        question=question,
        context=context,
        max_tokens=max_tokens,
        final=IF_SUFFICIENT if question is None else None,
        facts=facts,
        **({"summary": summary} if summary else {}),
    )


def brief_text(
    talk: Conversation,
    context: Context,
    facts: Sequence[dict[str, str]] = (),
    *,
    question: str | None = None,
) -> str:
    """The bare answer to the question, or to a sub-question, on one line."""
    schema = object_of(final_answer=string(120))
    reply = talk.call(
        "answer_brief",
        schema,
        question=question,
        context=context,
        max_tokens=80,
        final={} if question is None else None,
        facts=facts,
    )
    return " ".join(reply["final_answer"].split())
