"""How much is taken, how excerpts are shown, and whole documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Citation, Context, Excerpt, Section
from sarag_rdf.retrieval.context import Budget, Whole, approximate_tokens
from tests.retrieval.sample import VIEW, found, found_for, words

# ------------------------------------------------------------------------------- Budget


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), (" \n", 0), ("a", 2), ("a b", 3), ("a b c", 4), ("a b c d", 6)]
)
def test_a_word_is_four_thirds_of_a_token_rounded_up(text: str, tokens: int) -> None:
    assert approximate_tokens(text) == tokens


@given(st.lists(st.integers(0, 5)), st.integers(1, 12))
def test_a_budget_is_never_exceeded_and_takes_what_fits(sizes: list[int], limit: int) -> None:
    budget, used = Budget(words, limit), 0
    for size in sizes:
        taken = budget.take("a " * size)
        assert taken is (used + size <= limit)
        used += size if taken else 0
        assert budget.used == used <= limit


def test_a_text_in_the_place_of_another_counts_once() -> None:
    budget = Budget(words, 3)
    assert budget.take("a b")
    assert not budget.take("a b c d", instead_of="a b")
    assert budget.take("a b c", instead_of="a b")
    assert budget.used == 3


def test_no_limit_takes_everything() -> None:
    budget = Budget(words, None)
    assert all(budget.take("a " * 1000) for _ in range(3))
    assert budget.used == 3000


@pytest.mark.parametrize("limit", [0, -1])
def test_no_room_at_all_is_a_mistake(limit: int) -> None:
    with pytest.raises(UsageError, match="at least 1 token"):
        Budget(words, limit)


# ------------------------------------------------------------------------------ Excerpts

DOCUMENT = found("Title", "One. Two.  Three.\nFour.").document
"""One. is at 0 to 4, Two. at 5 to 9, Three. at 11 to 17, Four. at 18 to 23."""


@pytest.mark.parametrize(
    ("spans", "text", "begin", "end"),
    [
        (((0, 23),), "One. Two.  Three.\nFour.", 0, 23),
        (((0, 4),), "One.", 0, 4),
        (((0, 4), (5, 9)), "One. Two.", 0, 9),
        (((5, 9), (11, 17), (18, 23)), "Two.  Three.\nFour.", 5, 23),
        (((0, 4), (11, 17)), "One. ... Three.", 0, 17),
        (((0, 4), (11, 17), (18, 23)), "One. ... Three.\nFour.", 0, 23),
    ],
)
def test_an_excerpt_has_an_ellipsis_where_something_is_left_out(
    spans: tuple[tuple[int, int], ...], text: str, begin: int, end: int
) -> None:
    excerpt = Excerpt(DOCUMENT, spans)
    assert (excerpt.text, excerpt.titled_text) == (text, f"Title\n{text}")
    document = DOCUMENT
    assert excerpt.citation == Citation(
        document.iri, document.source_iri, "Title", document.begin + begin, document.begin + end
    )


def test_an_untitled_excerpt_is_its_text() -> None:
    assert Excerpt.whole(found("", "One.").document).titled_text == "One."
    assert Excerpt.whole(found("", "").document).text == ""


def test_a_context_holds_its_excerpts_by_label_and_all_that_is_data() -> None:
    one, two = (Excerpt.whole(found("", text).document) for text in ("One.", "Two."))
    context = Context(
        (Section("near", {"D1": one}, ("a fact",)), Section("far", {"D2": two}, ("another",)))
    )
    assert context.excerpts == {"D1": one, "D2": two}
    assert list(context.texts) == ["One.", "a fact", "Two.", "another"]


# --------------------------------------------------------------------------------- Whole

LONG = found("B", "b b b b", 1)
FOUND = (found("A", "a a", 0), LONG, found("C", "c", 2))
FACTS = ("x x", "x x", "", "y y y y", "z z")
"""With titles the documents have 3, 5 and 2 words."""


@pytest.mark.parametrize(
    ("options", "titles", "facts", "tokens"),
    [
        ({}, ["A", "B", "C"], ["x x", "y y y y", "z z"], 18),
        ({"documents": 2, "relationships": 1}, ["A", "B"], ["x x"], 10),
        ({"relationships": 0}, ["A", "B", "C"], [], 10),
        ({"budget": 18}, ["A", "B", "C"], ["x x", "y y y y", "z z"], 18),
        ({"budget": 17}, ["A", "B", "C"], ["x x", "y y y y"], 16),
        ({"budget": 14}, ["A", "B", "C"], ["x x", "z z"], 14),
        ({"budget": 8}, ["A", "B"], [], 8),
        ({"budget": 7}, ["A"], ["x x", "z z"], 7),
        ({"budget": 2}, [], ["x x"], 2),
    ],
)
def test_documents_while_they_fit_and_then_relationships(
    options: dict[str, int], titles: list[str], facts: list[str], tokens: int
) -> None:
    """The order is kept: what is smaller than a document that does not fit does not overtake it."""
    context = Whole(**options).build(VIEW, found_for("?", *FOUND, facts=FACTS), words)
    [section] = context.sections
    assert [excerpt.document.title for excerpt in section.excerpts.values()] == titles
    assert list(section.excerpts) == [f"D{n}" for n in range(1, len(titles) + 1)]
    assert (list(section.relationships), context.tokens, context.builder) == (
        facts,
        tokens,
        "whole",
    )
    assert context.tokens == sum(map(words, context.texts))


def test_the_context_of_the_paper_has_everything() -> None:
    documents = [found(f"T{number}", "a", number) for number in range(60)]
    retrieved = found_for("?", *documents, facts=[f"fact {number}" for number in range(80)])
    [section] = Whole.of({"preset": "paper"}).build(VIEW, retrieved, words).sections
    assert (len(section.excerpts), len(section.relationships)) == (60, 80)


def test_nothing_fits_or_nothing_was_found() -> None:
    assert Whole(budget=1).build(VIEW, found_for("?", *FOUND), words) == Context((), 0, "whole")
    assert Whole().build(VIEW, found_for("?"), words) == Context((), 0, "whole")


@pytest.mark.parametrize("options", [{"documents": 0}, {"relationships": -1}])
def test_numbers_that_cannot_work(options: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"^(documents|relationships) of whole must be"):
        Whole(**options)
