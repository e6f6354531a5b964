"""Keys of sources: the path of a file, or ``FILE#RECORD`` for a record of one."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote

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
