"""One call over the evidence, and what every other way of answering has in common with it."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.answering.conversation import INSUFFICIENT, abstains
from sarag_rdf.answering.single import Single
from sarag_rdf.base.errors import TruncatedReplyError
from sarag_rdf.base.types import Answer, Citation, Context, Excerpt, Section, Usage
from sarag_rdf.plugins.papers.reasoning_bottleneck import ClosedBook
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ADA,
    ASKED,
    CITE_ADA,
    CITE_CLUB,
    CONTEXT,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    told,
)


def reply(**changes: Any) -> dict[str, Any]:
    return {
        "reasoning": " D1, then D2. ",
        "sufficient": True,
        "final_answer": " Ulm ",
        "citations": ["D2", "D1", "D2"],
        **changes,
    }


def ask(**changes: Any) -> Answer:
    return answer_of(Single(), Library(), QueuedLLM([reply(**changes)]))


def test_an_answer_with_its_reasons_and_each_citation_once() -> None:
    library, llm = Library(), QueuedLLM([reply()])
    answer = answer_of(Single(), library, llm)
    assert (answer.outcome, answer.text, answer.reasoning) == ("answered", "Ulm", "D1, then D2.")
    assert answer.citations == (CITE_ADA, CITE_CLUB)
    assert library.asked == [QUERY.text]
    assert answer.retrieved.query == QUERY
    assert [evidence.context for evidence in answer.evidence] == [CONTEXT]
    assert answer.usage == Usage(1, 0, len(llm.prompts[0].split()), len(str(reply()).split()))


def test_the_trace_holds_what_was_found_and_what_the_model_said() -> None:
    retrieval, call = ask().trace
    assert (retrieval.kind, retrieval.name) == ("retrieval", "fixed")
    assert retrieval.detail == {
        "question": QUERY.text,
        "documents": ["urn:d1", "urn:d2"],
        "titles": ["Title 1", "Title 2"],
        "tokens": 14,
    }
    assert (call.kind, call.name, call.detail) == ("call", "answer", reply())


@pytest.mark.parametrize(
    "changes",
    [
        {"sufficient": False},
        {"final_answer": " "},
        {"final_answer": "Insufficient information."},
        {"sufficient": False, "final_answer": "", "citations": []},
    ],
)
def test_an_answer_that_the_model_does_not_stand_by_is_none(changes: dict[str, Any]) -> None:
    answer = ask(**changes)
    assert (answer.outcome, answer.text) == ("insufficient", INSUFFICIENT)


@pytest.mark.parametrize("text", ["N/A", "I don't know.", "I don\u2019t know", '"Unknown"', "none"])
def test_words_for_nothing_are_no_answer(text: str) -> None:
    assert abstains(text)


@pytest.mark.parametrize("text", ["None", "Unknown"])
def test_a_name_that_looks_like_nothing_is_an_answer_with_its_citations(text: str) -> None:
    answer = ask(final_answer=text, citations=["D1"])
    assert (answer.outcome, answer.text, answer.citations) == ("answered", text, (CITE_CLUB,))
    assert ask(final_answer=text, citations=[]).outcome == "insufficient"
    assert ask(final_answer=text, citations=["D1"], sufficient=False).outcome == "insufficient"


@pytest.mark.parametrize("text", ["no", "No.", "0", "Unknown Pleasures", "None of them", "???"])
def test_words_that_only_look_like_nothing_are_an_answer(text: str) -> None:
    assert not abstains(text)


@pytest.mark.parametrize("brief", [False, True])
def test_no_call_without_evidence(brief: bool) -> None:
    for context in (EMPTY, Context((Section("", {}),))):
        answer = answer_of(Single(brief=brief), Library(context), QueuedLLM([]))
        assert (answer.outcome, answer.text) == ("insufficient", INSUFFICIENT)
        assert answer.usage == Usage()
        assert told(answer) == [f"retrieval: {QUERY.text}"]


@pytest.mark.parametrize("brief", [False, True])
def test_facts_without_documents_are_asked_and_their_sources_cited(brief: bool) -> None:
    """Of two facts the second contains the answer; no label can be cited, so its source is."""
    facts = ("Ada founded the club.", "Ada was born in Ulm.")
    sources = dict(zip(facts, (CITE_CLUB, CITE_ADA), strict=True))
    context = Context((Section("", {}, facts[:1], facts[1:], sources),))
    given = {"final_answer": "Ulm"} if brief else reply(final_answer="Ulm")
    given.pop("citations", None)
    llm = QueuedLLM([given])
    answer = answer_of(Single(brief=brief), Library(context), llm)
    assert (answer.outcome, answer.text, answer.citations) == ("answered", "Ulm", (CITE_ADA,))
    assert "citations" not in llm.calls[0].schema["properties"]
    assert all(fact in llm.prompts[0] for fact in facts)


def test_the_call_admits_no_label_that_was_not_given() -> None:
    llm = QueuedLLM([reply()])
    answer_of(Single(max_tokens=77), Library(), llm)
    [call] = llm.calls
    assert (call.name, call.max_tokens) == ("answer", 77)
    assert list(call.schema["properties"]) == [
        "reasoning",
        "sufficient",
        "final_answer",
        "citations",
    ]
    assert call.schema["properties"]["citations"]["items"]["enum"] == ["D1", "D2"]
    assert call.schema["required"] == list(call.schema["properties"])
    assert call.schema["additionalProperties"] is False
    assert f"Question: {ASKED}\n" in call.prompt


def test_errors_are_raised() -> None:
    with pytest.raises(TruncatedReplyError):
        answer_of(Single(), Library(), QueuedLLM([TruncatedReplyError("cut")]))


def test_a_citation_reaches_from_the_first_to_the_last_shown_character() -> None:
    """ "was" is at 4 to 7 and "Ulm" at 16 to 19 of a text that begins at 20 of its source."""
    excerpt = Excerpt(ADA, ((4, 7), (16, 19)))
    library = Library(Context((Section("", {"D1": excerpt}),)))
    answer = answer_of(Single(), library, QueuedLLM([reply(citations=["D1"])]))
    assert answer.citations == (Citation("urn:d2", "urn:s2", "Title 2", 24, 39),)


def test_a_brief_answer_cites_what_holds_it_word_for_word() -> None:
    llm = QueuedLLM([{"final_answer": " the  Ulm. "}])
    answer = answer_of(Single(brief=True), Library(), llm)
    assert (answer.outcome, answer.text, answer.reasoning) == ("answered", "the Ulm.", "")
    assert answer.citations == (CITE_ADA,)
    [call] = llm.calls
    assert (call.name, list(call.schema["properties"])) == ("answer_brief", ["final_answer"])
    assert told(answer) == [f"retrieval: {QUERY.text}", "call answer_brief"]


@pytest.mark.parametrize(
    ("text", "citations"),
    [("Ul", ()), ("Ada", (CITE_CLUB, CITE_ADA)), ("title 1", (CITE_CLUB,)), ("Linz", ())],
)
def test_parts_of_words_are_not_cited(text: str, citations: tuple[Citation, ...]) -> None:
    llm = QueuedLLM([{"final_answer": text}])
    assert answer_of(Single(brief=True), Library(), llm).citations == citations


def test_a_brief_answer_may_be_none() -> None:
    llm = QueuedLLM([{"final_answer": "Insufficient information"}])
    answer = answer_of(Single(brief=True), Library(), llm)
    assert (answer.outcome, answer.text, answer.citations) == ("insufficient", INSUFFICIENT, ())


# ---------------------------------------------------------------------------- By heart


def test_by_heart_nothing_is_retrieved_and_nothing_cited() -> None:
    library, llm = Library(), QueuedLLM([{"reasoning": " I know. ", "final_answer": "Ulm"}])
    answer = answer_of(ClosedBook(max_tokens=77), library, llm)
    assert (answer.outcome, answer.text, answer.reasoning) == ("answered", "Ulm", "I know.")
    assert (library.asked, answer.evidence, answer.citations) == ([], (), ())
    assert (answer.retrieved.query, answer.retrieved.retriever) == (QUERY, "none")
    [call] = llm.calls
    assert (call.name, call.max_tokens) == ("closed_book", 77)
    assert f"\n{ASKED}\n=== end " in call.prompt


def test_by_heart_it_may_not_be_known() -> None:
    llm = QueuedLLM([{"reasoning": "", "final_answer": "I don't know."}])
    assert answer_of(ClosedBook(), Library(), llm).outcome == "insufficient"
