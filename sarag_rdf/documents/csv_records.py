"""CSV and TSV: one record per row; the header names a text column, optionally title and id."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from functools import partial
from typing import TextIO

from sarag_rdf.documents.format import (
    ID_KEYS,
    TEXT_KEYS,
    Format,
    InvalidRecord,
    OpenInput,
    Record,
    UnreadableError,
    bounded_lines,
    clean_line,
    has_undecodable_bytes,
    text_stream,
)
from sarag_rdf.documents.walk import display_path

log = logging.getLogger(__name__)

_MAX_LISTED_COLUMNS = 20
_REPAIR = "quote fields that contain quotes or line breaks, and double the quotes inside"


def _read(file: OpenInput, dialect: str) -> Iterator[Record | InvalidRecord]:
    """The records of a file in a dialect of the module `csv`."""
    limit = 4 * file.max_chars + 65_536
    with text_stream(file, "") as stream:
        reader = csv.reader(_lines(stream, limit), dialect, strict=True)
        rows = _rows(reader, limit)
        header = _header(rows)
        text, title, identifier = _columns(header)
        _warn_of_ignored_columns(file, header, {text, title, identifier})
        for row in rows:
            where = f"line {reader.line_num}"
            if isinstance(row, InvalidRecord):
                yield row
            elif len(row) > len(header) and any(row[len(header) :]):
                yield InvalidRecord(
                    f"{where}: {len(row)} fields where the header has {len(header)}: {_REPAIR}"
                )
            elif any(map(has_undecodable_bytes, row)):
                yield InvalidRecord(f"{where} is not UTF-8 text: save the file as UTF-8")
            elif "\0" in "".join(row):
                yield InvalidRecord(f"{where} contains binary data: remove it")
            elif row:
                yield Record(_cell(row, text), _cell(row, title), _cell(row, identifier), where)


def _lines(stream: TextIO, limit: int) -> Iterator[str]:
    for line in bounded_lines(stream, limit):
        if line is None:
            raise UnreadableError("has a line that is too long: split it, or raise --max-chars")
        yield line


def _header(rows: Iterator[list[str] | InvalidRecord]) -> list[str]:
    for row in rows:
        if isinstance(row, InvalidRecord):
            raise UnreadableError(f"has no header: {row.message}")
        if any(map(has_undecodable_bytes, row)):
            raise UnreadableError("has a header that is not UTF-8 text: save the file as UTF-8")
        if any(map(str.strip, row)):
            return [clean_line(name) for name in row]
    raise UnreadableError("has no header row: name the columns, one of them 'text'")


def _columns(header: list[str]) -> tuple[int, int | None, int | None]:
    names = [name.casefold() for name in header]
    text, title, identifier = (
        next((names.index(key) for key in keys if key in names), None)
        for keys in (TEXT_KEYS, ("title",), ID_KEYS)
    )
    if text is None:
        names_found = ", ".join(f"'{name[:60]}'" for name in header[:_MAX_LISTED_COLUMNS])
        raise UnreadableError(
            f"has no text column (columns found: {names_found}): rename the one with the texts to "
            "'text', and optionally others to 'title' and 'id'; further columns are not indexed"
        )
    return text, title, identifier


def _warn_of_ignored_columns(file: OpenInput, header: list[str], used: set[int | None]) -> None:
    ignored = [repr(name[:60]) for n, name in enumerate(header) if n not in used and name]
    if ignored:
        more = ", ..." if len(ignored) > _MAX_LISTED_COLUMNS else ""
        log.warning(
            "%s: %s not indexed: only the columns 'text', 'title' and 'id' are read (%s%s)",
            display_path(file.path) if file.path else "standard input",
            "1 column is" if len(ignored) == 1 else f"{len(ignored)} columns are",
            ", ".join(ignored[:_MAX_LISTED_COLUMNS]),
            more,
        )


def _rows(reader: Iterator[list[str]], limit: int) -> Iterator[list[str] | InvalidRecord]:
    """Yield rows; a malformed one becomes an `InvalidRecord`, and reading continues after it."""
    while True:
        # The limit of the csv module is global, so it is set only while a row is read.
        previous_limit = csv.field_size_limit(limit)
        row: list[str] | InvalidRecord
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            number = getattr(reader, "line_num", 0)
            if "field limit" in str(error):
                raise UnreadableError(
                    f"has a field, up to line {number}, that is too long or has an unclosed quote: "
                    f"{_REPAIR}, or raise --max-chars; the rest was not read"
                ) from None
            row = InvalidRecord(f"line {number} is not CSV ({error}): {_REPAIR}")
        finally:
            csv.field_size_limit(previous_limit)
        yield row


def _cell(row: list[str], column: int | None) -> str:
    return "" if column is None or column >= len(row) else row[column]


CSV = Format(partial(_read, dialect="excel"), "text/csv", is_streamed=True)
TSV = Format(partial(_read, dialect="excel-tab"), "text/tab-separated-values", is_streamed=True)
