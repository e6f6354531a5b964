"""Input files: streams of bytes from disk or the network, and RDF in them as triples.

RDF is parsed in a child process, which streams N-Triples or N-Quads back, without blank nodes;
errors have line and column. XML is checked before the RDF parser gets it: expat refuses what is not
well-formed, external entities, and entities that expand to more than a hundred times the document
(its own protection, since version 2.4.1).
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, ParamSpec, TypeVar, cast
from xml.parsers import expat

import pyoxigraph as ox

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import MAX_EXPANSION, TOO_SHORT_OR_DAMAGED, ScratchFolder
from sarag_rdf.base.files import unpacked as decompressed
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.options import Options, max_expansion_option, max_seconds_option, option
from sarag_rdf.base.ports import Advance
from sarag_rdf.base.redaction import holds_password, public_origin, remember_url
from sarag_rdf.base.sandbox import EndedError, Limits, half_of_memory
from sarag_rdf.base.sandbox import stream as stream_items
from sarag_rdf.base.vocab import DEEPEST_TERM, is_deep

_COMPRESSED = frozenset({".gz", ".bz2", ".xz"})
READ_ERRORS = (*TOO_SHORT_OR_DAMAGED, OSError)
"""Errors raised by reading a file that is damaged or truncated."""
_SECONDS, _DEADLINE = 60.0, 6 * 3600.0
"""Seconds for each wait of a download, and for the whole."""
MAX_DOWNLOAD = 64 << 30
"""Bytes of a download at most."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file on disk: its origin (an IRI), its name without compression suffix, its digest."""

    path: Path
    origin: str
    name: str
    sha256: str
    max_expansion: int = MAX_EXPANSION

    @property
    def suffix(self) -> str:
        """The last suffix of the name, in lower case, with its dot."""
        return Path(self.name).suffix.lower()


class PositionProgress:
    """Reports positions in a file as progress."""

    def __init__(self, advance: Advance) -> None:
        self._advance, self._position = advance, 0

    def __call__(self, position: int) -> None:
        self._advance(position - self._position)
        self._position = position


@contextmanager
def input_file(location: str, max_expansion: int = MAX_EXPANSION) -> Iterator[InputFile]:
    """Open a file or download a URL; raises `InputError`, and `UsageError` for no file."""
    if location.lower().startswith(("http://", "https://")):
        if holds_password(location):
            raise UsageError(
                "a URL must not contain a password: download the file, and import it from disk"
            )
        remember_url(location)
        with ScratchFolder("download") as scratch:
            name = location.partition("?")[0].rstrip("/").rpartition("/")[2] or "download"
            path = scratch.path / ("download" + "".join(Path(name).suffixes[-2:]))
            _download(location, path)
            yield _describe_file(path, public_origin(location), name, max_expansion)
        return
    path = Path(location).expanduser()
    if path.is_dir():
        raise UsageError(f"{location} is a folder: give a file in it")
    if not path.is_file():
        raise UsageError(f"no such file: {location}: give a file or an http(s) URL")
    yield _describe_file(path, path.resolve().as_uri(), path.name, max_expansion)


def _describe_file(path: Path, origin: str, name: str, max_expansion: int) -> InputFile:
    plain = name[: -len(Path(name).suffix)] if Path(name).suffix.lower() in _COMPRESSED else name
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{origin} cannot be read: {error.strerror}") from error
    return InputFile(path, origin, plain, digest, max_expansion)


def _download(url: str, path: Path) -> None:
    import httpx

    from sarag_rdf.base.http_client import DeadlineError, ReplySizeError, download

    try:
        download(url, path, seconds=_SECONDS, deadline=_DEADLINE, most=MAX_DOWNLOAD)
    except (DeadlineError, ReplySizeError) as error:
        reason = str(error) or f"more than {_DEADLINE / 3600:g} hours"
        raise InputError(
            f"the download of {public_origin(url)} takes {reason}: download the file with another "
            "program, and import it from disk"
        ) from error
    except httpx.RemoteProtocolError as error:
        read = path.stat().st_size if path.exists() else 0
        raise InputError(
            f"the download of {public_origin(url)} ended after {read} bytes ({error}): try again"
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, httpx.HTTPStatusError):
            reply = error.response
            reason = f"{reply.reason_phrase} ({reply.status_code})".lstrip()
        raise InputError(f"cannot download {public_origin(url)}: {reason}") from error


@contextmanager
def unpacked(file: InputFile) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The decompressed content, and the file itself, whose position is that of the input."""
    with file.path.open("rb") as raw, decompressed(raw, file.max_expansion) as stream:
        yield stream, raw


# ------------------------------------------------------------------------------------ Safe XML


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
        """Refuse an entity's second value, which the RDF parser would take, but nothing reports."""
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


# ------------------------------------------------------------------------------ RDF as triples


_FORMATS: Final = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
    "n3": ox.RdfFormat.N3,
}
_SUFFIXES: Final = {".turtle": ox.RdfFormat.TURTLE, ".owl": ox.RdfFormat.RDF_XML}
"""The suffixes that the engine does not know."""
_PREFIX: Final = re.compile(r"^Parser error .*?: ")
"""The start of a parser message, which repeats the position."""
_RANDOM_LABEL: Final = re.compile(r"[0-9a-f]{24,32}")
"""Labels of the kind that the parser gives to anonymous blank nodes."""
_SKOLEM: Final = re.compile(r"genid/[0-9a-f]{32}$")


@dataclass(frozen=True, kw_only=True)
class RdfReadOptions(Options):
    """How RDF files are read.

    `languages` selects literals by language, in any case; literals without a language are always
    selected. ``en`` includes ``en-GB``, but ``en-gb`` does not include ``en``. Empty means all.
    """

    name = "RDF files"
    format: str | None = option(None, "RDF format. Default: by the suffix of the file.")
    base_iri: str | None = option(None, "Base IRI for relative IRIs in the file.")
    languages: tuple[str, ...] = option(
        (),
        "Import only texts in this language, and those without a language.",
        flag="--language",
    )
    max_expansion: int = max_expansion_option()
    max_seconds: float = max_seconds_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        languages = tuple(language.lower() for language in self.languages)
        object.__setattr__(self, "languages", languages)


def is_skolem_iri(iri: str) -> bool:
    """Whether an IRI ends like those that `read_triples` makes of blank nodes."""
    return _SKOLEM.search(iri) is not None


def rdf_format(file: InputFile, requested: str | None) -> ox.RdfFormat:
    """The format with the given name, or that of the suffix; raises `UsageError`."""
    if requested is not None:
        if requested not in _FORMATS:
            raise UsageError(f"unknown format '{requested}': choose one of {', '.join(_FORMATS)}")
        return _FORMATS[requested]
    known = _SUFFIXES.get(file.suffix) or ox.RdfFormat.from_extension(file.suffix.removeprefix("."))
    if known is None:
        raise UsageError(
            f"unknown suffix of {file.name}: give its format with --format {'|'.join(_FORMATS)}"
        )
    return known


def read_quads(file: InputFile, stream: IO[bytes], options: RdfReadOptions) -> Iterator[ox.Quad]:
    """The quads of a file, unchanged; raises `InputError` with line and column."""
    with _reading(file):
        for quad in _parser(file, stream, options):
            if isinstance(quad.object, ox.Triple) and is_deep(quad):
                raise InputError(
                    f"{file.name} has triple terms nested more than {DEEPEST_TERM} deep: export it "
                    "as RDF 1.1"
                )
            yield quad


def read_triples(
    file: InputFile, stream: IO[bytes], options: RdfReadOptions, genid: str
) -> Iterator[ox.Triple]:
    """The triples of all graphs of a file; blank nodes become IRIs below `genid`.

    The IRI is a function of the content of the file and the label of the node, so that the same
    file has the same triples. A node without a label, to which the parser gives a random one, has
    the number of blank nodes before it instead.
    """
    names: dict[str, ox.NamedNode] = {}
    line_formats = (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS)
    are_labelled = rdf_format(file, options.format) in line_formats

    def skolemized(term: Any) -> Any:
        if isinstance(term, ox.Triple):
            raise InputError(f"{file.name} has RDF 1.2 triple terms: export it as RDF 1.1")
        if not isinstance(term, ox.BlankNode):
            return term
        if term.value not in names:
            is_random = not are_labelled and _RANDOM_LABEL.fullmatch(term.value)
            key = ("anonymous", str(len(names))) if is_random else (term.value,)
            names[term.value] = ox.NamedNode(genid + sha256_hex(file.sha256, *key)[:32])
        return names[term.value]

    languages = options.languages
    plain = {ox.NamedNode} if languages else {ox.NamedNode, ox.Literal}
    with _reading(file):
        for quad in _parser(file, stream, options):
            triple = quad.triple
            subject, object_ = triple.subject, triple.object
            if type(subject) is ox.NamedNode and type(object_) in plain:  # most triples
                yield triple
                continue
            tag = object_.language if isinstance(object_, ox.Literal) else None
            if tag and languages and not _matches(tag.lower(), languages):
                continue
            object_ = skolemized(object_)
            yield ox.Triple(skolemized(subject), triple.predicate, object_)


def _parser(file: InputFile, stream: IO[bytes], options: RdfReadOptions) -> Iterator[ox.Quad]:
    format_ = rdf_format(file, options.format)
    if format_ == ox.RdfFormat.RDF_XML:
        stream = cast("IO[bytes]", PlainXml(stream, file.name))
    return ox.parse(input=stream, format=format_, base_iri=options.base_iri)


@contextmanager
def _reading(file: InputFile) -> Iterator[None]:
    """Errors of the parser become `InputError`."""
    try:
        yield
    except SyntaxError as error:
        location = ""
        if error.lineno is not None:
            location = f", line {error.lineno}, column {error.offset or 1}"
        reason = _PREFIX.sub("", str(error.msg))
        if "scheme" in reason.lower():
            reason = (
                f"{reason}; relative IRIs need --base-iri (of sarag import and sarag ontology add)"
            )
        raise InputError(f"{file.name}{location}: {reason}") from error
    except MemoryError as error:
        raise InputError(
            f"{file.name} has a term or comment of more than 16 MiB, which is not supported: check "
            "that it is RDF"
        ) from error
    except READ_ERRORS as error:
        raise InputError(f"{file.name} is damaged or truncated ({error}): get it again") from error
    except ValueError as error:
        raise InputError(f"{file.name} cannot be read as RDF: {error}") from error


def _matches(tag: str, languages: tuple[str, ...]) -> bool:
    return any(tag == language or tag.startswith(f"{language}-") for language in languages)


# ---------------------------------------------------------------------------- In a child process


BLOCK: Final = 20_000
"""Statements per message of the child process."""
_Item = TypeVar("_Item")
_Arguments = ParamSpec("_Arguments")


@dataclass(frozen=True, slots=True)
class StatementBlock:
    """Statements as N-Triples or N-Quads, and the bytes of the file and the warnings so far."""

    data: bytes
    count: int
    position: int
    predicates: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def run_in_child(
    file: InputFile,
    seconds: float,
    function: Callable[_Arguments, Iterator[_Item]],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> Iterator[_Item]:
    """Yield the items of `function` from a child process; raises `InputError` if it is killed."""
    try:
        limits = Limits(seconds, half_of_memory())
        yield from stream_items(function, limits, *arguments, **named)
    except EndedError as error:
        remedy = "raise --max-seconds, or " if error.by_time else ""
        raise InputError(f"{file.name} {error}: {remedy}convert it to N-Triples") from error


def parse_quads(file: InputFile, options: RdfReadOptions) -> Iterator[tuple[ox.Quad, int]]:
    """The quads of `read_quads`, each with the number of bytes of the file read so far."""
    for block in run_in_child(file, options.max_seconds, _quads, file, options):
        for quad in ox.parse(block.data, format=ox.RdfFormat.N_QUADS):
            yield quad, block.position


def parse_triples(file: InputFile, options: RdfReadOptions, genid: str) -> Iterator[ox.Triple]:
    """The triples of `read_triples`."""
    for block in run_in_child(file, options.max_seconds, _triples, file, options, genid):
        for quad in ox.parse(block.data, format=ox.RdfFormat.N_TRIPLES):
            yield quad.triple


def triple_blocks(
    triples: Iterable[Any],
    size: int,
    position: Callable[[], int],
    format_: ox.RdfFormat = ox.RdfFormat.N_TRIPLES,
) -> Iterator[StatementBlock]:
    """Triples or quads in blocks of `size`, each with the `position` in the file after it."""
    for batch in batches(triples, size):
        data = ox.serialize(batch, format=format_) or b""
        used = frozenset(statement.predicate.value for statement in batch)
        yield StatementBlock(data, len(batch), position(), used)


def _quads(file: InputFile, options: RdfReadOptions) -> Iterator[StatementBlock]:
    with unpacked(file) as (content, raw):
        quads = read_quads(file, content, options)
        yield from triple_blocks(quads, BLOCK, raw.tell, ox.RdfFormat.N_QUADS)


def _triples(file: InputFile, options: RdfReadOptions, genid: str) -> Iterator[StatementBlock]:
    with unpacked(file) as (content, raw):
        yield from triple_blocks(read_triples(file, content, options, genid), BLOCK, raw.tell)
