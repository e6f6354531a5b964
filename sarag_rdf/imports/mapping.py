"""Mappings of tables to RDF: what the columns of a row become.

The part of RML that concerns one table: subjects, classes, predicates and objects from constants,
columns and templates, with datatypes and languages. Joins, functions, and sources other than the
given table are refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sarag_rdf.errors import InputError, UsageError

MAX_BYTES = 1 << 20
"""Largest mapping in bytes."""
_COMPRESSED = frozenset({".gz", ".bz2", ".xz"})
TermKind = Literal["iri", "literal", "blank"]


@dataclass(frozen=True, slots=True)
class MappingFile:
    """The content of a mapping: RML in Turtle (``.ttl``), or YARRRML (``.yml``, ``.yaml``)."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The digest of the content in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def is_rml(self) -> bool:
        """Whether the mapping is RML in Turtle, else YARRRML."""
        return Path(self.name).suffix.lower() in (".ttl", ".turtle", ".rml")

    @classmethod
    def read(cls, path: Path) -> MappingFile:
        """Read a file; raises `UsageError` for one that is no mapping, or cannot be read."""
        if path.suffix.lower() not in (".ttl", ".turtle", ".rml", ".yml", ".yaml"):
            raise UsageError(f"{path} is no mapping: give RML (.ttl) or YARRRML (.yml)")
        if not path.is_file():
            raise UsageError(f"no such file: {path}")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        if len(content) > MAX_BYTES:
            raise InputError(f"{path} has more than {MAX_BYTES >> 20} MiB, which is no mapping")
        return cls(path.name, content)


@dataclass(frozen=True, slots=True)
class TermMap:
    """A term as constant texts and columns in turn: ``("https://x.org/", "id", "")``.

    Constants are at even places, columns at odd ones. In an IRI, the values of columns are encoded
    if `is_template`, else the cell is the IRI.
    """

    parts: tuple[str, ...]
    kind: TermKind
    is_template: bool = False
    datatype: str = ""
    language: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the term needs."""
        return self.parts[1::2]

    @property
    def is_constant(self) -> bool:
        """Whether the term is the same for all rows."""
        return len(self.parts) == 1


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """The subject that a row becomes, and its statements as pairs of predicate and object."""

    name: str
    subject: TermMap
    statements: tuple[tuple[TermMap, TermMap], ...]

    @property
    def terms(self) -> Iterator[TermMap]:
        """All terms of the map."""
        yield self.subject
        for predicate, object_ in self.statements:
            yield predicate
            yield object_


def check_source(mapping: str, place: str, source: str, table: str) -> None:
    """Raise `InputError` if the source of a mapping is not the table that is imported.

    `table` is its name without a suffix for compression.
    """
    if "://" in source:
        raise InputError(
            f"{mapping}, {place}: {source} is not read: a mapping reads the imported table only"
        )
    path = Path(source.replace("\\", "/"))
    if (path.stem if path.suffix.lower() in _COMPRESSED else path.name) != table:
        raise InputError(
            f"{mapping}, {place}: the source is '{source}', but the table is '{table}': give the "
            "name of the table as the source"
        )


def template_parts(text: str, begin: str, end: str) -> tuple[str, ...]:
    r"""The parts of a template, with columns between `begin` and `end`; a backslash escapes.

    Raises `ValueError` for a column that is not closed.

    >>> template_parts("https://x.org/{id}", "{", "}")
    ('https://x.org/', 'id', '')
    >>> template_parts(r"$(a) \$(b)", "$(", ")")
    ('', 'a', ' $(b)')
    """
    parts: list[str] = []
    buffer, place = "", 0
    while place < len(text):
        if text[place] == "\\" and place + 1 < len(text):
            buffer += text[place + 1]
            place += 2
        elif len(parts) % 2 == 0 and text.startswith(begin, place):
            parts.append(buffer)
            buffer, place = "", place + len(begin)
        elif len(parts) % 2 == 1 and text.startswith(end, place):
            parts.append(buffer)
            buffer, place = "", place + len(end)
        else:
            buffer += text[place]
            place += 1
    if len(parts) % 2:
        raise ValueError(f"a column in '{text}' is not closed with '{end}'")
    return (*parts, buffer)
