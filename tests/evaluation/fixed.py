"""A retriever with a given order, and the command without models."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

from sarag_rdf.base import plugins
from sarag_rdf.base.options import option
from sarag_rdf.base.types import Document, Query, RankedDocument, Retrieved, Subgraph
from sarag_rdf.kg import registry, vectors
from sarag_rdf.retrieval.retriever import RetrieverStrategy
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor


@dataclass(frozen=True, kw_only=True)
class Fixed(RetrieverStrategy):
    """Returns documents by title, in the order of its options, and records its questions."""

    name = "fixed"
    asked: ClassVar[list[tuple[str, int | None]]] = []
    order: str = option("", "Titles in their order, with | between.")

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        self.asked.append((query.text, self.limit))
        texts = {d.title: d.text for d in view.documents(view.iris.documents).values()}
        titles = self.order.split("|") if self.order else sorted(texts)
        documents = [
            Document(f"a:{place}", "a:source", title, texts[title], 0, len(texts[title]))
            for place, title in enumerate(titles)
        ]
        found = tuple(
            RankedDocument(document, -rank, 0.0, 0.0, "", rank)
            for rank, document in enumerate(documents[: self.limit], 1)
        )
        return Retrieved(query, "fixed", {}, found, (), (), (), Subgraph((), {}, ()))


def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashed words embed, capital letters are extracted, and there is the retriever ``fixed``."""
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    make = registry.make_extractor
    monkeypatch.setattr(
        registry,
        "make_extractor",
        lambda chosen, *rest, **options: (
            CapitalExtractor() if chosen.name == "spacy" else make(chosen, *rest, **options)
        ),
    )
    entry = EntryPoint("fixed", "tests.evaluation.fixed:Fixed", "sarag_rdf.retrievers")
    fixed = plugins.Plugin("retrievers", "fixed", "tests", "1", entry)
    others = plugins._others
    monkeypatch.setattr(
        plugins,
        "_others",
        lambda group: {"fixed": fixed} if group == "retrievers" else others(group),
    )
    monkeypatch.setattr(Fixed, "asked", [])
