"""Files and downloads as streams of decompressed bytes, with their read position."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from sarag_rdf.base import compression
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import Advance
from sarag_rdf.base.redaction import holds_password, public_origin, remember_url
from sarag_rdf.base.temporary import ScratchFolder

_COMPRESSED = frozenset({".gz", ".bz2", ".xz"})
READ_ERRORS = (*compression.TOO_SHORT_OR_DAMAGED, OSError)
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
    max_expansion: int = compression.MAX_EXPANSION

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
def input_file(
    location: str, max_expansion: int = compression.MAX_EXPANSION
) -> Iterator[InputFile]:
    """Open a file, or download an http(s) URL to a temporary file.

    A compressed file may expand to `max_expansion` times its size. Raises `InputError` for a file
    that cannot be read, and `UsageError` for a path that is not a file.
    """
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
            yield replace(
                _describe_file(path, public_origin(location), name), max_expansion=max_expansion
            )
        return
    path = Path(location).expanduser()
    if path.is_dir():
        raise UsageError(f"{location} is a folder: give a file in it")
    if not path.is_file():
        raise UsageError(f"no such file: {location}: give a file or an http(s) URL")
    file = _describe_file(path, path.resolve().as_uri(), path.name)
    yield replace(file, max_expansion=max_expansion)


def _describe_file(path: Path, origin: str, name: str) -> InputFile:
    plain = name[: -len(Path(name).suffix)] if Path(name).suffix.lower() in _COMPRESSED else name
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{origin} cannot be read: {error.strerror}") from error
    return InputFile(path, origin, plain, digest)


def _download(url: str, path: Path) -> None:
    import httpx

    from sarag_rdf.base.http import DeadlineError, ReplySizeError, download

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
    except httpx.HTTPStatusError as error:
        reply = error.response
        reason = f"{reply.reason_phrase} ({reply.status_code})".lstrip()
        raise InputError(f"cannot download {public_origin(url)}: {reason}") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"cannot download {public_origin(url)}: {reason}") from error


@contextmanager
def unpacked(file: InputFile) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The decompressed content, and the file itself, whose position is that of the input."""
    with file.path.open("rb") as raw, compression.unpacked(raw, file.max_expansion) as stream:
        yield raw if stream is raw else io.BufferedReader(cast("io.RawIOBase", stream)), raw
