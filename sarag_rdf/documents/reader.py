"""From paths to sources: one outcome per file and record; bad input never raises an exception."""

from __future__ import annotations

import io
import os
import shlex
import stat
import string
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from sarag_rdf.base.compression import MAX_EXPANSION
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.types import Source
from sarag_rdf.documents import json_records, markdown, office, table, text
from sarag_rdf.documents.format import (
    MAX_SECONDS,
    Duplicate,
    Format,
    InputProblem,
    InvalidRecord,
    OpenInput,
    Record,
    UnreadableError,
)
from sarag_rdf.documents.language import AUTO, language_of, parse_language
from sarag_rdf.documents.text import clean, clean_line, text_problem
from sarag_rdf.documents.walk import (
    display_path,
    files_under,
    path_of_key,
    read_error,
    relative_key,
)

ReadOutcome = Source | InputProblem | Duplicate


@dataclass(frozen=True, slots=True)
class LocatedOutcome:
    """An outcome and its origin: a file, or a folder that cannot be listed.

    `key` is that of the file, empty for standard input and for the root itself. `is_explicit` is
    true for paths given by the caller, and false for files from a folder.
    """

    outcome: ReadOutcome
    path: Path
    key: str
    is_explicit: bool


STDIN = Path("-")
MAX_CHARS = 5_000_000
MAX_FILE = 512
"""Default size limit, in MiB, of files that are read line by line."""


def read_paths(
    paths: Sequence[Path],
    *,
    root: Path | None = None,
    max_chars: int = MAX_CHARS,
    max_file: int = MAX_FILE,
    max_expansion: int = MAX_EXPANSION,
    max_seconds: float = MAX_SECONDS,
    language: str = AUTO,
    stdin_format: str = "txt",
    stdin: BinaryIO | None = None,
) -> Iterator[ReadOutcome]:
    """Read files, folders and standard input (``-``), lazily and in a fixed order.

    Paths are read in the order given, the files of a folder in the order of their keys. Unreadable
    input yields an `InputProblem`, repeated input a `Duplicate`; reading continues after both.

    `root` is the folder that keys are relative to; without it a folder is its own root, and the
    root of a file is its folder. Limits: `max_chars` for one text, and for the whole file in
    formats that are not read line by line; `max_file` (MiB) for files that are; `max_expansion`
    for the unpacked size of an archive, as a multiple of its size; `max_seconds` for parsing one
    HTML, PDF or Office file. `language` is a BCP 47 tag, or "auto" for the declared or else the
    detected language. Before offsets are counted, line ends become line feeds, and characters that
    XML 1.0 does not allow become spaces (`sarag_rdf.documents.text`).

    Raises `UsageError` immediately for invalid options and for a path outside `root`.
    """
    located = read_with_location(
        paths,
        root=root,
        max_chars=max_chars,
        max_file=max_file,
        max_expansion=max_expansion,
        max_seconds=max_seconds,
        language=language,
        stdin_format=stdin_format,
        stdin=stdin,
    )
    return (item.outcome for item in located)


def read_with_location(
    paths: Sequence[Path],
    *,
    root: Path | None = None,
    max_chars: int = MAX_CHARS,
    max_file: int = MAX_FILE,
    max_expansion: int = MAX_EXPANSION,
    max_seconds: float = MAX_SECONDS,
    language: str = AUTO,
    stdin_format: str = "txt",
    stdin: BinaryIO | None = None,
) -> Iterator[LocatedOutcome]:
    """The same as `read_paths`, with the origin of each outcome."""
    if max_chars < 1:
        raise UsageError(f"max_chars is {max_chars}: give a number of characters above 0")
    if not max_seconds > 0:
        raise UsageError(f"max_seconds is {max_seconds:g}: give a number above 0")
    if sum(path == STDIN for path in paths) > 1:
        raise UsageError("standard input (-) can be read only once: give it once")
    root = None if root is None else Path(root)
    limits = _ReadLimits(max_chars, max_file, max_expansion, max_seconds)
    reader = _PathReader(limits, parse_language(language), root, _stdin_format(stdin_format))
    prefixes = [key_prefix(path, root) for path in paths]
    return reader.read(list(zip(paths, prefixes, strict=True)), stdin)


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
class _ReadLimits:
    """The limits of `read_paths`."""

    max_chars: int
    max_file: int
    max_expansion: int
    max_seconds: float

    def open_input(
        self, handle: io.BufferedReader, path: Path | None = None, size: int | None = None
    ) -> OpenInput:
        """An input with these limits."""
        return OpenInput(handle, self.max_chars, path, size, self.max_expansion, self.max_seconds)


@dataclass(slots=True)
class _PathReader:
    """One call of `read_paths`: its options, and the keys and files read so far.

    `contents` maps a key to the digest of its text and the displayed path of its file;
    `real_paths` are those of all files read.
    """

    limits: _ReadLimits
    language: str
    root: Path | None
    stdin_format: Format
    contents: dict[str, tuple[str, str]] = field(default_factory=dict)
    real_paths: set[str] = field(default_factory=set)

    def read(
        self, paths: list[tuple[Path, str | None]], stdin: BinaryIO | None
    ) -> Iterator[LocatedOutcome]:
        for path, prefix in paths:
            if path == STDIN:
                yield from (
                    LocatedOutcome(outcome, path, "", True) for outcome in self._stdin(stdin)
                )
                continue
            absolute = Path.cwd() / os.path.normpath(path)
            key = relative_key(absolute, absolute.parent) if prefix is None else prefix
            try:
                is_folder = stat.S_ISDIR(path.stat().st_mode)
            except OSError as error:
                yield LocatedOutcome(
                    InputProblem(display_path(path), read_error(error)), path, key, True
                )
                continue
            except ValueError:
                problem = InputProblem(display_path(path), "is not a valid path: correct it")
                yield LocatedOutcome(problem, path, key, True)
                continue
            if is_folder:
                yield from self._folder(path, prefix or "")
            else:
                yield from (LocatedOutcome(o, path, key, True) for o in self._file(path, key))

    def _folder(self, folder: Path, prefix: str) -> Iterator[LocatedOutcome]:
        for relative, item in files_under(folder):
            key = "/".join(part for part in (prefix, relative) if part not in ("", "."))
            if isinstance(item, Path):
                yield from (LocatedOutcome(o, item, key, False) for o in self._file(item, key))
            else:
                yield LocatedOutcome(item, folder / relative, key, False)

    def _stdin(self, stdin: BinaryIO | None) -> Iterator[ReadOutcome]:
        stream = sys.stdin.buffer if stdin is None else stdin
        handle = stream
        if not isinstance(handle, io.BufferedReader):
            handle = io.BufferedReader(cast("io.RawIOBase", stream))
        try:
            file = self.limits.open_input(handle)
            yield from self._records(file, self.stdin_format, "standard input", "")
        finally:
            if handle is not stream:
                handle.detach()

    def _file(self, path: Path, key: str) -> Iterator[ReadOutcome]:
        name = display_path(path)
        form = FORMATS.get(path.suffix.lower())
        if path.suffix.lower() in RDF_SUFFIXES:
            command = f"sarag import {shlex.quote(name)} --as rdf"
            message = f"is a graph rather than a document: import it with  {command}"
            yield InputProblem(name, message)
            return
        if form is None:
            suffix = display_path(Path(path.suffix)) if path.suffix else "no suffix"
            message = f"unknown file type ({suffix}): convert it to one of {' '.join(FORMATS)}"
            yield InputProblem(name, message)
            return
        if clean(key) != key:
            yield InputProblem(name, "has a name that is not valid Unicode text: rename it")
            return
        real_path = os.path.realpath(path)
        if real_path in self.real_paths:
            yield Duplicate(name)
            return
        self.real_paths.add(real_path)
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                yield InputProblem(name, "is not a regular file: pipe it to standard input (-)")
                return
            if form.is_streamed and status.st_size > self.limits.max_file << 20:
                limit = self.limits.max_file
                message = f"is larger than {limit} MiB: split it, or raise --max-file"
                yield InputProblem(name, message)
                return
            with path.open("rb") as handle:
                file = self.limits.open_input(handle, path, status.st_size)
                yield from self._records(file, form, name, key)
        except OSError as error:
            yield InputProblem(name, read_error(error))

    def _records(self, file: OpenInput, form: Format, name: str, key: str) -> Iterator[ReadOutcome]:
        count = 0
        try:
            for record in form.read(file):
                count += 1
                if isinstance(record, InvalidRecord):
                    yield InputProblem(name, record.message)
                else:
                    yield self._outcome(record, form, name, key)
            if not count:
                yield InputProblem(name, "contains no records: leave it out, or add some")
        except UnreadableError as error:
            yield InputProblem(name, str(error))
        except UnicodeDecodeError as error:
            yield InputProblem(name, f"is not {error.encoding.upper()} text: save it as UTF-8")
        except RecursionError:
            yield InputProblem(name, "is nested too deeply: simplify it")

    def _outcome(self, record: Record, form: Format, name: str, path_key: str) -> ReadOutcome:
        text, title = clean(record.text), clean_line(record.title)
        if message := text_problem(text, self.limits.max_chars):
            return InputProblem(name, f"{record.where}: {message}" if record.where else message)
        key, content = path_key, sha256_hex(title, text)
        if record.identifier is None:
            title = title or _title_of(path_key)
        elif path_key and (record.identifier or not record.is_sole):
            key = f"{path_key}#{clean_line(record.identifier) or content[:16]}"
        entry = (content, name)
        first = self.contents.setdefault(key or f"#{content}", entry)
        if first is entry:
            language = language_of(text, record.language, self.language)
            return Source(text, title, key, language, form.media_type)
        if first[0] == content:
            return Duplicate(name + key[len(path_key) :] if key else name)
        return InputProblem(name, self._conflict_message(record, key, first[1], name))

    def _conflict_message(self, record: Record, key: str, other: str, name: str) -> str:
        """The message for a text whose key already has another text, from the file `other`."""
        if other == name:
            return f"{record.where}: the id of '{key}' is used twice: give each record its own id"
        conflict = f"has the same key '{key}' as {other}, but another text"
        if self.root is None and Path(other).parent != Path(name).parent:
            return f"{conflict}: give --root a folder that contains both"
        return f"{conflict}: rename one of them"


def _title_of(key: str) -> str:
    """A title from a file name: '-' and '_' become spaces, lower-case names are capitalised."""
    stem = Path(path_of_key(key)).stem.replace("-", " ").replace("_", " ").strip()
    return string.capwords(stem) if stem.islower() else clean_line(stem)


_MARKDOWN = Format(markdown.read, "text/markdown")


def _read_html(opened: OpenInput) -> Iterator[Record]:
    from sarag_rdf.documents import html

    return html.read(opened)


_HTML = Format(_read_html, "text/html")
_JSON_LINES = Format(json_records.read_lines, "application/x-ndjson", is_streamed=True)
_OOXML = "application/vnd.openxmlformats-officedocument."

FORMATS: dict[str, Format] = {
    ".txt": Format(text.read, "text/plain"),
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": Format(_read_html, "application/xhtml+xml"),
    ".json": Format(json_records.read, "application/json"),
    ".jsonl": _JSON_LINES,
    ".ndjson": _JSON_LINES,
    ".csv": Format(table.read_commas, "text/csv", is_streamed=True),
    ".tsv": Format(table.read_tabs, "text/tab-separated-values", is_streamed=True),
    ".pdf": Format(office.read, "application/pdf", is_text=False),
    ".docx": Format(office.read, _OOXML + "wordprocessingml.document", is_text=False),
    ".pptx": Format(office.read, _OOXML + "presentationml.presentation", is_text=False),
    ".xlsx": Format(office.read, _OOXML + "spreadsheetml.sheet", is_text=False),
    ".epub": Format(office.read, "application/epub+zip", is_text=False),
}
RDF_SUFFIXES = frozenset({".jsonld", ".ttl", ".nt", ".nq", ".trig", ".rdf", ".owl"})
"""Suffixes of RDF files, which are imported with ``sarag import``."""


def _stdin_format(name: str) -> Format:
    """The format with this name or suffix; raises `UsageError` if standard input cannot have it."""
    name = name.removeprefix(".").lower()
    names = [suffix[1:] for suffix, form in FORMATS.items() if form.is_text]
    if name not in names:
        raise UsageError(
            f"'{name}' is not a format of standard input: use one of {', '.join(names)}"
        )
    return FORMATS[f".{name}"]
