"""Where sentences begin and end."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.plugins.named_sentences import split_sentences


def sentences(text: str) -> list[str]:
    return [text[begin:end] for begin, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["One."],
        ["One. "],
        ["no end"],
        ["It was late. ", "They left! ", "Why? ", "Well\u2026 ", "Who knows"],
        # Abbreviations and initials
        ["Dr. Lee met Mr. St. John in Mt. Vernon. ", "He left."],
        ["J. R. R. Tolkien and C.S. Lewis met. ", "W. H. Auden came."],
        ["It is in the U.S. and elsewhere. ", "See e.g. Ulm, i.e. No. 3 of Vol. 2."],
        ["It began c. 1920, on Jan. 5. ", "It ended at 5 p.m. Monday."],
        ["Orbis Inc. Berlin was sold by Ada et al. Others stayed."],
        [
            "Orbis Inc. Berlin was sold to Vela & Co. Ltd. yesterday by Vela Inc. ",
            "The rest stayed.",
        ],
        ["It is a song by Warner Bros. Records (a.k.a. Warner), in Everson v. Board. ", "So."],
        ["He said No. ", "She saw No. 5, by Rafael Roco, Jr.. ", "He left."],
        ['\u00c9. Zola met E. B. White (C.I.) Airways and Elwyn "E.B." White. ', "So."],
        ["He is a grandson of Bj\u00f6rn's. ", "It is the King of the B's. ", "So."],
        # Days of German dates
        ["Sie wurde am 7. November 1881 geboren. ", "Das war im Jahr 1922. ", "August kam."],
        ["Er kam am 17. Mai. ", "Sie war Platz 7. ", "Dann kam Mainz."],
        # What follows decides
        ['Is it "Help!" from 1965? ', "What? ", '"Yes." ', "- a list"],
        [
            "He left in 1890 (?), to Ulm [who?] that year. ",
            "$5 was enough. ",
            "\u00bfChico? ",
            "So.",
        ],
        ["It was version 2. ", "5 people came."],
        ["The .NET code costs 3.50 at example.org today. ", "Buy it."],
        ["Wait... what is that? ", "Nothing."],
        ["The firm yahoo! is old. ", "It grew."],
        ["It ended. ", "\u00c9mile left. ", "\u6771\u4eac came."],
        # Quotes and brackets
        ['He said "Go." ', '"Why?" asked she. ', "(It was late.) ", "They went."],
        ["\u201cGo!\u201d he said. ", "\u201cNo.\u201d ", "She stayed."],
        # Other scripts
        ["\u6771\u4eac\u306f\u9996\u90fd\u3002", "\u5927\u962a\u306f\uff1f", "\u306f\u3044"],
        ["\u300c\u884c\u304f\u3002\u300d", "\u3068\u8a00\u3046\u3002"],
        [
            "\u092f\u0939 \u0917\u0902\u0917\u093e \u0939\u0948\u0964 ",
            "\u0935\u0939 \u092c\u0939\u0924\u0940 \u0939\u0948\u0965 ",
            "\u0939\u093e\u0901",
        ],
        [
            "\u06cc\u06c1 \u06a9\u062a\u0627\u0628 \u06c1\u06d2\u06d4 ",
            "\u0648\u06c1 \u0642\u0644\u0645 \u06c1\u06d2\u06d4",
        ],
        ["\uff8a\uff9d\uff61", "\uff8a\uff9d"],
        # Blank lines
        ["A heading\n\n", "A text\nover two lines. ", "More.\n \n\n", "- a list"],
        ["It is by J.\n\n", "Smith"],
    ],
)
def test_sentences(parts: list[str]) -> None:
    assert sentences("".join(parts)) == [part.strip() for part in parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "One is here. Two is there!  Is it? Yes",
            ["One is here.", "Two is there!", "Is it?", "Yes"],
        ),
        (
            "Dr. J. R. Brook lives in the U.S. now. He rows.",
            ["Dr. J. R. Brook lives in the U.S. now.", "He rows."],
        ),
        ("It cost 3.5 pounds, i.e. little. Good.", ["It cost 3.5 pounds, i.e. little.", "Good."]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("A heading\n\nA line\nbroken.", ["A heading", "A line broken."]),
        ("これは本です。あれはペンです。", ["これは本です。", "あれはペンです。"]),
        ("ما هذا؟ هذا كتاب.", ["ما هذا؟", "هذا كتاب."]),
        (" \n\n ", []),
    ],
)
def test_sentences_in_one_line(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_blocks_of_markdown_end_sentences() -> None:
    parts = [
        "# Results\n", "The station was founded in\n1902. ", "It stands.\n",
        "- Ada\n  Lind\n", "- Bo\n", "1. One. ", "Two\n",
        "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n\n", "Title\n", "=====\n", "Text\n\n",
        "x | y\n", "--- | ---\n", "1 | 2\n\n", "Born: Ulm\n", "Died: Riga\n\n",
        "Es ist seit dem\n12. Mai offen.",
    ]  # fmt: skip
    assert sentences("".join(parts)) == [part.strip() for part in parts]
    text = "".join(parts)
    shown = [text[begin:end] for begin, end in sentence_spans(text, headings=False)]
    left_out = {"# Results", "|---|---|", "=====", "--- | ---"}
    assert shown == [part.strip() for part in parts if part.strip() not in left_out]


def test_headings_are_the_sentences_of_a_text_without_others() -> None:
    assert sentence_spans("# Results\n", headings=False) == [(0, 9)]


TEXTS = st.text(st.sampled_from("ab A1.!?\u2026\"')(\u201d \n\t\u3002\u300d\u00e9\u4eac\u2028"))


@given(TEXTS | st.text())
def test_spans_ascend_and_hold_all_that_is_not_white_space(text: str) -> None:
    spans = sentence_spans(text)
    places = [place for span in spans for place in span]
    assert places == sorted(places)
    assert all(begin < end for begin, end in spans)
    assert all(part == part.strip() for part in sentences(text))
    left, before = [], 0
    for begin, end in [*spans, (len(text), len(text))]:
        left.append(text[before:begin])
        before = end
    assert not "".join(left).strip()


@pytest.mark.parametrize(
    "text",
    ["." * 100_000, "A. " * 1000, "Mr. " * 1000, "\n" * 100_000, '."' * 50_000, "-" * 100_000],
)
def test_long_runs_of_marks_take_no_time(text: str) -> None:
    """Some thousandths of a second; the limit is what no slow machine exceeds."""
    begin = perf_counter()
    sentence_spans(text)
    assert perf_counter() - begin < 2.0
