"""The interface of a document format: what a reader takes, and what it yields."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from sarag_rdf.compression import MAX_EXPANSION
from sarag_rdf.errors import one_line
from sarag_rdf.sandbox import EndedError, Limits, half_of_memory, run

TEXT_KEYS = ("text", "paragraph_text", "content", "passage", "body")
"""Where a record's text may stand, in order of preference."""
ID_KEYS = ("id", "_id")
MAX_SECONDS = 120.0
"""That a parser may take for one file by default."""


@dataclass(frozen=True, slots=True)
class InputProblem:
    """One input, or one record of it, that was not read: a line that says what to do next."""

    name: str
    message: str

    def __str__(self) -> str:
        return one_line(f"{self.name}: {self.message}")


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A file that was read before in this run, or a record with the same key and content."""

    name: str


class UnreadableError(Exception):
    """A reader gives up on its whole input; the message becomes an `InputProblem`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of an input (one line, one record) that a reader leaves out, and why."""

    message: str


@dataclass(frozen=True, slots=True)
class Record:
    """A text as a format holds it, before it is checked and cleaned.

    `identifier` is None for a whole file; a record's own identifier, or empty when it has none. One
    that `is_sole` is all that its file holds, and known by the file's path if it has none.
    `where` names a record in messages ("line 7"). `language` is the tag the format declares.
    """

    text: str
    title: str = ""
    identifier: str | None = None
    where: str = ""
    language: str = ""
    is_sole: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """An input opened for reading: standard input has neither `path` nor `size` (bytes).

    An archive may hold `max_expansion` times its size; its parser may take `max_seconds`.
    """

    handle: io.BufferedReader
    max_chars: int
    path: Path | None = None
    size: int | None = None
    max_expansion: int = MAX_EXPANSION
    max_seconds: float = MAX_SECONDS


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are read: lazily, and if `is_streamed` line by line.
    Reading raises `UnreadableError`, OSError or UnicodeDecodeError when an input must be given up.
    """

    read: Callable[[Opened], Iterator[Record | Fault]]
    media_type: str
    is_text: bool = True
    is_streamed: bool = False


_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def apart(
    opened: Opened,
    function: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> _Result:
    """What a function gives in a child process, within the time that the input may take.

    Raises what it raises, and `UnreadableError` if the child ends.
    """
    limits = Limits(opened.max_seconds, half_of_memory())
    try:
        return run(function, limits, *arguments, **named)
    except EndedError as error:
        remedy = "leave it out, or raise --max-seconds" if error.by_time else "leave it out"
        raise UnreadableError(f"{error}: {remedy}") from None
