"""Static checks of SPARQL queries: size, nesting, dataset, network access."""

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
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from sarag_rdf.base.errors import QueryError
from sarag_rdf.base.sandbox import EndedError, Limits, run
from sarag_rdf.graph.store.sparql_tokens import Token, keywords, tokens

_ESCAPE = re.compile(r"\\u[0-9a-f]{4}(?:[0-9a-f]{4})?", re.IGNORECASE)
"""Codepoint escapes, which rdflib replaces before it parses."""


@dataclass(frozen=True, slots=True)
class QueryTraits:
    """`names_dataset`: has FROM or FROM NAMED. `reaches_network`: has SERVICE."""

    names_dataset: bool
    reaches_network: bool


def node_names(node: object) -> set[str]:
    """The names of all nodes of an rdflib parse tree or algebra."""
    names: set[str] = set()
    parts: Iterable[object] = ()
    if isinstance(node, CompValue):
        names, parts = {node.name}, node.values()
    elif isinstance(node, list | tuple | ParseResults):
        parts = node
    return names.union(*(node_names(part) for part in parts))


def interpretations(text: str) -> set[str]:
    """The text as interpreted by rdflib and by Oxigraph; see `inspect_query`."""
    lines = text.replace("\r", "\n")
    return {lines, _ESCAPE.sub("x", lines)}


def inspect_query(text: str) -> QueryTraits:
    """Determine the traits of a query from rdflib's parse tree.

    Oxigraph and rdflib interpret some texts differently: rdflib replaces codepoint escapes before
    it parses, Oxigraph only within strings and IRIs; and a carriage return ends a comment for
    Oxigraph only. Therefore both interpretations are parsed. A query that rdflib cannot parse
    (Oxigraph supports newer syntax) counts as reaching the network if it contains the letters
    SERVICE anywhere, or an escape that may hide them. A text without the letters SERVICE or FROM is
    not parsed. Raises `QueryError` for a query that is nested too deeply or too long
    (`check_size`).
    """
    check_size(text)
    upper = text.upper()
    if "SERVICE" not in upper and "FROM" not in upper and not _ESCAPE.search(text):
        return QueryTraits(names_dataset=False, reaches_network=False)
    try:
        names = set().union(*(node_names(parseQuery(t)) for t in interpretations(text)))
    except Exception:  # noqa: BLE001 - pyparsing and rdflib raise many types; Oxigraph decides
        lines = text.replace("\r", "\n")
        has_escape = _ESCAPE.search(lines) is not None
        return QueryTraits("FROM" in keywords(lines), "SERVICE" in upper or has_escape)
    return QueryTraits("DatasetClause" in names, "ServiceGraphPattern" in names)


def dataset_clauses(text: str, base: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The absolute IRIs of FROM and of FROM NAMED; raises `QueryError` if rdflib cannot parse it.

    `base` resolves relative IRIs.
    """
    try:
        algebra = translateQuery(parseQuery(text), base=base or None).algebra
        clauses = algebra.datasetClause or ()
        default = tuple(str(clause.default) for clause in clauses if clause.default)
        named = tuple(str(clause.named) for clause in clauses if clause.named)
    except Exception as error:  # pyparsing and rdflib raise many types
        raise QueryError(
            "this token is for some graphs only, and FROM in this query could not be read: name "
            "the graphs by the parameters default-graph-uri and named-graph-uri"
        ) from error
    return default, named


def refuse_network(traits: QueryTraits) -> None:
    """Raise `QueryError` for a query with SERVICE."""
    if traits.reaches_network:
        raise QueryError(
            "the query uses SERVICE, which sends requests to other servers: remove it, or allow it "
            "with --allow-service"
        )


MAX_DEPTH: Final = 100
"""The maximum nesting of brackets."""
MAX_COUNTS: Final = {
    "clauses (OPTIONAL, UNION, FILTER, BIND and the like)": 500,
    "joined groups or VALUES": 100,
    "triple patterns in one group": 150,
    "path steps": 300,
    "operators in one expression": 2_000,
}
"""The maximum number of each kind of syntax element in a query or update."""
_CLAUSES, _JOINS, _PATTERNS, _STEPS, _OPERATORS = MAX_COUNTS

ADVICE: Final = "split it into several, and put long lists of values into one VALUES"
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
_NO_TOKEN: Final = Token("", "", 0)
_TERM_WORDS: Final = frozenset({"TRUE", "FALSE"})


def check_size(text: str) -> None:
    """Raise `QueryError` for a query or update that is too deep, too long, or not Unicode."""
    if _SURROGATE.search(text):
        raise QueryError("the SPARQL is not UTF-8: save it as UTF-8")
    counter = _SyntaxCounter()
    for token in tokens(text):
        counter.add(token)


@dataclass(slots=True)
class _Group:
    """A bracketed part of the text.

    `patterns` counts the triple patterns of the innermost enclosing braces, shared by all groups
    within them.
    """

    bracket: str = "{"
    is_data: bool = False
    operators: int = 0
    patterns: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _SyntaxCounter:
    """Counts syntax elements, token by token."""

    counts: Counter[str] = field(default_factory=Counter)
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    last: Token = _NO_TOKEN
    closed: bool = False
    """Whether the last token, apart from a full stop, closed braces."""
    begins_data: bool = False
    """Whether the next braces contain data, after VALUES or DATA."""

    def add(self, token: Token) -> None:
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
                self._pattern(group, is_blank=True)
            elif self.last.text == ")" and group.bracket == "(":
                self._item(group)
            inherited = group.operators if bracket == "(" else 0
            opened = _Group(bracket, group.is_data, inherited, group.patterns)
        self.groups.append(opened)
        if len(self.groups) > MAX_DEPTH:
            raise QueryError(f"the SPARQL nests brackets more than {MAX_DEPTH} deep: {ADVICE}")

    def _symbol(self, symbol: str, group: _Group) -> None:
        if symbol in ("/", "|", "^"):
            self._count(_STEPS)
        elif symbol in _OPERATOR_SYMBOLS and group.bracket == "(":
            group.operators += 1
            _check(_OPERATORS, group.operators)
        elif symbol in (".", ";", ",") and group.bracket != "(":
            self._pattern(group)

    def _term(self, token: Token, group: _Group) -> None:
        if token.kind == "variable":
            group.patterns["variables"] += 1
        if group.bracket == "(" and self._follows_term():
            self._item(group)

    def _follows_term(self) -> bool:
        """Whether this term follows another one, as only in an RDF collection or a VALUES row."""
        last = self.last
        return (
            last.kind in _TERMS
            or last.kind == "language"
            or last.text in (")", "]")
            or (last.kind == "word" and last.text.upper() in _TERM_WORDS)
        )

    def _item(self, group: _Group) -> None:
        """An item of a collection is two triple patterns, one of them with a new blank node."""
        self._pattern(group)
        self._pattern(group, is_blank=True)

    def _pattern(self, group: _Group, *, is_blank: bool = False) -> None:
        if group.is_data:
            return
        group.patterns["variables"] += is_blank
        group.patterns["all"] += 1
        if group.patterns["variables"]:
            _check(_PATTERNS, group.patterns["all"])

    def _count(self, kind: str) -> None:
        self.counts[kind] += 1
        _check(kind, self.counts[kind])


def _check(kind: str, count: int) -> None:
    if count > MAX_COUNTS[kind]:
        raise QueryError(f"the SPARQL has more than {MAX_COUNTS[kind]:,} {kind}: {ADVICE}")


SAFE_LENGTH: Final = 2_000
"""Characters; the shortest text known to crash a process with a stack of 8 MiB has 4,600."""
STACK: Final = 4 << 20
"""Size in bytes of the stack for a trial run: half of that of the main thread."""
_LIMITS: Final = Limits(seconds=30, memory=2 << 30)


def check_query(text: str) -> QueryTraits:
    """The traits of a query that is safe to run in this process.

    Raises `QueryError` for a query that is nested too deeply, too long, or crashes a trial run in
    a child process. A query that does not parse is left to the engine.
    """
    if len(text) <= SAFE_LENGTH:
        return inspect_query(text)
    check_size(text)
    try:
        return run(try_query, _LIMITS, text)
    except EndedError as error:
        raise QueryError(f"the SPARQL {error}: {ADVICE}") from error


def try_query(text: str) -> QueryTraits:
    """Parse and plan a query on an empty store without network access; returns its traits."""
    traits = inspect_query(text)
    previous = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=_evaluate, args=(text,))
        thread.start()
    finally:
        threading.stack_size(previous)
    thread.join()
    return traits


def _evaluate(text: str) -> None:
    errors = (SyntaxError, RuntimeError, ValueError, OSError)
    store = ox.Store()
    with _no_sockets(), contextlib.suppress(*errors):
        result = store.query(text)
        if isinstance(result, ox.QuerySolutions | ox.QueryTriples):
            next(result, None)


@contextlib.contextmanager
def _no_sockets() -> Iterator[None]:
    """Forbid new file descriptors, so that SERVICE cannot send requests in a trial run."""
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
