"""SPARQL texts: their tokens, and checks of queries before they are run.

The terminals of the grammar do not decide whether ``<`` begins an IRI or is a comparison. The
tokenizer reads an IRI wherever that is possible, so its tokens are an approximation: only the
engine parses exactly.
"""

from __future__ import annotations

import contextlib
import re
import resource
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pyoxigraph as ox

from sarag_rdf.base.errors import QueryError
from sarag_rdf.base.sandbox import EndedError, Limits, run

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|\#[^\n\r]*)
    |(?P<string>'''(?:[^'\\]|\\.|'(?!''))*'''|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"
        |'(?:[^'\\\n\r]|\\.)*'|\"(?:[^\"\\\n\r]|\\.)*\")
    |(?P<unended>['"].*)
    |(?P<iri><(?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
    |(?P<variable>[?$]\w+)
    |(?P<label>_:\w(?:[\w.\-·]*[\w\-·])?)
    |(?P<name>(?P<prefix>(?:[^\W\d_](?:[\w.\-·]{0,200}[\w\-·])?)?):
        (?:(?:[\w:]|%[0-9A-Fa-f]{2}|\\[^\s\w])
           (?:[\w:\-·]|%[0-9A-Fa-f]{2}|\\[^\s\w]|\.+(?=[\w:\-·%\\]))*)?)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<language>@[a-zA-Z]+(?:-+[a-zA-Z0-9]+)*)
    |(?P<open><<\(?|\{\|?|[(\[])
    |(?P<close>\)>>|>>|\|?\}|[)\]])
    |(?P<symbol>\^\^|&&|\|\||[!<>]=|.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token: its kind (a group name of the expression above), text, and offset.

    White space and comments are skipped; an unterminated string is the last token. `prefix` is that
    of a prefixed name, without the colon.
    """

    kind: str
    text: str
    offset: int
    prefix: str = ""


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a query or update, which need not be well-formed."""
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "blank":
            yield Token(kind, match.group(), match.start(), match["prefix"] or "")


def keywords(text: str) -> set[str]:
    """The words of a query that are not part of a term, in upper case.

    Prefixes of names are among them, because Oxigraph reads ``GRAPH:g`` as ``GRAPH :g``.
    """
    words = (token.prefix or token.text for token in tokens(text) if token.kind in ("word", "name"))
    return {word.upper() for word in words}


def uses_graph(text: str) -> bool:
    """Whether a query may contain a GRAPH pattern."""
    return "GRAPH" in keywords(text)


def undeclared_prefixes(text: str) -> dict[str, int]:
    """The prefixes that are used before they are declared, with the line of their first use."""
    declared: set[str] = set()
    missing: dict[str, int] = {}
    previous = ""
    for token in tokens(text):
        if token.kind == "name":
            if previous == "PREFIX":
                declared.add(token.prefix)
            elif token.prefix not in declared:
                missing.setdefault(token.prefix, text.count("\n", 0, token.offset) + 1)
        previous = token.text.upper() if token.kind == "word" else ""
    return missing


def undeclared_prefix(text: str) -> str | None:
    """An error message for the first prefix that is used without a declaration, or None."""
    for prefix, line in undeclared_prefixes(text).items():
        return f"prefix {prefix}: is not declared (line {line})"
    return None


# ------------------------------------------------------------------ Data set and network access


_ESCAPE = re.compile(r"\\u[0-9a-f]{4}(?:[0-9a-f]{4})?", re.IGNORECASE)
"""Codepoint escapes, which rdflib replaces before it parses."""


@dataclass(frozen=True, slots=True)
class QueryTraits:
    """`names_dataset`: has FROM or FROM NAMED. `reaches_network`: has SERVICE."""

    names_dataset: bool
    reaches_network: bool


def node_names(node: object) -> set[str]:
    """The names of all nodes of an rdflib parse tree or algebra."""
    from pyparsing import ParseResults
    from rdflib.plugins.sparql.parserutils import CompValue

    names: set[str] = set()
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, CompValue):
            names.add(part.name)
            todo.extend(part.values())
        elif isinstance(part, list | tuple | ParseResults):
            todo.extend(part)
    return names


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
    from rdflib.plugins.sparql.parser import parseQuery

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
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

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


# --------------------------------------------------------------------------- Size and nesting


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


class _SyntaxCounter:
    """Counts syntax elements, token by token."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._groups = [_Group()]
        self._last = ""
        self._ends_term = False  # whether the last token ends a term
        self._ends_braces = False  # whether it closes braces, a full stop after them aside
        self._begins_data = False  # whether the next braces contain data, after VALUES or DATA

    def add(self, token: Token) -> None:
        group, text = self._groups[-1], token.text
        word = text.upper() if token.kind == "word" else ""
        is_term = token.kind in _TERMS or word in ("TRUE", "FALSE")
        if token.kind == "open":
            self._open(text, group)
        elif token.kind == "close":
            self._groups = self._groups[:-1] or self._groups
        elif word in _CLAUSE_WORDS:
            self._count(_CLAUSES)
        elif word in ("VALUES", "DATA"):
            self._begins_data = True
            self._count(_JOINS, int(word == "VALUES"))
        elif is_term:
            group.patterns["variables"] += token.kind == "variable"
            if group.bracket == "(" and self._ends_term:
                self._item(group)
        elif text in ("/", "|", "^"):
            self._count(_STEPS)
        elif text in _OPERATOR_SYMBOLS and group.bracket == "(":
            group.operators += 1
            _check(_OPERATORS, group.operators)
        elif text in (".", ";", ",") and group.bracket != "(":
            self._pattern(group)
        self._ends_term = is_term or token.kind == "language" or text in (")", "]")
        self._ends_braces = text == "}" or (self._ends_braces and text == ".")
        self._last = text

    def _open(self, bracket: str, group: _Group) -> None:
        if bracket == "{":
            self._count(_JOINS, int(self._ends_braces))
            opened = _Group(bracket, self._begins_data)
            self._begins_data = False
        else:
            if bracket != "(":
                self._pattern(group, blank_nodes=1)
            elif self._last == ")" and group.bracket == "(":
                self._item(group)
            inherited = group.operators if bracket == "(" else 0
            opened = _Group(bracket, group.is_data, inherited, group.patterns)
        self._groups.append(opened)
        if len(self._groups) > MAX_DEPTH:
            raise QueryError(f"the SPARQL nests brackets more than {MAX_DEPTH} deep: {ADVICE}")

    def _item(self, group: _Group) -> None:
        """An item of an RDF collection is two triple patterns, one of them with a blank node.

        Terms that follow each other in parentheses are such items, or a row of VALUES.
        """
        self._pattern(group)
        self._pattern(group, blank_nodes=1)

    def _pattern(self, group: _Group, blank_nodes: int = 0) -> None:
        if not group.is_data:
            group.patterns["variables"] += blank_nodes
            group.patterns["all"] += 1
            if group.patterns["variables"]:
                _check(_PATTERNS, group.patterns["all"])

    def _count(self, kind: str, number: int = 1) -> None:
        self._counts[kind] += number
        _check(kind, self._counts[kind])


def _check(kind: str, count: int) -> None:
    if count > MAX_COUNTS[kind]:
        raise QueryError(f"the SPARQL has more than {MAX_COUNTS[kind]:,} {kind}: {ADVICE}")


SAFE_LENGTH: Final = 2_000
"""Characters; the shortest text known to crash a process with a stack of 8 MiB has 4,600."""
STACK: Final = 4 << 20
"""Size in bytes of the stack for a trial run: half of that of the main thread."""
TRIAL_LIMITS: Final = Limits(seconds=30, memory=2 << 30)


def check_query(text: str) -> QueryTraits:
    """The traits of a query that is safe to run in this process.

    Raises `QueryError` for a query that is nested too deeply, too long, or crashes a trial run in
    a child process. A query that does not parse is left to the engine.
    """
    if len(text) <= SAFE_LENGTH:
        return inspect_query(text)
    check_size(text)
    try:
        return run(try_query, TRIAL_LIMITS, text)
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
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
