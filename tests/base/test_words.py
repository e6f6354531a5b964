"""Which sentence of a text says a statement."""

from __future__ import annotations

import pytest

from sarag_rdf.base.words import saying

LIFE = (
    "Orla Tannick runs the Tannick Forge in Bressel. She was born in Bressel in 1949. The Bressel "
    "Bell was cast in 1960. It passed to her pupil, Ivo Lund, who owned it until 1981. Lund "
    "(1931-1990) never cast a bell."
)


@pytest.mark.parametrize(
    ("statement", "phrase", "begin"),
    [
        ("Orla Tannick was born in Bressel", "was born in", "She was born"),
        ("Orla Tannick runs the Tannick Forge", "runs", "Orla Tannick runs"),
        ("Ivo Lund owned The Bressel Bell", "owned", "It passed to her pupil"),
        ("Ivo Lund was born 1931", "was born", "Lund"),
        ("Orla Tannick's pupil is Ivo Lund", "has the pupil", "It passed to her pupil"),
    ],
)
def test_the_sentence_has_the_phrase_and_the_ends(statement: str, phrase: str, begin: str) -> None:
    first, end = saying(LIFE, statement, phrase, "en")
    assert LIFE[first:end].startswith(begin)


REGISTER = """# Register
Keeper: Ivo Lund
Opened: 1949

| Bell | Foundry | Cast |
| --- | --- | --- |
| Bressel Bell | Tannick Forge | 1960 |
| Ulm Bell | Lund Works | 1981 |
"""


@pytest.mark.parametrize(
    ("statement", "phrase", "line"),
    [
        ("Register keeper Ivo Lund", "keeper", "Keeper: Ivo Lund"),
        ("Register opened 1949", "opened", "Opened: 1949"),
        ("Ulm Bell foundry Lund Works", "foundry", "| Ulm Bell | Lund Works | 1981 |"),
        ("Bressel Bell cast 1960", "cast", "| Bressel Bell | Tannick Forge | 1960 |"),
    ],
)
def test_a_line_or_row_is_the_sentence_of_its_cells(statement: str, phrase: str, line: str) -> None:
    first, end = saying(REGISTER, statement, phrase, "en")
    assert REGISTER[first:end] == line


def test_a_text_without_sentences_says_nothing() -> None:
    assert saying(" ", "Ivo Lund owned a bell", "owned", "en") == (0, 0)
