"""Where the lines of a text end sentences, and where they were only wrapped."""

from __future__ import annotations

from sarag_rdf.extraction.prose import block_ends

WRAPPED = """The society was founded in 1911 by the botanist
Mara Lind and has its seat in Lom. It bought the
Palm House in 1920, which Otto Kern and Elsa
Braun had left to it."""
BLOCKS = """# The gardens
Gardeners
- Mara Lind
- Otto Kern, who came from Lom with
  Jonas Pell
1. Purchase
| Bed | Area |
Keeper: Elsa Braun
Since: 1911"""
PAGE = """Name Post Since
Mara Lind Keeper 1911
Mara Lind was born in Lom and keeps the beds of the Palm House in Haldby.
Anna Braun
Yours,
Jonas Pell"""


def blocks(text: str) -> list[str]:
    """The parts of a text between the ends of blocks."""
    ends = [*sorted(block_ends(text)), len(text)]
    parts = (text[begin:end] for begin, end in zip([0, *(e + 1 for e in ends)], ends, strict=False))
    return [part for part in parts if part]


def test_wrapped_lines_end_no_sentence() -> None:
    assert blocks(WRAPPED) == [WRAPPED]
    quoted = "\n".join(f"> {line}" for line in WRAPPED.split("\n"))
    assert not block_ends(WRAPPED.replace("\n", "\n  "))
    assert blocks(f"{quoted}\n\n{WRAPPED}") == [quoted, WRAPPED]


def test_headings_items_rows_entries_and_paragraphs_end_sentences() -> None:
    ends = BLOCKS.replace("with\n  Jonas", "with~Jonas").split("\n")
    assert blocks(BLOCKS) == [line.replace("~", "\n  ") for line in ends]


def test_lines_of_a_text_that_was_not_wrapped_are_paragraphs() -> None:
    assert blocks(PAGE) == PAGE.split("\n")
    assert blocks("Mary\nSmith joined the staff.") == ["Mary\nSmith joined the staff."]
    assert blocks(f"{WRAPPED}\n\n{PAGE}")[0] == WRAPPED
