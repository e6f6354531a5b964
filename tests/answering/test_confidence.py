"""The confidence of answers: what supports them, and what is withheld."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from sarag_rdf.answering.auto import Auto
from sarag_rdf.answering.confidence import (
    Calibration,
    coverage,
    features,
    packaged,
    read_calibration,
    support,
)
from sarag_rdf.answering.conversation import INSUFFICIENT
from sarag_rdf.answering.single import Single
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.types import Answer, Fact
from sarag_rdf.kg.registry import GraphReasoner
from sarag_rdf.testing.fakes import QueuedLLM
from tests.answering.sample import (
    ADA,
    ASKED,
    CLUB,
    CONTEXT,
    EMPTY,
    QUERY,
    Library,
    answer_of,
    brief,
    context_of,
    document,
    split,
)

RAIN = document(3, "It rains in Ulm. Bo was born in Linz.")


# -------------------------------------------------------------------------------- Support


def test_a_sentence_with_the_answer_and_all_words_of_the_question_supports_it() -> None:
    assert support("Where was Ada born?", "Ulm", CONTEXT) == 1.0


def test_words_count_by_how_few_sentences_hold_them() -> None:
    context = context_of(ADA, RAIN)  # three sentences: "born" in two, "Ada" in one
    one, two = math.log(1 + 3 / 1), math.log(1 + 3 / 2)
    assert support("Where was Ada born?", "Linz", context) == pytest.approx(two / (one + two))
    assert support("Where was Ada born?", "Ulm", context) == pytest.approx(1.0)


def test_inflected_words_and_the_title_of_the_document_count() -> None:
    context = context_of(document(4, "He was founding clubs in Ulm."))
    assert support("Which clubs did title 4 found?", "Ulm", context) == 1.0


def test_words_are_compared_in_the_language_of_the_sentence() -> None:
    german = replace(document(5, "In Ulm wurden Vereine gegründet."), language="de")
    question, contexts = "Wo wurde ein Verein gegründet?", context_of(german)
    as_english = context_of(replace(german, language="en"))
    assert support(question, "Ulm", contexts) > support(question, "Ulm", as_english)
    assert coverage(question, [contexts]) > coverage(question, [as_english])


@pytest.mark.parametrize("answer", ["Graz", "", "Grand Duchy of Ulm", INSUFFICIENT])
def test_an_answer_that_stands_nowhere_has_no_support(answer: str) -> None:
    assert support("Where was Ada born?", answer, CONTEXT) == 0.0


def test_an_answer_that_stands_in_part_has_its_part_of_the_support() -> None:
    assert support("Where was Ada born?", "Ulm, Germany", CONTEXT) == pytest.approx(0.5)


def test_yes_and_no_stand_nowhere_and_need_a_sentence_about_what_is_asked() -> None:
    assert support("Was Ada born in Ulm?", "Yes", CONTEXT) == 1.0
    assert support("Was Cy buried in Rome?", "No", CONTEXT) == 0.0


def test_relationships_are_sentences() -> None:
    context = context_of(relationships=("Ada was born in Ulm",))
    assert support("Where was Ada born?", "Ulm", context) == 1.0


def test_nothing_supports_nothing() -> None:
    assert support("Where was Ada born?", "Ulm", EMPTY) == 0.0
    assert support("", "Ulm", CONTEXT) == 0.0


def test_coverage_is_the_share_of_the_question_in_all_that_was_read() -> None:
    contexts = [context_of(CLUB), context_of(ADA)]
    assert coverage("Where was the founder of the club born?", contexts) == pytest.approx(2 / 3)
    assert coverage("Where was Ada of the club born?", contexts) == 1.0
    assert coverage("Where was the founder buried?", []) == 0.0


# ----------------------------------------------------------------------- Facts of an answer

CHAIN = ("Who founded the club?", "Where was #1 born?")


def chain(*answers: str) -> Answer:
    llm = QueuedLLM([split(*CHAIN), *map(brief, answers)])
    return answer_of(Auto(), Library(), llm)


def test_each_part_is_a_fact_and_the_weakest_counts() -> None:
    answer = chain("Ada", "Graz")
    assert answer.facts == (
        Fact("Who founded the club?", "Ada", 1.0),
        Fact("Where was Ada born?", "Graz", 0.0),
    )
    assert features(answer) == pytest.approx((0.0, 2 / 3))
    assert features(chain("Ada", "Ulm")) == pytest.approx((1.0, 2 / 3))


def test_parts_that_led_nowhere_do_not_count() -> None:
    answer = chain(INSUFFICIENT, "Ulm")
    assert [fact.question for fact in answer.facts] == ["Who founded the club?", ASKED]
    values = features(answer)
    assert values is not None
    assert values[0] == answer.facts[-1].support > 0


def test_right_answers_have_more_confidence() -> None:
    strategy = Auto()
    right, wrong = strategy.rated(chain("Ada", "Ulm")), strategy.rated(chain("Ada", "Graz"))
    assert right.confidence is not None
    assert wrong.confidence is not None
    assert 0 < wrong.confidence < right.confidence < 1
    assert (wrong.outcome, wrong.text) == ("answered", "Graz")


def test_an_answer_of_less_confidence_is_withheld() -> None:
    given = chain("Ada", "Graz")
    rated = Auto(least=0.99).rated(given)
    assert (rated.outcome, rated.text) == ("insufficient", INSUFFICIENT)
    assert rated.citations == ()
    assert rated.reasoning.startswith("withheld: Graz (confidence ")
    assert rated.reasoning.endswith(given.reasoning)
    assert rated.confidence == Auto().rated(given).confidence
    assert rated.usage == given.usage


def test_what_abstains_has_no_confidence() -> None:
    answer = answer_of(Single(brief=True), Library(), QueuedLLM([brief(INSUFFICIENT)]))
    assert Single(brief=True, least=0.9).rated(answer) == answer
    assert answer.confidence is None


# ------------------------------------------------------------------------------ Calibration


def test_a_calibration_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"intercept": -1, "support": 3, "coverage": 0, "fitted": "here"}', "utf-8")
    assert read_calibration(file) == Calibration(-1.0, 3.0, 0.0, "here")
    rated = Auto(calibration=str(file)).rated(chain("Ada", "Ulm"))
    assert rated.confidence == pytest.approx(1 / (1 + math.exp(-2)))


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"intercept": NaN, "support": 3, "coverage": 0, "fitted": ""}', "7"],
)
def test_a_file_of_another_form(tmp_path: Path, content: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"other\.json"):
        Auto(calibration=str(file)).rated(chain("Ada", "Ulm"))


def test_weights_of_any_size_give_a_probability() -> None:
    assert Calibration(-1e6, 0.0, 0.0, "").probability(1.0, 1.0) == 0.0
    assert Calibration(1e6, 0.0, 0.0, "").probability(1.0, 1.0) == 1.0


def test_a_file_that_cannot_be_used_is_reported_before_any_call(tmp_path: Path) -> None:
    library, llm = Library(), QueuedLLM([])
    strategy = Auto(calibration=str(tmp_path / "none.json"))
    with pytest.raises(InputError, match=r"none\.json"):
        GraphReasoner(strategy, library, llm, cast("Any", None)).answer(QUERY)
    assert (library.asked, llm.prompts) == ([], [])


def test_the_packaged_one_trusts_what_is_supported() -> None:
    model = packaged()
    assert model.probability(1.0, 1.0) > 0.5 > model.probability(0.3, 0.8)
    assert model.probability(0.0, 0.0) < 0.1
    assert model.fitted
