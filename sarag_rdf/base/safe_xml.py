"""XML without document type declarations, for parsers that must not see entities or DTDs.

Expat parses the document before the RDF parser gets it. Well-formed UTF-8 without a document type
declaration is passed through; a document with a declaration or in another encoding is rewritten,
with its entities expanded within limits.
"""

from __future__ import annotations

import re
from typing import IO, Final
from xml.parsers import expat

from sarag_rdf.base.errors import InputError

LONGEST_ENTITY: Final = 4_096
"""The maximum length of an entity's replacement text; namespace entities have about 50 characters.
"""
MOST_EXPANSION: Final = 10
"""The maximum size after expansion, as a multiple of the document's size, in excess of `ALWAYS`."""
ALWAYS: Final = 1 << 20
"""Characters that any document may expand to."""
_CHUNK: Final = 1 << 16
_LONGEST_PROLOG: Final = 1 << 24
"""The maximum number of bytes before the root element, which are buffered."""
_REFERENCE: Final = re.compile(r"&([^#;\s&]+);")
_PREDEFINED: Final = {"lt": 1, "gt": 1, "amp": 1, "apos": 1, "quot": 1}
_PASSED_ENCODINGS: Final = (None, "utf-8", "utf8", "us-ascii", "ascii")
"""Encodings of documents that are passed through without rewriting."""
_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE: Final = _TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


class PlainXml:
    """A stream of safe XML bytes; reading raises `InputError` for XML that is not allowed."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        """`name` is the name of the file for error messages."""
        self._stream, self._name = stream, name
        self._buffer = self._prolog_bytes = b""
        self._prolog: list[bytes] | None = []
        self._output: list[str] = []
        self._sizes: dict[str, int] = dict(_PREDEFINED)
        self._input_size = self._output_size = 0
        self._line = 1
        self._encoding: str | None = None
        self._rewrites = self._at_end = False
        self._parser = _parser(self)

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most `size`; empty at the end."""
        while not self._buffer and not self._at_end:
            self._buffer = self._next()
        if size < 0:
            size = len(self._buffer)
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _next(self) -> bytes:
        chunk = self._stream.read(_CHUNK)
        self._at_end = not chunk
        is_utf16 = chunk[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in chunk[:4]
        if not self._input_size and is_utf16:
            self._rewrites = True
        self._input_size += len(chunk)
        if self._prolog is not None:
            self._prolog.append(chunk)
        try:
            self._parser.Parse(chunk, self._at_end)
        except (expat.ExpatError, LookupError, ValueError) as error:
            raise self._error(_message(error)) from error
        if self._prolog is not None:
            if self._input_size > _LONGEST_PROLOG:
                raise self._error("the document has no element within 16 MiB")
            return b""
        if not self._rewrites:
            prolog, self._prolog_bytes = self._prolog_bytes, b""
            return prolog + chunk
        text = "".join(self._output)
        self._output.clear()
        return text.encode()

    # ------------------------------------------------------------------ Handlers for expat

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._encoding = encoding

    def doctype(self, _name: str, system: str | None, _public: str | None, _internal: int) -> None:
        if system:
            raise self._error(
                f"external DTDs are not supported ({system}): remove the DOCTYPE, and replace its "
                "entities by their text"
            )
        self._rewrites = True

    def entity(
        self, name: str, is_parameter: int, value: str | None, *_: str | None
    ) -> None:  # base, system, public, notation
        if is_parameter or value is None:
            raise self._error(
                f"the entity '{name}' is a parameter or external entity, which is not supported: "
                "replace it by its text"
            )
        references = _REFERENCE.findall(value)
        if not self._sizes.keys() >= set(references):
            raise self._error(f"the entity '{name}' refers to one that is not declared before it")
        size = len(value) + sum(map(self._sizes.__getitem__, references))
        if size > LONGEST_ENTITY:
            raise self._error(
                f"the entity '{name}' is longer than {LONGEST_ENTITY:,} characters: replace it by "
                "its text"
            )
        self._sizes.setdefault(name, size)

    def root(self, name: str, attributes: list[str]) -> None:
        """Decide at the root element whether the document can be passed through."""
        prolog, self._prolog = self._prolog or [], None
        if (self._encoding and self._encoding.lower()) not in _PASSED_ENCODINGS:
            self._rewrites = True
        if not self._rewrites:
            _set_handlers(self._parser, None)
            self._prolog_bytes = b"".join(prolog[:-1])
            return
        _set_handlers(self._parser, self)
        self.start(name, attributes)

    def start(self, name: str, attributes: list[str]) -> None:
        lag = self._parser.CurrentLineNumber - self._line
        parts = [f"<{name}", "\n" * lag]  # keeps line numbers for the RDF parser
        self._line += max(0, lag)
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        parts += [f' {key}="{value.translate(_VALUE)}"' for key, value in pairs]
        self._write("".join(parts) + ">")

    def end(self, name: str) -> None:
        self._write(f"</{name}>")

    def text(self, data: str) -> None:
        self._line += data.count("\n")
        self._write(data.translate(_TEXT))

    def comment(self, data: str) -> None:
        self._line += data.count("\n")
        self._write(f"<!--{data}-->")

    def instruction(self, target: str, data: str) -> None:
        self._line += data.count("\n")
        self._write(f"<?{target} {data}?>")

    def _write(self, text: str) -> None:
        self._output_size += len(text)
        if self._output_size > MOST_EXPANSION * self._input_size + ALWAYS:
            raise self._error(
                f"the document expands to more than {MOST_EXPANSION} times its size: replace "
                "entities by their text"
            )
        self._output.append(text)

    def _error(self, message: str) -> InputError:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        return InputError(f"{self._name}, line {line}, column {column}: {message}")


def _parser(target: PlainXml) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    parser.buffer_text = True
    parser.XmlDeclHandler = target.declaration
    parser.StartDoctypeDeclHandler = target.doctype
    parser.EntityDeclHandler = target.entity
    parser.StartElementHandler = target.root
    return parser


def _set_handlers(parser: expat.XMLParserType, target: PlainXml | None) -> None:
    """Set the handlers for content to those of `target`, or remove them."""
    parser.StartElementHandler = target.start if target else None
    parser.EndElementHandler = target.end if target else None
    parser.CharacterDataHandler = target.text if target else None
    parser.CommentHandler = target.comment if target else None
    parser.ProcessingInstructionHandler = target.instruction if target else None


def _message(error: Exception) -> str:
    """The message of an error, without the position that expat includes."""
    if isinstance(error, expat.ExpatError):
        return f"invalid XML ({expat.ErrorString(error.code)})"
    return f"invalid XML ({error})"
