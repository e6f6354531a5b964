"""From paths to sources: one outcome per file and record; bad input never raises an exception.

`ReadOptions` says how documents are read and cut into chunks.
"""

from __future__ import annotations

import io
import os
import shlex
import stat
import string
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, tee
from pathlib import Path
from typing import Any, BinaryIO, cast

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.options import Options, max_expansion_option, max_seconds_option, option
from sarag_rdf.base.plugins import find, loadable, plugins, workers_of
from sarag_rdf.base.ports import Workers
from sarag_rdf.base.types import Source
from sarag_rdf.documents.format import (
    Duplicate,
    Format,
    InputProblem,
    OpenInput,
    Record,
    UnreadableError,
    clean,
    clean_line,
    text_problem,
)
from sarag_rdf.documents.language import AUTO, is_tag, language_of, parse_language
from sarag_rdf.documents.walk import (
    display_path,
    files_under,
    path_of_key,
    read_error,
    relative_key,
)

WORDS = 500
OVERLAP = 200
MAX_CHARS = 5_000_000


@dataclass(frozen=True)
class ReadOptions(Options):
    """How files are read and cut.

    Without `root` a folder is its own root, and the root of a file is its folder. `max_chars` is
    for one text, and for the whole file in formats that are not read line by line, `max_file` for
    files that are. `stdin` is a stream to read instead of standard input. Raises `UsageError`.
    """

    name = "reading"
    words: int = option(WORDS, "Words per chunk.", ge=1, harmless=True)
    overlap: int = option(OVERLAP, "Words shared by consecutive chunks.", ge=0, harmless=True)
    root: Path | None = option(None, "Folder that source IRIs are relative to.")
    language: str = option(AUTO, "BCP 47 tag of the documents, or auto.", harmless=True)
    max_chars: int = option(MAX_CHARS, "Maximum document size, in characters.", ge=1)
    max_file: int = option(
        512, "Maximum size of a file of records (.jsonl, .csv, .tsv), in MiB.", ge=1
    )
    max_expansion: int = max_expansion_option()
    max_seconds: float = max_seconds_option()
    stdin_format: str = option(
        "txt", "Format of standard input: txt, md, html, json, jsonl, csv or tsv.", harmless=True
    )
    workers: str | None = option(
        None,
        "Convert, extract and embed in this number of processes, or on a Ray cluster "
        "(ray://HOST:PORT).",
    )
    stdin: BinaryIO | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "language", parse_language(self.language))


ReadOutcome = Source | InputProblem | Duplicate


STDIN = Path("-")


@dataclass(frozen=True, slots=True)
class Read:
    """An outcome and its origin: a file, a folder that cannot be listed, or a text.

    A text that the caller gave has no `path`. `key` is that of the file or text, empty for standard
    input and for the root itself. `is_explicit` is true for what the caller named, and false for
    files from a folder.
    """

    outcome: ReadOutcome
    path: Path | None
    key: str
    is_explicit: bool = True


def read(inputs: Iterable[Path | Source], options: ReadOptions) -> Iterator[Read]:
    """Read texts, files, folders and standard input (``-``), lazily and in a fixed order.

    Texts come first, and are cleaned as files are. Paths are read in the order given, the files of
    a folder in the order of their keys. Unreadable input yields an `InputProblem`, repeated input a
    `Duplicate`; reading continues after both. Before offsets are counted, line ends become line
    feeds, and characters that XML 1.0 does not allow become spaces (`sarag_rdf.documents.format`).

    With `ReadOptions.workers`, they convert the files that `InputFile.is_slow`, some ahead of the
    others. Raises `UsageError` immediately for a path outside the root.
    """
    _stdin_format(options.stdin_format)
    workers = workers_of(options.workers)
    items = list(inputs)
    paths = [item for item in items if not isinstance(item, Source)]
    if sum(path == STDIN for path in paths) > 1:
        raise UsageError("standard input (-) can be read only once: give it once")
    located = [(path, key_prefix(path, options.root)) for path in paths]
    texts = (item for item in items if isinstance(item, Source))
    cleaned = (Read(_cleaned(text, options.max_chars), None, text.key) for text in texts)
    return chain(cleaned, _PathReader(options).read(located, workers))


def _cleaned(source: Source, max_chars: int) -> Source | InputProblem:
    text = clean(source.text)
    message = text_problem(text, max_chars)
    if clean(source.key) != source.key:
        message = "has a key that is not valid Unicode text: use another key"
    if not message and not is_tag(source.language):
        message = f"'{source.language}' is not a language: give a BCP 47 tag such as en or pt-BR"
    if message:
        return InputProblem(source.key or "text", message)
    return replace(source, text=text, title=clean_line(source.title))


def key_prefix(path: Path, root: Path | None) -> str | None:
    """The start of the keys of all files under a path: its path below `root`; None without one."""
    if root is None or path == STDIN:
        return None
    if not root.is_dir():
        raise UsageError(
            f"the root {display_path(root)} is not a folder: give the folder of the files"
        )
    for resolve in (os.path.abspath, os.path.realpath):
        top, place = Path(resolve(root)), Path(resolve(path))
        if place.is_relative_to(top):
            key = relative_key(place, top)
            return "" if key == "." else key
    raise UsageError(
        f"{display_path(path)} is not in the root {display_path(root)}: "
        "give a root that contains all paths"
    )


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that can be opened, with the `name` that messages have; without a path it is stdin."""

    name: str
    key: str
    form: Format
    options: ReadOptions
    path: Path = STDIN
    size: int | None = None
    is_explicit: bool = True

    @property
    def is_slow(self) -> bool:
        """Whether it takes much longer to convert than to read; a child process converts it."""
        above = self.form.sandboxed_above
        return above is not None and (self.size or 0) > above

    def records(self) -> Iterator[Record | InputProblem]:
        """The records and problems of the file, lazily; nothing is raised."""
        path = None if self.path == STDIN else self.path
        limits = (self.options.max_expansion, self.options.max_seconds)
        is_empty = True
        try:
            with path.open("rb") if path else _stdin(self.options) as handle:
                file = OpenInput(handle, self.options.max_chars, path, self.size, *limits)
                for record in self.form.read(file):
                    is_empty = False
                    if isinstance(record, Record):
                        yield record
                    else:
                        yield InputProblem(self.name, record.message)
                if is_empty:
                    reason = "contains no records: leave it out, or add some"
                    yield InputProblem(self.name, reason)
        except (UnreadableError, OSError, UnicodeDecodeError, RecursionError) as error:
            yield InputProblem(self.name, _reason(error))


def _reason(error: Exception) -> str:
    """Why a file is not read, or not to its end."""
    if isinstance(error, OSError):
        return read_error(error)
    if isinstance(error, UnicodeDecodeError):
        return f"is not {error.encoding.upper()} text: save it as UTF-8"
    is_deep = isinstance(error, RecursionError)
    return "is nested too deeply: simplify it" if is_deep else str(error)


@contextmanager
def _stdin(options: ReadOptions) -> Iterator[io.BufferedReader]:
    stream = options.stdin or sys.stdin.buffer
    handle = stream
    if not isinstance(handle, io.BufferedReader):
        handle = io.BufferedReader(cast("io.RawIOBase", stream))
    try:
        yield handle
    finally:
        if handle is not stream:
            handle.detach()


@dataclass(slots=True)
class _PathReader:
    """One call of `read`, with the digests and files of keys, and the real paths, so far."""

    options: ReadOptions
    contents: dict[str, tuple[str, str]] = field(default_factory=dict)
    real_paths: set[str] = field(default_factory=set)

    def read(
        self, paths: Iterable[tuple[Path, str | None]], workers: Workers | None
    ) -> Iterator[Read]:
        if workers is None:
            yield from self._outcomes(self._opened(paths), None)
            return
        items, ahead = tee(self._opened(paths))
        slow = (item for item in ahead if isinstance(item, InputFile) and item.is_slow)
        with closing(workers.read(slow)) as converted:
            yield from self._outcomes(items, converted)

    def _outcomes(
        self, items: Iterable[Read | InputFile], converted: Iterator[Any] | None
    ) -> Iterator[Read]:
        """What is read of files, given the records of slow ones if these have been `converted`."""
        for item in items:
            if isinstance(item, Read):
                yield item
                continue
            for record in next(converted) if converted and item.is_slow else item.records():
                outcome = self._outcome(record, item) if isinstance(record, Record) else record
                yield Read(outcome, item.path, item.key, item.is_explicit)

    def _opened(self, paths: Iterable[tuple[Path, str | None]]) -> Iterator[Read | InputFile]:
        """The files in the order of reading, and what else there is to report."""
        for path, prefix in paths:
            if path == STDIN:
                form = _stdin_format(self.options.stdin_format)
                yield InputFile("standard input", "", form, self.options)
                continue
            absolute = Path.cwd() / os.path.normpath(path)
            key = relative_key(absolute, absolute.parent) if prefix is None else prefix
            try:
                is_folder = stat.S_ISDIR(path.stat().st_mode)
            except (OSError, ValueError) as error:
                reason = "is not a valid path: correct it"
                reason = read_error(error) if isinstance(error, OSError) else reason
                yield Read(InputProblem(display_path(path), reason), path, key)
                continue
            if is_folder:
                yield from self._folder(path, prefix or "")
            else:
                yield self._file(path, key, is_explicit=True)

    def _folder(self, folder: Path, prefix: str) -> Iterator[Read | InputFile]:
        for relative, item in files_under(folder):
            key = "/".join(part for part in (prefix, relative) if part not in ("", "."))
            if isinstance(item, Path):
                yield self._file(item, key, is_explicit=False)
            else:
                yield Read(item, folder / relative, key, False)

    def _file(self, path: Path, key: str, *, is_explicit: bool) -> Read | InputFile:
        name = display_path(path)
        try:
            return self._input_file(path, key, name, is_explicit=is_explicit)
        except (UnreadableError, OSError) as error:
            return Read(InputProblem(name, _reason(error)), path, key, is_explicit)

    def _input_file(
        self, path: Path, key: str, name: str, *, is_explicit: bool
    ) -> Read | InputFile:
        form = _format_of(path, name)
        if clean(key) != key:
            raise UnreadableError("has a name that is not valid Unicode text: rename it")
        real_path = os.path.realpath(path)
        if real_path in self.real_paths:
            return Read(Duplicate(name), path, key, is_explicit)
        self.real_paths.add(real_path)
        status, limit = path.stat(), self.options.max_file
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError("is not a regular file: pipe it to standard input (-)")
        if form.is_streamed and status.st_size > limit << 20:
            raise UnreadableError(f"is larger than {limit} MiB: split it, or raise --max-file")
        return InputFile(name, key, form, self.options, path, status.st_size, is_explicit)

    def _outcome(self, record: Record, file: InputFile) -> ReadOutcome:
        name, path_key = file.name, file.key
        text, title = clean(record.text), clean_line(record.title)
        if message := text_problem(text, self.options.max_chars):
            return InputProblem(name, f"{record.where}: {message}" if record.where else message)
        key, content = path_key, sha256_hex(title, text)
        is_titled = title != "" or record.identifier is not None
        if record.identifier is None:
            title = title or _title_of(path_key)
        elif path_key and (record.identifier or not record.is_sole):
            key = f"{path_key}#{clean_line(record.identifier) or content[:16]}"
        entry = (content, name)
        first = self.contents.setdefault(key or f"#{content}", entry)
        if first is entry:
            language = language_of(text, record.language, self.options.language)
            return Source(text, title, key, language, file.form.media_type, is_titled)
        if first[0] == content:
            return Duplicate(name + key[len(path_key) :] if key else name)
        return InputProblem(name, self._conflict_message(record, key, first[1], name))

    def _conflict_message(self, record: Record, key: str, other: str, name: str) -> str:
        """The message for a text whose key already has another text, from the file `other`."""
        if other == name:
            return f"{record.where}: the id of '{key}' is used twice: give each record its own id"
        conflict = f"has the same key '{key}' as {other}, but another text"
        if self.options.root is None and Path(other).parent != Path(name).parent:
            return f"{conflict}: give --root a folder that contains both"
        return f"{conflict}: rename one of them"


def _title_of(key: str) -> str:
    """A title from a file name: '-' and '_' become spaces, lower-case names are capitalised."""
    stem = Path(path_of_key(key)).stem.replace("-", " ").replace("_", " ").strip()
    return string.capwords(stem) if stem.islower() else clean_line(stem)


def suffixes() -> tuple[str, ...]:
    """The suffixes of the files that can be read, such as ``.txt``."""
    return tuple(f".{name}" for name in plugins("formats"))


RDF_SUFFIXES = frozenset(
    {".jsonld", ".ttl", ".turtle", ".nt", ".nq", ".n3", ".trig", ".rdf", ".owl", ".xml"}
)
"""Suffixes of RDF files, which are imported with ``sarag import``."""


def _format_of(path: Path, name: str) -> Format:
    """The format of a file by its suffix; raises `UnreadableError`."""
    suffix = path.suffix.lower()
    if suffix in RDF_SUFFIXES:
        command = f"sarag import {shlex.quote(name)} --as rdf"
        raise UnreadableError(f"is a graph rather than a document: import it with {command}")
    plugin = find("formats", suffix.removeprefix("."))
    if plugin is None:
        shown = display_path(Path(path.suffix)) if suffix else "no suffix"
        raise UnreadableError(
            f"unknown file type ({shown}): convert it to one of {' '.join(suffixes())}"
        )
    form: Format = plugin.load()
    return form


def _stdin_format(name: str) -> Format:
    """The format with this name or suffix; raises `UsageError` if standard input cannot have it."""
    name = name.removeprefix(".").lower()
    plugin = find("formats", name)
    form: Format | None = plugin.load() if plugin else None
    if form is None or not form.is_text:
        names = [p.name for p, f in loadable("formats") if isinstance(f, Format) and f.is_text]
        raise UsageError(
            f"'{name}' is not a format of standard input: use one of {', '.join(names)}"
        )
    return form
