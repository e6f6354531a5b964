"""One strategy for every question: in parts where it has any, and comparisons decided by code.

A small model reads one fact from little text better than it joins several, and it compares dates
badly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sarag_rdf.answering.comparison import COMPARISONS, checked, decided
from sarag_rdf.answering.conversation import (
    NO_EVIDENCE,
    Conversation,
    Found,
    ReasonerStrategy,
    abstains,
    citations_of,
    format_facts,
)
from sarag_rdf.answering.single import answer_from, brief_text
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import max_tokens_option, option
from sarag_rdf.base.prompts import array_of, object_of, one_of, string
from sarag_rdf.base.questions import (
    asked_for,
    asks_alike,
    is_question,
    is_yes_or_no,
    relatives,
)
from sarag_rdf.base.types import Answer, Citation
from sarag_rdf.extraction.text_values import parse_value

SPLIT_TOKENS = 600
"""Size of the reply that splits a question, in tokens."""
_PAIRS = 4
"""The greatest number of parts of a comparison: two for each thing."""
_REFERENCE = re.compile(r"#(\d+)")
_COMPARES = re.compile(
    r"\b(?:or|both|same|between|out of|older|younger|earlier|later)\b", re.IGNORECASE
)
"""Words of English questions that may compare; others are split into a chain."""


@dataclass(frozen=True, kw_only=True)
class Auto(ReasonerStrategy):
    """Splits the question if it has parts; code decides comparisons, the model reads one fact.

    What a `lookup` finds among statements needs no model. Each part, with the answers that it
    refers to in the place of its references, is looked up, or else retrieved for and answered by
    itself. In a chain every part but the first refers to an answer, and that of the last is the
    answer to the question. A comparison ends with one part for each of two things, whose dates,
    numbers or names code compares. Where there are no parts, one of them has no answer, or code
    cannot decide, the whole question is answered from evidence for it, as by `single`, with what
    was found. At most `most` + 3 calls.
    """

    name = "auto"
    most: int = option(3, "Maximum number of parts of a chain.", ge=2, le=10)
    reasoned: bool = option(
        False, "Have the model reason before it answers the whole question; suits large models."
    )
    lookup: str = option(
        "any",
        "Plug-in that answers from statements, before the model does: a name, `any` or `none`.",
    )
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        if found := self._found(talk, talk.question):
            return found.answer(talk)
        plan = _comparison(talk) if _COMPARES.search(talk.question) else None
        questions = plan["questions"] if plan else self._chain(talk)
        facts, citations = self._answered(talk, questions)
        if facts and len(facts) == len(questions):
            text = _verdict(talk, plan, facts) if plan else facts[-1]["answer"]
            if text:
                return talk.answer(text, reasoning=format_facts(facts), citations=citations)
        context = talk.gather().context
        if context.is_empty:
            return talk.answer("", reasoning=NO_EVIDENCE)
        brief = not self.reasoned
        return answer_from(talk, context, facts, brief=brief, max_tokens=self.max_tokens)

    def answer_without_model(self, talk: Conversation) -> Answer | None:
        """What the lookup finds."""
        found = self._found(talk, talk.question)
        return found.answer(talk) if found else None

    def _chain(self, talk: Conversation) -> list[str]:
        """The parts of the question if they are a chain, else none."""
        if parts := relatives(talk.question):
            return parts
        schema = object_of(questions=array_of(string(200), self.most, min_items=1))
        reply = talk.call("decompose", schema, max_tokens=SPLIT_TOKENS, most=self.most)
        questions = chain_of(reply["questions"], talk.question)
        return questions if is_chain(questions, talk.question) else []

    def _answered(
        self, talk: Conversation, questions: Sequence[str]
    ) -> tuple[list[dict[str, str]], list[Citation]]:
        """Questions with their answers, and what these cite.

        It ends before one that has no answer, or refers to one that there is not.
        """
        facts: list[dict[str, str]] = []
        citations: list[Citation] = []
        for question in questions:
            if not all(0 < int(number) <= len(facts) for number in _REFERENCE.findall(question)):
                break
            asked = substituted(question, [fact["answer"] for fact in facts])
            rest = " ".join(questions[len(facts) + 1 :])
            answer, cited = self._fact(talk, asked, is_needed=f"#{len(facts) + 1}" in rest)
            if abstains(answer) or not _is_of_kind(answer, asked):
                break
            citations += cited
            facts.append({"question": asked, "answer": answer})
        return facts, citations

    def _fact(
        self, talk: Conversation, question: str, *, is_needed: bool
    ) -> tuple[str, list[Citation]]:
        """The answer to a part, and what it cites; one of which another part asks is one name."""
        if found := self._found(talk, question, is_single=is_needed):
            return found.text, found.citations
        context = talk.gather(question).context
        answer = "" if context.is_empty else brief_text(talk, context, question=question)
        return answer, citations_of(answer, context)

    def _found(self, talk: Conversation, question: str, *, is_single: bool = False) -> Found | None:
        """What the lookup finds, if it can be what is asked for; it is added to the evidence."""
        if self.lookup == "none":
            return None
        found = talk.look_up(self.lookup, question)
        if found is None or (is_single and len(found.names) > 1):
            return None
        is_truth = is_yes_or_no(question) and " or " not in question
        if is_truth and not {"yes", "no"}.issuperset(found.names):
            return None
        if asked_for(question) in ("time", "number") and not all(map(_has_digits, found.names)):
            return None
        talk.add_found(found)
        return found


def _comparison(talk: Conversation) -> dict[str, Any] | None:
    """The plan of a comparison; None if the question is none that can be decided."""
    schema = object_of(
        things=array_of(string(200), 2),
        questions=array_of(string(200), _PAIRS, min_items=1),
        kind=one_of(COMPARISONS),
    )
    plan = talk.call("compare", schema, max_tokens=SPLIT_TOKENS)
    is_answerable = plan["kind"] not in ("same", "both") or is_yes_or_no(talk.question)
    if plan["kind"] == "other" or len(plan["questions"]) < 2 or not is_answerable:
        return None
    plan["kind"] = checked(plan["kind"], talk.question)
    plan["things"] = [
        thing.rstrip("? ") if talk.question.endswith(thing) else thing for thing in plan["things"]
    ]
    return plan


def _verdict(talk: Conversation, plan: Mapping[str, Any], facts: Sequence[dict[str, str]]) -> str:
    """The answer to a comparison; empty if neither code nor the model decides it."""
    text = decided(plan["kind"], plan["things"], [fact["answer"] for fact in facts[-2:]])
    if not text and plan["kind"] in ("same", "both"):
        schema = object_of(final_answer=one_of(["yes", "no"]))
        text = talk.call("verdict", schema, max_tokens=20, final={}, facts=facts)["final_answer"]
    talk.say("note", "comparison", {"comparison": plan["kind"], "decided": text})
    return text


def is_chain(questions: Sequence[str], whole: str) -> bool:
    """Whether all but the first refer to answers, and the last asks for what `whole` does.

    >>> is_chain(["Who wrote it?", "Where was #1 born?"], "Where was its author born?")
    True
    >>> is_chain(["Who wrote it?", "When was #1 born?"], "Where was its author born?")
    False
    """
    first, *others = (bool(_REFERENCE.search(question)) for question in questions)
    is_plain = all(map(is_question, questions)) or not is_question(whole)
    is_linked = bool(others) and all(others) and not first
    return is_linked and is_plain and asks_alike(questions[-1], whole)


def _is_of_kind(answer: str, question: str) -> bool:
    """Whether an answer has digits if the question asks for a time, and is no date otherwise."""
    if asked_for(question) == "time":
        return _has_digits(answer)
    return parse_value(answer, "date") is None


def _has_digits(answer: str) -> bool:
    return any(map(str.isdigit, answer))


def chain_of(questions: Sequence[str], whole: str) -> list[str]:
    """The valid sub-questions: no duplicates, none empty, and the whole question only at the end.

    References are renumbered to the remaining questions.

    >>> chain_of(["Who is it?", "Who is it?", "Where was #1 born?"], "Where was it born?")
    ['Who is it?', 'Where was #1 born?']
    >>> chain_of(["Who?", "Who?", "Where was #2?", "Was it #3?"], "Where was it born?")
    ['Who?', 'Where was #1?', 'Was it #2?']
    >>> chain_of(["Where was it born?", "Who is it?"], "Where was it born?")
    ['Who is it?', 'Where was it born?']
    """
    bare = [" ".join(question.split()) for question in questions]
    places: dict[str, int] = {}
    for question in filter(None, bare):
        if normalize_name(question) != normalize_name(whole):
            places.setdefault(question, len(places) + 1)
    if not places.keys() >= set(filter(None, bare)):
        return [*(question for question in places if not _REFERENCE.search(question)), whole]

    def place(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"#{places.get(bare[number - 1], 0) if 0 < number <= len(bare) else 0}"

    return [_REFERENCE.sub(place, question) for question in places] or [whole]


def substituted(question: str, answers: Sequence[str]) -> str:
    """A question with ``#1`` replaced by the first answer, or by nothing if there is none.

    >>> substituted("When did #2 join #1?", ["Ulm", "Ada"])
    'When did Ada join Ulm?'
    """

    def answer(match: re.Match[str]) -> str:
        place = int(match[1]) - 1
        return answers[place] if 0 <= place < len(answers) else ""

    return " ".join(_REFERENCE.sub(answer, question).split())
