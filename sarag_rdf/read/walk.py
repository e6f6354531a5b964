"""Keys of sources: the path of a file, or ``FILE#RECORD`` for a record of one."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from sarag_rdf.read.format import Duplicate, InputProblem

_MARK = re.compile(r"#|%(?=2[35])")
_WRITTEN = re.compile(r"%2[35]")


def key_of_path(path: str) -> str:
    """The key of a file: its path, composed (NFC), in which ``%23`` stands for a number sign.

    And ``%25`` for a percent sign where one of these two would be read otherwise.
    """
    return _MARK.sub(lambda mark: quote(mark[0]), unicodedata.normalize("NFC", path))


def path_of_key(key: str) -> str:
    """The path that a file's key was made of."""
    return _WRITTEN.sub(lambda written: unquote(written[0]), key)


def file_of_key(key: str) -> str:
    """The key of the file that a source comes from."""
    return key.partition("#")[0]


def shown(path: Path) -> str:
    """Return a path for messages: one line, no undecodable bytes."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def reason(error: OSError) -> str:
    """Say in one line why a file or folder cannot be read, and what to do."""
    if isinstance(error, FileNotFoundError):
        return "does not exist (any more): check the path"
    if isinstance(error, PermissionError):
        return "may not be read: change its permissions, or leave it out"
    return f"cannot be read ({error.strerror or error}): check the path and the disk"


def relative_key(path: Path, folder: Path) -> str:
    """Return the path relative to a folder with '/' separators, as keys are written."""
    return key_of_path(path.relative_to(folder).as_posix())


def files_under(folder: Path) -> Iterator[tuple[str, Path | InputProblem | Duplicate]]:
    """Yield the files of a folder and its sub-folders with their relative paths, ordered by these.

    A link to a place inside the folder is followed unless that place is read anyway; then it is
    a `Duplicate` (a file), or nothing (a folder). A link that leads out is a problem. The files of
    a knowledge graph are passed over.
    """
    walk = _Walk(folder)
    found = sorted(
        walk.found.items(), key=lambda entry: (relative_key(entry[0], folder), str(entry[0]))
    )
    for path, outcome in found:
        yield relative_key(path, folder), outcome


_GRAPH = ("store", "cache", "writer.json")
"""What is in the folder of a knowledge graph."""


def _is_graph(folder: Path) -> bool:
    """Whether a folder is that of a knowledge graph."""
    return os.path.isfile(folder / "store" / "CURRENT")  # noqa: PTH113 - Path.is_file may raise


class _Walk:
    """Everything below a folder: real files and folders first, then what links add to them."""

    def __init__(self, folder: Path) -> None:
        self.top = os.path.realpath(folder)
        self.found: dict[Path, Path | InputProblem | Duplicate] = {}
        self.real_folders: set[str] = set()
        self.real_files: set[str] = set()
        self.links: list[Path] = []
        self._scan(folder)
        while self.links:
            links, self.links = sorted(self.links), []
            for link in links:
                self._follow(link)

    def _scan(self, folder: Path) -> None:
        pending = [folder]
        while pending:
            current = pending.pop()
            real = os.path.realpath(current)
            if real in self.real_folders:
                continue
            self.real_folders.add(real)
            graph = _GRAPH if _is_graph(current) else ()
            try:
                with os.scandir(current) as entries:
                    names = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self.found[current] = InputProblem(shown(current), reason(error))
                continue
            for entry in names:
                path = current / entry.name
                if entry.name.startswith(".") or entry.name in graph:
                    continue
                if entry.is_symlink():
                    self.links.append(path)
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                else:
                    self._add(path)

    def _add(self, path: Path) -> None:
        self.found[path] = path
        self.real_files.add(os.path.realpath(path))

    def _follow(self, link: Path) -> None:
        real = os.path.realpath(link)
        if not Path(real).is_relative_to(self.top):
            self.found[link] = InputProblem(
                shown(link), "is a link that leads out of the folder: name its target instead"
            )
        elif not Path(real).exists():
            self.found[link] = InputProblem(
                shown(link), "is a link that leads nowhere: remove it, or repair it"
            )
        elif Path(real).is_dir():
            self._scan(link)
        elif real in self.real_files:
            self.found[link] = Duplicate(shown(link))
        else:
            self._add(link)
