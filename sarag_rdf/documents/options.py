"""How documents are read and cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sarag_rdf.base.files import MAX_EXPANSION
from sarag_rdf.base.options import MAX_SECONDS, Options, option
from sarag_rdf.documents.language import AUTO, parse_language

WORDS = 500
OVERLAP = 200
MAX_CHARS = 5_000_000


@dataclass(frozen=True)
class ReadOptions(Options):
    """How files are read and cut.

    Without `root` a folder is its own root, and the root of a file is its folder. `max_chars` is
    for one text, and for the whole file in formats that are not read line by line, `max_file` for
    files that are. `stdin` is a stream to read instead of standard input. Raises `UsageError`.
    """

    name = "reading"
    words: int = option(WORDS, "Words per chunk.", ge=1, harmless=True)
    overlap: int = option(OVERLAP, "Words shared by consecutive chunks.", ge=0, harmless=True)
    root: Path | None = option(None, "Folder that source IRIs are relative to.")
    language: str = option(AUTO, "BCP 47 tag of the documents, or auto.", harmless=True)
    max_chars: int = option(MAX_CHARS, "Maximum document size, in characters.", ge=1)
    max_file: int = option(
        512, "Maximum size of a file of records (.jsonl, .csv, .tsv), in MiB.", ge=1
    )
    max_expansion: int = option(
        MAX_EXPANSION,
        "Maximum ratio of unpacked to packed size, for compressed files and archives.",
        ge=1,
    )
    max_seconds: float = option(
        MAX_SECONDS,
        "Time limit for reading a document, or for the next statement of RDF, in seconds.",
        gt=0,
    )
    stdin_format: str = option(
        "txt",
        "Format of standard input: txt, md, html, json, jsonl, csv or tsv.",
        harmless=True,
    )
    stdin: BinaryIO | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "language", parse_language(self.language))
