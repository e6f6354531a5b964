"""From bytes to text that every RDF syntax can hold.

Character offsets count in the cleaned text: line ends are line feeds, characters that XML 1.0 does
not allow are blanks, and lone surrogates are U+FFFD.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from sarag_rdf.read.format import Opened, Record, UnreadableError

LONGEST_WORD = 10_000
"""Characters; anything longer is data (Base64, a hash list), not prose."""
BYTES_PER_CHAR = 4
"""The most that UTF-8, UTF-16 and UTF-32 need."""
EMPTY = "is empty: leave it out, or give it a text"

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"[^\s\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]+")
_HEAD = 8192


def clean(text: str) -> str:
    """Normalise line ends, and replace what XML 1.0 does not allow, character by character."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_XML.sub(" ", _SURROGATE.sub("\ufffd", text))


def clean_line(text: str) -> str:
    """Clean a text that is to stand on one line, such as a title: all white space folded."""
    return " ".join(clean(text).split())


def undecodable(text: str) -> bool:
    """Tell whether text from `text_stream` holds bytes that its encoding does not allow."""
    return _SURROGATE.search(text) is not None


def fault_of(text: str, max_chars: int) -> str | None:
    """Say what makes a cleaned text unfit to be indexed; None if nothing does.

    The punctuation of Chinese and Japanese ends a word here, as blanks do elsewhere.
    """
    if not text.strip():
        return "holds no text, only white space: leave it out, or give it a text"
    if len(text) > max_chars:
        return _too_long(f"{len(text):,} characters", max_chars)
    if len(text) > LONGEST_WORD:
        for word in _WORD.finditer(text):
            if word.end() - word.start() > LONGEST_WORD:
                return (
                    f"has a word of {word.end() - word.start():,} characters at character "
                    f"{word.start()}, so it is not prose: take such data out first"
                )
    return None


def check_size(opened: Opened, bytes_per_char: int = BYTES_PER_CHAR) -> None:
    """Raise `UnreadableError` for a file whose size alone tells that it exceeds the limit."""
    if opened.size is not None and opened.size > bytes_per_char * opened.max_chars:
        raise UnreadableError(_too_long(f"{opened.size:,} bytes", opened.max_chars))


def read_bytes(opened: Opened) -> bytes:
    """Read a whole input; raise `UnreadableError` if it is empty or too large."""
    check_size(opened)
    limit = BYTES_PER_CHAR * opened.max_chars
    data = opened.handle.read(limit + 1)
    if len(data) > limit:
        raise UnreadableError(_too_long(f"more than {limit:,} bytes", opened.max_chars))
    if not data:
        raise UnreadableError(EMPTY)
    return data


def read_text(opened: Opened) -> str:
    """Read a whole input as UTF-8, or as its byte order mark says, cleaned."""
    return clean(read_decoded(opened))


def read_decoded(opened: Opened) -> str:
    """Read a whole input as UTF-8, or as its byte order mark says, as it stands."""
    return checked(decode(read_bytes(opened)), opened.max_chars)


def checked(text: str, max_chars: int) -> str:
    """Return a whole input's text; raise `UnreadableError` if it is too long."""
    if len(text) > max_chars:
        raise UnreadableError(_too_long(f"{len(text):,} characters", max_chars))
    return text


def decode(data: bytes) -> str:
    """Decode UTF-8, or as the byte order mark says; `UnreadableError` gives the byte offset."""
    mark, encoding = encoding_of(data)
    if encoding == "utf-8" and b"\0" in data:
        raise UnreadableError(_binary(data))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        offset = error.start + len(mark)
        raise UnreadableError(
            f"is not {encoding.upper()} text (byte {offset} is 0x{data[offset]:02x}): "
            "save it as UTF-8"
        ) from None
    if "\0" in text:
        raise UnreadableError(_binary(b""))
    return text


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark that data begins with (or none) and the encoding it tells."""
    return next((bom for bom in _BOMS if data.startswith(bom[0])), (b"", "utf-8"))


@contextmanager
def text_stream(opened: Opened, newline: str) -> Iterator[TextIO]:
    """Open a text that is read line by line; undecodable bytes become lone surrogates."""
    head = opened.handle.peek(_HEAD)
    if not head:
        raise UnreadableError(EMPTY)
    mark, encoding = encoding_of(head)
    if encoding == "utf-8" and b"\0" in head:
        raise UnreadableError(_binary(head))
    opened.handle.read(len(mark))
    stream = io.TextIOWrapper(opened.handle, encoding, "surrogateescape", newline=newline)
    try:
        yield stream
    finally:
        stream.detach()


def bounded_lines(stream: TextIO, limit: int) -> Iterator[str | None]:
    """Yield lines with their ends; None for one of more than `limit` characters."""
    while line := stream.readline(limit):
        if len(line) < limit or line.endswith("\n"):
            yield line
            continue
        rest = line
        while rest and not rest.endswith("\n"):
            rest = stream.readline(limit)
        yield None


def _too_long(found: str, max_chars: int) -> str:
    return (
        f"is too long ({found}; the limit is {max_chars:,} characters): split it, or raise "
        "the limit with --max-chars"
    )


def _binary(data: bytes) -> str:
    offset = data.find(b"\0")
    at = f" (byte {offset} is zero)" if offset >= 0 else ""
    return f"is not text but binary data{at}: convert it to text in UTF-8 first"


def read(opened: Opened) -> Iterator[Record]:
    """Yield the text as it stands."""
    yield Record(read_text(opened))
