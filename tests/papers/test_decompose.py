"""A question in parts: the answers of the first stand in those that follow."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.answering.auto import chain_of, substituted
from sarag_rdf.answering.conversation import INSUFFICIENT, NO_EVIDENCE
from sarag_rdf.base.errors import UnparsableReplyError, UsageError
from sarag_rdf.base.types import Context, Excerpt, Section
from sarag_rdf.plugins.papers.decompose import Decompose, joined
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ADA,
    ASKED,
    CITE_ADA,
    CLUB,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    brief,
    context_of,
    split,
    told,
)

WHO = "Who founded the club?"
BORN = "Where was #1 born?"
ADA_BORN = "Where was Ada born?"


def final(**changes: Any) -> dict[str, Any]:
    """A reply to the whole."""
    return {
        "reasoning": "So.",
        "sufficient": True,
        "final_answer": "Ulm",
        "citations": ["D2"],
        **changes,
    }


def test_answers_take_the_place_of_references_and_stand_in_the_last_prompt() -> None:
    library = Library(contexts={WHO: context_of(CLUB), ADA_BORN: context_of(ADA)})
    llm = QueuedLLM([split(WHO, BORN), brief(" Ada\n"), brief("Ulm"), final()])
    answer = answer_of(Decompose(max_tokens=77), library, llm)
    assert (answer.outcome, answer.text, answer.reasoning) == ("answered", "Ulm", "So.")
    assert answer.citations == (CITE_ADA,)
    assert answer.retrieved.query == QUERY
    assert told(answer) == [
        "call decompose",
        f"retrieval: {WHO}",
        "call answer_brief",
        f"retrieval: {ADA_BORN}",
        "call answer_brief",
        f"retrieval: {QUERY.text}",
        "call answer",
    ]
    _, first, second, whole = llm.prompts
    assert f"Question: {WHO}" in first
    assert ADA.titled_text not in first
    assert f"Question: {ADA_BORN}" in second
    assert f"Found before (data as well)\n- {WHO} Ada\n- {ADA_BORN} Ulm\n" in whole
    assert f"Question: {ASKED}\n" in whole
    assert llm.calls[-1].max_tokens == 77


def test_two_calls_more_than_questions_at_most() -> None:
    parts = [split("A?", "B?", "C?"), *[brief("x")] * 3, final()]
    llm = QueuedLLM(parts)
    answer_of(Decompose(most=3), Library(), llm)
    assert len(llm.calls) == 5
    assert llm.calls[0].schema["properties"]["questions"]["maxItems"] == 3
    assert "at most 3" in llm.prompts[0]
    with pytest.raises(UnparsableReplyError):
        answer_of(Decompose(most=2), Library(), QueuedLLM(parts))
    with pytest.raises(
        UsageError, match="most of decompose must be an integer between 1 and 50, not 0"
    ):
        Decompose(most=0)


@pytest.mark.parametrize("question", [WHO, ASKED])
def test_one_question_is_the_whole(question: str) -> None:
    library, llm = Library(), QueuedLLM([split(question), final()])
    answer = answer_of(Decompose(), library, llm)
    assert [call.name for call in llm.calls] == ["decompose", "answer"]
    assert (answer.text, library.asked) == ("Ulm", [QUERY.text])


def test_what_was_not_found_leaves_its_place_empty_and_is_no_fact() -> None:
    library = Library()
    llm = QueuedLLM([split(WHO, BORN, "#1"), brief("unknown"), brief("Ulm"), final()])
    answer_of(Decompose(), library, llm)
    assert library.asked == [WHO, "Where was born?", QUERY.text]
    assert "Found before (data as well)\n- Where was born? Ulm\n\nQuestion" in llm.prompts[-1]


def test_a_part_that_finds_nothing_is_not_put_to_the_model() -> None:
    llm = QueuedLLM([split(WHO, BORN), brief("Ulm"), final()])
    answer_of(Decompose(), Library(contexts={WHO: EMPTY}), llm)
    assert [call.name for call in llm.calls] == ["decompose", "answer_brief", "answer"]
    assert WHO not in llm.prompts[-1]


def test_the_whole_is_not_put_to_the_model_without_documents() -> None:
    llm = QueuedLLM([split(WHO)])
    answer = answer_of(Decompose(), Library(EMPTY), llm)
    assert (answer.outcome, answer.reasoning) == ("insufficient", NO_EVIDENCE)
    assert answer.usage.calls == 1


def test_brief_to_the_end() -> None:
    llm = QueuedLLM([split(WHO, BORN), brief("Ada"), brief("Ulm"), brief("Ulm")])
    answer = answer_of(Decompose(brief=True), Library(), llm)
    assert (answer.text, answer.citations) == ("Ulm", (CITE_ADA,))
    assert [call.name for call in llm.calls[1:]] == ["answer_brief"] * 3
    assert f"Known:\n- {WHO} Ada\n- {ADA_BORN} Ulm\n" in llm.prompts[-1]


def test_an_answer_that_is_none_in_the_end() -> None:
    llm = QueuedLLM([split(WHO), final(sufficient=False)])
    assert answer_of(Decompose(), Library(), llm).text == INSUFFICIENT


@pytest.mark.parametrize(
    ("questions", "chain"),
    [
        (["", " "], ["Whole?"]),
        (["Whole?"], ["Whole?"]),
        (["a?", "a?", " b?\n"], ["a?", "b?"]),
        (["a?", "a whole", "#1?", "#9?"], ["a?", "a whole", "#1?", "#0?"]),
        (["", "a?", "b?", "a?", "#4 or #3?"], ["a?", "b?", "#1 or #2?"]),
        (["whole", "a?", "#1?"], ["a?", "Whole?"]),
        (["a?", "whole?"], ["a?", "Whole?"]),
    ],
)
def test_questions_that_make_no_chain(questions: list[str], chain: list[str]) -> None:
    assert chain_of(questions, "Whole?") == chain


def test_references_to_what_does_not_exist() -> None:
    assert substituted("Is #3 in #2 or #10 or #1 or #0?", ["Ulm", "Linz"]) == (
        "Is in Linz or or Ulm or ?"
    )


def test_sentences_of_a_document_in_both_contexts_are_all_shown() -> None:
    one = Context((Section("a", {"D1": Excerpt(ADA, ((8, 12),))}),), 2, "test")
    two = Context((Section("b", {"D1": Excerpt(ADA, ((0, 3), (8, 12)))}),), 3, "test")
    both = joined(one, two)
    assert [(s.heading, {k: e.spans for k, e in s.excerpts.items()}) for s in both.sections] == [
        ("a", {"D1": ((0, 3), (8, 12))})
    ]
    assert (both.tokens, both.builder) == (5, "test")


def test_a_document_in_both_contexts_counts_once() -> None:
    both = joined(context_of(CLUB), context_of(CLUB))
    assert (both.tokens, len(both.excerpts)) == (7, 1)
    assert joined(context_of(CLUB), context_of(ADA)).tokens == 14
    assert joined(EMPTY, context_of(ADA)).tokens == 7
    assert joined(context_of(ADA), EMPTY).tokens == 7
