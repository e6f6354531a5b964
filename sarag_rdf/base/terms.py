"""Conversion of RDF terms of stored data, which are IRIs and literals, to Python values."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.ports import Term

DEEPEST_TERM = 100
"""The maximum nesting of triple terms, because the engine processes them recursively."""


def is_deep(statement: Quad | Triple) -> bool:
    """Whether triple terms are nested more than `DEEPEST_TERM` deep in a statement."""
    term, depth = statement.object, 0
    while isinstance(term, Triple) and depth <= DEEPEST_TERM:
        term, depth = term.object, depth + 1
    return depth > DEEPEST_TERM


def iri(term: object) -> str:
    """The IRI of a named node; raises `StoreError` for other terms, such as a blank node."""
    if isinstance(term, NamedNode):
        return term.value
    raise StoreError(f"invalid term in the graph: {term} is not an IRI")


def iri_or_literal(term: object) -> Term:
    """The term itself; raises `StoreError` for a blank node or a triple term."""
    if isinstance(term, NamedNode | Literal):
        return term
    raise StoreError(f"invalid term in the graph: {term} is neither an IRI nor a literal")


def text_of(term: object) -> str:
    """The text of an IRI or a literal; raises `StoreError` for other terms."""
    return iri_or_literal(term).value
