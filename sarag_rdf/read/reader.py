"""From paths to sources: one outcome for every file and record, never an exception for one."""

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

from sarag_rdf.compression import MAX_EXPANSION
from sarag_rdf.errors import UsageError
from sarag_rdf.iris import sha256_hex
from sarag_rdf.read import json_records, markdown, office, table, text
from sarag_rdf.read.format import (
    MAX_SECONDS,
    Duplicate,
    Fault,
    Format,
    InputProblem,
    Opened,
    Record,
    UnreadableError,
)
from sarag_rdf.read.language import AUTO, checked_language, language_of
from sarag_rdf.read.text import clean, clean_line, fault_of
from sarag_rdf.read.walk import files_under, path_of_key, reason, relative_key, shown
from sarag_rdf.types import Source

Outcome = Source | InputProblem | Duplicate


@dataclass(frozen=True, slots=True)
class Placed:
    """An outcome, and where it comes from: a file, or a folder that cannot be listed.

    `place` is its key, empty for standard input and for the root itself; `named` tells that it was
    named and not found in a folder.
    """

    outcome: Outcome
    path: Path
    place: str
    named: bool


STDIN = Path("-")
MAX_CHARS = 5_000_000
MAX_FILE = 512
"""MiB of a file that is read line by line at most by default."""


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
) -> Iterator[Outcome]:
    """Read files, folders and standard input (``-``), lazily and in a fixed order.

    Paths are read in the order given, the files of a folder by relative path. What cannot be
    read is an `InputProblem`, what was read before a `Duplicate`; neither ends the run.

    `root` is what keys are relative to; without it a folder is its own root, and a file's root
    is its folder. `max_chars` bounds one text; formats that are not read line by line must not
    hold more in all, and the others no more than `max_file` MiB; an archive holds no more than
    `max_expansion` times its size. A parser of HTML, PDF and the like may take `max_seconds` for a
    file. `language` is a BCP 47 tag, or "auto": what a file declares,
    else what is detected. Line ends become line feeds, and characters that XML 1.0 forbids blanks,
    before offsets are counted (`sarag_rdf.read.text`).

    Raises `UsageError` at once for options that cannot work, or a path outside `root`.
    """
    found = read_placed(
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
    return (placed.outcome for placed in found)


def read_placed(
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
) -> Iterator[Placed]:
    """The same as `read_paths`, with the place of each outcome."""
    if max_chars < 1:
        raise UsageError(f"max_chars is {max_chars}: give a number of characters above 0")
    if not max_seconds > 0:
        raise UsageError(f"max_seconds is {max_seconds:g}: give a number above 0")
    if sum(path == STDIN for path in paths) > 1:
        raise UsageError("standard input (-) can be read only once: name it once")
    root = None if root is None else Path(root)
    sizes = _Sizes(max_chars, max_file, max_expansion, max_seconds)
    run = _Run(sizes, checked_language(language), root, _format_of_stdin(stdin_format))
    prefixes = [prefix_below(path, root) for path in paths]
    return run.read(list(zip(paths, prefixes, strict=True)), stdin)


def _format_of_stdin(name: str) -> Format:
    return stdin_format(name.removeprefix(".").lower())


def prefix_below(path: Path, root: Path | None) -> str | None:
    """Return what the keys of a path begin with: its place below `root`; None without one."""
    if root is None or path == STDIN:
        return None
    if not root.is_dir():
        raise UsageError(f"the root {shown(root)} is not a folder: give the folder of the files")
    for resolve in (os.path.abspath, os.path.realpath):
        top, place = Path(resolve(root)), Path(resolve(path))
        if place.is_relative_to(top):
            key = relative_key(place, top)
            return "" if key == "." else key
    raise UsageError(
        f"{shown(path)} is not in the root {shown(root)}: give a root that holds all paths"
    )


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Characters of a text, MiB of a file of records, times the size of an archive, seconds."""

    chars: int
    file: int
    expansion: int
    seconds: float

    def opened(
        self, handle: io.BufferedReader, path: Path | None = None, size: int | None = None
    ) -> Opened:
        """An input with these limits."""
        return Opened(handle, self.chars, path, size, self.expansion, self.seconds)


@dataclass(slots=True)
class _Run:
    """One call of `read_paths`: its options, and the keys and files that it has seen."""

    sizes: _Sizes
    language: str
    root: Path | None
    stdin_format: Format
    seen: dict[str, tuple[str, str]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)

    def read(
        self, paths: list[tuple[Path, str | None]], stdin: BinaryIO | None
    ) -> Iterator[Placed]:
        for path, prefix in paths:
            if path == STDIN:
                yield from (Placed(outcome, path, "", True) for outcome in self._stdin(stdin))
                continue
            full = Path.cwd() / os.path.normpath(path)
            key = relative_key(full, full.parent) if prefix is None else prefix
            try:
                is_folder = stat.S_ISDIR(path.stat().st_mode)
            except OSError as error:
                yield Placed(InputProblem(shown(path), reason(error)), path, key, True)
                continue
            except ValueError:
                problem = InputProblem(shown(path), "is not a path: check what was given")
                yield Placed(problem, path, key, True)
                continue
            if is_folder:
                yield from self._folder(path, prefix or "")
            else:
                yield from (Placed(o, path, key, True) for o in self._file(path, key))

    def _folder(self, folder: Path, prefix: str) -> Iterator[Placed]:
        for below, found in files_under(folder):
            key = "/".join(part for part in (prefix, below) if part not in ("", "."))
            if isinstance(found, Path):
                yield from (Placed(o, found, key, False) for o in self._file(found, key))
            else:
                yield Placed(found, folder / below, key, False)

    def _stdin(self, stdin: BinaryIO | None) -> Iterator[Outcome]:
        given = sys.stdin.buffer if stdin is None else stdin
        handle = given
        if not isinstance(handle, io.BufferedReader):
            handle = io.BufferedReader(cast("io.RawIOBase", given))
        try:
            opened = self.sizes.opened(handle)
            yield from self._records(opened, self.stdin_format, "standard input", "")
        finally:
            if handle is not given:
                handle.detach()

    def _file(self, path: Path, key: str) -> Iterator[Outcome]:
        name = shown(path)
        form = FORMATS.get(path.suffix.lower())
        if path.suffix.lower() in RDF_SUFFIXES:
            call = f"sarag import {shlex.quote(name)} --as rdf"
            yield InputProblem(name, f"is a graph and no document: import it with  {call}")
            return
        if form is None:
            kinds = " ".join(FORMATS)
            kind = shown(Path(path.suffix)) if path.suffix else "no suffix"
            yield InputProblem(name, f"is of an unknown kind ({kind}): known are {kinds}")
            return
        if clean(key) != key:
            yield InputProblem(name, "has a name that is not plain Unicode text: rename it")
            return
        real = os.path.realpath(path)
        if real in self.files:
            yield Duplicate(name)
            return
        self.files.add(real)
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                yield InputProblem(name, "is not a regular file: pipe it to standard input (-)")
                return
            if form.is_streamed and status.st_size > self.sizes.file << 20:
                message = f"is larger than {self.sizes.file} MiB: split it, or raise --max-file"
                yield InputProblem(name, message)
                return
            with path.open("rb") as handle:
                opened = self.sizes.opened(handle, path, status.st_size)
                yield from self._records(opened, form, name, key)
        except OSError as error:
            yield InputProblem(name, reason(error))

    def _records(self, opened: Opened, form: Format, name: str, key: str) -> Iterator[Outcome]:
        count = 0
        try:
            for record in form.read(opened):
                count += 1
                if isinstance(record, Fault):
                    yield InputProblem(name, record.message)
                else:
                    yield self._outcome(record, form, name, key)
            if not count:
                yield InputProblem(name, "holds no records: leave it out, or fill it")
        except UnreadableError as error:
            yield InputProblem(name, str(error))
        except UnicodeDecodeError as error:
            yield InputProblem(name, f"is not {error.encoding.upper()} text: save it as UTF-8")
        except RecursionError:
            yield InputProblem(name, "is nested too deeply: simplify it")

    def _outcome(self, record: Record, form: Format, name: str, path_key: str) -> Outcome:
        text, title = clean(record.text), clean_line(record.title)
        if message := fault_of(text, self.sizes.chars):
            return InputProblem(name, f"{record.where}: {message}" if record.where else message)
        key, content = path_key, sha256_hex(title, text)
        if record.identifier is None:
            title = title or _title_of(path_key)
        elif path_key and (record.identifier or not record.is_sole):
            key = f"{path_key}#{clean_line(record.identifier) or content[:16]}"
        entry = (content, name)
        before = self.seen.setdefault(key or f"#{content}", entry)
        if before is entry:
            language = language_of(text, record.language, self.language)
            return Source(text, title, key, language, form.media_type)
        if before[0] == content:
            return Duplicate(name + key[len(path_key) :] if key else name)
        return InputProblem(name, self._conflict(record, key, before[1], name))

    def _conflict(self, record: Record, key: str, other: str, name: str) -> str:
        """Say what to do about a second text under a key that is taken."""
        if other == name:
            return f"{record.where}: '{key}' is another record already: give each its own id"
        taken = f"has the key '{key}' that {other} has too, with another text"
        if self.root is None and Path(other).parent != Path(name).parent:
            return f"{taken}: give --root the folder that holds both"
        return f"{taken}: rename one of them"


def _title_of(key: str) -> str:
    """Make a title of a file's name: '-' and '_' are blanks, lower case is capitalised."""
    stem = Path(path_of_key(key)).stem.replace("-", " ").replace("_", " ").strip()
    return string.capwords(stem) if stem.islower() else clean_line(stem)


_MARKDOWN = Format(markdown.read, "text/markdown")


def _read_html(opened: Opened) -> Iterator[Record]:
    from sarag_rdf.read import html  # Beautiful Soup takes long to import

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
"""Files that hold graphs, which ``sarag import`` takes."""


def stdin_format(name: str) -> Format:
    """Return the format of standard input; raise `UsageError` if it has no such format."""
    names = [suffix[1:] for suffix, form in FORMATS.items() if form.is_text]
    if name not in names:
        raise UsageError(
            f"'{name}' is not a format of standard input: give one of {', '.join(names)}"
        )
    return FORMATS[f".{name}"]
