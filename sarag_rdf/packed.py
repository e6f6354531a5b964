"""What packed files hold: gzip, bzip2 and xz are told by their first bytes, not by a name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from typing import IO, cast

TOO_SHORT_OR_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""What reading a packed file raises that is damaged or ends too early, beside `OSError`."""


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """What a file holds that stands at its start; the file itself if it is not packed."""
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    return lzma.LZMAFile(raw) if magic.startswith(b"\xfd7zXZ\x00") else raw
