"""What a caller hands over: files, folders, or sources made in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sarag_rdf.index.read import MAX_CHARS, Duplicate, InputProblem, read_paths
from sarag_rdf.index.read.language import is_tag
from sarag_rdf.index.read.text import clean, clean_line, fault_of
from sarag_rdf.types import Source

Inputs = str | Path | Source


def read_inputs(
    inputs: Inputs | Iterable[Inputs], **reading: Any
) -> Iterator[Source | InputProblem | Duplicate]:
    """Sources, cleaned as files are; paths as `read_paths` reads them, with its options."""
    items = [inputs] if isinstance(inputs, str | Path | Source) else list(inputs)
    for item in items:
        if isinstance(item, Source):
            text = clean(item.text)
            fault = fault_of(text, reading.get("max_chars", MAX_CHARS))
            if not fault and not is_tag(item.language):
                fault = f"'{item.language}' is not a language: give a tag such as en or pt-BR"
            cleaned = replace(item, text=text, title=clean_line(item.title))
            yield InputProblem(item.key or "text", fault) if fault else cleaned
    paths = [Path(item) for item in items if not isinstance(item, Source)]
    if paths:
        yield from read_paths(paths, **reading)
