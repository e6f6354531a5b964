"""From what was retrieved to what a language model reads, within a budget of tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sarag_rdf.base.arrays import Scale
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import MAX_COUNT, Options, budget_option, option
from sarag_rdf.base.ports import CountTokens, embed_queries
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import Context, Document, Excerpt, Link, Retrieved, Section
from sarag_rdf.graph.vectors.search_indexes import Bm25Index
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class ContextStrategy(Options, ABC):
    """Selects what a model reads; subclasses are entry points of ``sarag_rdf.contexts``."""

    @abstractmethod
    def build(self, view: GraphView, retrieved: Retrieved, count: CountTokens) -> Context:
        """The context; `count` counts the tokens of a text."""


def approximate_tokens(text: str) -> int:
    """A word between white space as 4/3 tokens, rounded up: for English with common tokenizers.

    >>> approximate_tokens("Ulm lies on the Danube.")
    7
    """
    return -(-4 * len(text.split()) // 3)


def measured(sections: Sequence[Section], builder: str) -> Context:
    """The context of sections that no budget limits, with its approximate size."""
    context = Context(tuple(sections), 0, builder)
    return replace(context, tokens=sum(map(approximate_tokens, context.texts)))


class Budget:
    """Counts the tokens of what is taken, up to `limit`, or without one."""

    def __init__(self, count: CountTokens, limit: int | None, *, used: int = 0) -> None:
        if limit is not None and limit < 1:
            raise UsageError("a budget is at least 1 token")
        self._count, self._limit = count, limit
        self.used = used

    def take(self, text: str, *, instead_of: str = "") -> bool:
        """Take a text if it fits, in the place of one taken before; say whether it does."""
        size = self._count(text) - (self._count(instead_of) if instead_of else 0)
        if self._limit is not None and self.used + size > self._limit:
            return False
        self.used += size
        return True


@dataclass(frozen=True, kw_only=True)
class Whole(ContextStrategy):
    """The best documents as they are, then the best relationships.

    Documents are added in the order of their ranks up to the first that exceeds the budget, then
    relationships that fit.
    """

    name = "whole"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"documents": MAX_COUNT, "relationships": MAX_COUNT}
    }
    budget: int | None = budget_option(None)
    documents: int = option(10, "Maximum number of documents.", ge=1, le=MAX_COUNT)
    relationships: int = option(30, "Maximum number of relationships.", ge=0, le=MAX_COUNT)

    def build(self, view: GraphView, retrieved: Retrieved, count: CountTokens) -> Context:  # noqa: ARG002
        budget = Budget(count, self.budget)
        excerpts: dict[str, Excerpt] = {}
        for ranked in retrieved.documents[: self.documents]:
            excerpt = Excerpt.whole(ranked.document)
            if not budget.take(excerpt.titled_text):
                break
            excerpts[f"D{len(excerpts) + 1}"] = excerpt
        sources = {
            link.text: Excerpt.whole(retrieved.sources[link.relationship]).citation
            for link in reversed(retrieved.relationships)
            if link.relationship in retrieved.sources
        }
        texts = dict.fromkeys(link.text for link in retrieved.relationships if link.text)
        relationships = [text for text in list(texts)[: self.relationships] if budget.take(text)]
        cited = {text: sources[text] for text in relationships if text in sources}
        section = Section("", excerpts, tuple(relationships), sources=cited)
        return Context((section,) if excerpts or relationships else (), budget.used, "whole")


WORDS = 0.6
"""Weight of the BM25 z-score; those of cosine and document score have weight 1."""
OPENING = 0.3
"""Bonus of the first sentence of a document, which names its topic."""


@dataclass(frozen=True, kw_only=True)
class Selected(ContextStrategy):
    """The best sentences up to the budget, in the order of their documents.

    With z-scores over all sentences of the first `documents` documents, the score of a sentence is

        z(cosine) + WORDS z(BM25) + z(score of its document) + OPENING if it is the first

    where the cosine is that of the question and the sentence after the title of its document.
    Relationships that a document states are omitted, as its sentences are available; those that
    none states, as in an imported graph, are sentences of a document of mean score. No language
    model is called.
    """

    name = "selected"
    budget: int = budget_option(400)
    documents: int = option(
        10, "Maximum number of documents from which sentences are selected.", ge=1, le=MAX_COUNT
    )

    def build(self, view: GraphView, retrieved: Retrieved, count: CountTokens) -> Context:
        documents = retrieved.documents[: self.documents]
        places = [
            (rank, span)
            for rank, ranked in enumerate(documents)
            for span in sentence_spans(ranked.document.text, headings=False)
        ]
        stated = _stated_by_none(view, retrieved.relationships)
        if not (places or stated):
            return Context((), 0, "selected")
        texts = [_shown(documents[rank].document, span) for rank, span in places] + stated
        scores = np.array([documents[rank].score for rank, _ in places])
        question, embedder = retrieved.query.text, view.vectors.embedder
        query = embed_queries(embedder, [question])[0].astype(np.float64)
        cosines = embedder.embed(texts).astype(np.float64) @ query
        words = Bm25Index(texts).scores(question).astype(np.float64)
        total = Scale.of(cosines).z(cosines) + WORDS * Scale.of(words).z(words)
        if places:
            ranks = [-1, *(rank for rank, _ in places)]
            is_opening = np.array([before != rank for before, rank in pairwise(ranks)])
            total[: len(places)] += Scale.of(scores).z(scores) + OPENING * is_opening
        budget = Budget(count, self.budget)
        excerpt_at: dict[int, Excerpt] = {}
        relationships: list[str] = []
        for place in np.argsort(-total, kind="stable"):
            if place >= len(places):
                relationships += filter(budget.take, texts[place : place + 1])
                continue
            rank, span = places[place]
            before = excerpt_at.get(rank, Excerpt(documents[rank].document, ()))
            more = replace(before, spans=tuple(sorted((*before.spans, span))))
            if budget.take(more.titled_text, instead_of=before.titled_text if before.spans else ""):
                excerpt_at[rank] = more
        excerpts = {
            f"D{number}": excerpt_at[rank]
            for number, rank in enumerate(sorted(excerpt_at), start=1)
        }
        sections = (Section("", excerpts, tuple(relationships)),)
        return Context(sections if excerpts or relationships else (), budget.used, "selected")


def _stated_by_none(view: GraphView, links: Sequence[Link]) -> list[str]:
    """The texts of relationships that no document states."""
    if not links:
        return []
    known = view.statements(link.relationship for link in links)
    texts = (link.text for link in links if not known.get(link.relationship, ("", ""))[1])
    return [*dict.fromkeys(filter(None, texts))]


def _shown(document: Document, span: tuple[int, int]) -> str:
    text = document.text[slice(*span)]
    return f"{document.title}: {text}" if document.title else text
