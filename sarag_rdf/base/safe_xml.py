"""XML in UTF-8 for an RDF parser, without external entities and without entities that explode.

Expat parses each part of a document before the RDF parser gets it. It refuses what is not
well-formed, and entities that expand to more than a hundred times the document (its own
protection, since version 2.4.1).
"""

from __future__ import annotations

import codecs
import re
from typing import IO, Final
from xml.parsers import expat

from sarag_rdf.base.errors import InputError

_CHUNK: Final = 1 << 16
_DECLARED: Final = re.compile(rb"""^(<\?xml[^>]*?)\s+encoding\s*=\s*("[^"]*"|'[^']*')""")
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class PlainXml:
    """A stream of safe XML bytes; reading raises `InputError` for XML that is not allowed."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        """`name` is the name of the file for error messages."""
        self._stream, self._name = stream, name
        self._buffer = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._is_first, self._at_end = True, False
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EndDoctypeDeclHandler = self._end_doctype
        self._parser.EntityDeclHandler = self._entity
        self._parser.ElementDeclHandler = self._parser.NotationDeclHandler = _ignore
        self._parser.AttlistDeclHandler = self._attributes

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most `size`; empty at the end."""
        while not self._buffer and not self._at_end:
            self._buffer = self._next()
        end = len(self._buffer) if size < 0 else size
        data, self._buffer = self._buffer[:end], self._buffer[end:]
        return data

    def _next(self) -> bytes:
        chunk = self._stream.read(_CHUNK)
        self._at_end = not chunk
        try:
            if self._is_first:
                chunk = self._start(chunk)
            elif self._decoder:
                chunk = self._decoder.decode(chunk, self._at_end).encode()
            self._parser.Parse(chunk, self._at_end)
        except (expat.ExpatError, LookupError, ValueError) as error:
            reason = expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else error
            raise self._error(f"invalid XML ({reason})") from error
        return chunk

    def _start(self, chunk: bytes) -> bytes:
        """The first bytes in UTF-8, without the name of another encoding."""
        self._is_first = False
        declared = _DECLARED.match(chunk)
        name = next((name for mark, name in _MARKS.items() if chunk.startswith(mark)), "")
        name = name or (declared[2][1:-1].decode() if declared else "utf-8")
        " ".encode(name)  # raises LookupError for a codec that is no text encoding
        if codecs.lookup(name).name != "utf-8":
            self._decoder = codecs.getincrementaldecoder(name)()
            chunk = self._decoder.decode(chunk).encode()
        return _DECLARED.sub(rb"\1", chunk)

    def _doctype(self, _name: str, system: str | None, _public: str | None, _internal: int) -> None:
        if system:
            raise self._error(
                f"external DTDs are not supported ({system}): remove the DOCTYPE, and replace its "
                "entities by their text"
            )
        if expat.version_info < (2, 4, 1):
            raise self._error("DOCTYPE needs expat 2.4.1 or newer: update Python, or remove it")
        self._parser.DefaultHandlerExpand = self._other

    def _end_doctype(self) -> None:
        self._parser.DefaultHandlerExpand = None

    def _other(self, text: str) -> None:
        """Refuse parts of a DOCTYPE that are not reported otherwise: an entity's second value.

        Its first value counts, but the RDF parser takes the last.
        """
        if text.strip() and not text.startswith(("<!--", "<?")):
            raise self._error(f"an entity is declared twice ({text}): remove one declaration")

    def _entity(self, name: str, is_parameter: int, value: str | None, *_: str | None) -> None:
        if is_parameter or value is None:
            raise self._error(
                f"the entity '{name}' is a parameter or external entity, which is not supported: "
                "replace it by its text"
            )

    def _attributes(self, element: str, name: str, *_: object) -> None:
        raise self._error(
            f"the attribute {name} of {element} is declared in the DOCTYPE, which is not "
            "supported: write it at the elements"
        )

    def _error(self, message: str) -> InputError:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        return InputError(f"{self._name}, line {line}, column {column}: {message}")


def _ignore(*_: object) -> None:
    """Declarations of elements and notations have no effect."""
