"""The default of ``ask``: chains, comparisons that code decides, and the question as it is."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.answering.auto import Auto
from sarag_rdf.answering.comparison import Comparison, checked, decided
from sarag_rdf.answering.conversation import INSUFFICIENT, NO_EVIDENCE, Found
from sarag_rdf.base import plugins
from sarag_rdf.base.types import Answer, Evidence, Fact, Query
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ASKED,
    CITE_ADA,
    CITE_CLUB,
    CONTEXT,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    brief,
    retrieved_for,
    split,
    told,
)

OLDER = Query("Who is older, Ada or Bo?")
ADA_BORN, BO_BORN = "When was Ada born?", "When was Bo born?"
SAME = Query("Are Ada and Bo from the same country?")


def plan(comparison: Comparison, *questions: str) -> dict[str, Any]:
    return {"things": ["Ada", "Bo"], "questions": list(questions), "kind": comparison}


# -------------------------------------------------------------------------------- Chains


def test_a_chain_is_answered_by_its_last_part() -> None:
    library = Library()
    llm = QueuedLLM(
        [split("Who founded the club?", "Where was #1 born?"), brief("Ada"), brief("Ulm")]
    )
    answer = answer_of(Auto(), library, llm)
    assert (answer.outcome, answer.text) == ("answered", "Ulm")
    assert library.asked == ["Who founded the club?", "Where was Ada born?"]
    assert answer.citations == (CITE_CLUB, CITE_ADA)
    assert answer.reasoning == "Who founded the club? Ada\nWhere was Ada born? Ulm"


@pytest.mark.parametrize(
    "questions",
    [
        [ASKED],
        ["Who founded the club?", "Where was the founder born?"],  # refers to nothing
        ["Who is #1?", "Where was #1 born?"],
        ["Who founded the club?", "Who is Ada?", "Where was #1 born?"],
        ["Who founded the club?", "When was #1 born?"],  # asks for something else
        ["Who founded the club?", "Who taught #1?"],
        ["Who founded the club?", "The birthplace of #1?"],  # asks nothing
    ],
)
def test_what_is_no_chain_is_asked_as_it_is(questions: list[str]) -> None:
    library, llm = Library(), QueuedLLM([split(*questions), brief("Ulm")])
    answer = answer_of(Auto(), library, llm)
    assert (answer.text, library.asked) == ("Ulm", [QUERY.text])
    assert told(answer) == ["call decompose", f"retrieval: {QUERY.text}", "call answer_brief"]


@pytest.mark.parametrize("stuck", [0, 1])
def test_a_chain_that_does_not_end_falls_back_on_the_question_with_what_was_found(
    stuck: int,
) -> None:
    answers = [brief("Ada"), brief("Ulm")]
    answers[stuck] = brief(INSUFFICIENT)
    parts = split("Who founded the club?", "Where was #1 born?")
    llm = QueuedLLM([parts, *answers[: stuck + 1], brief("Ulm")])
    library = Library()
    answer = answer_of(Auto(), library, llm)
    assert (answer.text, library.asked[-1]) == ("Ulm", QUERY.text)
    assert ("- Who founded the club? Ada" in llm.prompts[-1]) is (stuck == 1)


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Who founded the club?", "5 May 1903"), ("When was it founded?", "Ada")],
)
def test_an_answer_of_another_kind_is_none(question: str, answer: str) -> None:
    library = Library()
    llm = QueuedLLM([split(question, "Where was #1 born?"), brief(answer), brief("Ulm")])
    assert answer_of(Auto(), library, llm).text == "Ulm"
    assert library.asked == [question, QUERY.text]
    assert f"- {question}" not in llm.prompts[-1]


def test_a_part_for_which_nothing_is_found_is_not_put_to_the_model() -> None:
    library = Library(contexts={"Who founded the club?": EMPTY})
    llm = QueuedLLM([split("Who founded the club?", "Where was #1 born?"), brief("Ulm")])
    assert answer_of(Auto(), library, llm).text == "Ulm"
    assert library.asked == ["Who founded the club?", QUERY.text]


def test_a_relative_of_a_relative_needs_no_call_to_split_the_question() -> None:
    library, llm = Library(), QueuedLLM([brief("Bo"), brief("Cy")])
    answer = answer_of(Auto(), library, llm, Query("Who was Ada's paternal grandfather?"))
    assert (answer.text, answer.usage.calls) == ("Cy", 2)
    assert library.asked == ["Who was the father of Ada?", "Who was the father of Bo?"]


def test_nothing_found_is_an_abstention() -> None:
    answer = answer_of(Auto(), Library(EMPTY), QueuedLLM([split(ASKED)]))
    assert (answer.outcome, answer.reasoning) == ("insufficient", NO_EVIDENCE)


def test_a_large_model_may_reason_about_the_whole_question() -> None:
    reply = {"reasoning": "D1", "sufficient": True, "final_answer": "Ulm", "citations": ["D2"]}
    answer = answer_of(Auto(reasoned=True), Library(), QueuedLLM([split(ASKED), reply]))
    assert (answer.text, answer.reasoning, answer.citations) == ("Ulm", "D1", (CITE_ADA,))


# --------------------------------------------------------------------------- Comparisons


def test_dates_are_compared_by_code() -> None:
    library = Library()
    llm = QueuedLLM([plan("earliest", ADA_BORN, BO_BORN), brief("in May 1910"), brief("1903")])
    answer = answer_of(Auto(), library, llm, OLDER)
    assert (answer.outcome, answer.text) == ("answered", "Bo")
    assert library.asked == [ADA_BORN, BO_BORN]
    assert told(answer)[-1] == "note comparison"
    assert dict(answer.trace[-1].detail) == {"comparison": "earliest", "decided": "Bo"}
    assert answer.reasoning == f"{ADA_BORN} in May 1910\n{BO_BORN} 1903"


def test_the_words_of_the_question_correct_the_plan() -> None:
    query = Query("Who was born first, Ada or Bo?")
    said = {**plan("latest", ADA_BORN, BO_BORN), "things": ["Ada", "Bo?"]}
    llm = QueuedLLM([said, brief("1910"), brief("1903")])
    assert answer_of(Auto(), Library(), llm, query).text == "Bo"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who died later, Ada or Bo?", "latest"),
        ("Which opened last, First Hall or Ada?", "earliest"),  # both words: as planned
        ("Which was built in 1903, A or B?", "earliest"),
    ],
)
def test_words_of_time(question: str, expected: str) -> None:
    assert checked("earliest", question) == expected
    assert checked("largest", question) == "largest"


def test_the_things_that_are_compared_may_first_be_looked_up() -> None:
    library = Library()
    questions = ("Who wrote A?", "Who wrote B?", "When was #1 born?", "When was #2 born?")
    replies = [plan("latest", *questions), *map(brief, ("Ada", "Bo", "1910", "1903"))]
    llm = QueuedLLM(replies)
    younger = Query("Which book has the younger author, A or B?")
    assert answer_of(Auto(), library, llm, younger).text == "Ada"
    assert library.asked == ["Who wrote A?", "Who wrote B?", ADA_BORN, BO_BORN]


def test_a_part_that_refers_to_no_answer_is_not_asked() -> None:
    library = Library()
    said = plan("same", "From which country is #1?", "From which country is #2?")
    assert answer_of(Auto(), library, QueuedLLM([said, brief("no")]), SAME).text == "no"
    assert library.asked == [SAME.text]


def test_what_code_cannot_decide_is_asked_with_what_was_found() -> None:
    llm = QueuedLLM(
        [plan("earliest", ADA_BORN, BO_BORN), brief("1903, or 1904"), brief("1903"), brief("Bo")]
    )
    library = Library()
    assert answer_of(Auto(), library, llm, OLDER).text == "Bo"
    assert library.asked[-1] == OLDER.text
    assert f"- {ADA_BORN} 1903, or 1904\n- {BO_BORN} 1903" in llm.prompts[-1]


def test_a_comparison_with_a_missing_side_is_asked_with_the_other() -> None:
    llm = QueuedLLM(
        [plan("earliest", ADA_BORN, BO_BORN), brief("1910"), brief("unknown"), brief("Bo")]
    )
    assert answer_of(Auto(), Library(), llm, OLDER).text == "Bo"
    assert f"- {ADA_BORN} 1910" in llm.prompts[-1]
    assert BO_BORN not in llm.prompts[-1]


def test_names_that_differ_are_judged_by_the_model() -> None:
    parts = ("From which country is Ada?", "From which country is Bo?")
    llm = QueuedLLM([plan("same", *parts), brief("British"), brief("United Kingdom"), brief("yes")])
    answer = answer_of(Auto(), Library(), llm, SAME)
    assert (answer.text, llm.calls[-1].name) == ("yes", "verdict")
    assert f"- {parts[0]} British\n- {parts[1]} United Kingdom" in llm.prompts[-1]
    assert llm.calls[-1].schema["properties"]["final_answer"]["enum"] == ["yes", "no"]


@pytest.mark.parametrize(
    "other",
    [plan("other", ASKED), plan("earliest", ADA_BORN), plan("both", "Is Ada?", "Is Bo?")],
)
def test_a_question_with_or_that_compares_nothing_is_split_as_others(other: dict[str, Any]) -> None:
    query = Query("Who lives in or near Ulm?")
    llm = QueuedLLM([other, split(query.text), brief("Ada")])
    assert answer_of(Auto(), Library(), llm, query).text == "Ada"
    assert [call.name for call in llm.calls] == ["compare", "decompose", "answer_brief"]


@pytest.mark.parametrize(
    ("comparison", "one", "other", "expected"),
    [
        ("earliest", "1903", "1910", "A"),
        ("earliest", "12 June 1967", "31 December 1942", "B"),
        ("latest", "1903", "May 1903", ""),
        ("latest", "44 BC", "1903", "B"),
        ("latest", "from 1903 to 1910", "1911", ""),
        ("latest", "1903", "yesterday", ""),
        ("largest", "1,200 km", "540 km", "A"),
        ("smallest", "1,200", "2 million", "A"),
        ("smallest", "1,200 km", "540 miles", ""),
        ("smallest", "540", "540", ""),
        ("largest", "540 of 600", "541", ""),
        ("same", "Ulm, Germany", "Germany", "yes"),
        ("same", "British", "United Kingdom", ""),
        ("same", "...", "Germany", ""),
        ("both", "Yes", "yes.", "yes"),
        ("both", "Yes", "No, a poet", "no"),
        ("both", "a magazine", "no", "no"),
        ("both", "a magazine", "yes", ""),
    ],
)
def test_decisions(comparison: Comparison, one: str, other: str, expected: str) -> None:
    assert decided(comparison, ["A", "B"], [one, other]) == expected


def test_things_that_were_not_named_cannot_be_the_answer() -> None:
    assert decided("earliest", ["A"], ["1903", "1910"]) == ""


# -------------------------------------------------------------------------------- Lookups


def looked_up(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, list[str]], question: Query, llm: QueuedLLM
) -> tuple[Answer, list[str]]:
    """What is answered where statements answer these questions, and what was searched for."""

    def lookup(_: Any, query: Query) -> Found | None:
        names = found.get(query.text)
        return (
            Found(names, "a path", 0.8, Evidence(retrieved_for(query), CONTEXT)) if names else None
        )

    monkeypatch.setattr(plugins, "loadable", lambda _: [(None, lookup)])
    library = Library()
    answer = answer_of(Auto(), library, llm, question, view=object())
    return Auto().rated(answer), library.asked


def test_what_statements_answer_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    question, llm = Query("Who founded the club?"), QueuedLLM([])
    answer, asked = looked_up(monkeypatch, {question.text: ["Ada", "Bo"]}, question, llm)
    assert (answer.outcome, answer.text, answer.reasoning) == ("answered", "Ada; Bo", "a path")
    assert (answer.usage.calls, asked) == (0, [])
    assert answer.facts == (Fact(question.text, "Ada; Bo", 0.8, is_looked_up=True),)
    assert answer.confidence == 0.8
    assert answer.citations == (CITE_CLUB, CITE_ADA)
    assert answer.trace[-1].detail["answers"] == ["Ada", "Bo"]
    assert answer.retrieved.query == question


def test_parts_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next part asks about one thing: several are read for, and the model says which."""
    parts = split("Who founded the club?", "Where was #1 born?")
    found = {"Who founded the club?": ["Ada"]}
    answer, asked = looked_up(monkeypatch, found, QUERY, QueuedLLM([parts, brief("Ulm")]))
    assert (answer.text, asked) == ("Ulm", ["Where was Ada born?"])
    assert [fact.is_looked_up for fact in answer.facts] == [True, False]
    found = {"Who founded the club?": ["Ada", "Bo"], "Where was Bo born?": ["Linz", "Graz"]}
    answer, asked = looked_up(monkeypatch, found, QUERY, QueuedLLM([parts, brief("Bo")]))
    assert (answer.text, asked) == ("Linz; Graz", ["Who founded the club?"])


@pytest.mark.parametrize(
    "question", ["Is Ada the founder?", "How many clubs did Ada found?", "When did Ada found it?"]
)
def test_names_answer_no_question_for_truth_numbers_or_times(
    monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    llm = QueuedLLM([split(question), brief("1")])
    answer, _ = looked_up(monkeypatch, {question: ["Ada"]}, Query(question), llm)
    assert answer.text == "1"
    assert told(answer)[0] == "call decompose", "what was not used is no evidence"


@pytest.mark.parametrize(
    ("question", "name"),
    [("When did Ada found it?", "1903-05-04"), ("How many members has the club?", "540")],
)
def test_dates_and_numbers_are_looked_up(
    monkeypatch: pytest.MonkeyPatch, question: str, name: str
) -> None:
    answer, _ = looked_up(monkeypatch, {question: [name]}, Query(question), QueuedLLM([]))
    assert answer.text == name


def test_a_comparison_that_a_lookup_decides_needs_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, asked = looked_up(monkeypatch, {OLDER.text: ["Bo"]}, OLDER, QueuedLLM([]))
    assert (answer.text, asked) == ("Bo", [])
    either = Query("Was Ada or Bo born first?")
    answer, _ = looked_up(monkeypatch, {either.text: ["Bo"]}, either, QueuedLLM([]))
    assert answer.text == "Bo", "it is no question for yes or no"


def test_the_parts_of_a_comparison_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {ADA_BORN: ["1903"], BO_BORN: ["1901"]}
    llm = QueuedLLM([plan("earliest", ADA_BORN, BO_BORN)])
    answer, asked = looked_up(monkeypatch, found, OLDER, llm)
    assert (answer.text, asked) == ("Bo", [])
    assert answer.confidence == 0.8, "nothing was read"
