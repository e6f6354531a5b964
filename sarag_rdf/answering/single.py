"""One call over the retrieved evidence, or without any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sarag_rdf.answering.conversation import (
    IF_SUFFICIENT,
    INSUFFICIENT,
    NOTHING,
    Conversation,
    FromEvidence,
    ReasonerStrategy,
    abstains,
    citations_of,
    final_properties,
)
from sarag_rdf.base.options import max_tokens_option, option
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.types import Answer, Citation, Context


@dataclass(frozen=True, kw_only=True)
class Single(FromEvidence):
    """Reasons, then answers; with `brief` it answers at once, which suits small models."""

    name = "single"
    brief: bool = option(False, "Ask for the bare answer, without reasoning; suits small models.")
    max_tokens: int = max_tokens_option(1024)

    def step(self, talk: Conversation, context: Context) -> Answer:
        """A brief answer cites the excerpts that contain it."""
        if self.brief:
            return brief_answer(talk, context)
        return reasoned_answer(talk, context, max_tokens=self.max_tokens)


def reasoned_answer(
    talk: Conversation,
    context: Context,
    facts: Sequence[dict[str, str]] = (),
    *,
    max_tokens: int = 1024,
) -> Answer:
    """A call for reasoning, the answer, and citations of its documents."""
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


def brief_answer(
    talk: Conversation, context: Context, facts: Sequence[dict[str, str]] = ()
) -> Answer:
    """A call for the bare answer alone; it cites the excerpts that contain it word for word."""
    text = brief_text(talk, context, facts)
    return talk.answer(text, citations=citations_of(text, context))


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


def looked_up(talk: Conversation, question: str) -> tuple[str, list[Citation]]:
    """Retrieve for a sub-question, answer it briefly, and cite excerpts with the answer.

    The answer is `INSUFFICIENT` for an empty question or context. An abstention has no citations.
    """
    context = talk.gather(question).context if question else NOTHING
    answer = INSUFFICIENT if context.is_empty else brief_text(talk, context, question=question)
    return answer, [] if abstains(answer) else citations_of(answer, context)


@dataclass(frozen=True, kw_only=True)
class ClosedBook(ReasonerStrategy):
    """One call without retrieval; the answer cites nothing."""

    name = "closed-book"
    max_tokens: int = max_tokens_option(512)

    def answer(self, talk: Conversation) -> Answer:
        schema = object_of(reasoning=string(800), final_answer=string(300))
        reply = talk.call("closed_book", schema, max_tokens=self.max_tokens, final={})
        return talk.answer(reply["final_answer"], reasoning=reply["reasoning"])
