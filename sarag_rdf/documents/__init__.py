"""Reading documents: files, folders and standard input become sources.

Formats are found by entry points of the group ``sarag_rdf.formats``.
"""

from sarag_rdf.documents.format import Duplicate, InputProblem
from sarag_rdf.documents.reader import (
    MAX_CHARS,
    Read,
    ReadOptions,
    ReadOutcome,
    read,
    read_paths,
    suffixes,
)
from sarag_rdf.documents.walk import display_path

__all__ = [
    "MAX_CHARS",
    "Duplicate",
    "InputProblem",
    "Read",
    "ReadOptions",
    "ReadOutcome",
    "display_path",
    "read",
    "read_paths",
    "suffixes",
]
