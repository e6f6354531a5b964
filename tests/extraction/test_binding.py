"""Arguments of replies are bound to the text, or are not arguments."""

from __future__ import annotations

import pytest

from sarag_rdf.plugins.llm.statement_calls import BoundArgument, TextBinder

TEXT = (
    "The Gull Light, a lighthouse on Ona in Norvia (built 1902), is 31 metres tall. Its keeper, "
    "Ásta Brück, a Norvian engineer, moved to the Old Harbour School on 12 March 1905; "
    "she kept 2,500 books and three parrots. The Isle of Man is far from NH Ltd."
)


def bound(argument: str, text: str = TEXT) -> str | None:
    place = TextBinder(text).bind(argument)
    return place.name if place else None


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("Gull Light", "Gull Light"),
        ('"Gull  Light"', "Gull Light"),
        ("31", "31"),
        ("31 metres", "31 metres"),
        ("The Isle of Man", "The Isle of Man"),
    ],
)
def test_exact(argument: str, name: str) -> None:
    assert bound(argument) == name


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("gull light", "Gull Light"),
        ("Asta Bruck", "Ásta Brück"),
        ("Gull-Light", "Gull Light"),
        ("parrot", "parrots"),
        ("a lighthouse", "lighthouse"),
        ("Norvia, built 1902", "Norvia (built 1902)"),
        ("N.H. Ltd.", "NH Ltd"),
    ],
)
def test_normalised(argument: str, name: str) -> None:
    """Case, accents, punctuation, plural endings; names lose a lower-case article."""
    assert bound(argument) == name


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("1905-03-12", "12 March 1905"),
        ("March 12, 1905", "12 March 1905"),
        ("2500.0", "2,500"),
        ("31.0 (metres)", "31 metres"),
        ("3", "three"),
    ],
)
def test_values_written_differently(argument: str, name: str) -> None:
    assert bound(argument) == name


def test_a_place_of_which_the_text_has_the_adjective() -> None:
    binder = TextBinder("An Italian sauce by a German cook of Chinese descent.")
    assert binder.bind("Italy") == BoundArgument("Italy", 3, 10)
    assert binder.bind("Germany") == BoundArgument("Germany", 22, 28)
    assert binder.bind("China") == BoundArgument("China", 37, 44)
    assert binder.bind("Iceland") is None
    assert binder.bind("Austria") is None


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("Old Harbour School, Ona", "Old Harbour School"),
        ("Gull Light (1902 lighthouse)", "Gull Light"),
        ("The Old Harbour School", "Old Harbour School"),
        ("New Harbour School", "Harbour School"),
        ("Ona, Sundland", None),
    ],
)
def test_more_than_half_of_an_argument(argument: str, name: str | None) -> None:
    assert bound(argument) == name


@pytest.mark.parametrize(
    "argument", ["", "  ", "?", "she", "Its", "Tern Light", "Gul", "lit 31", "1905-03-13"]
)
def test_not_in_the_text(argument: str) -> None:
    assert bound(argument) is None


def test_a_number_in_a_name_is_not_the_argument() -> None:
    """Else "1. FC Ona" would be the "1" of "1 keeper"."""
    assert bound("2. Mora Lights", "Ona has 2 keepers.") is None
    assert bound("2 or so", "Ona has 2 keepers.") == "2"


def test_positions_are_those_of_the_text() -> None:
    place = TextBinder(TEXT).bind("asta bruck")
    assert place is not None
    assert TEXT[place.begin : place.end] == "Ásta Brück"
