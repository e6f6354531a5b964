"""One call that reasons over the retrieved evidence and answers (SA-RAG paper, section 5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sarag_rdf.fence import fence_for
from sarag_rdf.iris import normalize_name
from sarag_rdf.ports import LLM
from sarag_rdf.resources import render_prompt
from sarag_rdf.types import Answer, Citation, Context, Document, Query, Retrieved

INSUFFICIENT: Final = "insufficient information"
"""What `Answer.text` is when the evidence does not settle the question."""


def answer_schema(labels: Sequence[str]) -> dict[str, Any]:
    """The schema of the reply; `labels` (one or more) are what may be cited. All is bounded."""
    properties = {
        "reasoning": {"type": "string", "maxLength": 2000},
        "sufficient": {"type": "boolean"},
        "final_answer": {"type": "string", "maxLength": 300},
        "citations": {
            "type": "array",
            "items": {"type": "string", "enum": list(labels)},
            "maxItems": 2 * len(labels),
        },
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def answer_prompt(query: Query, context: Context) -> str:
    """The prompt: instructions, fenced documents and relationships, and the question last."""
    relationships = [" ".join(sentence.split()) for sentence in context.relationships]
    texts = [document.titled_text for document in context.documents.values()]
    return render_prompt(
        "answer",
        question=" ".join(query.text.split()),
        documents=context.documents,
        relationships=relationships,
        fence=fence_for(query.text, *texts, *relationships),
    )


class Single:
    """Answers with one call of `llm`; `max_tokens` limits its reply, reasoning included."""

    def __init__(self, llm: LLM, *, max_tokens: int = 1024) -> None:
        self._llm = llm
        self._max_tokens = max_tokens

    def answer(self, query: Query, retrieved: Retrieved, context: Context) -> Answer:
        """Answer from `context` alone; without documents in it, no call is made.

        The outcome is ``answered``, or ``insufficient`` with the text `INSUFFICIENT`. Citations
        are in the order in which the model gives them, each once. Raises an `EndpointError`.
        """
        if not context.documents:
            return Answer("insufficient", INSUFFICIENT, "No document was retrieved.", (), retrieved)
        reply = self._llm.complete(
            answer_prompt(query, context),
            answer_schema(list(context.documents)),
            name="answer",
            max_tokens=self._max_tokens,
        )
        text = " ".join(reply.data["final_answer"].split())
        answered = reply.data["sufficient"] and normalize_name(text) not in ("", INSUFFICIENT)
        labels = dict.fromkeys(reply.data["citations"])
        return Answer(
            outcome="answered" if answered else "insufficient",
            text=text if answered else INSUFFICIENT,
            reasoning=reply.data["reasoning"].strip(),
            citations=tuple(_citation(context.documents[label]) for label in labels),
            retrieved=retrieved,
            usage=reply.usage,
        )


def _citation(document: Document) -> Citation:
    return Citation(
        document=document.iri,
        source=document.source_iri,
        title=document.title,
        begin=document.begin,
        end=document.end,
    )
