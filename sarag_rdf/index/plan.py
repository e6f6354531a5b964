"""What a run of the indexer will do: inputs become chunked sources, compared with the graph."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.evidence import extraction_iri, text_digest
from sarag_rdf.index.quarantine import State, held_problem, read_contents, read_quarantine
from sarag_rdf.iris import Minter
from sarag_rdf.read import (
    MAX_CHARS,
    Duplicate,
    InputProblem,
    LocatedOutcome,
    display_path,
    key_prefix,
    read_paths,
    read_with_location,
)
from sarag_rdf.read.language import is_tag
from sarag_rdf.read.reader import STDIN
from sarag_rdf.read.text import clean, clean_line, text_problem
from sarag_rdf.types import Document, Method, Source

Input = Source | InputProblem | Duplicate
TOGETHER = 500
"""Inputs that the graph is asked for at a time."""


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """A source that has to be indexed.

    `known` if another version of it is in the graph, `held` if one is in quarantine.
    """

    iri: str
    source: Source
    documents: tuple[Document, ...]
    known: bool
    held: bool = False

    @property
    def name(self) -> str:
        """What a report calls it."""
        return self.source.key or "text"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do, by `method` (the extractor's, with the chunk sizes).

    `problems` are inputs that could not be read. `quarantined` tells of sources that are in
    quarantine as they are now: they are not extracted again. `settled` are the IRIs of sources that
    are in the graph as they are now, while another version of them is in quarantine. `gone` are
    the sources that will be deleted, what they are called by IRI; `left_out` counts files that are
    new and stay out. `duplicates` are inputs that were read before, and those with the text of
    another: these are indexed under their own names. `refused` says why the plan is not carried
    out unless it is confirmed.
    """

    method: Method
    todo: tuple[PlannedSource, ...]
    unchanged: int
    duplicates: int
    problems: tuple[InputProblem, ...]
    quarantined: tuple[InputProblem, ...] = ()
    settled: tuple[str, ...] = ()
    gone: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0
    refused: str = ""

    @property
    def documents(self) -> list[Document]:
        """All chunks that have to be extracted."""
        return [document for planned in self.todo for document in planned.documents]


def plan(
    reader: GraphReader,
    inputs: Iterable[Input],
    method: Method,
    *,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """Find out what has to be done: sources whose text or method differ from what is indexed.

    What it costs depends on the inputs, not on what is indexed.
    """
    sizes = {"words": str(words), "overlap": str(overlap)}
    method = replace(method, settings={**method.settings, **sizes})
    extraction = extraction_iri(reader.minter, method)
    held = read_quarantine(reader)
    todo: dict[str, PlannedSource] = {}
    seen: dict[str, State] = {}
    problems: list[InputProblem] = []
    quarantined: dict[str, str] = {}
    settled: list[str] = []
    known: set[str] = set()
    texts: dict[str, str] = {}
    unchanged = duplicates = 0
    for item, iri, before in _looked_up(reader, inputs):
        if isinstance(item, InputProblem):
            problems.append(item)
        elif isinstance(item, Duplicate):
            duplicates += 1
        else:
            state = state_of(item, extraction)
            duplicates += iri not in seen and texts.setdefault(state[0], iri) != iri
            known |= {iri} if before else set()
            if iri in seen and seen[iri] == state:
                duplicates += 1
            elif iri in seen:
                message = "is the key of two different sources: give each a key of its own"
                problems.append(InputProblem(item.key or "text", message))
            elif before == state:
                unchanged += 1
                settled += [iri] if iri in held else []
            elif iri in held and held[iri].state == state:
                quarantined[iri] = item.key or "text"
            else:
                documents = chunk(item, iri, reader.minter, words=words, overlap=overlap)
                there = iri in known, iri in held
                todo[iri] = PlannedSource(iri, item, tuple(documents), *there)
            seen.setdefault(iri, state)
    return Plan(
        method,
        tuple(todo.values()),
        unchanged,
        duplicates,
        tuple(problems),
        _still_held(reader, quarantined, known),
        tuple(settled),
    )


def _still_held(
    reader: GraphReader, names: Mapping[str, str], known: Container[str]
) -> tuple[InputProblem, ...]:
    """The problems of sources that are in quarantine as they are now."""
    contents = read_contents(reader, names)
    return tuple(
        held_problem(name, iri, contents[iri].violations, known=iri in known)
        for iri, name in names.items()
    )


def state_of(source: Source, extraction: str) -> State:
    """What tells this version of a source apart."""
    return text_digest(source.text), source.title, source.language, extraction


def _looked_up(
    reader: GraphReader, inputs: Iterable[Input]
) -> Iterator[tuple[Input, str, State | None]]:
    """Inputs; sources with their IRIs, and the states in which they are in the graph, if any."""
    source, pending = reader.minter.source, iter(inputs)
    while batch := list(islice(pending, TOGETHER)):
        iris = [
            source(item.key, item.title, item.text) if isinstance(item, Source) else ""
            for item in batch
        ]
        found = _states(reader, filter(None, iris))
        yield from ((item, iri, found.get(iri)) for item, iri in zip(batch, iris, strict=True))


def _states(reader: GraphReader, sources: Iterable[str]) -> dict[str, State]:
    return {
        source.value: (
            digest.value,
            title.value if title else "",
            language.value,
            extraction.value,
        )
        for source, digest, title, language, extraction in reader.select_provenance_for(
            "source-state", sources
        )
    }


_WORD = re.compile(r"\S+")


def chunk(
    source: Source, source_iri: str, minter: Minter, *, words: int = 500, overlap: int = 200
) -> list[Document]:
    """Cut a source into windows of `words` words, each sharing `overlap` with the one before.

    Words are what white space separates. A window begins with a word and ends with one; the
    last ends with the last word of the text and may be shorter, and no window lies within the
    one before it. A text without words gives no documents. Raises `UsageError` for fewer than
    one word, or an overlap outside ``[0, words)``.
    """
    if words < 1:
        raise UsageError(f"chunks of {words} words cannot be made: give at least 1")
    if not 0 <= overlap < words:
        raise UsageError(
            f"an overlap of {overlap} does not fit chunks of {words} words: "
            f"give a number from 0 to {words - 1}"
        )
    spans = [match.span() for match in _WORD.finditer(source.text)]
    documents = []
    for first in range(0, max(len(spans) - overlap, min(len(spans), 1)), words - overlap):
        begin, end = spans[first][0], spans[min(first + words, len(spans)) - 1][1]
        text = source.text[begin:end]
        iri = minter.document(source_iri, begin, end, text)
        documents.append(Document(iri, source_iri, source.title, text, begin, end, source.language))
    return documents


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
) -> Iterator[Source | InputProblem | LocatedOutcome]:
    """The same with the place of what is read from paths; standard input has none."""
    sources, paths = _apart(inputs)
    if STDIN in paths:
        raise UsageError("standard input (-) has no path to be known by: sarag index takes it")
    for source in sources:
        yield _cleaned(source, reading.get("max_chars", MAX_CHARS))
    if paths:
        yield from read_with_location(paths, **reading)


def place_folder(
    folder: str | Path, *, root: str | Path | None = None, **reading: Any
) -> tuple[str, Iterator[LocatedOutcome]]:
    """What is in a folder, and what the keys of it begin with. Raises `UsageError` without one."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(
            f"there is no folder {display_path(path)}: name the folder of the documents"
        )
    top = Path(root) if root is not None else None
    return key_prefix(path, top) or "", read_with_location([path], root=top, **reading)


def _apart(inputs: Inputs | Iterable[Inputs]) -> tuple[list[Source], list[Path]]:
    items = [inputs] if isinstance(inputs, str | Path | Source) else list(inputs)
    sources = [item for item in items if isinstance(item, Source)]
    return sources, [Path(item) for item in items if not isinstance(item, Source)]


def _cleaned(source: Source, max_chars: int) -> Source | InputProblem:
    text = clean(source.text)
    fault = text_problem(text, max_chars)
    if clean(source.key) != source.key:
        fault = "has a key that is not plain Unicode text: give it another"
    if not fault and not is_tag(source.language):
        fault = f"'{source.language}' is not a language: give a tag such as en or pt-BR"
    if fault:
        return InputProblem(source.key or "text", fault)
    return replace(source, text=text, title=clean_line(source.title))
