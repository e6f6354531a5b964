"""PDF, Word, PowerPoint, Excel and EPUB files, converted to Markdown by `markitdown`."""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sarag_rdf.compression import expands
from sarag_rdf.read.format import Opened, Record, UnreadableError, apart
from sarag_rdf.read.markdown import split_title
from sarag_rdf.read.text import EMPTY, check_size, checked, clean, clean_line

_BYTES_PER_CHAR = 40
"""Such files hold pictures and fonts beside their text."""
_FOLDERS = {".docx": "word/", ".pptx": "ppt/", ".xlsx": "xl/", ".epub": "META-INF/"}
"""What the archive that such a file is must hold."""
_INSTALL = "needs an optional package: pip install 'sarag-rdf[documents]'"
_REPAIR = "open it where it was made and save it anew, or as text"


def read(opened: Opened) -> Iterator[Record]:
    """Yield the converted text, titled by the file's own title or its first heading."""
    check_size(opened, _BYTES_PER_CHAR)
    if not opened.size or opened.path is None:
        raise UnreadableError(EMPTY)
    # The converter takes what it does not recognise for plain text, so this is asked before.
    if not _is_genuine(opened, opened.path):
        raise UnreadableError(f"is not a {opened.path.suffix.lower()} file: {_REPAIR}")
    markdown, titled = apart(opened, _converted, opened.path)
    title, text = split_title(clean(checked(markdown, opened.max_chars)))
    yield Record(text, clean_line(titled) or title)


def _converted(path: Path) -> tuple[str, str]:
    """A file as Markdown, and its own title if it has one."""
    converter = _converter()
    try:
        result = converter.convert_local(path)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever five parsers raise on a broken file
        reason = clean_line(f"{type(error).__name__}: {error}")
        if "MissingDependency" in reason:
            raise UnreadableError(_INSTALL) from None
        raise UnreadableError(f"cannot be converted ({reason[:200]}): {_REPAIR}") from None
    return str(result.markdown or ""), str(result.title or "")


def _is_genuine(opened: Opened, path: Path) -> bool:
    folder = _FOLDERS.get(path.suffix.lower())
    if folder is None:
        return b"%PDF-" in opened.handle.read(1024)
    try:
        with zipfile.ZipFile(opened.handle) as archive:
            held = sum(member.file_size for member in archive.infolist())
            if expands(held, opened.size or 0, opened.max_expansion):
                raise UnreadableError(
                    f"holds {held >> 20} MiB, more than {opened.max_expansion} times its size: "
                    "leave it out, or raise --max-expansion"
                )
            return any(name.startswith(folder) for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _converter() -> Any:
    try:
        return importlib.import_module("markitdown").MarkItDown()
    except ImportError:
        raise UnreadableError(_INSTALL) from None
