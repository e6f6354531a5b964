"""The lookup ``paths``: what imported graphs and statements of documents say, without a model."""

from __future__ import annotations

import re
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Query
from sarag_rdf.plugins.relation_paths.factoid import dated, factoid
from sarag_rdf.plugins.relation_paths.path_comparisons import compared
from sarag_rdf.plugins.relation_paths.superlatives import extreme
from sarag_rdf.retrieval.view import GraphView

_COMPARES: Final = re.compile(
    r"\b(?:or|both|same|between|out of|than|older|younger|earlier|later)\b", re.IGNORECASE
)
"""Words of English questions that no single path answers."""


def lookup(view: GraphView, query: Query) -> Found | None:
    """What one path leads to, or what decides between several; None where it is not sure."""
    if found := compared(view, query) or extreme(view, query):
        return found
    if _COMPARES.search(query.text):
        return None
    at_time = dated(query)
    return factoid(view, at_time, is_dated=True) if at_time else factoid(view, query)
