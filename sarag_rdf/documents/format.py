"""The interface of a document format: its input, and the records that it yields."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TextIO, TypeVar

from sarag_rdf.base.errors import one_line
from sarag_rdf.base.files import MAX_EXPANSION
from sarag_rdf.base.options import MAX_SECONDS
from sarag_rdf.base.sandbox import EndedError, Limits, half_of_memory, run
from sarag_rdf.base.sentences import NOT_IN_XML

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
    """An input with its limits (see `ReadOptions`); standard input has no `path` and `size`."""

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
    input that cannot be read. Files of more than `sandboxed_above` bytes are read with
    `run_sandboxed`; with workers, several of them at a time in threads.
    """

    read: Callable[[OpenInput], Iterator[Record | InvalidRecord]]
    media_type: str
    is_text: bool = True
    is_streamed: bool = False
    sandboxed_above: int | None = None


_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


def run_sandboxed(
    file: OpenInput,
    function: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> _Result:
    """Run a function in a child process; raises its errors, `UnreadableError` if it is killed."""
    limits = Limits(file.max_seconds, half_of_memory())
    try:
        return run(function, limits, *arguments, **named)
    except EndedError as error:
        remedy = "leave it out, or raise --max-seconds" if error.by_time else "leave it out"
        raise UnreadableError(f"{error}: {remedy}") from None


LONGEST_WORD = 10_000
"""In characters; anything longer is data (Base64, a list of hashes), not prose."""
BYTES_PER_CHAR = 4
"""The maximum in UTF-8, UTF-16 and UTF-32."""
EMPTY = "is empty: leave it out, or add text"

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"[^\s\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]+")
_SNIFFED_BYTES = 8192


def clean(text: str) -> str:
    """Normalise line ends, and replace each character that XML 1.0 does not allow by a space."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return NOT_IN_XML.sub(" ", _SURROGATE.sub("\ufffd", text))


def clean_line(text: str) -> str:
    """Clean a text of one line, such as a title: runs of white space become one space."""
    return " ".join(clean(text).split())


def has_undecodable_bytes(text: str) -> bool:
    """Whether text from `text_stream` contains bytes that are invalid in its encoding."""
    return _SURROGATE.search(text) is not None


def text_problem(text: str, max_chars: int) -> str | None:
    """The reason why a cleaned text cannot be indexed, or None."""
    if not text.strip():
        return "contains only white space: leave it out, or add text"
    if len(text) > max_chars:
        return _too_long_message(f"{len(text):,} characters", max_chars)
    if len(text) > LONGEST_WORD:
        for word in _WORD.finditer(text):
            if word.end() - word.start() > LONGEST_WORD:
                return (
                    f"has a word of {word.end() - word.start():,} characters at character "
                    f"{word.start()}, so it is not prose: remove such data first"
                )
    return None


def check_size(file: OpenInput, bytes_per_char: int = BYTES_PER_CHAR) -> None:
    """Raise `UnreadableError` for a file that is too large to be within the limit."""
    if file.size is not None and file.size > bytes_per_char * file.max_chars:
        raise UnreadableError(_too_long_message(f"{file.size:,} bytes", file.max_chars))


def read_bytes(file: OpenInput) -> bytes:
    """Read a whole input; raise `UnreadableError` if it is empty or too large."""
    check_size(file)
    limit = BYTES_PER_CHAR * file.max_chars
    data = file.handle.read(limit + 1)
    if len(data) > limit:
        raise UnreadableError(_too_long_message(f"more than {limit:,} bytes", file.max_chars))
    if not data:
        raise UnreadableError(EMPTY)
    return data


def read_text(file: OpenInput) -> str:
    """Read a whole input as UTF-8, or by its byte order mark, and clean it."""
    return clean(read_decoded(file))


def read_decoded(file: OpenInput) -> str:
    """Read a whole input as UTF-8, or by its byte order mark, without cleaning."""
    return check_length(decode(read_bytes(file)), file.max_chars)


def check_length(text: str, max_chars: int) -> str:
    """Return the text of a whole input; raise `UnreadableError` if it is too long."""
    if len(text) > max_chars:
        raise UnreadableError(_too_long_message(f"{len(text):,} characters", max_chars))
    return text


def decode(data: bytes) -> str:
    """Decode as UTF-8, or by the byte order mark; `UnreadableError` gives the byte offset."""
    mark, encoding = encoding_of(data)
    if encoding == "utf-8" and b"\0" in data:
        raise UnreadableError(_binary_message(data))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        offset = error.start + len(mark)
        raise UnreadableError(
            f"is not {encoding.upper()} text (byte {offset} is 0x{data[offset]:02x}): "
            "save it as UTF-8"
        ) from None
    if "\0" in text:
        raise UnreadableError(_binary_message(b""))
    return text


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """The byte order mark at the start of the data (or empty), and the encoding."""
    return next((bom for bom in _BOMS if data.startswith(bom[0])), (b"", "utf-8"))


@contextmanager
def text_stream(file: OpenInput, newline: str) -> Iterator[TextIO]:
    """Decode an input for reading line by line; undecodable bytes become lone surrogates."""
    head = file.handle.peek(_SNIFFED_BYTES)
    if not head:
        raise UnreadableError(EMPTY)
    mark, encoding = encoding_of(head)
    if encoding == "utf-8" and b"\0" in head:
        raise UnreadableError(_binary_message(head))
    file.handle.read(len(mark))
    stream = io.TextIOWrapper(file.handle, encoding, "surrogateescape", newline=newline)
    try:
        yield stream
    finally:
        stream.detach()


def _too_long_message(size: str, max_chars: int) -> str:
    return (
        f"is too long ({size}; the limit is {max_chars:,} characters): split it, or raise "
        "the limit with --max-chars"
    )


def _binary_message(data: bytes) -> str:
    offset = data.find(b"\0")
    at = f" (byte {offset} is zero)" if offset >= 0 else ""
    return f"is not text but binary data{at}: convert it to text in UTF-8 first"


_HEADER = r"(?:[A-Z][\w-]*:[^\n]*\n){0,20}"
_HEADING = re.compile(r"\s*(\S[^\n]{0,98}[^\s.?!:;,])[ \t]*\n[ \t]*\n\s*(?=\S)")


def read(file: OpenInput) -> Iterator[Record]:
    """Yield the text of a plain text file.

    Its title is the subject of an e-mail, or a heading: a first line before a blank one that does
    not end as a sentence does.
    """
    text = read_text(file)
    if subject := re.match(_HEADER + r"(?P<line>Subject:[ \t]*(\S[^\n]*)\n)", text):
        yield Record(text[: subject.start("line")] + text[subject.end() :], subject[2])
    elif heading := _HEADING.match(text):
        yield Record(text[heading.end() :], heading[1])
    else:
        yield Record(text)


TEXT = Format(read, "text/plain")
