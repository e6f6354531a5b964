"""Sentences instead of documents: less and sharper context, which small models need."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.context.budget import Budget
from sarag_rdf.options import MAX_COUNT, Options, budget_option, option
from sarag_rdf.ports import CountTokens, Embedder, WordIndex
from sarag_rdf.retrieve.relevance import Scale
from sarag_rdf.types import Context, Document, Excerpt, Retrieved, Section

WORDS = 0.6
"""Weight of the BM25 z-score; those of cosine and document score have weight 1."""
OPENING = 0.3
"""Bonus of the first sentence of a document, which names its topic."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SelectedOptions(Options):
    """Options of `Selected`."""

    name = "selected"
    budget: int = budget_option(400)
    documents: int = option(
        10, "Maximum number of documents from which sentences are selected.", ge=1, le=MAX_COUNT
    )


class Selected:
    """The best sentences up to the budget, in the order of their documents.

    With z-scores over all sentences of the first `documents` documents, the score of a sentence is

        z(cosine) + WORDS z(BM25) + z(score of its document) + OPENING if it is the first

    where the cosine is that of the question and the sentence after the title of its document.
    Relationships are omitted, as their sentences are available. No language model is called.
    """

    options = SelectedOptions

    def __init__(
        self,
        count: CountTokens,
        embedder: Embedder,
        word_index: Callable[[Sequence[str]], WordIndex],
        options: SelectedOptions | None = None,
    ) -> None:
        self._count, self._embedder, self._word_index = count, embedder, word_index
        self._options = options or SelectedOptions()

    def build(self, retrieved: Retrieved) -> Context:
        found = retrieved.documents[: self._options.documents]
        places = [
            (rank, span)
            for rank, ranked in enumerate(found)
            for span in sentence_spans(ranked.document.text)
        ]
        if not places:
            return Context((), 0, "selected")
        texts = [_shown(found[rank].document, span) for rank, span in places]
        scores = np.array([found[rank].score for rank, _ in places])
        total = (
            _z(self._cosines(retrieved.query.text, texts))
            + _z(scores)
            + OPENING * np.array([span[0] == 0 for _, span in places])
            + WORDS * _z(self._word_index(texts).scores(retrieved.query.text).astype(np.float64))
        )
        budget = Budget(self._count, self._options.budget)
        kept: dict[int, Excerpt] = {}
        for place in np.argsort(-total, kind="stable"):
            rank, span = places[place]
            before = kept.get(rank, Excerpt(found[rank].document, ()))
            more = replace(before, spans=tuple(sorted((*before.spans, span))))
            if budget.take(more.titled_text, instead_of=before.titled_text if before.spans else ""):
                kept[rank] = more
        excerpts = {f"D{number}": kept[rank] for number, rank in enumerate(sorted(kept), start=1)}
        sections = (Section("", excerpts),) if excerpts else ()
        return Context(sections, budget.used, "selected")

    def _cosines(self, question: str, texts: Sequence[str]) -> Floats:
        vectors = self._embedder.embed([question, *texts]).astype(np.float64)
        return np.asarray(vectors[1:] @ vectors[0], dtype=np.float64)


def _shown(document: Document, span: tuple[int, int]) -> str:
    text = document.text[slice(*span)]
    return f"{document.title}: {text}" if document.title else text


def _z(values: Floats) -> Floats:
    return Scale.of(values).z(values)


_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s)"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\u2019\uff09]*"
    r"|\n\s*\n"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"'\u201c])(?:[A-Z]|[A-Z]\.(?:\s?[A-Z]\.)*[A-Z]?|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Lt|Sgt|"
    r"Capt|Rev|Hon|Sen|Rep|Gov|Mt|Ft|No|Nos|Vol|vs|etc|e\.g|i\.e|cf|al|ca|c|approx|est|b|d|r|fl|"
    r"Inc|Ltd|Co|Corp|Bros|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|pp?|ed|eds|trans|lit|"
    r"Ph\.D|U\.S|a\.m|p\.m)\.$"
)
_LOOK = 24
"""Characters before a full stop that are searched for an abbreviation."""
_START = re.compile(r"\s*[\"'\u201c\u2018(\[]*[^\W\d_a-z]|\s*[\"'\u201c\u2018(\[]*\d|\s*$")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(begin, end) of each sentence in code points, ascending, without the space between them.

    Together they hold every character that is not white space.

    >>> text = "J. R. Smith met Dr. Lee. They left in 1999. Why?"
    >>> [text[begin:end] for begin, end in sentence_spans(text)]
    ['J. R. Smith met Dr. Lee.', 'They left in 1999.', 'Why?']
    """
    spans = []
    begin = 0
    for match in _END.finditer(text):
        place, end = match.span()
        mark = text[place]
        if match[0] == "." and _ABBREVIATED.search(text, max(begin, place - _LOOK), end):
            continue
        if mark in ".!?\u2026" and not _START.match(text, end):
            continue
        spans.append((begin, end))
        begin = end
    spans.append((begin, len(text)))
    trimmed = (
        (b + len(text[b:e]) - len(text[b:e].lstrip()), b + len(text[b:e].rstrip()))
        for b, e in spans
    )
    return [(b, e) for b, e in trimmed if b < e]
