"""decompose with chain: the last sub-question's answer is that of the whole."""

from __future__ import annotations

from sarag_rdf.answering.conversation import INSUFFICIENT
from sarag_rdf.plugins.papers.decompose import Decompose
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ASKED,
    CITE_ADA,
    CITE_CLUB,
    QUERY,
    Library,
    answer_of,
    brief,
    told,
)

SPLIT = {"questions": ["Who founded the club?", "Where was #1 born?"]}


def test_each_link_is_retrieved_for_with_the_answer_before_and_cited() -> None:
    library, llm = Library(), QueuedLLM([SPLIT, brief("Ada"), brief("Ulm")])
    answer = answer_of(Decompose(chain=True), library, llm)
    assert (answer.outcome, answer.text) == ("answered", "Ulm")
    assert library.asked == ["Who founded the club?", "Where was Ada born?"]
    assert answer.citations == (CITE_CLUB, CITE_ADA)
    assert answer.reasoning == "Who founded the club? Ada\nWhere was Ada born? Ulm"
    assert [call.name for call in llm.calls] == ["decompose", "answer_brief", "answer_brief"]
    assert told(answer)[-1] == "call answer_brief"


def test_a_last_link_without_answer_is_an_abstention() -> None:
    llm = QueuedLLM([SPLIT, brief("Ada"), brief(INSUFFICIENT)])
    answer = answer_of(Decompose(chain=True), Library(), llm)
    assert (answer.outcome, len(llm.calls)) == ("insufficient", 3)


def test_a_question_of_one_fact_is_asked_as_it_is() -> None:
    library, llm = Library(), QueuedLLM([{"questions": [ASKED]}, brief("Ulm")])
    answer = answer_of(Decompose(chain=True, brief=True), library, llm)
    assert (answer.text, library.asked, len(llm.calls)) == ("Ulm", [QUERY.text], 2)
