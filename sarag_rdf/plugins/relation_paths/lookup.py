"""The lookup ``paths``: what imported graphs and statements of documents say, without a model."""

from __future__ import annotations

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Query
from sarag_rdf.plugins.relation_paths.factoid import factoid
from sarag_rdf.retrieval.view import GraphView


def lookup(view: GraphView, query: Query) -> Found | None:
    """The answer to a question for what one path leads to; None where it is not sure."""
    return factoid(view, query)
