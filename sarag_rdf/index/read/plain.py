"""Plain text: the whole file is the text."""

from __future__ import annotations

from collections.abc import Iterator

from sarag_rdf.index.read.contract import Opened, Record
from sarag_rdf.index.read.text import read_text


def read(opened: Opened) -> Iterator[Record]:
    """Yield the text as it stands."""
    yield Record(read_text(opened))
