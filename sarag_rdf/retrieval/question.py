"""A question as it may be asked: one line of a length that an embedding model reads."""

from __future__ import annotations

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Query

MAX_WORDS = 1000
"""Longer questions are refused: an embedding model reads a few hundred words at most."""


def question_of(text: str) -> Query:
    """Fold white space; raise `UsageError` for an empty question or one that is too long."""
    words = text.split()
    if not words:
        raise UsageError("the question is empty: ask something")
    if len(words) > MAX_WORDS:
        raise UsageError(f"the question has {len(words):,} words: ask in at most {MAX_WORDS:,}")
    return Query(" ".join(words))
