"""XML without a document type declaration, for parsers that must see neither entities nor DTDs.

Expat reads each piece before the RDF parser gets it. What it finds to be well-formed UTF-8 without
a declaration passes as it is; a document that has one, or another encoding, is written anew, with
its entities expanded within limits.
"""

from __future__ import annotations

import re
from typing import IO, Final
from xml.parsers import expat

from sarag_rdf.errors import InputError

LONGEST_ENTITY: Final = 4_096
"""Characters that an entity may stand for; those of namespaces take some fifty."""
MOST_EXPANSION: Final = 10
"""Times its size that a document may take with its entities expanded, beyond `ALWAYS`."""
ALWAYS: Final = 1 << 20
"""Characters that entities may expand to in any document."""
_PIECE: Final = 1 << 16
_LONGEST_PROLOG: Final = 1 << 24
"""Bytes before the root element, which are held until it is known what the document is."""
_REFERENCE: Final = re.compile(r"&([^#;\s&]+);")
_PREDEFINED: Final = {"lt": 1, "gt": 1, "amp": 1, "apos": 1, "quot": 1}
_AS_IT_IS: Final = (None, "utf-8", "utf8", "us-ascii", "ascii")
"""Encodings that the XML declaration may name in a document that passes as it is."""
_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE: Final = _TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


class PlainXml:
    """A stream of XML bytes; reading raises `InputError` for XML that no parser should get."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        """`name` is that of the file, for errors."""
        self._stream, self._name = stream, name
        self._given = self._before = b""
        self._held: list[bytes] | None = []
        self._written: list[str] = []
        self._sizes: dict[str, int] = dict(_PREDEFINED)
        self._read = self._made = 0
        self._line = 1
        self._encoding: str | None = None
        self._rewrites = self._ended = False
        self._parser = _parser(self)

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        while not self._given and not self._ended:
            self._given = self._next()
        if size < 0:
            size = len(self._given)
        data, self._given = self._given[:size], self._given[size:]
        return data

    def _next(self) -> bytes:
        piece = self._stream.read(_PIECE)
        self._ended = not piece
        if not self._read and (piece[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in piece[:4]):
            self._rewrites = True
        self._read += len(piece)
        if self._held is not None:
            self._held.append(piece)
        try:
            self._parser.Parse(piece, self._ended)
        except (expat.ExpatError, LookupError, ValueError) as error:
            raise self._refusal(_said(error)) from error
        if self._held is not None:
            if self._read > _LONGEST_PROLOG:
                raise self._refusal("the document has no element within 16 MiB")
            return b""
        if not self._rewrites:
            before, self._before = self._before, b""
            return before + piece
        text = "".join(self._written)
        self._written.clear()
        return text.encode()

    # ------------------------------------------------------------------ What expat calls

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._encoding = encoding

    def doctype(self, _name: str, system: str | None, _public: str | None, _internal: int) -> None:
        if system:
            raise self._refusal(
                f"the document type is declared elsewhere ({system}), which is not read: remove "
                "the DOCTYPE, and write what its entities stand for in full"
            )
        self._rewrites = True

    def entity(
        self, name: str, is_parameter: int, value: str | None, *_: str | None
    ) -> None:  # base, system, public, notation
        if is_parameter or value is None:
            raise self._refusal(f"the entity '{name}' is not a plain text, as all must be")
        references = _REFERENCE.findall(value)
        if not self._sizes.keys() >= set(references):
            raise self._refusal(f"the entity '{name}' refers to one that is not declared before it")
        size = len(value) + sum(map(self._sizes.__getitem__, references))
        if size > LONGEST_ENTITY:
            raise self._refusal(
                f"the entity '{name}' stands for more than {LONGEST_ENTITY:,} characters: write "
                "them in full"
            )
        self._sizes.setdefault(name, size)

    def root(self, name: str, attributes: list[str]) -> None:
        """Decide at the first element whether the document passes as it is."""
        held, self._held = self._held or [], None
        if (self._encoding and self._encoding.lower()) not in _AS_IT_IS:
            self._rewrites = True
        if not self._rewrites:
            _listen(self._parser, None)
            self._before = b"".join(held[:-1])
            return
        _listen(self._parser, self)
        self.start(name, attributes)

    def start(self, name: str, attributes: list[str]) -> None:
        lag = self._parser.CurrentLineNumber - self._line
        parts = [f"<{name}", "\n" * lag]  # so that the RDF parser counts the same lines
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
        self._made += len(text)
        if self._made > MOST_EXPANSION * self._read + ALWAYS:
            raise self._refusal(
                f"with its entities expanded the document takes more than {MOST_EXPANSION} times "
                "its size: write what they stand for in full"
            )
        self._written.append(text)

    def _refusal(self, what: str) -> InputError:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        return InputError(f"{self._name}, line {line}, column {column}: {what}")


def _parser(target: PlainXml) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    parser.buffer_text = True
    parser.XmlDeclHandler = target.declaration
    parser.StartDoctypeDeclHandler = target.doctype
    parser.EntityDeclHandler = target.entity
    parser.StartElementHandler = target.root
    return parser


def _listen(parser: expat.XMLParserType, target: PlainXml | None) -> None:
    """Hand the content to `target`, or to nobody."""
    parser.StartElementHandler = target.start if target else None
    parser.EndElementHandler = target.end if target else None
    parser.CharacterDataHandler = target.text if target else None
    parser.CommentHandler = target.comment if target else None
    parser.ProcessingInstructionHandler = target.instruction if target else None


def _said(error: Exception) -> str:
    """What is wrong, without the place that expat repeats."""
    if isinstance(error, expat.ExpatError):
        return f"this is not XML that can be read ({expat.ErrorString(error.code)})"
    return f"this is not XML that can be read ({error})"
