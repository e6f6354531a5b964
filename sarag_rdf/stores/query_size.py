"""Refuses SPARQL that is too deep or too long for parsers and engines that call themselves.

The time that joins take grows with the cube of their number, that of paths with the square of
their length; at some thousands of nested parts the engine runs out of stack, which ends the
process. The limits are far above what people write. They make for errors that say what to change;
what comes past them is for `sarag_rdf.stores.query_check` to catch.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from sarag_rdf.errors import QueryError
from sarag_rdf.stores.query_tokens import Token, tokens

DEEPEST: Final = 100
"""Brackets within brackets."""
MOST: Final = {
    "clauses (OPTIONAL, UNION, FILTER, BIND and the like)": 500,
    "groups or VALUES that are joined": 100,
    "triple patterns in one group": 150,
    "steps of paths": 300,
    "operators within one expression": 2_000,
}
"""What a query or update may hold, and how many of it."""
_CLAUSES, _JOINS, _PATTERNS, _STEPS, _OPERATORS = MOST

ADVICE: Final = "split it into several, and give long lists of values in one VALUES"
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_CLAUSE_WORDS: Final = frozenset(
    {
        *("OPTIONAL", "UNION", "MINUS", "FILTER", "BIND", "GRAPH", "SERVICE", "EXISTS", "SELECT"),
        *("AS", "LATERAL"),
    }
)
_OPERATOR_SYMBOLS: Final = frozenset(
    {"+", "-", "*", "!", "=", "<", ">", "&", "&&", "||", "!=", "<=", ">="}
)
_TERMS: Final = frozenset({"string", "iri", "variable", "label", "name", "number"})
_NONE: Final = Token("", "", 0)
_TERM_WORDS: Final = frozenset({"TRUE", "FALSE"})


def check_size(text: str) -> None:
    """Raise `QueryError` for a query or update that is too deep, too long, or no Unicode text."""
    if _SURROGATE.search(text):
        raise QueryError("the SPARQL is not UTF-8 text: save it as UTF-8")
    scan = _Scan()
    for token in tokens(text):
        scan.take(token)


@dataclass(slots=True)
class _Group:
    """What stands between two brackets.

    `patterns` are those of the innermost braces around it, which the groups in them share.
    """

    bracket: str = "{"
    is_data: bool = False
    operators: int = 0
    patterns: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Scan:
    """Counts, token by token."""

    counts: Counter[str] = field(default_factory=Counter)
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    last: Token = _NONE
    closed: bool = False
    """Whether braces closed just now, but for a full stop."""
    begins_data: bool = False

    def take(self, token: Token) -> None:
        group = self.groups[-1]
        word = token.text.upper() if token.kind == "word" else ""
        if token.kind == "open":
            self._open(token.text, group)
        elif token.kind == "close":
            if len(self.groups) > 1:
                self.groups.pop()
        elif word in _CLAUSE_WORDS:
            self._count(_CLAUSES)
        elif word == "VALUES":
            self._count(_JOINS)
            self.begins_data = True
        elif word == "DATA":
            self.begins_data = True
        elif token.kind == "symbol":
            self._symbol(token.text, group)
        elif token.kind in _TERMS or word in _TERM_WORDS:
            self._term(token, group)
        self.closed = token.text == "}" or (self.closed and token.text == ".")
        self.last = token

    def _open(self, bracket: str, group: _Group) -> None:
        if bracket == "{":
            if self.closed:
                self._count(_JOINS)
            opened = _Group(bracket, self.begins_data)
            self.begins_data = False
        else:
            if bracket != "(":
                self._pattern(group, blank=True)
            elif self.last.text == ")" and group.bracket == "(":
                self._item(group)
            inherited = group.operators if bracket == "(" else 0
            opened = _Group(bracket, group.is_data, inherited, group.patterns)
        self.groups.append(opened)
        if len(self.groups) > DEEPEST:
            raise QueryError(f"the SPARQL nests brackets more than {DEEPEST} deep: {ADVICE}")

    def _symbol(self, symbol: str, group: _Group) -> None:
        if symbol in ("/", "|", "^"):
            self._count(_STEPS)
        elif symbol in _OPERATOR_SYMBOLS and group.bracket == "(":
            group.operators += 1
            _limit(_OPERATORS, group.operators)
        elif symbol in (".", ";", ",") and group.bracket != "(":
            self._pattern(group)

    def _term(self, token: Token, group: _Group) -> None:
        if token.kind == "variable":
            group.patterns["variables"] += 1
        if group.bracket == "(" and self._follows_term():
            self._item(group)

    def _follows_term(self) -> bool:
        """Two terms stand side by side in parentheses only where these are a list or a row."""
        last = self.last
        return (
            last.kind in _TERMS
            or last.kind == "language"
            or last.text in (")", "]")
            or (last.kind == "word" and last.text.upper() in _TERM_WORDS)
        )

    def _item(self, group: _Group) -> None:
        """An item of a list is two triple patterns, and a blank node, which matches anything."""
        self._pattern(group)
        self._pattern(group, blank=True)

    def _pattern(self, group: _Group, *, blank: bool = False) -> None:
        if group.is_data:
            return
        group.patterns["variables"] += blank
        group.patterns["all"] += 1
        if group.patterns["variables"]:
            _limit(_PATTERNS, group.patterns["all"])

    def _count(self, what: str) -> None:
        self.counts[what] += 1
        _limit(what, self.counts[what])


def _limit(what: str, count: int) -> None:
    if count > MOST[what]:
        raise QueryError(f"the SPARQL has more than {MOST[what]:,} {what}: {ADVICE}")
