"""Queries around a query: its next page by key, and whether there is more than was given.

A SELECT becomes a subselect, with its prologue before it. Nothing is parsed but the prologue and
the template of a CONSTRUCT.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyoxigraph import Literal

from sarag_rdf.stores.query_tokens import tokens

_PROLOGUE = re.compile(
    r"(?:\s+|\#[^\n\r]*|BASE\s*<[^<>\s]*>|PREFIX\s*[^\s:<>]*:\s*<[^<>\s]*>)*", re.IGNORECASE
)
_FORM = re.compile(r"SELECT|ASK|CONSTRUCT|DESCRIBE", re.IGNORECASE)


def split_prologue(text: str) -> tuple[str, str]:
    """BASE, PREFIX and comments at the head of a query, and the rest."""
    match = _PROLOGUE.match(text)
    end = match.end() if match else 0
    return text[:end], text[end:]


def query_form(text: str) -> str:
    """SELECT, ASK, CONSTRUCT or DESCRIBE; empty if the text begins with something else."""
    match = _FORM.match(split_prologue(text)[1])
    return match.group().upper() if match else ""


def text_of(term: Any) -> str:
    """What rows are ordered by: the text of an IRI or literal, nothing for an unbound variable."""
    return "" if term is None else str(term.value)


def page(
    text: str,
    variables: Sequence[str],
    fixed: Sequence[tuple[str, str]],
    after: str | None,
    limit: int,
) -> str:
    """Rows in the order of one variable, at most `limit`.

    The first variables have the texts that are `fixed`; rows are ordered by the one that follows
    these, and its text comes behind `after` (all for None).
    """
    key = variables[len(fixed)]
    filters = [_equals(name, value) for name, value in fixed]
    if after is not None:
        filters.append(f"FILTER(STR(?{key}) > {Literal(after)})")
    prologue, select = split_prologue(text)
    return "\n".join(
        [
            f"{prologue}\nSELECT {' '.join(f'?{name}' for name in variables)} WHERE {{",
            f"{{ {select}\n}}",
            *filters,
            f"}} ORDER BY STR(?{key}) LIMIT {limit}",
        ]
    )


def _equals(variable: str, value: str) -> str:
    """That a variable has this text, or is unbound or empty where there is none.

    Virtuoso 7.2.5 crashes on ``=`` behind a subselect with VALUES and BIND, and sorts wrongly
    where a COALESCE stands for what is unbound.
    """
    text = f"STR(?{variable})"
    if not value:
        return f'FILTER(!BOUND(?{variable}) || {text} = "")'
    return f"FILTER({text} >= {Literal(value)} && {text} <= {Literal(value)})"


def beyond(text: str, count: int) -> str:
    """One row of the result if it has more than `count`, else none."""
    prologue, select = split_prologue(text)
    return f"{prologue}\nSELECT * WHERE {{\n{{ {select}\n}}\n}} OFFSET {count} LIMIT 1"


def solutions_of(text: str) -> str | None:
    """The SELECT of the solutions that a CONSTRUCT makes its triples of; None for a DESCRIBE."""
    prologue, construct = split_prologue(text)
    found = tokens(construct)
    first, second = next(found, None), next(found, None)
    if first is None or first.text.upper() != "CONSTRUCT":
        return None
    end = len(first.text)
    if second is not None and second.text == "{":
        end = next((token.offset + 1 for token in found if token.text == "}"), end)
    return f"{prologue}\nSELECT * {construct[end:]}"
