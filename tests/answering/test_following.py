"""Answers that are followed: words out of a reply without an end, and the events of a question."""

from __future__ import annotations

import json

import pytest

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.answering.conversation import IF_SUFFICIENT, answer_so_far, partial_object
from sarag_rdf.base.types import AnswerEvent
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM

REPLY = {
    "reasoning": 'It says "so", \\ {in} D1.',
    "sufficient": True,
    "final_answer": "Zoë and\t the  \U0001f30a river",
    "citations": ["D1"],
}


@pytest.mark.parametrize("ascii_only", [True, False])
def test_words_grow_to_the_answer(ascii_only: bool) -> None:
    text = "<think>{</think>Here: " + json.dumps(REPLY, ensure_ascii=ascii_only)
    found = [answer_so_far(text[:n], IF_SUFFICIENT) for n in range(len(text) + 1)]
    answer = "Zoë and the \U0001f30a river"
    assert [*dict.fromkeys(found)] == ["", "Zoë", "Zoë and", "Zoë and the", answer[:13], answer]
    assert partial_object(text) == (REPLY, None)


@pytest.mark.parametrize(
    ("changed", "conditions"),
    [
        ({"sufficient": False}, IF_SUFFICIENT),
        ({"sufficient": True}, {"sufficient": True, "answer_possible": True}),
        ({"final_answer": "Not mentioned."}, {}),
        ({"final_answer": "insufficient information"}, {}),
        ({"final_answer": ["The", "Danube"]}, {}),
    ],
)
def test_what_is_no_answer_has_no_words(
    changed: dict[str, object], conditions: dict[str, bool]
) -> None:
    text = json.dumps(REPLY | changed)
    assert {answer_so_far(text[:n], conditions) for n in range(len(text) + 1)} == {""}


def test_a_condition_after_the_answer_holds_it_back() -> None:
    text = json.dumps({"final_answer": "The Danube", "sufficient": True})
    assert {answer_so_far(text[:n], IF_SUFFICIENT) for n in range(len(text) - 1)} == {""}
    assert answer_so_far(text, IF_SUFFICIENT) == "The Danube"


def test_a_question_is_told_step_by_step() -> None:
    """A model that does not stream: the answer comes as a whole."""
    told: list[AnswerEvent] = []
    llm = QueuedLLM([REPLY, {**REPLY, "sufficient": False}])
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None, llm=llm) as kg:
        kg.index([Source("Zoë Ada lives in Linz.", title="Zoë Ada")])
        answer = kg.ask("Who?", reasoner="single", on_event=told.append)
        assert [event.kind for event in told] == ["step", "call", "step", "text"]
        assert told[-1].text == answer.text == "Zoë and the \U0001f30a river"
        assert tuple(event.stage for event in told if event.stage) == answer.trace
        told.clear()
        assert kg.ask("Who?", reasoner="single", on_event=told.append).outcome == "insufficient"
        assert [event.kind for event in told] == ["step", "call", "step"]

        def stop(event: AnswerEvent) -> None:
            raise KeyError(event.kind)

        with pytest.raises(KeyError, match="step"):
            kg.ask("Who?", reasoner="single", on_event=stop)
