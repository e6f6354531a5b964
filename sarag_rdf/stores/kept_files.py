"""Files of a cache that belong together: a manifest names them, and it is written last.

Files are written under names that nothing refers to; then the manifest is replaced by renaming.
So whoever reads finds the old state or the new one whole, and what a reader has mapped keeps its
bytes.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import uuid
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sarag_rdf.errors import place
from sarag_rdf.stores.checked import check, digest

log = logging.getLogger(__name__)

_LAYOUT = 2
_told: set[Path] = set()
"""Manifests that were damaged: each is told once."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is kept under a name, and for which key it is valid.

    `arrays` names a file of `array_file`. An index has a file `matrix` of `slots` rows of
    `dimension` numbers beside it. `checksums` maps names of files to digests (see `checked`); of a
    matrix, whose file may be longer, to that of its slots.
    """

    key: str
    arrays: str
    matrix: str = ""
    slots: int = 0
    dimension: int = 0
    checksums: dict[str, str] = field(default_factory=dict)

    def size(self, file: str) -> int | None:
        """How many bytes of a file count; None for all."""
        return 4 * self.slots * self.dimension if file == self.matrix else None

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files that belong to it."""
        return tuple(name for name in (self.arrays, self.matrix) if name)


class KeptFiles:
    """A folder of manifests ``NAME.json``, and of files ``NAME-PROCESS-DIGITS.SUFFIX``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, file: str) -> Path:
        """Where a file stands that a manifest names."""
        return self.folder / file

    def new(self, name: str, suffix: str) -> Path:
        """A path that nothing refers to yet."""
        return self.folder / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:12]}.{suffix}"

    def names(self) -> list[str]:
        """Names that have a manifest, readable or not."""
        return sorted(path.stem for path in self._listed("*.json"))

    def discard(self, name: str) -> None:
        """Delete a manifest and then its files, as far as it tells them."""
        manifest = self.manifest(name)
        discard(self.folder / f"{name}.json")
        _make_way(self.folder / f"{name}.json")
        for file in manifest.files if manifest else ():
            discard(self.folder / file)

    def manifest(self, name: str, *, tell: bool = False) -> Manifest | None:
        """What is kept under a name; None if there is nothing, or nothing that can be read.

        With `tell` the latter gives a warning.
        """
        path = self.folder / f"{name}.json"
        try:
            return _manifest(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            if tell and path not in _told:
                _told.add(path)
                why = getattr(error, "strerror", None) or error
                log.warning("the cache %s is damaged (%s): it is made anew", place(path), why)
            return None

    def publish(self, name: str, manifest: Manifest) -> None:
        """Put a manifest in place of another, and delete what only the other names.

        Files have their checksums taken that it has none for. Raises OSError, and then the other
        stays.
        """
        before = self.manifest(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        sums = {
            file: manifest.checksums.get(file) or digest(self.path(file), manifest.size(file))
            for file in manifest.files
        }
        said = asdict(replace(manifest, checksums=sums))
        there = self.folder / f"{name}.json"
        part = self.folder / f"{name}.{os.getpid()}-{uuid.uuid4().hex[:12]}.part"
        try:
            part.write_text(json.dumps({"layout": _LAYOUT, "sum": _sum(said), **said}, indent=1))
            _make_way(there)
            part.replace(there)
        except OSError:
            discard(part)
            raise
        stale = set(before.files if before else ()) | self._abandoned(name)
        for file in stale - set(manifest.files):
            discard(self.folder / file)

    def check(self, manifest: Manifest, file: str) -> None:
        """Raise ValueError if a file that a manifest names is not what was written, or OSError."""
        try:
            check(self.path(file), manifest.checksums.get(file, ""), manifest.size(file))
        except ValueError as error:
            log.warning("the cache %s is damaged (%s): it is made anew", place(self.folder), error)
            raise

    def _listed(self, pattern: str) -> list[Path]:
        try:
            return list(self.folder.glob(pattern))
        except OSError:  # one may not look into it
            return []

    def _abandoned(self, name: str) -> set[str]:
        """Files of processes that are no more, and of former versions."""
        found = {f"{name}.npy", f"{name}.iris", f"{name}.npz"}
        for file in (*self._listed(f"{name}-*"), *self._listed(f"{name}.*.part")):
            process = file.name[len(name) + 1 :].partition("-")[0]
            if process.isdigit() and not _runs(int(process)):
                found.add(file.name)
        return found


def _manifest(data: bytes) -> Manifest | None:
    """The manifest in a file, None for one of another layout; raises if it is none."""
    said = json.loads(data)
    if said.pop("layout") != _LAYOUT:
        return None
    if said.pop("sum") != _sum(said):
        raise ValueError("it is not what was written")
    found = Manifest(**said)
    names = (found.arrays, *found.files)
    if not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise ValueError("it names files elsewhere")
    if not all(type(size) is int and size >= 0 for size in (found.slots, found.dimension)):
        raise ValueError("its sizes are no numbers")
    return found


def _sum(said: Mapping[str, Any]) -> int:
    """The checksum of a manifest."""
    return zlib.crc32(json.dumps(said, sort_keys=True).encode())


def discard(path: Path) -> None:
    """Delete a file if that is possible."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _make_way(path: Path) -> None:
    """Delete a folder that stands where a manifest belongs, if that is possible."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
