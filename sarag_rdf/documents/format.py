"""The interface of a document format: its input, and the records that it yields."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from sarag_rdf.base.errors import one_line
from sarag_rdf.base.files import MAX_EXPANSION
from sarag_rdf.base.options import MAX_SECONDS
from sarag_rdf.base.sandbox import EndedError, Limits, half_of_memory, run

TEXT_KEYS = ("text", "paragraph_text", "content", "passage", "body")
"""Keys of a record for its text, in order of preference."""
ID_KEYS = ("id", "_id")


@dataclass(frozen=True, slots=True)
class InputProblem:
    """An input, or one record of it, that could not be read; the message says what to do next."""

    name: str
    message: str

    def __str__(self) -> str:
        return one_line(f"{self.name}: {self.message}")


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A file already read in this run, or a record whose key and content were already read."""

    name: str


class UnreadableError(Exception):
    """The whole input cannot be read; the message becomes an `InputProblem`."""


@dataclass(frozen=True, slots=True)
class InvalidRecord:
    """A line or record that a reader skips; the message gives the reason."""

    message: str


@dataclass(frozen=True, slots=True)
class Record:
    """A text as stored in its file, before it is checked and cleaned.

    `identifier` is None for a whole file; for a record it is its identifier, or empty if it has
    none. A record with `is_sole` is the only one in its file; without an identifier it is
    identified by the path of the file. `where` locates the record in messages ("line 7").
    `language` is the tag declared in the file.
    """

    text: str
    title: str = ""
    identifier: str | None = None
    where: str = ""
    language: str = ""
    is_sole: bool = False


@dataclass(frozen=True, slots=True)
class OpenInput:
    """An input opened for reading, with its limits; standard input has no `path` and no `size`.

    `size` is in bytes. `max_chars` limits one text, `max_expansion` the unpacked size of an archive
    as a multiple of its size, and `max_seconds` the time of its parser.
    """

    handle: io.BufferedReader
    max_chars: int
    path: Path | None = None
    size: int | None = None
    max_expansion: int = MAX_EXPANSION
    max_seconds: float = MAX_SECONDS


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: an entry point of the group ``sarag_rdf.formats``, named as its suffix.

    `read` is lazy, and reads line by line if `is_streamed`; only a format that `is_text` can be
    read from standard input. `read` raises `UnreadableError`, OSError or UnicodeDecodeError for an
    input that cannot be read.
    """

    read: Callable[[OpenInput], Iterator[Record | InvalidRecord]]
    media_type: str
    is_text: bool = True
    is_streamed: bool = False


_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def run_sandboxed(
    file: OpenInput,
    function: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> _Result:
    """Run a function in a child process, within the time limit of the input.

    Raises the errors of the function, and `UnreadableError` if the child process is killed.
    """
    limits = Limits(file.max_seconds, half_of_memory())
    try:
        return run(function, limits, *arguments, **named)
    except EndedError as error:
        remedy = "leave it out, or raise --max-seconds" if error.by_time else "leave it out"
        raise UnreadableError(f"{error}: {remedy}") from None
