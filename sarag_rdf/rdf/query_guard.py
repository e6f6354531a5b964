"""Inspects SPARQL queries before they run: size, nesting, data set, network access."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import pyoxigraph as ox
from pyparsing import ParseResults
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from sarag_rdf.errors import QueryError
from sarag_rdf.rdf.sparql_tokens import Token, keywords, tokens
from sarag_rdf.sandbox import EndedError, Limits, run

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


LONGEST_HERE: Final = 2_000
"""Characters; the shortest text known to end a process with a stack of 8 MiB has 4,600."""
STACK: Final = 4 << 20
"""Bytes of the stack on which a query is tried: half of what it has when it runs."""
_LIMITS: Final = Limits(seconds=30, memory=2 << 30)


def check_query(text: str) -> QueryTraits:
    """The traits of a query that may run in this process.

    Raises `QueryError` for one that is too deep or too long, or ends the process that tries it.
    One that does not parse is left to the engine.
    """
    if len(text) <= LONGEST_HERE:
        return inspect_query(text)
    check_size(text)
    try:
        return run(tried, _LIMITS, text)
    except EndedError as error:
        raise QueryError(f"the SPARQL {error}: {ADVICE}") from error


def tried(text: str) -> QueryTraits:
    """The traits of a query that has been parsed and planned, over no data and with no network."""
    traits = inspect_query(text)
    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=_try, args=(text,))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return traits


def _try(text: str) -> None:
    errors = (SyntaxError, RuntimeError, ValueError, OSError)
    store = ox.Store()
    with _no_sockets(), contextlib.suppress(*errors):
        result = store.query(text)
        if isinstance(result, ox.QuerySolutions | ox.QueryTriples):
            next(result, None)


@contextlib.contextmanager
def _no_sockets() -> Iterator[None]:
    """Let this process open nothing, so that SERVICE is not called, let alone twice."""
    try:
        import resource
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
