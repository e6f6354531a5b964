"""Files and downloads as streams of bytes, unpacked, with how far they have been read."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from sarag_rdf import compression
from sarag_rdf.errors import InputError, UsageError
from sarag_rdf.ports import Advance
from sarag_rdf.redaction import holds_password, public_origin, remember_url

_PACKED = frozenset({".gz", ".bz2", ".xz"})
BROKEN = (*compression.TOO_SHORT_OR_DAMAGED, OSError)
"""What reading a packed file raises that is damaged or ends too early."""
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file on disk: where it came from, its name without packing, its digest."""

    path: Path
    origin: str
    name: str
    sha256: str
    max_expansion: int = compression.MAX_EXPANSION

    @property
    def suffix(self) -> str:
        """The last suffix of the name, in lower case, with its dot."""
        return Path(self.name).suffix.lower()


class Told:
    """Turns positions in a file into progress."""

    def __init__(self, advance: Advance) -> None:
        self._advance, self._position = advance, 0

    def __call__(self, position: int) -> None:
        self._advance(position - self._position)
        self._position = position


@contextmanager
def input_file(where: str, max_expansion: int = compression.MAX_EXPANSION) -> Iterator[InputFile]:
    """A file, or what an http(s) URL gives, which is kept on disk only as long as it is used.

    What it holds is at most `max_expansion` times its size if it is packed. Raises `InputError`,
    `UsageError` for a path that is no file.
    """
    if where.lower().startswith(("http://", "https://")):
        if holds_password(where):
            raise UsageError(
                "the URL of a file may hold no password: download it yourself, and import the file"
            )
        remember_url(where)
        with tempfile.TemporaryDirectory(prefix="sarag-") as folder:
            name = where.partition("?")[0].rstrip("/").rpartition("/")[2] or "download"
            path = Path(folder) / ("download" + "".join(Path(name).suffixes[-2:]))
            _download(where, path)
            yield replace(_described(path, public_origin(where), name), max_expansion=max_expansion)
        return
    path = Path(where).expanduser()
    if path.is_dir():
        raise UsageError(f"{where} is a folder: name a file in it")
    if not path.is_file():
        raise UsageError(f"there is no file {where}: name a file or an http(s) URL")
    made = _described(path, path.resolve().as_uri(), path.name)
    yield replace(made, max_expansion=max_expansion)


def _described(path: Path, origin: str, name: str) -> InputFile:
    plain = name[: -len(Path(name).suffix)] if Path(name).suffix.lower() in _PACKED else name
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{origin} cannot be read: {error.strerror}") from error
    return InputFile(path, origin, plain, digest)


def _download(url: str, path: Path) -> None:
    import httpx

    from sarag_rdf.http import download

    try:
        download(url, path, seconds=_SECONDS)
    except httpx.RemoteProtocolError as error:
        read = path.stat().st_size if path.exists() else 0
        raise InputError(
            f"{public_origin(url)} broke off after {read} bytes ({error}): try again"
        ) from error
    except httpx.HTTPStatusError as error:
        reply = error.response
        reason = f"{reply.reason_phrase} ({reply.status_code})".lstrip()
        raise InputError(f"{public_origin(url)} could not be read: {reason}") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"{public_origin(url)} could not be read: {reason}") from error


@contextmanager
def unpacked(file: InputFile) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The content as bytes, and the file itself, whose position tells how far it has been read."""
    with file.path.open("rb") as raw, compression.unpacked(raw, file.max_expansion) as stream:
        yield raw if stream is raw else io.BufferedReader(cast("io.RawIOBase", stream)), raw
