"""The best documents and relationships as they are (SA-RAG, arXiv 2512.15922, section 5.6)."""

from __future__ import annotations

from sarag_rdf.context.budget import Budget
from sarag_rdf.errors import UsageError
from sarag_rdf.options import Count, Tokens
from sarag_rdf.ports import CountTokens
from sarag_rdf.types import Context, Excerpt, Retrieved, Section


class Whole:
    """Up to `documents` documents in their order, then up to `relationships` relationships.

    With a budget documents are taken while they fit, and relationships while they do.
    """

    def __init__(
        self,
        count: CountTokens,
        *,
        budget: Tokens | None = None,
        documents: Count = 10,
        relationships: Count = 30,
    ) -> None:
        if documents < 1 or relationships < 0:
            raise UsageError("a context needs documents of at least 1, relationships of at least 0")
        self._count, self._budget = count, budget
        self._documents, self._relationships = documents, relationships

    def build(self, retrieved: Retrieved) -> Context:
        budget = Budget(self._count, self._budget)
        excerpts: dict[str, Excerpt] = {}
        for found in retrieved.documents[: self._documents]:
            excerpt = Excerpt.whole(found.document)
            if not budget.take(excerpt.titled_text):
                break
            excerpts[f"D{len(excerpts) + 1}"] = excerpt
        texts = dict.fromkeys(link.text for link in retrieved.relationships if link.text)
        kept = [text for text in list(texts)[: self._relationships] if budget.take(text)]
        section = Section("", excerpts, tuple(kept))
        return Context((section,) if excerpts or kept else (), budget.used, "whole")
