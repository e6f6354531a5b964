"""Reading documents: files, folders and standard input become sources.

A format is one module and one line of the registry in `formats`.
"""

from sarag_rdf.index.read.contract import Duplicate, InputProblem
from sarag_rdf.index.read.formats import FORMATS
from sarag_rdf.index.read.reader import (
    MAX_CHARS,
    Outcome,
    Placed,
    prefix_below,
    read_paths,
    read_placed,
)
from sarag_rdf.index.read.walk import shown

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
