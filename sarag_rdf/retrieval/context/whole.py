"""The best documents and relationships as they are (SA-RAG, arXiv 2512.15922, section 5.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sarag_rdf.base.options import MAX_COUNT, budget_option, option
from sarag_rdf.base.ports import CountTokens
from sarag_rdf.base.types import Context, Excerpt, Retrieved, Section
from sarag_rdf.retrieval.context.base import Budget, ContextStrategy
from sarag_rdf.retrieval.view import GraphView


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
