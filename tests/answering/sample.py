"""What reasoners are tested on: documents, evidence, and a gathering that notes what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sarag_rdf.answering.conversation import Conversation, ReasonerStrategy
from sarag_rdf.base.ports import LLM, Gather
from sarag_rdf.base.types import (
    Answer,
    Citation,
    Context,
    Document,
    Evidence,
    Excerpt,
    Query,
    Retrieved,
    Section,
    Subgraph,
)


def split(*questions: str) -> dict[str, Any]:
    """A reply that splits a question."""
    return {"questions": list(questions)}


def brief(answer: str) -> dict[str, Any]:
    """A reply with nothing but an answer."""
    return {"final_answer": answer}


QUESTION = "Where was the founder\nof the club born?"
ASKED = "Where was the founder of the club born?"
QUERY = Query(QUESTION)


def document(number: int, text: str) -> Document:
    """Number n is at offset 10 n of source n."""
    begin = 10 * number
    end = begin + len(text)
    return Document(f"urn:d{number}", f"urn:s{number}", f"Title {number}", text, begin, end)


CLUB = document(1, "Ada founded the club.")
ADA = document(2, "Ada was born in Ulm.")
CITE_CLUB = Citation("urn:d1", "urn:s1", "Title 1", 10, 31)
CITE_ADA = Citation("urn:d2", "urn:s2", "Title 2", 20, 40)


def context_of(*documents: Document, relationships: Sequence[str] = ()) -> Context:
    """One section with whole documents under D1, D2, ..., of 7 tokens a document."""
    excerpts = {f"D{n}": Excerpt.whole(d) for n, d in enumerate(documents, start=1)}
    section = Section("", excerpts, tuple(relationships))
    sections = (section,) if excerpts or relationships else ()
    return Context(sections, 7 * len(documents), "test")


CONTEXT = context_of(CLUB, ADA, relationships=("Ada founded\nthe club.",))
EMPTY = context_of()


def retrieved_for(query: Query) -> Retrieved:
    """Only the question matters."""
    return Retrieved(query, "fixed", {}, (), (), (), (), Subgraph((), {}, ()))


class Library:
    """A gathering: a question has its own context, or the one for all. `asked` notes questions."""

    def __init__(
        self, context: Context = CONTEXT, contexts: Mapping[str, Context] | None = None
    ) -> None:
        self._context = context
        self._contexts = contexts or {}
        self.asked: list[str] = []

    def __call__(self, query: Query) -> Evidence:
        self.asked.append(query.text)
        return Evidence(retrieved_for(query), self._contexts.get(query.text, self._context))


def answer_of(
    reasoner: ReasonerStrategy,
    gather: Gather,
    llm: LLM,
    query: Query = QUERY,
    view: Any = None,
) -> Answer:
    """What a reasoner answers."""
    return reasoner.answer(Conversation(query, gather, llm, view, reasoner.prompts))


def told(answer: Answer) -> list[str]:
    """The trace in short: ``retrieval: question``, and kind and name of all else."""
    return [
        f"retrieval: {stage.detail['question']}"
        if stage.kind == "retrieval"
        else f"{stage.kind} {stage.name}"
        for stage in answer.trace
    ]
