"""RDF terms of stored data are IRIs and literals; here they become plain Python values."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.errors import StoreError
from sarag_rdf.ports import Term

DEEPEST_TERM = 100
"""Triple terms within triple terms that are stored or sent: the engine calls itself for each."""


def is_deep(statement: Quad | Triple) -> bool:
    """Whether triple terms are nested more than `DEEPEST_TERM` deep in a statement."""
    term, depth = statement.object, 0
    while isinstance(term, Triple) and depth <= DEEPEST_TERM:
        term, depth = term.object, depth + 1
    return depth > DEEPEST_TERM


def iri(term: object) -> str:
    """The IRI of a named node; anything else, a blank node say, raises `StoreError`."""
    if isinstance(term, NamedNode):
        return term.value
    raise StoreError(f"the graph holds {term} where only an IRI may stand")


def iri_or_literal(term: object) -> Term:
    """The term itself; a blank node or a triple term raises `StoreError`."""
    if isinstance(term, NamedNode | Literal):
        return term
    raise StoreError(f"the graph holds {term} where only an IRI or a literal may stand")


def text_of(term: object) -> str:
    """The value of an IRI or a literal as a string; anything else raises `StoreError`."""
    return iri_or_literal(term).value
