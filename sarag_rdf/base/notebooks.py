"""How values show themselves in notebooks: short texts, and tables in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

MOST = 80
"""Characters of a text in a short form."""


def cut(text: str, most: int = MOST) -> str:
    """A text, or its first characters and an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


SHOWN = 20
"""Rows of a table that are shown."""
_CELL = 300
"""Characters of a cell that are shown."""


def table_html(header: Sequence[str], rows: Iterable[Iterable[object]], note: str = "") -> str:
    """A table; texts are cut and escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    cells = ([f"<td>{escape(cut(str(value), _CELL))}</td>" for value in row] for row in rows)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    after = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"


def graph_html(title: str, counts: Mapping[str, int]) -> str:
    """A graph with the counts of its contents."""
    rows = [(name, f"{count:,}") for name, count in counts.items() if count]
    return f"<p>{escape(title)}</p>{table_html(('contents', 'count'), rows)}"


def more(number: int) -> str:
    """A note of how many rows are not shown."""
    return f"and {number:,} more" if number > 0 else ""
