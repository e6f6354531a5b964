"""Literals as SHACL sees them: whether one is well-formed, and which of two is less."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from pyoxigraph import Literal, NamedNode

from sarag_rdf.errors import SaragError
from sarag_rdf.shacl.data import Node
from sarag_rdf.vocab import RDF, XSD

_DATE_TIME_TYPE = XSD.dateTime
_NUMBER_TYPES = frozenset({XSD.integer, XSD.decimal})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)


def _is_date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


_LEXICAL: Final[Mapping[str, Callable[[str], object]]] = {
    RDF.langString.value: lambda _: True,
    XSD.string.value: lambda _: True,
    XSD.integer.value: _INTEGER.fullmatch,
    XSD.decimal.value: _DECIMAL.fullmatch,
    XSD.dateTime.value: _is_date_time,
}
"""Datatype -> whether a text is one of its lexical forms."""


def datatype_test(datatype: NamedNode) -> Callable[[Node], bool]:
    """Whether a node is a well-formed literal of the datatype.

    Raises `SaragError` for a datatype whose lexical forms are not known here.
    """
    is_form = _LEXICAL.get(datatype.value)
    if is_form is None:
        raise SaragError(f"a shape asks for the datatype {datatype}, which is not known here")

    def test(node: Node) -> bool:
        return isinstance(node, Literal) and node.datatype == datatype and bool(is_form(node.value))

    return test


def at_most(left: Node, right: Node) -> bool:
    """Whether both are comparable, and `left` is not the greater one."""
    one, other = _key(left), _key(right)
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return one <= other
    if isinstance(one, datetime) and isinstance(other, datetime):
        return (one.tzinfo is None) == (other.tzinfo is None) and one <= other
    return False


def _key(node: Node) -> Decimal | datetime | None:
    """The value of a well-formed number or time, None for every other node."""
    if not isinstance(node, Literal):
        return None
    text, datatype = node.value, node.datatype
    if datatype in _NUMBER_TYPES and _LEXICAL[datatype.value](text):
        return Decimal(text)
    if datatype == _DATE_TIME_TYPE and _is_date_time(text):
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found
    return None
