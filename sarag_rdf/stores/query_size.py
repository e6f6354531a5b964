"""Refuses SPARQL that is too deep or too long for parsers and engines that call themselves.

Oxigraph runs out of stack, which ends the process, at some 2,000 optional parts or 5,000 nested
groups; the time that joins take grows with the cube of their number, that of paths with the square
of their length. The limits are far above what people write, and far below that.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from sarag_rdf.errors import QueryError

DEEPEST: Final = 100
"""Brackets within brackets."""
MOST: Final = {
    "clauses (OPTIONAL, UNION, FILTER, BIND and the like)": 500,
    "groups or VALUES that are joined": 100,
    "triple patterns in one group": 150,
    "steps of paths": 300,
    "operators between two parentheses": 2_000,
}
"""What a query or update may hold, and how many of it."""
_CLAUSES, _JOINS, _PATTERNS, _STEPS, _OPERATORS = MOST

COMMENT_OR_STRING: Final = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|<[^<>\s]*>|#[^\n]*",
    re.DOTALL,
)
"""Comments, strings and IRIs, in which a word is no keyword and a brace no brace."""
_SHORT: Final = 1_000
"""Characters up to which no text can be too much."""
_TOKEN: Final = re.compile(
    r"(?P<joined>\}\s*\.?\s*(?=\{)|\bvalues\b)|(?P<open><<|[{(\[])|(?P<close>>>|[})\]])"
    r"|(?P<clause>\b(?:optional|union|minus|filter|bind|graph|service|exists|select|as|lateral)\b)"
    r"|(?P<variable>[?$]\w)|(?P<step>[/|^])|(?P<operator>[-+*!=<>&])|(?P<pattern>[.;,])",
    re.IGNORECASE,
)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_SYMBOL: Final = re.compile(r"[-+*/!|&=]")
_BRACKET: Final = re.compile(r"[{}()\[\]]")
_MOST_BRACKETS, _MOST_SYMBOLS = 20, 50


def check_size(text: str) -> None:
    """Raise `QueryError` for a query or update that is too deep, too long, or no Unicode text."""
    if _SURROGATE.search(text):
        raise QueryError("the SPARQL is not UTF-8 text: save it as UTF-8")
    if len(text) <= _SHORT:
        return
    scan = _Scan()
    for token in _TOKEN.finditer(COMMENT_OR_STRING.sub(_kept, text)):
        scan.take(str(token.lastgroup), token.group())


def _kept(match: re.Match[str]) -> str:
    """Nothing of comments and strings; an IRI that may be a comparison of terms stays."""
    found = match.group()
    if found[0] != "<":
        return " "
    hides = len(_BRACKET.findall(found)) > _MOST_BRACKETS
    return found if hides or len(_SYMBOL.findall(found)) > _MOST_SYMBOLS else " <> "


@dataclass(slots=True)
class _Group:
    """What stands between two brackets, those within it apart."""

    bracket: str = "{"
    operators: int = 0
    patterns: int = 0
    has_variables: bool = False


@dataclass(slots=True)
class _Scan:
    """Counts, token by token."""

    counts: Counter[str] = field(default_factory=Counter)
    groups: list[_Group] = field(default_factory=lambda: [_Group()])

    def take(self, kind: str, token: str) -> None:
        group = self.groups[-1]
        if kind == "open":
            self.groups.append(_Group(token))
            if len(self.groups) > DEEPEST:
                raise QueryError(f"the SPARQL nests brackets more than {DEEPEST} deep: {_ADVICE}")
        elif kind == "close":
            self._close()
        elif kind == "joined":
            self._count(_JOINS)
            if token.startswith("}"):
                self._close()
        elif kind == "clause":
            self._count(_CLAUSES)
        elif kind == "variable":
            group.has_variables = True
        elif kind == "pattern":
            group.patterns += 1
            if group.has_variables and group.bracket == "{":
                _limit(_PATTERNS, group.patterns)
        elif kind == "step":
            self._count(_STEPS)
        elif group.bracket == "(":
            group.operators += 1
            _limit(_OPERATORS, group.operators)

    def _close(self) -> None:
        if len(self.groups) > 1:
            self.groups.pop()

    def _count(self, what: str) -> None:
        self.counts[what] += 1
        _limit(what, self.counts[what])


_ADVICE = "split it into several, and give long lists of values in one VALUES"


def _limit(what: str, count: int) -> None:
    if count > MOST[what]:
        raise QueryError(f"the SPARQL has more than {MOST[what]:,} {what}: {_ADVICE}")
