"""PDF, Word, PowerPoint, Excel and EPUB files, converted to Markdown by `markitdown`."""

from __future__ import annotations

import importlib
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sarag_rdf.base.files import expands
from sarag_rdf.documents.format import (
    EMPTY,
    Format,
    OpenInput,
    Record,
    UnreadableError,
    check_length,
    check_size,
    clean,
    clean_line,
    run_sandboxed,
)
from sarag_rdf.plugins.markdown import split_title

_BYTES_PER_CHAR = 40
"""Size limit per character of text: these files also contain pictures and fonts."""
_REQUIRED_FOLDER = {".docx": "word/", ".pptx": "ppt/", ".xlsx": "xl/", ".epub": "META-INF/"}
"""The folder that the ZIP archive must contain, by suffix."""
_INSTALL = "needs an optional package: pip install 'sarag-rdf[documents]'"
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_REPAIR = "open it in its application and save it again, or as text"


def read(file: OpenInput) -> Iterator[Record]:
    """Yield the converted text; its title is that of the file, else the first heading."""
    check_size(file, _BYTES_PER_CHAR)
    if not file.size or file.path is None:
        raise UnreadableError(EMPTY)
    # The converter treats unknown content as plain text, so the signature is checked first.
    if not _has_signature(file, file.path):
        raise UnreadableError(f"is not a {file.path.suffix.lower()} file: {_REPAIR}")
    markdown, own_title = run_sandboxed(file, _convert, file.path)
    if file.path.suffix.lower() == ".pdf":
        markdown, own_title = map(_without_ligatures, (markdown, own_title))
    title, text = split_title(clean(check_length(markdown, file.max_chars)))
    yield Record(text, clean_line(own_title) or title)


def _without_ligatures(text: str) -> str:
    """The text with letters for the Latin ligatures of printed pages, which search would miss."""
    return _LIGATURES.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)


def _convert(path: Path) -> tuple[str, str]:
    """Convert a file: (Markdown, its title or empty)."""
    try:
        result: Any = importlib.import_module("markitdown").MarkItDown().convert_local(path)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - five parsers raise anything on a broken file
        reason = clean_line(f"{type(error).__name__}: {error}")
        if isinstance(error, ImportError) or "MissingDependency" in reason:
            raise UnreadableError(_INSTALL) from None
        raise UnreadableError(f"cannot be converted ({reason[:200]}): {_REPAIR}") from None
    return str(result.markdown or ""), str(result.title or "")


def _has_signature(file: OpenInput, path: Path) -> bool:
    folder = _REQUIRED_FOLDER.get(path.suffix.lower())
    if folder is None:
        return b"%PDF-" in file.handle.read(1024)
    try:
        with zipfile.ZipFile(file.handle) as archive:
            unpacked_size = sum(member.file_size for member in archive.infolist())
            if expands(unpacked_size, file.size or 0, file.max_expansion):
                raise UnreadableError(
                    f"unpacks to {unpacked_size >> 20} MiB, more than {file.max_expansion} times "
                    "its size: leave it out, or raise --max-expansion"
                )
            return any(name.startswith(folder) for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


_OOXML = "application/vnd.openxmlformats-officedocument."
PDF = Format(read, "application/pdf", is_text=False, sandboxed_above=0)
DOCX = Format(read, f"{_OOXML}wordprocessingml.document", is_text=False, sandboxed_above=0)
PPTX = Format(read, f"{_OOXML}presentationml.presentation", is_text=False, sandboxed_above=0)
XLSX = Format(read, f"{_OOXML}spreadsheetml.sheet", is_text=False, sandboxed_above=0)
EPUB = Format(read, "application/epub+zip", is_text=False, sandboxed_above=0)
