"""The model's query is run: what is bound confirms its answer or is handed back."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.plugins.papers import sparql_grounded
from sarag_rdf.plugins.papers.sparql_grounded import (
    Binding,
    Grounding,
    PatternQuery,
    SparqlGrounded,
    Support,
)
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import CITE_ADA, EMPTY, QUERY, Library, answer_of, told

SUPPORT = Support("urn:r1", "Ada was born in Ulm", "urn:d2", 0.9)
ULM = Binding("Ulm", "urn:ulm", 0.8, {"answer": "Ulm"}, (SUPPORT,))
BOUND = Grounding((), (ULM,), "", "SELECT *", True)


class Fixed:
    """Grounds everything alike, and notes what it is asked."""

    def __init__(self, grounding: Grounding) -> None:
        self.grounding = grounding
        self.asked: list[PatternQuery] = []

    def ground(self, query: PatternQuery) -> Grounding:
        self.asked.append(query)
        return self.grounding


@pytest.fixture(autouse=True)
def fixed_grounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The view of a conversation is what grounds its queries."""
    monkeypatch.setattr(sparql_grounded, "Grounder", lambda view: view)


def reply(**changes: Any) -> dict[str, Any]:
    return {
        "query": 'SELECT ?answer WHERE { "Ada" "born in" ?answer }',
        "bindings": [{"variable": "?answer", "value": "Ulm"}],
        "sufficient": True,
        "final_answer": "Ulm",
        "citations": ["D2"],
        **changes,
    }


SECOND = {"reasoning": "It fits.", "sufficient": True, "final_answer": "Ulm", "citations": ["D2"]}


def test_an_answer_that_the_graph_confirms_needs_one_call() -> None:
    grounder, llm = Fixed(BOUND), QueuedLLM([reply(final_answer="the city of Ulm")])
    answer = answer_of(SparqlGrounded(), Library(), llm, QUERY, grounder)
    assert (answer.text, answer.citations) == ("the city of Ulm", (CITE_ADA,))
    assert told(answer)[1:] == ["call sparql_cot", "note grounding"]
    note = answer.trace[-1].detail
    assert [note[key] for key in ("parsed", "linked", "bound", "agrees")] == [True] * 4
    assert note["bindings"][0]["documents"] == ["urn:d2"]
    assert grounder.asked[0].patterns[0].predicate == "born in"


def test_what_the_graph_finds_otherwise_is_handed_back() -> None:
    llm = QueuedLLM([reply(final_answer="Wels"), SECOND])
    answer = answer_of(SparqlGrounded(), Library(), llm, QUERY, Fixed(BOUND))
    assert answer.text == "Ulm"
    assert [call.name for call in llm.calls] == ["sparql_cot", "sparql_grounded"]
    assert "- Ulm (because: Ada was born in Ulm)" in llm.prompts[1]
    assert "Wels" in llm.prompts[1]
    assert answer.trace[-2].detail["agrees"] is False
    assert answer.usage.calls == 2


def test_an_abstention_is_asked_again_with_what_was_bound() -> None:
    llm = QueuedLLM([reply(sufficient=False, final_answer=""), SECOND])
    assert answer_of(SparqlGrounded(), Library(), llm, QUERY, Fixed(BOUND)).text == "Ulm"


def test_what_cannot_be_read_linked_or_bound_goes_on_as_sparql_cot() -> None:
    unlinked = Grounding(problem="no entity is called 'Ada'")
    for query, grounding, flags in (
        ("tell me", BOUND, [False, False, False]),
        (reply()["query"], unlinked, [True, False, False]),
        (reply()["query"], Grounding(problem="no solution", is_linked=True), [True, True, False]),
    ):
        llm = QueuedLLM([reply(query=query)])
        answer = answer_of(SparqlGrounded(), Library(), llm, QUERY, Fixed(grounding))
        assert (answer.text, len(llm.calls)) == ("Ulm", 1)
        note = answer.trace[-1].detail
        assert [note[key] for key in ("parsed", "linked", "bound")] == flags
        assert note["problem"]


def test_no_document_no_call() -> None:
    answer = answer_of(SparqlGrounded(), Library(EMPTY), QueuedLLM([]), QUERY, Fixed(BOUND))
    assert answer.outcome == "insufficient"
