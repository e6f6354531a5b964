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


def test_a_text_without_sentences_says_nothing() -> None:
    assert saying(" ", "Ivo Lund owned a bell", "owned", "en") == (0, 0)
