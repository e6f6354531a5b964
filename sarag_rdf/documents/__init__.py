"""Reading documents: files, folders and standard input become sources.

Each format has a module, and an entry in `sarag_rdf.documents.reader.FORMATS`.
"""

from sarag_rdf.documents.format import Duplicate, InputProblem
from sarag_rdf.documents.reader import (
    FORMATS,
    MAX_CHARS,
    LocatedOutcome,
    ReadOutcome,
    key_prefix,
    read_paths,
    read_with_location,
)
from sarag_rdf.documents.walk import display_path

__all__ = [
    "FORMATS",
    "MAX_CHARS",
    "Duplicate",
    "InputProblem",
    "LocatedOutcome",
    "ReadOutcome",
    "display_path",
    "key_prefix",
    "read_paths",
    "read_with_location",
]
