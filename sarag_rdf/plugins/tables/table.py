"""Tables (CSV, TSV) as triples, row by row, as a mapping says.

Works in constant memory: a table may have any number of rows. Empty cells give no statement. A cell
that does not fit the datatype or is not an IRI becomes a text, with a warning. A text about a thing
(``sarag:text``) becomes documents about it.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import Minter, sha256_hex
from sarag_rdf.base.options import option
from sarag_rdf.base.sentences import word_windows
from sarag_rdf.base.vocab import RDF, SARAG, XSD
from sarag_rdf.building.graph_import import ImportOptions
from sarag_rdf.graph.store.input_files import READ_ERRORS, InputFile, StatementBlock, unpacked
from sarag_rdf.plugins.tables.mapping import (
    IRI_CHARACTERS,
    ROW,
    SOURCE_ROW,
    CellRule,
    MappingFile,
    TermMap,
    TriplesMap,
    described_languages,
    percent_encoded,
)

MAX_CELL = 16 << 20
"""Largest cell in characters."""
MAX_MESSAGES = 20
"""Warnings about the columns of a table."""
_DELIMITERS = (",", ";", "\t")
_TABS = frozenset({".tsv", ".tab"})
_Row = list[str]
_Make = Callable[[_Row, int], str | None]
_Value = Callable[[_Row], str | None]
_Split = Callable[[_Row], Iterable[_Row]]


@dataclass(frozen=True, kw_only=True)
class TableOptions(ImportOptions):
    """How the rows of a table become triples."""

    mapping: Path | None = option(
        None, "table: the mapping, in RML (.ttl), YARRRML (.yml) or CSVW metadata (.json)."
    )
    words: int = option(
        500, "table: words of a passage of a text about a thing. Default: 500.", ge=0
    )
    overlap: int = option(200, "table: words that such passages share. Default: 200.", ge=0)
    mapping_file: MappingFile = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mapping is None:
            raise UsageError(
                f"a table needs --mapping FILE: {described_languages()}; --suggest-mapping FILE "
                "writes one"
            )
        if self.overlap >= self.words:
            raise UsageError(
                f"passages of {self.words} words cannot share {self.overlap}: give other numbers"
            )
        if self.format or self.base_iri or self.languages:
            raise UsageError(
                "--format, --base-iri and --language do not apply to tables: omit them, and write "
                "them in the mapping"
            )
        object.__setattr__(self, "mapping_file", MappingFile.read(self.mapping))

    def own(self) -> dict[str, Any]:
        return {**super().own(), "--mapping": self.mapping_file}


def blocks(
    file: InputFile, options: TableOptions, genid: str, size: int
) -> Iterator[StatementBlock]:
    """The triples of a table in blocks of about `size`; the last block has the warnings."""
    mapping = options.mapping_file
    with unpacked(file) as (stream, raw):
        rows = table_rows(file, stream)
        _, header = next(rows)
        maps = mapping.language.read(mapping, file.name, header)
        if any(m.has_row_numbers for m in maps):
            counted = enumerate(rows, 1)
            rows = ((number, [*row, str(n), str(n + 1)]) for n, (number, row) in counted)
            header = [*header, ROW, SOURCE_ROW]
        misfits, windows = Misfits(), (options.words, options.overlap)
        try:
            makers = [_RowMaker(m, header, file, genid, misfits) for m in maps]
        except InputError as error:
            raise InputError(f"{mapping.name}, {error}") from error
        minter = Minter(genid.removesuffix("genid/"))
        lines: list[str] = []
        used = frozenset(p.parts[0] for m in maps for p, _ in m.statements if p.is_constant)
        for number, row in rows:
            for maker in makers:
                subject = maker.subject(row, number)
                if subject is None:
                    continue
                for text_of, language in maker.texts:
                    lines += _passages(minter, subject, text_of(row), language, windows)
                for predicate_of, object_of, split in maker.statements:
                    for part in split(row):
                        object_ = object_of(part, number)
                        if object_ is None:
                            continue
                        predicate = predicate_of(row, number)
                        if predicate is not None:
                            lines.append(f"{subject} {predicate} {object_} .\n")
            if len(lines) >= size:
                yield StatementBlock("".join(lines).encode(), len(lines), raw.tell(), used)
                lines = []
        yield StatementBlock(
            "".join(lines).encode(), len(lines), raw.tell(), used, misfits.messages
        )


def table_rows(file: InputFile, stream: IO[bytes]) -> Iterator[tuple[int, _Row]]:
    """(line number, cells) of the header and all rows that are not empty, of equal length.

    Raises `InputError` with the line.
    """
    number = 1
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    previous = csv.field_size_limit(MAX_CELL)
    try:
        first = text.readline(MAX_CELL)
        if "\0" in first:
            raise InputError(f"{file.name} is not text: save the table as CSV")
        delimiter = "\t" if file.suffix in _TABS else max(_DELIMITERS, key=first.count)
        reader = csv.reader(chain([first], text), delimiter=delimiter, strict=True)
        width = 0
        for row in reader:
            number = reader.line_num
            if not any(map(str.strip, row)):
                continue
            if not width:
                width, row = len(row), [name.strip() for name in row]
                for name in filter(None, row):
                    if row.count(name) > 1:
                        raise InputError(f"{file.name} has two columns '{name}': rename one")
            elif len(row) > width and any(row[width:]):
                raise InputError(
                    f"{file.name}, line {number}: {len(row)} cells for {width} columns: put "
                    "quotation marks around cells with delimiters"
                )
            yield number, [*row[:width], *[""] * (width - len(row))]
        if not width:
            raise InputError(f"{file.name} is empty: its first line names the columns")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file.name}, after line {number}: not UTF-8 text: save the table as UTF-8"
        ) from error
    except csv.Error as error:
        raise InputError(f"{file.name}, line {number + 1}: not a table: {error}") from error
    except READ_ERRORS as error:
        raise InputError(f"{file.name} is damaged or truncated ({error}): get it again") from error
    finally:
        csv.field_size_limit(previous)
        text.detach()


class Misfits:
    """Cells that are not of the type that the mapping gives them, counted by column."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], str] = {}

    def add(self, column: str, type_: str, value: str, line: int) -> None:
        key = column, type_
        self._counts[key] += 1
        self._first.setdefault(key, f"line {line}: '{value[:60]}'")

    @property
    def messages(self) -> tuple[str, ...]:
        messages = [
            f"column '{column}': {count} {'value is' if count == 1 else 'values are'} not of type "
            f"{type_} and imported as text (first in {self._first[column, type_]})"
            for (column, type_), count in sorted(self._counts.items())
        ]
        more = len(messages) - MAX_MESSAGES
        return (*messages[:MAX_MESSAGES], *([f"and {more} more columns"] if more > 0 else ()))


class _RowMaker:
    """Makes the terms of a row by a triples map, as N-Triples, and gives the texts about it."""

    def __init__(
        self, map_: TriplesMap, header: Sequence[str], file: InputFile, genid: str, misfits: Misfits
    ) -> None:
        self._file, self._genid = file, genid
        rules = [map_.cells.get(name, CellRule()) for name in header]
        self._known = dict(zip(header, enumerate(rules), strict=True))
        columns = (column for term in map_.terms for column in term.columns)
        if missing := next((column for column in columns if column not in self._known), None):
            known = ", ".join(header)
            raise InputError(f"{map_.name}: no column '{missing}' in {file.name}; it has {known}")
        self.subject = self._term(map_.subject)
        self.statements: list[tuple[_Make, _Make, _Split]] = []
        self.texts: list[tuple[_Value, str]] = []
        for predicate, object_ in map_.statements:
            if predicate.parts != (SARAG.text.value,):
                terms = self._term(predicate), self._term(object_, misfits)
                self.statements.append((*terms, self._split(object_)))
            elif object_.kind == "literal" and not object_.datatype:
                self.texts.append((self._value(object_), object_.language))
            else:
                problem = "the value of sarag:text is a text, without a datatype"
                raise InputError(f"{map_.name}: {problem}")

    def _split(self, term: TermMap) -> _Split:
        """A function from a row to one row for each of the values in a cell."""
        if not term.separator:
            return lambda row: (row,)
        (column,) = set(term.columns)
        position, rule = self._known[column]

        def split(row: _Row) -> Iterator[_Row]:
            whole = row[position].strip() or rule.default
            parts = dict.fromkeys(whole.split(term.separator)) if whole not in rule.nulls else ()
            for part in parts:
                yield [*row[:position], part, *row[position + 1 :]]

        return split

    def _value(self, term: TermMap) -> _Value:
        """A function from a row to the text of a term, or None if a cell is empty."""
        columns = (self._known[column] for column in term.columns)
        pieces = [(*column, text) for column, text in zip(columns, term.parts[2::2], strict=True)]
        is_encoded, more = term.is_uri or term.is_template, "" if term.is_uri else IRI_CHARACTERS

        def value(row: _Row) -> str | None:
            text = term.parts[0]
            for position, rule, constant in pieces:
                cell = rule.value(row[position])
                if not cell:
                    return None
                text += (percent_encoded(cell, more) if is_encoded else cell) + constant
            return text

        return value

    def _term(self, term: TermMap, misfits: Misfits | None = None) -> _Make:
        """A function from a row and its line to a term, or None if a cell is empty.

        Without `misfits`, a text that is not an IRI raises `InputError`.
        """
        tag = f"@{term.language}" if term.language else f"^^<{term.datatype}>" * bool(term.datatype)
        if term.is_constant:
            start = term.parts[0]
            constant = f"<{start}>" if term.kind == "iri" else _quoted(start, tag)
            return lambda *_: constant
        value, fits = self._value(term), LEXICAL.get(term.datatype)
        columns, name = ", ".join(term.columns), term.datatype.replace(XSD.base, "xsd:")

        def literal(row: _Row, line: int) -> str | None:
            text = value(row)
            if text is None or fits is None:
                return None if text is None else _quoted(text, tag)
            text = normalized(text, term.datatype)
            if fits.fullmatch(text):
                return _quoted(text, tag)
            if misfits is not None:
                misfits.add(columns, name, text, line)
            return _quoted(text)

        def iri(row: _Row, line: int) -> str | None:
            text = value(row)
            if text is None:
                return None
            if term.kind == "blank":
                return f"<{self._genid}{sha256_hex(self._file.sha256, text)[:32]}>"
            if _IRI.fullmatch(text):
                return f"<{text}>"
            if misfits is None:
                place = f"{self._file.name}, line {line}"
                raise InputError(f"{place}: '{text[:60]}' is not an IRI")
            misfits.add(columns, "IRI", text, line)
            return _quoted(text)

        return literal if term.kind == "literal" else iri


def _passages(
    minter: Minter, subject: str, text: str | None, language: str, windows: tuple[int, int]
) -> Iterator[str]:
    """Documents about the thing of a row: windows of the words of a text, as in indexing."""
    for begin, end in word_windows(text or "", *windows):
        passage = (text or "")[begin:end]
        node = f"<{minter.document(subject[1:-1], begin, end, passage)}>"
        literal = _quoted(passage, f"@{language}" if language else "")
        for property_, value in (
            (RDF.type, str(SARAG.Document)),
            (SARAG.text, literal),
            (SARAG.beginIndex, f'"{begin}"^^{XSD.integer}'),
            (SARAG.endIndex, f'"{end}"^^{XSD.integer}'),
            (SARAG.about, subject),
            (SARAG.describes, subject),
        ):
            yield f"{node} {property_} {value} .\n"


def normalized(text: str, datatype: str) -> str:
    """A cell in the lexical form of a datatype, where tables often have another one."""
    if datatype == XSD.boolean.value:
        return {"yes": "true", "no": "false"}.get(text.lower(), text.lower())
    if datatype == XSD.dateTime.value:
        return text.replace(" ", "T", 1)
    return text


_ZONE = r"(Z|[+-]\d\d:\d\d)?"
_MONTH, _DAY = r"(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
_YEAR = r"-?(\d{4}|[1-9]\d{4,})"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
LEXICAL = {
    XSD[name].value: re.compile(pattern)
    for name, pattern in {
        "boolean": "true|false|1|0",
        "integer": r"[+-]?\d+",
        "nonNegativeInteger": r"\+?\d+",
        "decimal": r"[+-]?(\d+(\.\d*)?|\.\d+)",
        "double": r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN",
        "float": r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN",
        "date": f"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}",
        "gYear": f"{_YEAR}{_ZONE}",
        "gYearMonth": f"{_YEAR}-{_MONTH}{_ZONE}",
        "dateTime": f"{_YEAR}-{_MONTH}-{_DAY}T{_TIME}{_ZONE}",
        "time": f"{_TIME}{_ZONE}",
        "anyURI": r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\s<>\"{}|^`\\]+",
    }.items()
}
"""Datatype -> what its values look like."""
_IRI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f]')


def _quoted(text: str, tag: str = "") -> str:
    """A literal in N-Triples, with the `tag` of a language or datatype."""
    return '"' + _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04X}", text) + '"' + tag
