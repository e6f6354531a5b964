"""Looks at a SPARQL query before it runs: does it name a data set, can it reach the network?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyparsing import ParseResults
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from sarag_rdf.errors import QueryError

COMMENT_OR_STRING = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|<[^<>\s]*>|#[^\n]*",
    re.DOTALL,
)
"""Comments, strings and IRIs, in which a word is no keyword and a brace no brace."""
_ESCAPE = re.compile(r"\\u[0-9a-f]{4}(?:[0-9a-f]{4})?", re.IGNORECASE)
"""What rdflib replaces before it parses."""


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

    Oxigraph and rdflib read some texts differently: rdflib takes Unicode escapes for what they
    stand for before it parses, Oxigraph only within strings and IRIs; and a carriage return ends
    a comment for Oxigraph alone. So both readings count. A query that rdflib cannot parse
    (Oxigraph knows newer syntax) reaches out if it holds the letters SERVICE anywhere, or an
    escape that may hide them.
    """
    lines = text.replace("\r", "\n")
    literal = _ESCAPE.sub("x", lines)
    try:
        names = set().union(*(_names(parseQuery(reading)) for reading in {lines, literal}))
    except Exception:  # noqa: BLE001 - pyparsing and rdflib raise many kinds; Oxigraph decides
        words = set(re.findall(r"\w+", COMMENT_OR_STRING.sub(" ", lines).upper()))
        return QueryTraits("FROM" in words, "SERVICE" in text.upper() or literal != lines)
    return QueryTraits("DatasetClause" in names, "ServiceGraphPattern" in names)


def refuse_network(traits: QueryTraits) -> None:
    """Raise `QueryError` for a query that would reach out."""
    if traits.reaches_network:
        raise QueryError(
            "the query uses SERVICE, which reaches the network: remove it, or allow it with "
            "--allow-service"
        )
