"""Reading paths without the origins of what is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sarag_rdf.documents.reading import ReadOptions, ReadOutcome, read


def read_paths(paths: Iterable[Path], **options: Any) -> Iterator[ReadOutcome]:
    """The outcomes of `read`; `options` are the fields of `ReadOptions`."""
    return (item.outcome for item in read(paths, ReadOptions(**options)))
