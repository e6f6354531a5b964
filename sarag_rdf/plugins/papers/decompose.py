"""Query decomposition and iterative retrieval (SA-RAG, arXiv 2512.15922, section 4, appendix A)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

from sarag_rdf.answering.auto import SPLIT_TOKENS, chain_of, substituted
from sarag_rdf.answering.conversation import (
    INSUFFICIENT,
    NO_EVIDENCE,
    NOTHING,
    Conversation,
    ReasonerStrategy,
    abstains,
    cited_in,
    final_properties,
    format_facts,
)
from sarag_rdf.answering.single import answer_from, brief_text, reasoned_reply
from sarag_rdf.base.options import MAX_HOPS, max_tokens_option, option
from sarag_rdf.base.prompts import array_of, object_of, string
from sarag_rdf.base.types import Answer, Citation, Context, Excerpt, Section
from sarag_rdf.plugins.papers import PROMPTS

MAX_PARTS = 50
"""Greatest number of sub-questions: more than a question has, and an end for runaway models."""


@dataclass(frozen=True, kw_only=True)
class Decompose(ReasonerStrategy):
    """Splits the question, answers the sub-questions in order, then the whole question.

    Each sub-question, with the answers that it refers to in the place of its references, is
    retrieved for and answered briefly. The whole is answered from evidence for the question and
    from what was found. At most `most` sub-questions, so `most` + 2 calls. The reasoner `auto`
    answers with the last sub-question where that is enough.

    With a `history` sub-questions are taken as the model writes them, a single one too, and each
    is searched for together with the earlier ones and their answers, as in the paper. The paper
    does not say in which order these are embedded, nor whether the model reads them when it
    answers a sub-question (`shown`). The order of the preset keeps the sub-question where an
    embedding model that cuts long texts cuts last.
    """

    name = "decompose"
    prompts = PROMPTS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"most": MAX_PARTS, "history": "after", "reasoned": True, "unanswered": True}
    }
    most: int = option(4, "Maximum number of sub-questions.", ge=1, le=MAX_PARTS)
    history: str = option(
        "none",
        "Earlier sub-questions and their answers in the text that is searched for: none, where "
        "#1 stands for the first answer; or before or after the sub-question, which then refers "
        "to them in words.",
        choices=("none", "before", "after"),
    )
    shown: bool = option(
        False, "Show the model earlier sub-questions and answers when it answers a sub-question."
    )
    reasoned: bool = option(
        False, "Answer sub-questions with reasoning, by the same call as the whole question."
    )
    unanswered: bool = option(
        False, "Hand on sub-questions without an answer, and say that there was none."
    )
    brief: bool = option(False, "Ask for the bare answer, without reasoning; suits small models.")
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        questions = self._split(talk)
        facts: list[dict[str, str]] = []
        for question in questions if len(questions) > 1 or self._in_words else ():
            asked = self._asked(question, facts)
            facts.append({"question": asked, "answer": self._part(talk, asked, facts)})
        context = talk.gather().context
        known = [fact for fact in facts if self.unanswered or not abstains(fact["answer"])]
        if context.is_empty and not (self.unanswered and known):
            return talk.answer("", reasoning=NO_EVIDENCE)
        return answer_from(talk, context, known, brief=self.brief, max_tokens=self.max_tokens)

    @property
    def _in_words(self) -> bool:
        """Whether sub-questions refer to others in words, not as ``#1``."""
        return self.history != "none"

    def _split(self, talk: Conversation) -> list[str]:
        most = self.most
        schema = object_of(questions=array_of(string(200), most, min_items=1))
        size = min(60 * most, max(SPLIT_TOKENS, self.max_tokens))
        if self._in_words:
            reply = talk.call("decompose_in_words", schema, max_tokens=size)
            bare = (" ".join(question.split()) for question in reply["questions"])
            return list(filter(None, bare)) or [talk.question]
        reply = talk.call("decompose", schema, max_tokens=size, most=most)
        return chain_of(reply["questions"], talk.question)

    def _asked(self, question: str, facts: Sequence[Mapping[str, str]]) -> str:
        """A sub-question as it is put to the model."""
        if self._in_words:
            return question
        answers = ("" if abstains(fact["answer"]) else fact["answer"] for fact in facts)
        return substituted(question, list(answers))

    def _searched(self, question: str, facts: Sequence[Mapping[str, str]]) -> str:
        """The text that is searched for with a sub-question."""
        if not (self._in_words and facts):
            return question
        parts = [format_facts(facts), question]
        return "\n".join(parts if self.history == "before" else reversed(parts))

    def _part(self, talk: Conversation, question: str, facts: Sequence[dict[str, str]]) -> str:
        """The answer of a sub-question: `INSUFFICIENT`, without a call, if nothing is found."""
        context = talk.gather(self._searched(question, facts)).context if question else NOTHING
        if context.is_empty:
            return INSUFFICIENT
        shown = facts if self.shown else ()
        if not self.reasoned or self.brief:
            return brief_text(talk, context, shown, question=question)
        size = self.max_tokens
        reply = reasoned_reply(talk, context, shown, question=question, max_tokens=size)
        answer = " ".join(reply["final_answer"].split())
        return answer if reply["sufficient"] and not abstains(answer) else INSUFFICIENT


def joined(first: Context, second: Context) -> Context:
    """Both contexts merged and relabelled; a document in both appears once, with all its spans.

    The tokens of the second one count by the share of its text that the first does not have.
    """
    known = set(first.texts)
    sizes = {text: len(text) for text in second.texts}
    new = sum(size for text, size in sizes.items() if text not in known)
    tokens = first.tokens + round(second.tokens * new / max(1, sum(sizes.values())))
    shown: dict[str, set[tuple[int, int]]] = {}
    for excerpt in (*first.excerpts.values(), *second.excerpts.values()):
        shown.setdefault(excerpt.document.iri, set()).update(excerpt.spans)
    sections: list[Section] = []
    number = 0
    for section in (*first.sections, *second.sections):
        excerpts = {}
        for excerpt in section.excerpts.values():
            spans = shown.pop(excerpt.document.iri, None)
            if spans is not None:
                number += 1
                excerpts[f"D{number}"] = Excerpt(excerpt.document, tuple(sorted(spans)))
        if excerpts or section.relationships or section.descriptions:
            sections.append(replace(section, excerpts=excerpts))
    return Context(tuple(sections), tokens, second.builder)


# ---------------------------------------------------------------------------------------- Iteration


@dataclass(frozen=True, kw_only=True)
class Cot(ReasonerStrategy):
    """At most `steps` times: retrieve, sum up what is known, answer or ask what is missing.

    The summary is carried on, the documents are not. It ends early with an answer, or with a
    follow-up question that is empty or was asked before: that would retrieve the same again. No
    call is made if the question itself retrieves nothing.

    With a closing call it is CoT RAG of the paper, whose systems all answer with Listing 1: each
    step has the same prompt, a follow-up question that was asked before is searched for again, and
    nothing but the closing call abstains; its answer cites what the summary is based on, too.
    `steps` + 1 calls at most. The paper does not say whether an answer in Listing 2 ends it
    (``unanswered``) or is answered anew (``always``), nor whether the closing call reads the
    documents of earlier steps beside the summary of them.
    """

    name = "cot"
    prompts = PROMPTS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"closing": "unanswered"}}
    steps: int = option(3, "Maximum number of searches, each with a call.", ge=1, le=MAX_HOPS)
    closing: str = option(
        "never",
        "When a last call answers from the summary and documents, as `single` does: never, if the "
        "steps leave the question unanswered, or always.",
        choices=("never", "unanswered", "always"),
    )
    closing_documents: str = option(
        "last",
        "Documents that the closing call reads: those of the last step, or of all steps.",
        choices=("last", "all"),
    )
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        closes = self.closing != "never"
        asked = [talk.question]
        summary, answer = "", ""
        citations: list[Citation] = []
        contexts: list[Context] = []
        for step in range(1, self.steps + 1):
            context = talk.gather(None if step == 1 else asked[-1]).context
            contexts.append(context)
            if step == 1 and context.is_empty and not closes:
                return talk.answer("", reasoning=NO_EVIDENCE)
            last = step == self.steps and not closes
            schema = object_of(
                summary=string(1500),
                **final_properties(context, "answer_possible"),
                **({} if last else {"follow_up": string(300)}),
            )
            reply = talk.call(
                "cot",
                schema,
                context=context,
                max_tokens=self.max_tokens,
                final=None if self.closing == "always" else {"answer_possible": True},
                summary=summary,
                labels=list(context.excerpts),
                last=last,
            )
            summary = " ".join(reply["summary"].split())
            citations += cited_in(reply, context)
            if reply["answer_possible"] and not abstains(reply["final_answer"]):
                answer = reply["final_answer"]
                break
            follow_up = " ".join(reply.get("follow_up", "").split())
            if not follow_up or (follow_up in asked and not closes):
                break
            asked.append(follow_up)
        if self.closing == "always" or (closes and not answer):
            every = self.closing_documents == "all"
            context = reduce(joined, contexts) if every else contexts[-1]
            reply = reasoned_reply(talk, context, summary=summary, max_tokens=self.max_tokens)
            return talk.answer(
                reply["final_answer"],
                reasoning=f"{summary}\n\n{reply['reasoning']}",
                citations=[*citations, *cited_in(reply, context)],
                sufficient=reply["sufficient"],
            )
        return talk.answer(answer, reasoning=summary, citations=citations)
