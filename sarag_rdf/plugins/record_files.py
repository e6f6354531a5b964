"""Files of records: JSON, JSON Lines, CSV and TSV.

A record of JSON is ``{title?, text, id?}`` or ``{title: [sentence, ...]}``. One of a table is a
row; the header names a text column, and optionally title and id.
"""

from __future__ import annotations

import csv
import json
import logging
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, TextIO

from sarag_rdf.documents.format import (
    ID_KEYS,
    TEXT_KEYS,
    Format,
    InvalidRecord,
    OpenInput,
    Record,
    UnreadableError,
    clean_line,
    has_undecodable_bytes,
    read_decoded,
    text_stream,
)
from sarag_rdf.documents.walk import display_path

_EXPECTED = 'expected {"title": ..., "text": ...}, a list of these, or {title: [sentences]}'
_CHARS_PER_ESCAPE = 6
"""Length of a character written as a JSON escape."""
_TYPE_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}


def read(file: OpenInput) -> Iterator[Record | InvalidRecord]:
    """Yield the records of a JSON file; a single object with a text is the sole one."""
    value = _parse(read_decoded(file))
    if _is_json_ld(value):
        raise UnreadableError(
            "is JSON-LD, a graph rather than a document: import it with "
            "sarag import FILE --as rdf --format jsonld"
        )
    if isinstance(value, dict):
        yield from _records(value, "the object", is_sole=True)
        return
    if not isinstance(value, list):
        raise UnreadableError(f"contains {_type_name(value)}: {_EXPECTED}")
    for number, item in enumerate(value, 1):
        yield from _records(item, f"record {number}")


def read_lines(file: OpenInput) -> Iterator[Record | InvalidRecord]:
    """Yield the records of a JSON Lines file, which is read line by line."""
    limit = _CHARS_PER_ESCAPE * file.max_chars + 65_536
    with text_stream(file, "\n") as stream:
        for number, line in enumerate(_bounded_lines(stream, limit), 1):
            where = f"line {number}"
            if line is None:
                yield InvalidRecord(
                    f"{where} is too long: split it, or raise the limit with --max-chars"
                )
            elif has_undecodable_bytes(line):
                yield InvalidRecord(f"{where} is not UTF-8 text: save the file as UTF-8")
            elif line.strip():
                try:
                    value = _parse(line.rstrip())
                except UnreadableError as error:
                    yield InvalidRecord(f"{where} {error}")
                else:
                    yield from _records(value, where)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno} " if "\n" in text else ""
        location = f"{line}column {error.colno}"
        raise UnreadableError(f"is not JSON ({error.msg}, {location}): repair it") from None
    except RecursionError:
        raise UnreadableError(f"is nested too deeply: {_EXPECTED}") from None
    except ValueError as error:
        raise UnreadableError(f"is not usable JSON ({error}): repair it") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise ValueError for a duplicate key, which JSON parsers silently drop."""
    item = dict(pairs)
    if len(item) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        duplicate = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key {_quoted(duplicate)} occurs twice in one object")
    return item


def _records(item: Any, where: str, *, is_sole: bool = False) -> Iterator[Record | InvalidRecord]:
    if not isinstance(item, dict):
        yield InvalidRecord(f"{where} is {_type_name(item)}: {_EXPECTED}")
        return
    key = next((key for key in TEXT_KEYS if item.get(key) is not None), None)
    if key is not None:
        yield _record(item, key, where, is_sole=is_sole)
    elif item and all(_is_sentences(value) for value in item.values()):
        for title, sentences in item.items():
            yield Record(" ".join(sentences), title, "", f"{where}, {_quoted(title)}")
    else:
        keys = ", ".join(map(_quoted, list(item)[:10])) or "none"
        yield InvalidRecord(f"{where} has no text (keys found: {keys}): {_EXPECTED}")


def _record(item: dict[str, Any], key: str, where: str, *, is_sole: bool) -> Record | InvalidRecord:
    text = item[key]
    if _is_sentences(text):
        text = " ".join(text)
    if not isinstance(text, str):
        return InvalidRecord(
            f"{where} has {_type_name(text)} as {key}: expected a string or a list of strings"
        )
    title = item.get("title")
    identifier = next((item[name] for name in ID_KEYS if item.get(name) is not None), None)
    for name, value in (("title", title), ("id", identifier)):
        if isinstance(value, bool | dict | list):
            return InvalidRecord(f"{where} has {_type_name(value)} as {name}: expected a string")
    title, identifier = ("" if value is None else str(value) for value in (title, identifier))
    return Record(text, title, identifier, where, is_sole=is_sole)


def _is_sentences(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_json_ld(value: Any) -> bool:
    """Whether a file is JSON-LD without texts: an object with its keywords, or a list of such."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(v, dict) and _is_json_ld(v) for v in value)
    if not isinstance(value, dict) or any(value.get(key) is not None for key in TEXT_KEYS):
        return False
    return not {"@context", "@graph", "@id"}.isdisjoint(value)


def _type_name(value: object) -> str:
    return "null" if value is None else _TYPE_NAMES.get(type(value), "a number")


def _quoted(key: str) -> str:
    return json.dumps(key[:60])


JSON = Format(read, "application/json")
JSON_LINES = Format(read_lines, "application/x-ndjson", is_streamed=True)


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
    for line in _bounded_lines(stream, limit):
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


def _bounded_lines(stream: TextIO, limit: int) -> Iterator[str | None]:
    """Yield lines with their line ends; None for a line of more than `limit` characters."""
    while line := stream.readline(limit):
        if len(line) < limit or line.endswith("\n"):
            yield line
            continue
        rest = line
        while rest and not rest.endswith("\n"):
            rest = stream.readline(limit)
        yield None
