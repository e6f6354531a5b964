"""Values as HTML for notebooks: short tables, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

SHOWN = 20
"""Rows of a table that are shown."""
_CELL = 300
"""Characters of a cell that are shown."""


def table_html(header: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """A table; texts are cut and escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    after = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"


def graph_html(title: str, counts: Mapping[str, int]) -> str:
    """A graph with the counts of its contents."""
    rows = [(name, f"{count:,}") for name, count in counts.items() if count]
    return f"<p>{escape(title)}</p>{table_html(('contents', 'count'), rows)}"


def more(number: int) -> str:
    """A note of how many rows are not shown."""
    return f"and {number:,} more" if number > 0 else ""


def _cell(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= _CELL else f"{text[: _CELL - 1]}…")
