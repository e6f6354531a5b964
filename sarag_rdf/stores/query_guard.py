"""Looks at a SPARQL query before it runs: does it name a data set, can it reach the network?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyparsing import ParseResults
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from sarag_rdf.errors import QueryError
from sarag_rdf.stores.query_size import check_size
from sarag_rdf.stores.query_tokens import keywords

_ESCAPE = re.compile(r"\\u[0-9a-f]{4}(?:[0-9a-f]{4})?", re.IGNORECASE)
"""What rdflib replaces before it parses."""


@dataclass(frozen=True, slots=True)
class QueryTraits:
    """`names_dataset`: has FROM or FROM NAMED; `reaches_network`: has SERVICE."""

    names_dataset: bool
    reaches_network: bool


def node_names(node: object) -> set[str]:
    """Names of all nodes of a parse tree or algebra of rdflib."""
    found: set[str] = set()
    parts: Iterable[object] = ()
    if isinstance(node, CompValue):
        found, parts = {node.name}, node.values()
    elif isinstance(node, list | tuple | ParseResults):
        parts = node
    return found.union(*(node_names(part) for part in parts))


def readings(text: str) -> set[str]:
    """A text as rdflib and as Oxigraph read escapes and line ends; see `inspect_query`."""
    lines = text.replace("\r", "\n")
    return {lines, _ESCAPE.sub("x", lines)}


def inspect_query(text: str) -> QueryTraits:
    """Read the traits of a query from rdflib's parse tree.

    Oxigraph and rdflib read some texts differently: rdflib takes Unicode escapes for what they
    stand for before it parses, Oxigraph only within strings and IRIs; and a carriage return ends
    a comment for Oxigraph alone. So both readings count. A query that rdflib cannot parse
    (Oxigraph knows newer syntax) reaches out if it holds the letters SERVICE anywhere, or an
    escape that may hide them. A text without the letters of either word is not parsed at all.
    Raises `QueryError` for what is too deep or too long (`check_size`).
    """
    check_size(text)
    upper = text.upper()
    if "SERVICE" not in upper and "FROM" not in upper and not _ESCAPE.search(text):
        return QueryTraits(names_dataset=False, reaches_network=False)
    try:
        names = set().union(*(node_names(parseQuery(reading)) for reading in readings(text)))
    except Exception:  # noqa: BLE001 - pyparsing and rdflib raise many kinds; Oxigraph decides
        lines = text.replace("\r", "\n")
        hidden = _ESCAPE.search(lines) is not None
        return QueryTraits("FROM" in keywords(lines), "SERVICE" in upper or hidden)
    return QueryTraits("DatasetClause" in names, "ServiceGraphPattern" in names)


def refuse_network(traits: QueryTraits) -> None:
    """Raise `QueryError` for a query that would reach out."""
    if traits.reaches_network:
        raise QueryError(
            "the query uses SERVICE, which reaches the network: remove it, or allow it with "
            "--allow-service"
        )
