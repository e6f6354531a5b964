"""One question after the other, each looked up by itself."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.answering.conversation import INSUFFICIENT
from sarag_rdf.base.errors import UsageError
from sarag_rdf.plugins.papers.with_facts import SelfAsk
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ADA,
    CITE_ADA,
    CITE_CLUB,
    CLUB,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    context_of,
    document,
    told,
)

WHO = "Who founded the club?"
BORN = "Where was Ada born?"


def ask(question: str, **changes: Any) -> dict[str, Any]:
    return {"needs_follow_up": True, "follow_up": question, "final_answer": "", **changes}


def say(answer: str) -> dict[str, Any]:
    return {"needs_follow_up": False, "follow_up": "", "final_answer": answer}


def found(answer: str) -> dict[str, Any]:
    return {"final_answer": answer}


def test_each_question_is_looked_up_and_what_was_found_goes_on() -> None:
    library = Library(contexts={WHO: context_of(CLUB), BORN: context_of(ADA)})
    llm = QueuedLLM([ask(f" {WHO}\n"), found("Ada"), ask(BORN), found(" Ulm"), say("Ulm")])
    answer = answer_of(SelfAsk(max_tokens=77), library, llm)
    assert (answer.outcome, answer.text) == ("answered", "Ulm")
    assert answer.reasoning == f"{WHO} Ada\n{BORN} Ulm"
    assert answer.citations == (CITE_CLUB, CITE_ADA)
    assert told(answer) == [
        "call self_ask",
        f"retrieval: {WHO}",
        "call answer_brief",
        "call self_ask",
        f"retrieval: {BORN}",
        "call answer_brief",
        "call self_ask",
    ]
    assert {call.max_tokens for call in llm.calls if call.name == "self_ask"} == {77}
    assert f"Question: {WHO}" in llm.prompts[1]
    assert "nothing yet" in llm.prompts[0]
    assert f"Follow-up: {WHO}\nFound: Ada\nFollow-up: {BORN}\nFound: Ulm\n===" in llm.prompts[4]


def test_the_question_itself_is_not_looked_up() -> None:
    library = Library()
    answer = answer_of(SelfAsk(), library, QueuedLLM([ask(WHO), found("Ada"), say("Ada")]))
    assert library.asked == [WHO]
    assert (answer.retrieved.query, answer.retrieved.retriever) == (QUERY, "none")
    assert [evidence.retrieved.query.text for evidence in answer.evidence] == [WHO]


def test_the_last_call_must_answer() -> None:
    llm = QueuedLLM([ask(WHO), found("Ada"), ask("When?", final_answer="Ada")])
    answer = answer_of(SelfAsk(steps=1), Library(), llm)
    assert (answer.text, len(llm.calls)) == ("Ada", 3)
    notice = "No further follow-up question can be looked up"
    assert [notice in prompt for prompt in llm.prompts] == [False, False, True]
    with pytest.raises(
        UsageError, match="steps of self-ask must be an integer between 1 and 10, not 0"
    ):
        SelfAsk(steps=0)


@pytest.mark.parametrize(
    "reply", [ask("", final_answer="Ulm"), ask(WHO, final_answer="Ulm"), say("Ulm")]
)
def test_it_ends_with_an_answer_or_a_question_that_was_asked(reply: dict[str, Any]) -> None:
    library, llm = Library(), QueuedLLM([ask(WHO), found("Ada"), reply])
    answer = answer_of(SelfAsk(), library, llm)
    assert (answer.text, library.asked) == ("Ulm", [WHO])


def test_an_end_without_an_answer() -> None:
    answer = answer_of(SelfAsk(), Library(), QueuedLLM([ask(" ")]))
    assert (answer.outcome, answer.text) == ("insufficient", INSUFFICIENT)
    assert (answer.evidence, answer.citations, answer.reasoning) == ((), (), "")


def test_a_question_that_finds_nothing_is_not_put_to_the_model() -> None:
    llm = QueuedLLM([ask(WHO), say("")])
    answer = answer_of(SelfAsk(), Library(EMPTY), llm)
    assert [call.name for call in llm.calls] == ["self_ask", "self_ask"]
    assert f"Follow-up: {WHO}\nFound: {INSUFFICIENT}\n" in llm.prompts[1]
    assert answer.outcome == "insufficient"


def test_what_was_not_found_is_not_cited() -> None:
    """That it is unknown stands in a document, and yet is no answer."""
    library = Library(context_of(document(3, "The founder is unknown."), ADA))
    llm = QueuedLLM([ask(WHO), found("Unknown"), ask(BORN), found("Ulm"), say("Ulm")])
    assert answer_of(SelfAsk(), library, llm).citations == (CITE_ADA,)
