"""Walking folders, and keys of sources: the path of a file, or ``FILE#RECORD`` for a record."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from sarag_rdf.documents.format import Duplicate, InputProblem

_RESERVED = re.compile(r"#|%(?=2[35])")
_ESCAPED_RESERVED = re.compile(r"%2[35]")


def key_of_path(path: str) -> str:
    """The key of a file: its path in NFC, with ``%23`` for #, ``%25`` where ambiguous."""
    return _RESERVED.sub(lambda mark: quote(mark[0]), unicodedata.normalize("NFC", path))


def path_of_key(key: str) -> str:
    """The path of a file, from its key."""
    return _ESCAPED_RESERVED.sub(lambda written: unquote(written[0]), key)


def file_of_key(key: str) -> str:
    """The key of the file of a source."""
    return key.partition("#")[0]


def display_path(path: Path) -> str:
    """A path as shown in messages: one line, without undecodable bytes."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def read_error(error: OSError) -> str:
    """The message for a file or folder that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "does not exist: check the path"
    if isinstance(error, PermissionError):
        return "permission denied: change its permissions, or leave it out"
    return f"cannot be read ({error.strerror or error}): check the path and the disk"


def relative_key(path: Path, folder: Path) -> str:
    """The key of a path below a folder: its relative path with '/' separators."""
    return key_of_path(path.relative_to(folder).as_posix())


def files_under(folder: Path) -> Iterator[tuple[str, Path | InputProblem | Duplicate]]:
    """Yield the files of a folder and its subfolders with their relative keys, ordered by key.

    A symbolic link to a path inside the folder is followed, unless that path is read anyway: then
    a link to a file is a `Duplicate`, and one to a folder is skipped. A link to a path outside the
    folder is an `InputProblem`. Hidden files and the files of a knowledge graph are skipped.
    """
    walk = _Walk(folder)
    ordered = sorted(
        walk.outcomes.items(), key=lambda entry: (relative_key(entry[0], folder), str(entry[0]))
    )
    for path, outcome in ordered:
        yield relative_key(path, folder), outcome


_GRAPH_FILES = ("store", "cache", "writer.json")
"""Contents of the folder of a knowledge graph."""


class _Walk:
    """All files below a folder: first real files and folders, then targets of symbolic links."""

    def __init__(self, folder: Path) -> None:
        self.top = os.path.realpath(folder)
        self.outcomes: dict[Path, Path | InputProblem | Duplicate] = {}
        self.real_folders: set[str] = set()
        self.real_files: set[str] = set()
        self.links: list[Path] = []
        self._scan(folder)
        while self.links:
            links, self.links = sorted(self.links), []
            for link in links:
                self._follow(link)

    def _scan(self, folder: Path) -> None:
        for name, folders, files in os.walk(folder, onerror=self._unlisted):
            current, real = Path(name), os.path.realpath(name)
            is_graph = os.path.isfile(current / "store" / "CURRENT")  # noqa: PTH113
            graph = _GRAPH_FILES if is_graph else ()
            is_known = real in self.real_folders
            self.real_folders.add(real)
            entries = [
                entry
                for entry in ([] if is_known else [*folders, *files])
                if not entry.startswith(".") and entry not in graph
            ]
            links = {entry for entry in entries if os.path.islink(current / entry)}  # noqa: PTH114
            self.links += (current / entry for entry in links)
            for entry in {*entries} - links - {*folders}:
                self._add(current / entry)
            folders[:] = [entry for entry in folders if entry in entries and entry not in links]

    def _unlisted(self, error: OSError) -> None:
        folder = Path(error.filename)
        self.outcomes[folder] = InputProblem(display_path(folder), read_error(error))

    def _add(self, path: Path) -> None:
        self.outcomes[path] = path
        self.real_files.add(os.path.realpath(path))

    def _follow(self, link: Path) -> None:
        real = os.path.realpath(link)
        if not Path(real).is_relative_to(self.top):
            self.outcomes[link] = InputProblem(
                display_path(link),
                "is a symbolic link to a path outside the folder: give its target instead",
            )
        elif not Path(real).exists():
            self.outcomes[link] = InputProblem(
                display_path(link), "is a broken symbolic link: remove or repair it"
            )
        elif Path(real).is_dir():
            self._scan(link)
        elif real in self.real_files:
            self.outcomes[link] = Duplicate(display_path(link))
        else:
            self._add(link)
