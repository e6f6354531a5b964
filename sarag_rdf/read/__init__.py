"""Reading documents: files, folders and standard input become sources.

A format is one module and one line of the registry in `formats`.
"""

from sarag_rdf.read.format import Duplicate, InputProblem
from sarag_rdf.read.reader import (
    FORMATS,
    MAX_CHARS,
    Outcome,
    Placed,
    prefix_below,
    read_paths,
    read_placed,
)
from sarag_rdf.read.walk import shown

__all__ = [
    "FORMATS",
    "MAX_CHARS",
    "Duplicate",
    "InputProblem",
    "Outcome",
    "Placed",
    "prefix_below",
    "read_paths",
    "read_placed",
    "shown",
]
