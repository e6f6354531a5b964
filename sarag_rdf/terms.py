"""RDF terms of stored data are IRIs and literals; here they become plain Python values."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode

from sarag_rdf.errors import StoreError
from sarag_rdf.ports import Term


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
