"""Mappings of tables to RDF: what the columns of a row become.

The part of RML that concerns one table: subjects, classes, predicates and objects from constants,
columns and templates, with datatypes and languages. Joins, functions, and sources other than the
given table are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import read_bytes
from sarag_rdf.base.plugins import loadable

MAX_BYTES = 1 << 20
"""Largest mapping in bytes."""
_COMPRESSED = re.compile(r"\.(gz|bz2|xz)$", re.IGNORECASE)
TermKind = Literal["iri", "literal", "blank"]
ROW: Final = "_row"
"""The column of the number of a row, which templates may use."""
SOURCE_ROW: Final = "_sourceRow"
"""The column of the number of a row, where the first line of the table is 1."""


@dataclass(frozen=True, slots=True)
class MappingLanguage:
    """A language of mappings: an entry point of the group ``sarag_rdf.mapping_languages``.

    `summary` is such as ``RML (.ttl)``. `read` makes the triples maps of a mapping, for the table
    of this name with this first line; it raises `InputError`.
    """

    summary: str
    suffixes: tuple[str, ...]
    read: Callable[[MappingFile, str, Sequence[str]], tuple[TriplesMap, ...]]


def languages() -> list[MappingLanguage]:
    return [lang for _, lang in loadable("mapping_languages") if not isinstance(lang, Exception)]


def described_languages() -> str:
    """The languages for a message: ``RML (.ttl), YARRRML (.yml) or ...``."""
    *first, last = [language.summary for language in languages()]
    return f"{', '.join(first)} or {last}" if first else last


@dataclass(frozen=True, slots=True)
class MappingFile:
    """The content of a mapping, which its digest stands for when imports are compared."""

    name: str
    content: bytes

    def __str__(self) -> str:
        """The digest of the content in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def language(self) -> MappingLanguage:
        """The language, by the suffix of the name; raises `UsageError` for an unknown one."""
        suffix = Path(self.name).suffix.lower()
        for language in languages():
            if suffix in language.suffixes:
                return language
        raise UsageError(f"{self.name} is not a mapping: give {described_languages()}")

    @classmethod
    def read(cls, given: str | Path) -> MappingFile:
        """Read a file. Raises `UsageError` for one that is not a mapping, or cannot be read."""
        path = Path(given)
        _ = cls(str(path), b"").language
        if not path.is_file():
            raise UsageError(f"no such file: {path}")
        return cls(path.name, read_bytes(path, MAX_BYTES))


@dataclass(frozen=True, slots=True)
class TermMap:
    """A term as constant texts and columns in turn: ``("https://x.org/", "id", "")``.

    Constants are at even places, columns at odd ones. In an IRI, the values of columns are encoded
    if `is_template`, else the cell is the IRI; if `is_uri`, so are letters that are not ASCII.
    Cells with a `separator` have several values.
    """

    parts: tuple[str, ...]
    kind: TermKind
    is_template: bool = False
    datatype: str = ""
    language: str = ""
    is_uri: bool = False
    separator: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.parts[1::2]

    @property
    def is_constant(self) -> bool:
        return len(self.parts) == 1


@dataclass(frozen=True, slots=True)
class CellRule:
    """How the cells of a column are read: an empty one is the default, some have no value.

    `lexical` gives the lexical form of a value that is written in another format.
    """

    default: str = ""
    nulls: frozenset[str] = frozenset({""})
    lexical: Callable[[str], str] | None = None

    def value(self, cell: str) -> str:
        """The value of a cell, or an empty text for one without a value."""
        text = cell.strip() or self.default
        if text in self.nulls:
            return ""
        return self.lexical(text) if self.lexical and text else text


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """The subject that a row becomes, and its statements as pairs of predicate and object.

    `cells` are the rules of columns whose cells are not values as they stand; with
    `has_row_numbers` `ROW` and `SOURCE_ROW` are columns.
    """

    name: str
    subject: TermMap
    statements: tuple[tuple[TermMap, TermMap], ...]
    cells: Mapping[str, CellRule] = field(default_factory=dict)
    has_row_numbers: bool = False

    @property
    def terms(self) -> Iterator[TermMap]:
        yield self.subject
        for predicate, object_ in self.statements:
            yield predicate
            yield object_


def percent_encoded(text: str, more: str = "") -> str:
    """A text with all but unreserved characters, and `more`, percent-encoded (RFC 6570)."""
    return re.sub(
        rf"[^A-Za-z0-9._~{more}-]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()),
        text,
    )


IRI_CHARACTERS: Final = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U000efffd"
"""The unreserved characters of IRIs that are not ASCII (RFC 3987)."""


def expanded_iri(text: str, prefixes: Mapping[str, str]) -> str:
    """A text whose prefix, if it is a known one, is replaced by its namespace."""
    prefix, colon, local = text.partition(":")
    if not colon or local.startswith("//") or prefix not in prefixes:
        return text
    return prefixes[prefix] + local


def unpacked_name(path: str) -> str:
    """The name of a file without a suffix for compression."""
    return _COMPRESSED.sub("", Path(path).name)


def check_source(mapping: str, location: str, source: str, table: str) -> None:
    """Raise `InputError` if the source of a mapping is not the imported table.

    `table` is its name without a suffix for compression.
    """
    if "://" in source:
        raise InputError(
            f"{mapping}, {location}: {source} is not read: a mapping reads the imported table only"
        )
    if unpacked_name(source.replace("\\", "/")) != table:
        raise InputError(
            f"{mapping}, {location}: the source is '{source}', but the table is '{table}': give "
            "the name of the table as the source"
        )


def template_parts(text: str, begin: str, end: str) -> tuple[str, ...]:
    r"""The parts of a template, with columns between `begin` and `end`; a backslash escapes.

    Raises `ValueError` for a column that is not closed.

    >>> template_parts("https://x.org/{id}", "{", "}")
    ('https://x.org/', 'id', '')
    >>> template_parts(r"$(a) \$(b)", "$(", ")")
    ('', 'a', ' $(b)')
    """
    parts = [""]
    token = re.compile(rf"\\(.)|({re.escape(begin)})|({re.escape(end)})|(.)", re.DOTALL)
    for escaped, opening, closing, character in token.findall(text):
        if (opening and len(parts) % 2) or (closing and not len(parts) % 2):
            parts.append("")
        else:
            parts[-1] += escaped or opening or closing or character
    if not len(parts) % 2:
        raise ValueError(f"a column in '{text}' is not closed with '{end}'")
    return tuple(parts)
