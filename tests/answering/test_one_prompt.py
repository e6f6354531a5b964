"""What is answered in one call: as a query, in small steps, by heart; and the choice of a way."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.answering.conversation import INSUFFICIENT, NO_EVIDENCE
from sarag_rdf.answering.single import ClosedBook
from sarag_rdf.base.errors import (
    EndpointDownError,
    SaragError,
    TruncatedReplyError,
    UnparsableReplyError,
)
from sarag_rdf.plugins.papers.reasoning_bottleneck import GenericCot, Route, SparqlCot
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ASKED,
    CITE_ADA,
    CITE_CLUB,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    told,
)

PATTERN = 'SELECT ?answer WHERE { ?x founded "the club" . ?x "born in" ?answer }'


def queried(**changes: Any) -> dict[str, Any]:
    """A reply in the form of SPARQL."""
    return {
        "query": PATTERN,
        "bindings": [
            {"variable": "?x", "value": "Ada"},
            {"variable": "?answer", "value": "Ulm"},
        ],
        "sufficient": True,
        "final_answer": "Ulm",
        "citations": ["D1", "D2"],
        **changes,
    }


def stepped(**changes: Any) -> dict[str, Any]:
    """A reply in small steps."""
    return {
        "steps": [{"question": "Who founded it?", "answer": "Ada"}],
        "sufficient": True,
        "final_answer": "Linz",
        "citations": ["D2"],
        **changes,
    }


# ----------------------------------------------------------------------- SPARQL and steps


def test_a_query_and_its_bindings_are_the_reasoning() -> None:
    library, llm = Library(), QueuedLLM([queried()])
    answer = answer_of(SparqlCot(max_tokens=77), library, llm)
    assert (answer.outcome, answer.text) == ("answered", "Ulm")
    assert answer.reasoning == f"{PATTERN}\n?x = Ada\n?answer = Ulm"
    assert answer.citations == (CITE_CLUB, CITE_ADA)
    assert told(answer) == [f"retrieval: {QUERY.text}", "call sparql_cot"]
    [call] = llm.calls
    assert call.max_tokens == 77
    order = ["query", "bindings", "sufficient", "final_answer", "citations"]
    assert list(call.schema["properties"]) == order
    assert "one to 4 triple patterns" in call.prompt


def test_steps_are_the_reasoning() -> None:
    llm = QueuedLLM([stepped()])
    answer = answer_of(GenericCot(max_tokens=77), Library(), llm)
    assert (answer.text, answer.reasoning) == ("Linz", "Who founded it? Ada")
    assert answer.citations == (CITE_ADA,)
    assert told(answer) == [f"retrieval: {QUERY.text}", "call generic_cot"]
    [call] = llm.calls
    assert (call.max_tokens, call.schema["properties"]["steps"]["maxItems"]) == (77, 5)


@pytest.mark.parametrize("reasoner", [SparqlCot, GenericCot, Route])
def test_no_call_without_documents(reasoner: type[SparqlCot | GenericCot | Route]) -> None:
    answer = answer_of(reasoner(), Library(EMPTY), QueuedLLM([]))
    assert (answer.outcome, answer.reasoning) == ("insufficient", NO_EVIDENCE)


@pytest.mark.parametrize(
    "changes", [{"sufficient": False}, {"final_answer": "N/A", "citations": []}]
)
def test_no_answer(changes: dict[str, Any]) -> None:
    for made, reply in ((SparqlCot, queried(**changes)), (GenericCot, stepped(**changes))):
        answer = answer_of(made(), Library(), QueuedLLM([reply]))
        assert (answer.outcome, answer.text) == ("insufficient", INSUFFICIENT)


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


# --------------------------------------------------------------------------- The choice


def kind(name: str) -> dict[str, Any]:
    return {"type": name}


@pytest.mark.parametrize(
    ("name", "reply", "text"),
    [
        ("bridge", queried(), "Ulm"),
        ("comparison", stepped(), "Linz"),
        ("inference", stepped(), "Linz"),
    ],
)
def test_the_type_of_the_question_chooses_the_way(
    name: str, reply: dict[str, Any], text: str
) -> None:
    library, llm = Library(), QueuedLLM([kind(name), reply])
    answer = answer_of(Route(), library, llm)
    assert (answer.text, answer.usage.calls, library.asked) == (text, 2, [QUERY.text])
    way = "sparql_cot" if name == "bridge" else "generic_cot"
    assert told(answer) == [f"retrieval: {QUERY.text}", "call route", f"call {way}"]
    assert llm.calls[0].schema["properties"]["type"]["enum"] == [
        "bridge",
        "comparison",
        "inference",
    ]
    assert f"Question: {ASKED}" in llm.prompts[0]


@pytest.mark.parametrize("first", ["bridge", "comparison"])
def test_the_other_way_is_tried_once_over_the_same_evidence(first: str) -> None:
    replies = [queried(sufficient=False, citations=["D1"]), stepped()]
    names = ["sparql_cot", "generic_cot"]
    if first == "comparison":
        replies, names = [stepped(final_answer="unknown", citations=[]), queried()], names[::-1]
    library, llm = Library(), QueuedLLM([kind(first), *replies])
    answer = answer_of(Route(max_tokens=77), library, llm)
    assert [call.name for call in llm.calls] == ["route", *names]
    assert [call.max_tokens for call in llm.calls] == [20, 77, 77]
    assert library.asked == [QUERY.text]
    assert answer.usage.calls == 3
    assert answer.usage.tokens_in == sum(len(prompt.split()) for prompt in llm.prompts)
    query, steps = f"{PATTERN}\n?x = Ada\n?answer = Ulm", "Who founded it? Ada"
    if first == "bridge":
        assert (answer.text, answer.citations) == ("Linz", (CITE_ADA,))
        assert answer.reasoning == f"{query}\n\n{steps}"
    else:
        assert (answer.text, answer.citations) == ("Ulm", (CITE_CLUB, CITE_ADA))
        assert answer.reasoning == f"{steps}\n\n{query}"


def test_both_ways_may_find_nothing() -> None:
    llm = QueuedLLM([kind("bridge"), queried(sufficient=False), stepped(sufficient=False)])
    answer = answer_of(Route(), Library(), llm)
    assert (answer.outcome, answer.usage.calls) == ("insufficient", 3)


@pytest.mark.parametrize(
    "reply", [TruncatedReplyError("cut"), UnparsableReplyError("odd"), kind("riddle")]
)
def test_a_type_that_cannot_be_read_is_bridge(reply: dict[str, Any] | Exception) -> None:
    answer = answer_of(Route(), Library(), QueuedLLM([reply, queried()]))
    assert answer.text == "Ulm"
    assert told(answer) == [f"retrieval: {QUERY.text}", "note route", "call sparql_cot"]
    assert answer.trace[1].detail["type"] == "bridge"
    assert answer.trace[1].detail["problem"]


@pytest.mark.parametrize(
    "replies",
    [
        [EndpointDownError("refused")],
        [kind("bridge"), TruncatedReplyError("cut")],
        [kind("bridge"), queried(sufficient=False), UnparsableReplyError("odd")],
    ],
)
def test_other_errors_are_raised(replies: list[Any]) -> None:
    with pytest.raises(SaragError) as raised:
        answer_of(Route(), Library(), QueuedLLM(replies))
    assert raised.value is replies[-1]
