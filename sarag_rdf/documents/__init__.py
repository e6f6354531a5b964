"""Reading documents: files, folders and standard input become sources.

Each format has a module, and an entry in `sarag_rdf.documents.reader.FORMATS`.
"""

from sarag_rdf.documents.format import Duplicate, InputProblem
from sarag_rdf.documents.reader import (
    FORMATS,
    MAX_CHARS,
    Read,
    ReadOptions,
    ReadOutcome,
    read,
    read_paths,
)
from sarag_rdf.documents.walk import display_path

__all__ = [
    "FORMATS",
    "MAX_CHARS",
    "Duplicate",
    "InputProblem",
    "Read",
    "ReadOptions",
    "ReadOutcome",
    "display_path",
    "read",
    "read_paths",
]
