"""Files of a cache that belong together: a manifest names them, and it is written last.

Files are written under names that nothing refers to; then the manifest is replaced by renaming.
So whoever reads finds the old state or the new one whole, and what a reader has mapped keeps its
bytes.
"""

from __future__ import annotations

import json
import os
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

_LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is kept under a name, and for which key it is valid.

    `arrays` names a file of `array_file`. An index has a file `matrix` of `slots` rows of
    `dimension` numbers beside it. `checksums` maps names of files to digests.
    """

    key: str
    arrays: str
    matrix: str = ""
    slots: int = 0
    dimension: int = 0
    checksums: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files that belong to it."""
        return tuple(name for name in (self.arrays, self.matrix) if name)


class KeptFiles:
    """A folder of manifests ``NAME.json``, and of files ``NAME-PROCESS-DIGITS.SUFFIX``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, file: str) -> Path:
        """Where a file stands that a manifest names."""
        return self._folder / file

    def new(self, name: str, suffix: str) -> Path:
        """A path that nothing refers to yet."""
        return self._folder / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:12]}.{suffix}"

    def names(self) -> list[str]:
        """Names that have a manifest, readable or not."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def discard(self, name: str) -> None:
        """Delete a manifest and then its files, as far as it tells them."""
        manifest = self.manifest(name)
        discard(self._folder / f"{name}.json")
        for file in manifest.files if manifest else ():
            discard(self._folder / file)

    def manifest(self, name: str) -> Manifest | None:
        """What is kept under a name; None if there is nothing, or nothing that can be read."""
        try:
            said = json.loads((self._folder / f"{name}.json").read_bytes())
            if said.pop("layout") != _LAYOUT:
                return None
            found = Manifest(**said)
            whole = all(Path(file).name == file for file in found.files)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        sizes = (found.slots, found.dimension)
        numbers = all(isinstance(size, int) and size >= 0 for size in sizes)
        return found if whole and numbers else None

    def publish(self, name: str, manifest: Manifest) -> None:
        """Put a manifest in place of another, and delete what only the other names.

        Raises OSError, and then the other stays.
        """
        before = self.manifest(name)
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"{name}.{os.getpid()}-{uuid.uuid4().hex[:12]}.part"
        try:
            part.write_text(json.dumps({"layout": _LAYOUT, **asdict(manifest)}, indent=1))
            part.replace(self._folder / f"{name}.json")
        except OSError:
            discard(part)
            raise
        stale = set(before.files if before else ()) | self._abandoned(name)
        for file in stale - set(manifest.files):
            discard(self._folder / file)

    def _abandoned(self, name: str) -> set[str]:
        """Files of processes that are no more, and of former versions."""
        found = {f"{name}.npy", f"{name}.iris", f"{name}.npz"}
        for file in (*self._folder.glob(f"{name}-*"), *self._folder.glob(f"{name}.*.part")):
            process = file.name[len(name) + 1 :].partition("-")[0]
            if process.isdigit() and not _runs(int(process)):
                found.add(file.name)
        return found


def discard(path: Path) -> None:
    """Delete a file if that is possible."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
