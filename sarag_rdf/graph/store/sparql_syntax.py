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
from collections.abc import Iterator
from dataclasses import dataclass
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


def split_prologue(text: str) -> tuple[str, str]:
    """The prologue of a query (BASE, PREFIX and comments), and the rest."""
    previous = ""
    for token in tokens(text):
        word = token.text.upper()
        is_prefix = token.kind == "name" and previous == "PREFIX"
        if not (is_prefix or word in ("BASE", "PREFIX") or token.kind == "iri"):
            return text[: token.offset], text[token.offset :]
        previous = word
    return text, ""


def uses_graph(text: str) -> bool:
    """Whether a query may contain a GRAPH pattern; Oxigraph reads ``GRAPH:g`` as ``GRAPH :g``."""
    return any("GRAPH" in (token.text.upper(), token.prefix.upper()) for token in tokens(text))


_UPDATES: Final = frozenset("INSERT DELETE WITH LOAD CLEAR DROP CREATE ADD MOVE COPY".split())


def is_update(text: str) -> bool:
    """Whether the first word after declarations is that of a SPARQL update."""
    words = (token.text.upper() for token in tokens(text) if token.kind == "word")
    return next((word for word in words if word not in ("PREFIX", "BASE")), "") in _UPDATES


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


def syntax_reason(text: str, error: Exception) -> str:
    """Why a text does not parse; for a long list of what may follow, what does is quoted."""
    for prefix, line in undeclared_prefixes(text).items():
        return f"prefix {prefix}: is not declared (line {line})"
    reason = " ".join(str(error).split())
    place = re.match(r"error at (\d+):(\d+)", reason)
    if place is None or len(reason) <= _MAX_REASON:
        return reason
    rest = "".join(text.splitlines()[int(place[1]) - 1 :][:1])[int(place[2]) - 1 :].strip()
    return f"{place[0]}, {f'unexpected: {rest[:_MAX_QUOTE]}' if rest else 'at the end of the line'}"


# ------------------------------------------------------------------ Data set and network access


_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_EXPRESSION: Final = re.compile(r"[()',&=!?]")
"""In what looks like an IRI, but may be two comparisons: ``FILTER(1<2)SERVICE?x#>``."""


@dataclass(frozen=True, slots=True)
class QueryTraits:
    """`names_dataset`: has FROM or FROM NAMED. `reaches_network`: has SERVICE."""

    names_dataset: bool
    reaches_network: bool


def inspect_query(text: str) -> QueryTraits:
    """Determine the traits of a query by its tokens; what may be SERVICE counts as SERVICE.

    Keywords may follow each other without a space, and ``SERVICE:g {`` is a keyword and a name.
    Codepoint escapes may be replaced before the text is parsed, or only within strings and IRIs, so
    both texts are inspected. Where it is uncertain which tokens there are, the letters SERVICE
    suffice anywhere. Raises `QueryError` for a query that is nested too deeply or too long.
    """
    check_size(text)
    words: set[str] = set()
    reaches_network = False
    for reading in {text, _ESCAPE.sub(_unescaped, text)}:
        is_certain, prefix = True, ""
        for token in tokens(reading):
            if token.kind == "word" or (token.text == "{" and prefix):
                words.add((prefix or token.text).upper())
            elif token.kind == "iri" and _EXPRESSION.search(token.text):
                is_certain = False
            is_certain = is_certain and token.kind != "unended" and token.text != "\\"
            prefix = token.prefix
        reaches_network |= not is_certain and "SERVICE" in reading.upper()
    return QueryTraits(
        any("FROM" in word for word in words),
        reaches_network or any("SERVICE" in word for word in words),
    )


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2], 16)
    return chr(code) if code < 0x110000 else escape[0]


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
MAX_PATTERNS: Final = 150
"""The maximum number of triple patterns and steps of paths in one group."""
ADVICE: Final = "split it into several, and put long lists of values into one VALUES"
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_TERMS: Final = frozenset({"string", "iri", "variable", "label", "name", "number"})
_NODES: Final = frozenset({"[", "<<", "<<(", "{|"})
"""Brackets that stand for a blank node."""


@dataclass(slots=True)
class _Group:
    """What is in braces; blocks of data, after VALUES or DATA, have no patterns."""

    is_data: bool = False
    patterns: int = 0
    has_variables: bool = False


def check_size(text: str) -> None:
    """Raise `QueryError` for SPARQL that is not Unicode, or that the engine cannot plan.

    That is what nests too deeply, or has a group with too many patterns. Terms that follow each
    other in parentheses are items of a list, each of which is two patterns.
    """
    if _SURROGATE.search(text):
        raise QueryError("the SPARQL is not UTF-8: save it as UTF-8")
    opened = [("{", _Group())]
    begins_data = ends_term = False
    for token in tokens(text):
        bracket, group = opened[-1]
        is_term = token.kind in _TERMS or token.text.upper() in ("TRUE", "FALSE")
        is_item = bracket == "(" and ends_term and (is_term or token.text == "(")
        is_end = token.text in (".", ";", ",") and bracket != "("
        is_pattern = is_end or token.text in ("/", "|", "^") or token.text in _NODES
        group.has_variables |= token.kind == "variable" or is_item or token.text in _NODES
        group.patterns += 0 if group.is_data else is_pattern + 2 * is_item
        if group.has_variables and group.patterns > MAX_PATTERNS:
            raise QueryError(
                f"the SPARQL has more than {MAX_PATTERNS} triple patterns and steps of paths in "
                f"one group: {ADVICE}"
            )
        if token.kind == "open":
            if token.text == "{":
                group, begins_data = _Group(begins_data or group.is_data), False
            opened.append((token.text, group))
            if len(opened) > MAX_DEPTH:
                raise QueryError(f"the SPARQL nests brackets more than {MAX_DEPTH} deep: {ADVICE}")
        elif token.kind == "close":
            opened = opened[:-1] or opened
        elif token.text.upper() in ("VALUES", "DATA"):
            begins_data = True
        ends_term = is_term or token.kind == "language" or token.text in (")", "]")


_MAX_REASON, _MAX_QUOTE = 80, 30  # characters
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
