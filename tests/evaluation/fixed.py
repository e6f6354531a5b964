"""A retriever with a given order, and the command without models."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sarag_rdf.base.options import RetrieverOptions, option
from sarag_rdf.base.types import Document, Query, RankedDocument, Retrieved, Subgraph
from sarag_rdf.kg import registry
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor


@dataclass(frozen=True, kw_only=True)
class FixedOptions(RetrieverOptions):
    """Options of `Fixed`."""

    name = "fixed"
    order: str = option("", "Titles in their order, with | between.")


class Fixed:
    """Returns documents by title, in the order of its options, and records its questions."""

    options = FixedOptions
    asked: list[tuple[str, int | None]] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, view: GraphView, options: FixedOptions) -> None:
        order = options.order
        texts = {d.title: d.text for d in view.documents(view.iris.documents).values()}
        self._limit = options.limit
        self._documents = [
            Document(f"a:{place}", "a:source", title, texts[title], 0, len(texts[title]))
            for place, title in enumerate(order.split("|") if order else sorted(texts))
        ]

    def retrieve(self, query: Query) -> Retrieved:
        self.asked.append((query.text, self._limit))
        found = tuple(
            RankedDocument(document, -rank, 0.0, 0.0, "", rank)
            for rank, document in enumerate(self._documents[: self._limit], 1)
        )
        return Retrieved(query, "fixed", {}, found, (), (), (), Subgraph((), {}, ()))


def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashed words embed, capital letters are extracted, and there is the retriever ``fixed``."""
    monkeypatch.setattr(registry, "make_embedder", lambda *_: HashEmbedder())
    make = registry.make_extractor
    monkeypatch.setattr(
        registry,
        "make_extractor",
        lambda name, *rest, **options: (
            CapitalExtractor() if name in ("spacy", "capitals") else make(name, *rest, **options)
        ),
    )
    monkeypatch.setitem(registry.RETRIEVERS, "fixed", Fixed)
    monkeypatch.setattr(Fixed, "asked", [])
