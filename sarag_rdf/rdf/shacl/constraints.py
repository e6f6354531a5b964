"""The SHACL constraint components, as functions from a parameter to a check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode

from sarag_rdf.errors import SaragError
from sarag_rdf.rdf.shacl.data import Data, Node, lexical
from sarag_rdf.vocab import RDF, SH, XSD

Values = Sequence[Node]
Violations = Sequence[Node | None]
"""The value nodes of violations; None for a violation without a value."""
Check = Callable[[Data, Node, Values], Violations]
"""Takes the data, a focus node and its values."""

_NO_VIOLATION: Violations = ()
_VIOLATION: Violations = (None,)

_KINDS: Final[Mapping[Node, tuple[type, ...]]] = {
    SH.IRI: (NamedNode,),
    SH.Literal: (Literal,),
    SH.BlankNode: (BlankNode,),
    SH.IRIOrLiteral: (NamedNode, Literal),
    SH.BlankNodeOrIRI: (BlankNode, NamedNode),
    SH.BlankNodeOrLiteral: (BlankNode, Literal),
}


def _each(is_valid: Callable[[Node], bool]) -> Check:
    """A check of each single value."""
    return lambda data, focus, values: [v for v in values if not is_valid(v)]  # noqa: ARG005


def _each_text(is_valid: Callable[[str], bool]) -> Check:
    """A check of the text of each literal or IRI; other nodes are violations."""

    def is_valid_node(node: Node) -> bool:
        text = lexical(node)
        return text is not None and is_valid(text)

    return _each(is_valid_node)


def _number(parameter: Node) -> int:
    return int(str(lexical(parameter)))


def _min_count(parameter: Node) -> Check:
    least = _number(parameter)
    return lambda data, focus, values: _VIOLATION if len(values) < least else _NO_VIOLATION  # noqa: ARG005


def _max_count(parameter: Node) -> Check:
    most = _number(parameter)
    return lambda data, focus, values: _VIOLATION if len(values) > most else _NO_VIOLATION  # noqa: ARG005


def _node_kind(parameter: Node) -> Check:
    kinds = _KINDS[parameter]
    return _each(lambda value: isinstance(value, kinds))


def _class(parameter: Node) -> Check:
    def check(data: Data, focus: Node, values: Values) -> Violations:  # noqa: ARG001
        return [v for v in values if not data.is_instance(v, parameter)]

    return check


def _datatype(parameter: Node) -> Check:
    if not isinstance(parameter, NamedNode):
        raise SaragError(f"the sh:datatype {parameter} of a shape is not an IRI")
    return _each(datatype_test(parameter))


def _min_length(parameter: Node) -> Check:
    least = _number(parameter)
    return _each_text(lambda text: len(text) >= least)


def _max_length(parameter: Node) -> Check:
    most = _number(parameter)
    return _each_text(lambda text: len(text) <= most)


def _pattern(parameter: Node) -> Check:
    # In SPARQL "$" matches only the end of a text; in Python also before a final line break.
    search = re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", str(lexical(parameter)))).search
    return _each_text(lambda text: search(text) is not None)


def _min_inclusive(parameter: Node) -> Check:
    return _each(lambda value: at_most(parameter, value))


def _max_inclusive(parameter: Node) -> Check:
    return _each(lambda value: at_most(value, parameter))


def _unique_lang(parameter: Node) -> Check:
    if not is_true(parameter):
        return lambda data, focus, values: _NO_VIOLATION  # noqa: ARG005

    def check(data: Data, focus: Node, values: Values) -> Violations:  # noqa: ARG001
        if len(values) < 2:
            return _NO_VIOLATION
        tags = Counter(v.language.lower() for v in values if isinstance(v, Literal) and v.language)
        return [None for count in tags.values() if count > 1]

    return check


def _less_than_or_equals(parameter: Node) -> Check:
    def check(data: Data, focus: Node, values: Values) -> Violations:
        others = _values_of(data, focus, parameter)
        return [value for value in values for other in others if not at_most(value, other)]

    return check


def _disjoint(parameter: Node) -> Check:
    def check(data: Data, focus: Node, values: Values) -> Violations:
        others = _values_of(data, focus, parameter)
        return [value for value in values if value in others]

    return check


def _values_of(data: Data, focus: Node, predicate: Node) -> Iterable[Node]:
    assert isinstance(predicate, NamedNode)  # noqa: S101 - the parameter is a property
    return data.properties.get(focus, {}).get(predicate, {})


CONSTRAINTS: Final[Mapping[NamedNode, Callable[[Node], Check]]] = {
    SH.minCount: _min_count,
    SH.maxCount: _max_count,
    SH.nodeKind: _node_kind,
    SH["class"]: _class,
    SH.datatype: _datatype,
    SH.minLength: _min_length,
    SH.maxLength: _max_length,
    SH.pattern: _pattern,
    SH.minInclusive: _min_inclusive,
    SH.maxInclusive: _max_inclusive,
    SH.uniqueLang: _unique_lang,
    SH.lessThanOrEquals: _less_than_or_equals,
    SH.disjoint: _disjoint,
}
"""Parameter -> constructor of a check. Parameters with lists are parsed in `shapes`."""

VIOLATED_BY_ABSENCE: Final = frozenset({SH.MinCountConstraintComponent})
"""The components that can be violated by a property without values."""


def is_in(members: Iterable[Node]) -> Check:
    """The check of sh:in."""
    allowed = frozenset(members)
    return _each(lambda value: value in allowed)


def is_true(node: Node) -> bool:
    """Whether a boolean parameter is true."""
    return lexical(node) in ("true", "1")


def component(parameter: NamedNode) -> NamedNode:
    """The constraint component of a parameter: sh:minCount, sh:MinCountConstraintComponent."""
    name = parameter.value.removeprefix(SH.base)
    return SH[name[0].upper() + name[1:] + "ConstraintComponent"]


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
"""Datatype -> whether a text is in its lexical space."""


def datatype_test(datatype: NamedNode) -> Callable[[Node], bool]:
    """A test whether a node is a well-formed literal of the datatype.

    Raises `SaragError` for a datatype that is not supported.
    """
    is_form = _LEXICAL.get(datatype.value)
    if is_form is None:
        raise SaragError(f"the datatype {datatype} of a shape is not supported")

    def test(node: Node) -> bool:
        return isinstance(node, Literal) and node.datatype == datatype and bool(is_form(node.value))

    return test


def at_most(left: Node, right: Node) -> bool:
    """Whether both are comparable, and `left` is less than or equal to `right`."""
    one, other = _key(left), _key(right)
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return one <= other
    if isinstance(one, datetime) and isinstance(other, datetime):
        return (one.tzinfo is None) == (other.tzinfo is None) and one <= other
    return False


def _key(node: Node) -> Decimal | datetime | None:
    """The value of a well-formed number or date and time; None for other nodes."""
    if not isinstance(node, Literal):
        return None
    text, datatype = node.value, node.datatype
    if datatype in _NUMBER_TYPES and _LEXICAL[datatype.value](text):
        return Decimal(text)
    if datatype == _DATE_TIME_TYPE and _is_date_time(text):
        value = datetime.fromisoformat(text)
        return value.astimezone(UTC) if value.tzinfo else value
    return None
