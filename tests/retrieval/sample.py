"""What contexts are built from: documents that were found, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from sarag_rdf.base.types import Document, Link, Query, RankedDocument, Retrieved, Subgraph
from sarag_rdf.retrieval.view import GraphView


def words(text: str) -> int:
    """A counter of tokens that is easy to follow."""
    return len(text.split())


def found(title: str, text: str, number: int = 0, *, score: float = 0.0) -> RankedDocument:
    """Number n begins at 100 n of its source."""
    begin = 100 * number
    document = Document(f"urn:d{number}", f"urn:s{number}", title, text, begin, begin + len(text))
    return RankedDocument(document, score, 0.0, 0.0, "", number + 1)


def found_for(question: str, *documents: RankedDocument, facts: Sequence[str] = ()) -> Retrieved:
    """Documents and the texts of relationships as a retriever gives them."""
    links = tuple(
        Link(f"urn:r{n}", "urn:a", "urn:b", text, 0.0, 0.0) for n, text in enumerate(facts)
    )
    return Retrieved(Query(question), "test", {}, documents, links, (), (), Subgraph((), {}, ()))


def view_with(source: Any) -> GraphView:
    """A view of which contexts read only the graph's reader, or the embedder."""
    parts = SimpleNamespace(reader=source, vectors=SimpleNamespace(embedder=source))
    return cast("GraphView", parts)


VIEW = view_with(None)
"""A view of which nothing is read."""
