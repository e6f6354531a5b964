"""What packed files hold: gzip, bzip2 and xz are told by their first bytes, not by a name.

A file that is packed more densely than data are is refused while it is read: a few kilobytes may
hold gigabytes of nothing.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import IO, Any, cast

from sarag_rdf.errors import InputError

TOO_SHORT_OR_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""What reading a packed file raises that is damaged or ends too early, beside `OSError`."""
MAX_EXPANSION = 200
"""Times its own size that a packed file may hold by default. RDF packs 10 to 60 times."""
_ALWAYS = 64 << 20
"""Bytes that any packed file may hold."""


def unpacked(raw: IO[bytes], max_expansion: int = MAX_EXPANSION) -> IO[bytes]:
    """What a file holds that stands at its start; the file itself if it is not packed.

    Reading raises `InputError` for more than `max_expansion` times the file's size.
    """
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    elif magic.startswith(b"BZh"):
        stream = cast("IO[bytes]", bz2.BZ2File(raw))
    elif magic.startswith(b"\xfd7zXZ\x00"):
        stream = cast("IO[bytes]", lzma.LZMAFile(raw))  # noqa: SIM115 - closed with what is returned
    else:
        return raw
    return cast("IO[bytes]", io.BufferedReader(_Bounded(stream, raw, max_expansion)))


def expands(size: int, packed: int, max_expansion: int) -> bool:
    """Whether so many bytes are more than what `packed` bytes may hold."""
    return size > max(_ALWAYS, max_expansion * packed)


def too_dense(name: str, max_expansion: int) -> InputError:
    """The refusal of a file that holds too much."""
    return InputError(
        f"{name} holds more than {max_expansion} times its size and more than {_ALWAYS >> 20} MiB: "
        "unpack it yourself, or raise --max-expansion"
    )


class _Bounded(io.RawIOBase):
    """A packed stream that counts what comes out of it, beside what was read of its file."""

    def __init__(self, stream: IO[bytes], raw: IO[bytes], max_expansion: int) -> None:
        self._stream, self._raw, self._most = stream, raw, max_expansion
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._given += len(data)
        if expands(self._given, self._raw.tell(), self._most):
            raise too_dense(str(getattr(self._raw, "name", "the file")), self._most)
        return len(data)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        position = self._stream.seek(offset, whence)
        self._given = position
        return position

    def tell(self) -> int:
        return self._stream.tell()

    def close(self) -> None:
        self._stream.close()
        super().close()
