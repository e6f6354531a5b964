"""A tokenizer for SPARQL, after the terminals of its grammar.

The terminals do not decide whether ``<`` begins an IRI or is a comparison. This tokenizer reads an
IRI wherever that is possible, so its result is an approximation: only the engine parses exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

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


_WORDS: Final = ("word", "name")


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
    words = (token.prefix or token.text for token in tokens(text) if token.kind in _WORDS)
    return {word.upper() for word in words}


def uses_graph(text: str) -> bool:
    """Whether a query may contain a GRAPH pattern."""
    return "GRAPH" in keywords(text)


def undeclared_prefix(text: str) -> str | None:
    """An error message for the first prefix that is used without a declaration, or None."""
    declared: set[str] = set()
    previous = ""
    for token in tokens(text):
        if token.kind == "name":
            if previous == "PREFIX":
                declared.add(token.prefix)
            elif token.prefix not in declared:
                line = text.count("\n", 0, token.offset) + 1
                return f"prefix {token.prefix}: is not declared (line {line})"
        previous = token.text.upper() if token.kind == "word" else ""
    return None
