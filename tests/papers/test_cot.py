"""Step by step: what is known goes on, and the next question is what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.answering.conversation import INSUFFICIENT, NO_EVIDENCE
from sarag_rdf.base.errors import UsageError
from sarag_rdf.plugins.papers.decompose import Cot
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ADA,
    ASKED,
    CITE_ADA,
    CITE_CLUB,
    CLUB,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    context_of,
    told,
)

BORN = "Where was Ada born?"
WHEN = "When was that?"


def step(**changes: Any) -> dict[str, Any]:
    """A reply that asks on."""
    return {
        "summary": "Ada founded the club.",
        "answer_possible": False,
        "final_answer": "",
        "citations": ["D1"],
        "follow_up": BORN,
        **changes,
    }


def last(**changes: Any) -> dict[str, Any]:
    """A reply to the last step, which may not ask."""
    return {key: value for key, value in step(**changes).items() if key != "follow_up"}


def done(**changes: Any) -> dict[str, Any]:
    """A reply that answers."""
    found = {"summary": "Ada was born in Ulm.", "answer_possible": True, "final_answer": "Ulm"}
    return step(**{**found, "follow_up": "", **changes})


def test_the_summary_is_carried_on_and_the_documents_are_not() -> None:
    library = Library(contexts={QUERY.text: context_of(CLUB), BORN: context_of(ADA)})
    llm = QueuedLLM([step(summary="Ada  founded\nthe club.", follow_up=f" {BORN}\n"), done()])
    answer = answer_of(Cot(), library, llm)
    assert (answer.outcome, answer.text, answer.reasoning) == (
        "answered",
        "Ulm",
        "Ada was born in Ulm.",
    )
    assert answer.citations == (CITE_CLUB, CITE_ADA)
    assert library.asked == [QUERY.text, BORN]
    assert answer.retrieved.query == QUERY
    first, second = llm.prompts
    assert CLUB.titled_text in first
    assert "Found before" not in first
    assert CLUB.titled_text not in second
    assert ADA.titled_text in second
    assert "Found before (data as well): Ada founded the club.\n" in second
    assert all(f"Question: {ASKED}\n" in prompt for prompt in llm.prompts)
    assert told(answer) == [
        f"retrieval: {QUERY.text}",
        "call cot",
        f"retrieval: {BORN}",
        "call cot",
    ]


def test_an_answer_ends_it() -> None:
    library, llm = Library(), QueuedLLM([done()])
    answer = answer_of(Cot(max_tokens=77), library, llm)
    assert (answer.text, library.asked, answer.usage.calls) == ("Ulm", [QUERY.text], 1)
    [call] = llm.calls
    assert (call.name, call.max_tokens) == ("cot", 77)


def test_the_last_step_cannot_ask() -> None:
    llm = QueuedLLM([step(), step(follow_up=WHEN), last()])
    answer = answer_of(Cot(), Library(), llm)
    assert (answer.outcome, answer.text) == ("insufficient", INSUFFICIENT)
    assert answer.reasoning == "Ada founded the club."
    asks = ["follow_up" in call.schema["properties"] for call in llm.calls]
    assert asks == [True, True, False]
    assert ['"follow_up"' in prompt for prompt in llm.prompts] == asks


def test_as_many_steps_as_it_may_take() -> None:
    llm = QueuedLLM([last(answer_possible=True, final_answer="Ulm")])
    assert answer_of(Cot(steps=1), Library(), llm).text == "Ulm"
    assert len(llm.calls) == 1
    with pytest.raises(UsageError, match="steps of cot must be an integer between 1 and 10, not 0"):
        Cot(steps=0)


@pytest.mark.parametrize("follow_up", ["", " \n", ASKED, f"{BORN} "])
def test_a_question_that_would_find_the_same_again_ends_it(follow_up: str) -> None:
    library, llm = Library(), QueuedLLM([step(), step(follow_up=follow_up)])
    answer = answer_of(Cot(steps=5), library, llm)
    assert (answer.outcome, library.asked) == ("insufficient", [QUERY.text, BORN])


@pytest.mark.parametrize(
    "changes", [{"final_answer": "unknown"}, {"final_answer": ""}, {"answer_possible": False}]
)
def test_no_answer_is_given_before_it_is_possible(changes: dict[str, Any]) -> None:
    llm = QueuedLLM([done(follow_up=BORN, **changes), done(final_answer="Linz")])
    assert answer_of(Cot(), Library(), llm).text == "Linz"


def test_no_call_if_the_question_finds_nothing() -> None:
    library = Library(EMPTY)
    answer = answer_of(Cot(), library, QueuedLLM([]))
    assert (answer.outcome, answer.reasoning) == ("insufficient", NO_EVIDENCE)
    assert library.asked == [QUERY.text]


def test_a_later_step_that_finds_nothing_can_use_what_is_known() -> None:
    reply = {key: value for key, value in done().items() if key != "citations"}
    llm = QueuedLLM([step(), reply])
    answer = answer_of(Cot(), Library(contexts={BORN: EMPTY}), llm)
    assert (answer.text, answer.citations) == ("Ulm", (CITE_CLUB,))
    assert "citations" not in llm.calls[1].schema["properties"]
    assert '"citations"' not in llm.prompts[1]


def test_labels_are_those_of_the_step() -> None:
    """D1 is the club at first, and Ada then."""
    library = Library(contexts={QUERY.text: context_of(CLUB, ADA), BORN: context_of(ADA)})
    llm = QueuedLLM([step(), done()])
    answer_of(Cot(), library, llm)
    given = [call.schema["properties"]["citations"]["items"]["enum"] for call in llm.calls]
    assert given == [["D1", "D2"], ["D1"]]
