"""What a caller hands over: files, folders, or sources made in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sarag_rdf.errors import UsageError
from sarag_rdf.index.read import (
    MAX_CHARS,
    Duplicate,
    InputProblem,
    Placed,
    prefix_below,
    read_paths,
    read_placed,
    shown,
)
from sarag_rdf.index.read.language import is_tag
from sarag_rdf.index.read.reader import STDIN
from sarag_rdf.index.read.text import clean, clean_line, fault_of
from sarag_rdf.types import Source

Inputs = str | Path | Source


def read_inputs(
    inputs: Inputs | Iterable[Inputs], **reading: Any
) -> Iterator[Source | InputProblem | Duplicate]:
    """Sources, cleaned as files are; paths as `read_paths` reads them, with its options."""
    sources, paths = _apart(inputs)
    for source in sources:
        yield _cleaned(source, reading.get("max_chars", MAX_CHARS))
    if paths:
        yield from read_paths(paths, **reading)


def place_inputs(
    inputs: Inputs | Iterable[Inputs], **reading: Any
) -> Iterator[Source | InputProblem | Placed]:
    """The same with the place of what is read from paths; standard input has none."""
    sources, paths = _apart(inputs)
    if STDIN in paths:
        raise UsageError("standard input (-) has no path to be known by: sarag index takes it")
    for source in sources:
        yield _cleaned(source, reading.get("max_chars", MAX_CHARS))
    if paths:
        yield from read_placed(paths, **reading)


def place_folder(
    folder: str | Path, *, root: str | Path | None = None, **reading: Any
) -> tuple[str, Iterator[Placed]]:
    """What is in a folder, and what the keys of it begin with. Raises `UsageError` without one."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"there is no folder {shown(path)}: name the folder of the documents")
    top = Path(root) if root is not None else None
    return prefix_below(path, top) or "", read_placed([path], root=top, **reading)


def _apart(inputs: Inputs | Iterable[Inputs]) -> tuple[list[Source], list[Path]]:
    items = [inputs] if isinstance(inputs, str | Path | Source) else list(inputs)
    sources = [item for item in items if isinstance(item, Source)]
    return sources, [Path(item) for item in items if not isinstance(item, Source)]


def _cleaned(source: Source, max_chars: int) -> Source | InputProblem:
    text = clean(source.text)
    fault = fault_of(text, max_chars)
    if clean(source.key) != source.key:
        fault = "has a key that is not plain Unicode text: give it another"
    if not fault and not is_tag(source.language):
        fault = f"'{source.language}' is not a language: give a tag such as en or pt-BR"
    if fault:
        return InputProblem(source.key or "text", fault)
    return replace(source, text=text, title=clean_line(source.title))
