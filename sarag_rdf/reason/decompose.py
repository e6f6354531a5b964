"""Query decomposition (SA-RAG, arXiv 2512.15922, section 4 and appendix A, Listing 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sarag_rdf.answers import Answer, Context, Section
from sarag_rdf.errors import UsageError
from sarag_rdf.iris import normalize_name
from sarag_rdf.ports import LLM, Gather
from sarag_rdf.reason.conversation import (
    INSUFFICIENT,
    Conversation,
    abstains,
    list_of,
    schema_of,
    text_of,
)
from sarag_rdf.reason.single import brief_answer, brief_text, reasoned_answer
from sarag_rdf.types import Query

_REFERENCE = re.compile(r"#(\d+)")


class Decompose:
    """Splits the question, answers the sub-questions in order, then the whole.

    Each sub-question, with the answers that it refers to in the place of its references, is
    retrieved for and answered briefly. The whole is answered from evidence for the question and
    from what was found. At most `most` sub-questions, so `most` + 2 calls; with `merge` the last
    sub-question is not answered by itself: its evidence joins that of the question, which saves
    a call.
    """

    def __init__(
        self,
        gather: Gather,
        llm: LLM,
        *,
        most: int = 4,
        merge: bool = False,
        brief: bool = False,
        max_tokens: int = 1024,
    ) -> None:
        if most < 1:
            raise UsageError("decompose needs most of at least 1")
        self._gather, self._llm = gather, llm
        self._most, self._merge = most, merge
        self._brief, self._max_tokens = brief, max_tokens

    def answer(self, query: Query) -> Answer:
        talk = Conversation(query, self._gather, self._llm)
        questions = self._split(talk)
        facts: list[dict[str, str]] = []
        answers: list[str] = []
        kept = questions[:-1] if self._merge else questions
        for question in kept if len(questions) > 1 else ():
            asked = substituted(question, answers)
            context = talk.gather(asked).context
            answer = INSUFFICIENT
            if context.excerpts:
                answer = brief_text(talk, context, question=asked)
            answers.append("" if abstains(answer) else answer)
            facts.append({"question": asked, "answer": answer})
        context = talk.gather().context
        if self._merge and len(questions) > 1:
            further = talk.gather(substituted(questions[-1], answers)).context
            context = joined(further, context)
        known = [fact for fact in facts if not abstains(fact["answer"])]
        if not context.excerpts:
            return talk.answer("", reasoning="No document was retrieved.")
        if self._brief:
            return brief_answer(talk, context, known)
        return reasoned_answer(talk, context, known, max_tokens=self._max_tokens)

    def _split(self, talk: Conversation) -> list[str]:
        schema = schema_of(questions=list_of(text_of(200), self._most, least=1))
        reply = talk.call("decompose", schema, max_tokens=60 * self._most, most=self._most)
        return chain_of(reply["questions"], talk.question)


def chain_of(questions: Sequence[str], whole: str) -> list[str]:
    """Sub-questions that can be asked: each once, none empty, none that is the whole too early.

    >>> chain_of(["Who is it?", "Who is it?", "Where was #1 born?"], "Where was it born?")
    ['Who is it?', 'Where was #1 born?']
    >>> chain_of(["Where was it born?", "Who is it?"], "Where was it born?")
    ['Who is it?', 'Where was it born?']
    """
    bare = [" ".join(question.split()) for question in questions]
    kept = [q for q in dict.fromkeys(bare) if q and normalize_name(q) != normalize_name(whole)]
    if len(kept) < len([q for q in dict.fromkeys(bare) if q]):
        return [*(q for q in kept if not _REFERENCE.search(q)), whole]
    return kept or [whole]


def substituted(question: str, answers: Sequence[str]) -> str:
    """A question with ``#1`` replaced by the first answer; by nothing where there is none.

    >>> substituted("When did #2 join #1?", ["Ulm", "Ada"])
    'When did Ada join Ulm?'
    """

    def answer(match: re.Match[str]) -> str:
        place = int(match[1]) - 1
        return answers[place] if place < len(answers) else ""

    return " ".join(_REFERENCE.sub(answer, question).split())


def joined(first: Context, second: Context) -> Context:
    """Both contexts as one, relabelled; documents of the first are not repeated."""
    seen: set[str] = set()
    sections: list[Section] = []
    number = 0
    for section in (*first.sections, *second.sections):
        excerpts = {}
        for excerpt in section.excerpts.values():
            if excerpt.document.iri not in seen:
                seen.add(excerpt.document.iri)
                number += 1
                excerpts[f"D{number}"] = excerpt
        sections.append(Section(section.heading, excerpts, section.relationships))
    return Context(tuple(sections), first.tokens + second.tokens, first.builder)
