"""The reasoners of SA-RAG as printed, beside a reference that follows the text of the paper.

The reference knows nothing of the library: passages are texts, retrieval is a function, and what
happens is a list of events. Where the paper is open, both readings are run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from sarag_rdf.answering.conversation import INSUFFICIENT
from sarag_rdf.base.options import Spec
from sarag_rdf.base.types import Answer
from sarag_rdf.plugins.papers.decompose import Cot, Decompose
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ADA,
    ASKED,
    CITE_ADA,
    CITE_CLUB,
    CLUB,
    CONTEXT,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    context_of,
    document,
    told,
)
from tests.evaluation.scripted import Scripted

Retrieve = Callable[[str], Sequence[str]]
Event = tuple[Any, ...]
ROUNDS = 60
PASSAGES = [document(number, f"Passage {chr(64 + number)}.") for number in range(1, 9)]


class Shelf(Library):
    """A gathering with passages of its own for each text, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def passages(self, text: str) -> list[str]:
        """The texts of the passages; the same for a text on one line."""
        rng = random.Random(f"{self._seed} {' '.join(text.split())}")
        return [passage.text for passage in rng.sample(PASSAGES, rng.randint(1, 3))]

    def __call__(self, query: Any) -> Any:
        passages = self.passages(query.text)
        self._contexts = {query.text: context_of(*(p for p in PASSAGES if p.text in passages))}
        return super().__call__(query)


def events_of(answer: Answer) -> Iterator[Event]:
    """What happened, in the terms of the references."""
    for stage in answer.trace:
        if stage.kind == "retrieval":
            yield "retrieve", " ".join(stage.detail["question"].split())
            continue
        lines = stage.prompt.splitlines()
        one = "Found before (data as well): "
        known = [line.removeprefix(one) for line in lines if line.startswith(one)]
        if "Found before (data as well)" in lines:
            after = lines[lines.index("Found before (data as well)") + 1 :]
            known = [line[2:] for line in after[: after.index("")]]
        *_, asked = (line for line in lines if line.startswith(("Question: ", "Input: ")))
        shown = frozenset(p.text for p in PASSAGES if p.text in stage.prompt)
        yield stage.name, asked.partition(": ")[2], shown, tuple(known)
    yield "answer", answer.text


# ----------------------------------------------------------------- Appendix A, CoT RAG


@dataclass(frozen=True)
class Step:
    """A reply to Listing 2."""

    provided_context: str
    answer_possible: bool
    final_answer: str
    additional_question: str


def cot_rag(
    question: str,
    retrieve: Retrieve,
    replies: Sequence[Step],
    *,
    answers_in_steps: bool,
    reads_all: bool,
) -> Iterator[Event]:
    """Retrieve and reason with Listing 2, at most three times; the memory is the summary alone.

    Open: whether an answer in Listing 2 is the answer, or Listing 1 is filled in all the same; and
    whether Listing 1 has the passages of the last retrieval or of all.
    """
    memory: tuple[str, ...] = ()
    searched, every = question, set[str]()
    passages: frozenset[str] = frozenset()
    for reply in replies[:3]:
        passages = frozenset(retrieve(searched))
        yield "retrieve", searched
        yield "cot", question, passages, memory
        every |= passages
        memory = (reply.provided_context,)
        if reply.answer_possible and answers_in_steps:
            yield "answer", reply.final_answer
            return
        if reply.answer_possible or not reply.additional_question:
            break
        searched = reply.additional_question
    yield "answer", question, frozenset(every) if reads_all else passages, memory
    yield "answer", "closing"


def random_steps(rng: random.Random) -> list[Step]:
    """Three replies; a follow-up question may be empty, or have been asked before."""
    steps = []
    for number in range(3):
        possible = rng.random() < 0.25
        follow_up = "" if possible else rng.choice(["", "Who?", "When?", "Where?", ASKED])
        answer = f"answer {number}" if possible else ""
        steps.append(Step(f"Summary {number}.", possible, answer, follow_up))
    return steps


@pytest.mark.parametrize("closing", ["unanswered", "always"])
@pytest.mark.parametrize("documents", ["last", "all"])
def test_cot_rag(closing: str, documents: str) -> None:
    """Listing 2 is the same in each step: it may always ask."""
    shapes = set()
    for seed in range(ROUNDS):
        shelf, steps = Shelf(seed), random_steps(random.Random(seed))
        replies: list[Mapping[str, Any]] = [
            {
                "summary": step.provided_context,
                "answer_possible": step.answer_possible,
                "final_answer": step.final_answer,
                "citations": [],
                "follow_up": step.additional_question,
            }
            for step in steps
        ]
        left = iter(replies)
        last = {"reasoning": "So.", "sufficient": True, "final_answer": "closing", "citations": []}

        def script(name: str, _: str, left: Any = left, last: Any = last) -> Any:
            return next(left) if name == "cot" else last

        values = {"preset": "paper", "closing": closing, "closing_documents": documents}
        answer = answer_of(Cot.of(values), shelf, Scripted(script))
        wanted = cot_rag(
            ASKED,
            shelf.passages,
            steps,
            answers_in_steps=closing == "unanswered",
            reads_all=documents == "all",
        )
        events = list(wanted)
        assert list(events_of(answer)) == events, seed
        shapes.add((len(events), events[-1]))
    assert len(shapes) > 2


def step(**changes: Any) -> dict[str, Any]:
    """A reply that asks on."""
    return {
        "summary": "Ada founded the club.",
        "answer_possible": False,
        "final_answer": "",
        "citations": ["D1"],
        "follow_up": "Where was Ada born?",
        **changes,
    }


def closing(**changes: Any) -> dict[str, Any]:
    return {
        "reasoning": "D1 says so.",
        "sufficient": True,
        "final_answer": "Ulm",
        "citations": ["D1"],
        **changes,
    }


PAPER = Cot.of({"preset": "paper"})


def test_the_preset_closes_where_the_steps_do_not_answer() -> None:
    assert str(PAPER) == "cot:closing=unanswered"
    assert Spec.parse("cot:preset=paper").read(Cot) == PAPER


def test_the_closing_call_answers_and_cites_what_the_summary_rests_on() -> None:
    library = Library(context_of(ADA), {QUERY.text: context_of(CLUB)})
    llm = QueuedLLM([step(), step(citations=[]), step(citations=[]), closing()])
    answer = answer_of(PAPER, library, llm)
    assert (answer.outcome, answer.text, answer.usage.calls) == ("answered", "Ulm", 4)
    assert answer.reasoning == "Ada founded the club.\n\nD1 says so."
    assert answer.citations == (CITE_CLUB, CITE_ADA)


def test_only_the_closing_call_abstains() -> None:
    """Neither a search that finds nothing nor a step that asks nothing does."""
    bare = {key: value for key, value in step(follow_up="").items() if key != "citations"}
    last = {key: value for key, value in closing().items() if key != "citations"}
    llm = QueuedLLM([bare, last])
    answer = answer_of(PAPER, Library(EMPTY), llm)
    assert (answer.text, told(answer)) == (
        "Ulm",
        [f"retrieval: {QUERY.text}", "call cot", "call answer"],
    )
    assert '"citations"' not in llm.prompts[-1]
    unknown = closing(sufficient=False, final_answer="", citations=[])
    answer = answer_of(PAPER, Library(), QueuedLLM([step(follow_up=""), unknown]))
    assert (answer.outcome, answer.text) == ("insufficient", INSUFFICIENT)
    possible = step(answer_possible=True, final_answer="unknown", follow_up="")
    answer = answer_of(PAPER, Library(), QueuedLLM([possible, closing()]))
    assert answer.text == "Ulm"


# ----------------------------------------------------------- Appendix A, decomposition


def decomposition(
    question: str,
    retrieve: Retrieve,
    parts: Sequence[str],
    answers: Sequence[str],
    *,
    current_first: bool,
    reads_history: bool,
) -> Iterator[Event]:
    """The parts in order, each embedded with the parts and answers before it; then the whole.

    Open: in which order they are embedded, and whether the model reads earlier parts for a part.
    """
    yield "decompose_in_words", question, frozenset(), ()
    done: list[str] = []
    for part, answer in zip(parts, answers, strict=True):
        searched = " ".join([part, *done] if current_first else [*done, part])
        yield "retrieve", searched
        yield (
            "answer",
            part,
            frozenset(retrieve(searched)),
            tuple(done) if reads_history else (),
        )
        done.append(f"{part} {answer}")
    yield "retrieve", question
    yield "answer", question, frozenset(retrieve(question)), tuple(done)
    yield "answer", "the whole"


@pytest.mark.parametrize("history", ["before", "after"])
@pytest.mark.parametrize("shown", [False, True])
def test_decomposition(history: str, shown: bool) -> None:
    """One part or nine, found or not: all are handed on."""
    for seed in range(ROUNDS):
        rng, shelf = random.Random(seed), Shelf(seed)
        parts = [f"What is {number}?" for number in range(rng.randint(1, 9))]
        answers = [rng.choice([f"It is {number}", INSUFFICIENT]) for number in range(len(parts))]
        finals = iter([*answers, "the whole"])

        def script(name: str, _: str, parts: Any = parts, finals: Any = finals) -> Any:
            if name != "answer":
                return {"questions": parts}
            text = next(finals)
            found = text != INSUFFICIENT
            return closing(sufficient=found, final_answer=text if found else "", citations=[])

        values = {"preset": "paper", "history": history, "shown": shown}
        answer = answer_of(Decompose.of(values), shelf, Scripted(script))
        wanted = decomposition(
            ASKED,
            shelf.passages,
            parts,
            answers,
            current_first=history == "after",
            reads_history=shown,
        )
        assert list(events_of(answer)) == list(wanted), seed


PARTS = Decompose.of({"preset": "paper"})


def test_the_preset_of_decomposition() -> None:
    assert str(PARTS) == "decompose:most=50:history=after:reasoned=true:unanswered=true"
    assert Spec.parse("decompose:preset=paper:shown=true").read(Decompose).shown


def test_parts_are_as_the_model_wrote_them() -> None:
    """The whole question, doubles and signs that would be references elsewhere; empty ones go."""
    parts = [f" {ASKED}\n", "Who is #1?", "Who is #1?", " "]
    library = Library()
    llm = QueuedLLM([{"questions": parts}, *[closing(citations=[])] * 4])
    answer_of(PARTS, library, llm)
    assert library.asked == [
        ASKED,
        f"Who is #1? {ASKED} Ulm",
        f"Who is #1? {ASKED} Ulm Who is #1? Ulm",
        QUERY.text,
    ]
    llm = QueuedLLM([{"questions": [""]}, *[closing()] * 2])
    assert answer_of(PARTS, Library(), llm).text == "Ulm"


def test_a_part_without_documents_is_handed_on_as_one_that_found_nothing() -> None:
    library = Library(EMPTY, {"Who is it? Who? insufficient information": CONTEXT})
    last = {key: value for key, value in closing().items() if key != "citations"}
    llm = QueuedLLM([{"questions": ["Who?", "Who is it?"]}, closing(), last])
    answer = answer_of(PARTS, library, llm)
    assert (answer.text, [call.name for call in llm.calls]) == (
        "Ulm",
        ["decompose_in_words", "answer", "answer"],
    )
    assert "- Who? insufficient information\n- Who is it? Ulm\n" in llm.prompts[-1]


def test_parts_with_reasoning_and_references() -> None:
    """The options are independent of the preset."""
    split = {"questions": ["Who founded the club?", "Where was #1 born?"]}
    library = Library()
    llm = QueuedLLM([split, closing(final_answer="Ada"), closing(citations=["D2"]), closing()])
    answer = answer_of(Decompose(reasoned=True, shown=True), library, llm)
    assert library.asked == ["Who founded the club?", "Where was Ada born?", QUERY.text]
    assert "- Who founded the club? Ada\n" in llm.prompts[2]
    assert (answer.text, answer.citations) == ("Ulm", (CITE_CLUB,))
