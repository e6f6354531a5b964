"""Decompression of gzip, bzip2 and xz files, which are recognized by their magic numbers.

The expansion is limited while a file is read, as protection against decompression bombs.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import IO, Any, cast

from sarag_rdf.base.errors import InputError

TOO_SHORT_OR_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""Exceptions for damaged or truncated compressed files, in addition to `OSError`."""
MAX_EXPANSION = 200
"""The default limit of the expansion factor. RDF compresses by factors of 10 to 60."""
_ALWAYS = 64 << 20
"""Bytes that any compressed file may expand to."""


def unpacked(raw: IO[bytes], max_expansion: int = MAX_EXPANSION) -> IO[bytes]:
    """The decompressed content of a file, or the file itself if it is not compressed.

    The file must be at its start. Reading raises `InputError` if the content exceeds
    `max_expansion` times the size of the file, and 64 MiB.
    """
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    elif magic.startswith(b"BZh"):
        stream = cast("IO[bytes]", bz2.BZ2File(raw))
    elif magic.startswith(b"\xfd7zXZ\x00"):
        stream = cast("IO[bytes]", lzma.LZMAFile(raw))  # noqa: SIM115 - closed by the reader
    else:
        return raw
    return cast("IO[bytes]", io.BufferedReader(_Bounded(stream, raw, max_expansion)))


def expands(size: int, packed: int, max_expansion: int) -> bool:
    """Whether `size` bytes exceed the expansion limit for `packed` compressed bytes."""
    return size > max(_ALWAYS, max_expansion * packed)


def too_dense(name: str, max_expansion: int) -> InputError:
    """The error for a file that exceeds the expansion limit."""
    return InputError(
        f"{name} expands to more than {max_expansion} times its size and more than "
        f"{_ALWAYS >> 20} MiB: decompress it yourself, or raise --max-expansion"
    )


class _Bounded(io.RawIOBase):
    """A decompressing stream that enforces the expansion limit."""

    def __init__(self, stream: IO[bytes], raw: IO[bytes], max_expansion: int) -> None:
        self._stream, self._raw, self._max_expansion = stream, raw, max_expansion
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._size += len(data)
        if expands(self._size, self._raw.tell(), self._max_expansion):
            raise too_dense(str(getattr(self._raw, "name", "the file")), self._max_expansion)
        return len(data)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        position = self._stream.seek(offset, whence)
        self._size = position
        return position

    def tell(self) -> int:
        return self._stream.tell()

    def close(self) -> None:
        self._stream.close()
        super().close()
