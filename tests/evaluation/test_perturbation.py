"""Questions whose names are typed as people type them."""

from __future__ import annotations

from random import Random

import pytest

from sarag_rdf.base.types import Extraction, Mention, Query
from sarag_rdf.plugins.evaluation.commands import PERTURBATIONS
from sarag_rdf.plugins.evaluation.datasets import (
    Question,
    last_name,
    perturbed,
    with_typo,
    without_diacritics,
)
from tests.evaluation.test_retrieval import Evaluate, evaluate  # noqa: F401 - a fixture
from tests.retrieval.graphs import indexed, view_of

MENTIONS = Mention("Zoë Møller", "person"), Mention("New Ulm"), Mention("1984", "time")
READER, _ = indexed([("", "Zoë Møller left New Ulm in 1984.", Extraction(MENTIONS))])
VIEW = view_of(READER)
TEXT = "When did Zoë Møller leave New Ulm for Fort Tilden before 1984?"


def asked(kind: str, seed: int = 0, text: str = TEXT) -> str:
    [question] = perturbed([Question("q", Query(text))], kind, VIEW, seed)
    return question.query.text


def test_each_name_gets_one_typing_error_and_nothing_else_changes() -> None:
    seen = {asked("typo", seed) for seed in range(20)}
    assert len(seen) > 10
    for text in seen:
        assert text.startswith("When did Z")
        assert " leave N" in text
        assert " for F" in text
        assert text.endswith(" before 1984?")  # A date is no name.
        parts = [" leave ", " for ", " before "]
        for name, part in zip(("Zoë Møller", "New Ulm", "Fort Tilden"), parts, strict=True):
            assert f"{name}{part}" not in text
    assert asked("typo", 3) == asked("typo", 3)


def test_the_other_kinds() -> None:
    assert asked("lower") == TEXT.lower()
    assert asked("plain") == TEXT.replace("Zoë Møller", "Zoe Moller")
    assert asked("last") == TEXT.replace("Zoë Møller", "Møller")
    assert set(PERTURBATIONS) == {"typo", "lower", "last", "plain"}


def test_a_typing_error_spares_the_first_letters_and_short_names() -> None:
    for seed in range(50):
        name = with_typo("Ada Brandt", Random(seed))
        assert name != "Ada Brandt"
        assert [word[0] for word in name.split()] == ["A", "B"]
        assert abs(len(name) - 10) <= 1
    assert with_typo("US", Random(0)) == "US"


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("Ada Brandt", "Brandt"),
        ("Sammy Davis, Jr.", "Davis, Jr."),
        ("Henry Ford II", "Ford II"),
        ("Ada", "Ada"),
    ],
)
def test_last_names(name: str, last: str) -> None:
    assert last_name(name) == last


def test_letters_without_diacritics() -> None:
    assert without_diacritics("Łódź, Søren, Straße, Æsir") == "Lodz, Soren, Strasse, AEsir"


def test_the_command_asks_perturbed_questions(evaluate: Evaluate) -> None:  # noqa: F811
    clean, typed = evaluate.json(), evaluate.json("--perturb", "typo")
    assert (clean["setting"]["perturbed"], typed["setting"]["perturbed"]) == (None, "typo")
    for one, other in zip(clean["questions"], typed["questions"], strict=True):
        assert one["id"] == other["id"]
        assert one["question"] != other["question"]
    assert evaluate.json("--perturb", "typo")["questions"] == typed["questions"]
    assert evaluate.json("--perturb", "lower")["questions"][0]["question"].islower()
