"""Review tables: rows to edit in a spreadsheet, as tab- or comma-separated values.

A cell that a spreadsheet would compute as a formula is written with an apostrophe in front, which
reading removes again (`written_cell` and `read_cell`, also for SSSOM). Tables start with a byte
order mark, so that spreadsheets recognise UTF-8.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.files import read_text

_Parsed = TypeVar("_Parsed")
DECISION = "decision"
"""Column for the decision of the reviewer about a row."""
_ACCEPT = frozenset({"accept", "yes", "y", "x"})
_REJECT = frozenset({"reject", "no", "n"})
_FORMULA = re.compile(r"'*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""What begins a formula, also in full width; white space is never first in a cell."""
_DELIMITERS = ("\t", ",", ";")
_MAX_ERRORS = 5


def write_table(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]], delimiter: str = "\t"
) -> str:
    """A table with these columns, empty in rows that lack them; white space becomes spaces."""
    buffer = io.StringIO("\ufeff")
    buffer.seek(1)
    table = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    table.writerow(columns)
    table.writerows([written_cell(row.get(column, "")) for column in columns] for row in rows)
    return buffer.getvalue()


def delimiter_for(path: Path) -> str:
    """The delimiter of a table by the suffix of its file: a comma for ``.csv``, else a tab."""
    return "," if path.suffix.lower() == ".csv" else "\t"


def written_cell(value: object) -> str:
    """A cell on one line that no spreadsheet computes."""
    text = " ".join(str(value).split())
    return f"'{text}" if _FORMULA.match(text) else text


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table; `number` is that in a spreadsheet, where the header is row 1."""

    number: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        """The cell in a column; empty if the table has no such column."""
        return self.cells.get(column, "")

    def decision(self) -> bool | None:
        """Whether the row was accepted, None without a decision; `ValueError` for other words."""
        word = self[DECISION].casefold()
        if word and word not in _ACCEPT | _REJECT:
            raise ValueError(
                f"column {DECISION}: '{self[DECISION]}' is no decision: use accept or reject, or "
                "leave it empty"
            )
        return (word in _ACCEPT) if word else None


def read_table(path: Path, required: Sequence[str], what: str = "a review table") -> list[TableRow]:
    """The rows of a table that are not empty, with stripped cells.

    Lines before the header that start with ``#`` are skipped. The delimiter is a tab, a comma or a
    semicolon, whichever the header has most. Raises `InputError` for a file that cannot be read,
    that lacks a required column, or in which a row has more cells than the header.
    """
    comments, text = _split_comments(read_text(path))
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    names = [name.strip() for name in lines[0]] if lines else []
    missing = [name for name in required if name not in names]
    if missing:
        columns = ", ".join(f"'{name}'" for name in missing)
        raise InputError(f"{path} is not {what}: it has no column {columns}")
    rows = []
    for number, cells in enumerate(lines[1:], comments.count("\n") + 2):
        texts = [read_cell(cell) for cell in cells]
        if any(texts[len(names) :]):
            problem = f"{len(cells)} cells for {len(names)} columns: quote cells with delimiters"
            raise_for_rows(path, [f"row {number}, {problem}"])
        if any(texts):
            rows.append(TableRow(number, dict(zip(names, texts, strict=False))))
    return rows


def _split_comments(text: str) -> tuple[str, str]:
    """The lines before the header that start with ``#``, and the rest."""
    comments = re.match("(?:#.*\n)*", text)
    end = comments.end() if comments else 0
    return text[:end], text[end:]


def read_comments(path: Path) -> str:
    """The lines before the header of a table that start with ``#``, without this sign."""
    return re.sub("(?m)^#", "", _split_comments(read_text(path))[0])


def parse_rows(
    path: Path, rows: Iterable[TableRow], parse: Callable[[TableRow], _Parsed]
) -> list[_Parsed]:
    """What `parse` makes of each row; raises `InputError` with the rows of each `ValueError`."""
    parsed, errors = [], []
    for row in rows:
        try:
            parsed.append(parse(row))
        except ValueError as error:
            errors.append(f"row {row.number}, {error}")
    raise_for_rows(path, errors)
    return parsed


def read_cell(cell: str) -> str:
    """The text of a cell that `written_cell` wrote, or that somebody typed."""
    text = cell.strip()
    return text.removeprefix("'") if _FORMULA.match(text) else text


def raise_for_rows(path: Path, errors: Sequence[str]) -> None:
    """Raise `InputError` with the first errors of a table, if there are any."""
    if errors:
        more = f"; and {len(errors) - _MAX_ERRORS} more" if len(errors) > _MAX_ERRORS else ""
        raise InputError(f"{path}: {'; '.join(errors[:_MAX_ERRORS])}{more}. Nothing was changed")
