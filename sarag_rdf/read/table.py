"""CSV and TSV: a header row with a text column, and perhaps a title and an id; read by rows."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from typing import TextIO

from sarag_rdf.read.format import ID_KEYS, TEXT_KEYS, Fault, Opened, Record, UnreadableError
from sarag_rdf.read.text import bounded_lines, clean_line, text_stream, undecodable
from sarag_rdf.read.walk import shown

log = logging.getLogger(__name__)

_SHOWN = 20
_REPAIR = "quote fields that hold quotes or line breaks, and double the quotes inside"


def read_commas(opened: Opened) -> Iterator[Record | Fault]:
    """Yield the records of a table of comma-separated values."""
    return _read(opened, "excel")


def read_tabs(opened: Opened) -> Iterator[Record | Fault]:
    """Yield the records of a table of tab-separated values."""
    return _read(opened, "excel-tab")


def _read(opened: Opened, dialect: str) -> Iterator[Record | Fault]:
    limit = 4 * opened.max_chars + 65_536
    with text_stream(opened, "") as stream:
        reader = csv.reader(_lines(stream, limit), dialect, strict=True)
        rows = _rows(reader, limit)
        header = _header(rows)
        text, title, identifier = _columns(header)
        _tell_of_the_rest(opened, header, {text, title, identifier})
        for row in rows:
            where = f"line {reader.line_num}"
            if isinstance(row, Fault):
                yield row
            elif len(row) > len(header) and any(row[len(header) :]):
                yield Fault(
                    f"{where}: {len(row)} fields where the header has {len(header)}: {_REPAIR}"
                )
            elif any(map(undecodable, row)):
                yield Fault(f"{where} is not UTF-8 text: save the file as UTF-8")
            elif "\0" in "".join(row):
                yield Fault(f"{where} holds binary data: take it out")
            elif row:
                yield Record(_cell(row, text), _cell(row, title), _cell(row, identifier), where)


def _lines(stream: TextIO, limit: int) -> Iterator[str]:
    for line in bounded_lines(stream, limit):
        if line is None:
            raise UnreadableError("has a line that is too long: split it, or raise --max-chars")
        yield line


def _header(rows: Iterator[list[str] | Fault]) -> list[str]:
    for row in rows:
        if isinstance(row, Fault):
            raise UnreadableError(f"has no header: {row.message}")
        if any(map(undecodable, row)):
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
        found = ", ".join(f"'{name[:60]}'" for name in header[:_SHOWN])
        raise UnreadableError(
            f"has no text column (columns found: {found}): rename the one that holds the texts to "
            "'text', and perhaps others to 'title' and 'id'; further columns are not indexed"
        )
    return text, title, identifier


def _tell_of_the_rest(opened: Opened, header: list[str], used: set[int | None]) -> None:
    rest = [repr(name[:60]) for n, name in enumerate(header) if n not in used and name]
    if rest:
        more = ", ..." if len(rest) > _SHOWN else ""
        log.warning(
            "%s: %s not indexed: only the columns 'text', 'title' and 'id' are read (%s%s)",
            shown(opened.path) if opened.path else "standard input",
            "1 column is" if len(rest) == 1 else f"{len(rest)} columns are",
            ", ".join(rest[:_SHOWN]),
            more,
        )


def _rows(reader: Iterator[list[str]], limit: int) -> Iterator[list[str] | Fault]:
    """Yield rows; a malformed one costs a fault, and reading goes on with the next line."""
    while True:
        # The module's limit is global: it is ours only while a row is read.
        others = csv.field_size_limit(limit)
        row: list[str] | Fault
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            number = getattr(reader, "line_num", 0)
            if "field limit" in str(error):
                raise UnreadableError(
                    f"has a field, up to line {number}, that is too long or whose quote is not "
                    f"closed: {_REPAIR}, or raise --max-chars; the rest was not read"
                ) from None
            row = Fault(f"line {number} is not CSV ({error}): {_REPAIR}")
        finally:
            csv.field_size_limit(others)
        yield row


def _cell(row: list[str], column: int | None) -> str:
    return "" if column is None or column >= len(row) else row[column]
