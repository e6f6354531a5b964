"""Looks at a SPARQL query before it runs: does it name a data set, can it reach the network?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyparsing import ParseResults
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from sarag_rdf.errors import QueryError

_COMMENT_OR_STRING = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|<[^<>\s]*>|#[^\n]*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class QueryTraits:
    """`names_dataset`: has FROM or FROM NAMED; `reaches_network`: has SERVICE."""

    names_dataset: bool
    reaches_network: bool


def _names(node: object) -> set[str]:
    found: set[str] = set()
    parts: Iterable[object] = ()
    if isinstance(node, CompValue):
        found, parts = {node.name}, node.values()
    elif isinstance(node, list | tuple | ParseResults):
        parts = node
    return found.union(*(_names(part) for part in parts))


def inspect_query(text: str) -> QueryTraits:
    """Read the traits of a query from rdflib's parse tree.

    A query that rdflib cannot parse (Oxigraph knows newer syntax) is judged by its words outside
    strings, IRIs and comments; with escapes that could hide a word it counts as reaching out.
    """
    try:
        names = _names(parseQuery(text))
    except Exception:  # noqa: BLE001 - pyparsing and rdflib raise many kinds; Oxigraph decides
        words = set(re.findall(r"\w+", _COMMENT_OR_STRING.sub(" ", text).upper()))
        return QueryTraits("FROM" in words, "SERVICE" in words or "\\U" in text.upper())
    return QueryTraits("DatasetClause" in names, "ServiceGraphPattern" in names)


def refuse_network(traits: QueryTraits) -> None:
    """Raise `QueryError` for a query that would reach out."""
    if traits.reaches_network:
        raise QueryError(
            "the query uses SERVICE, which reaches the network: remove it, or allow it with "
            "--allow-service"
        )
