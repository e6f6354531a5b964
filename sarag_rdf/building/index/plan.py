"""Planning: inputs become chunked sources, which are compared with the graph."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.sentences import word_windows
from sarag_rdf.base.types import Document, Method, Source
from sarag_rdf.building.index.evidence import extraction_iri, text_digest
from sarag_rdf.building.index.quarantine import (
    SourceState,
    quarantine_problem,
    read_contents,
    read_quarantine,
)
from sarag_rdf.documents import (
    MAX_CHARS,
    Duplicate,
    InputProblem,
    LocatedOutcome,
    display_path,
    key_prefix,
    read_paths,
    read_with_location,
)
from sarag_rdf.documents.language import is_tag
from sarag_rdf.documents.reader import STDIN
from sarag_rdf.documents.text import clean, clean_line, text_problem
from sarag_rdf.graph.reader import GraphReader

Input = Source | InputProblem | Duplicate
LOOKUP_BATCH = 500
"""Inputs whose states are read from the graph in one batch."""


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """A source that has to be indexed.

    `known` if another version of it is in the graph, `quarantined` if one is in quarantine.
    """

    iri: str
    source: Source
    documents: tuple[Document, ...]
    known: bool
    quarantined: bool = False

    @property
    def name(self) -> str:
        """The name in reports."""
        return self.source.key or "text"


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a run will make, with `method` (that of the extractor, plus chunk sizes).

    `todo` are the sources to index. `problems` are inputs that could not be read. `quarantined`
    are problems of sources whose current version is in quarantine; they are not extracted again.
    `settled` are IRIs of sources whose current version is in the graph and another version in
    quarantine. `deletions` are the sources to delete: IRI -> name in reports. `left_out` is the
    number of new files that are not added. `duplicates` counts repeated inputs, and inputs with the
    text of another source, which are nevertheless indexed. A plan with a `refused` reason runs only
    if the caller confirms it.
    """

    method: Method
    todo: tuple[PlannedSource, ...]
    unchanged: int
    duplicates: int
    problems: tuple[InputProblem, ...]
    quarantined: tuple[InputProblem, ...] = ()
    settled: tuple[str, ...] = ()
    deletions: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0
    refused: str = ""

    @property
    def documents(self) -> list[Document]:
        """All chunks to extract."""
        return [document for planned in self.todo for document in planned.documents]


def plan(
    reader: GraphReader,
    inputs: Iterable[Input],
    method: Method,
    *,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """Plan to index the sources whose text, title, language or method has changed.

    The cost depends on the size of the inputs, not of the graph.
    """
    sizes = {"words": str(words), "overlap": str(overlap)}
    method = replace(method, settings={**method.settings, **sizes})
    quarantine = read_quarantine(reader)
    todo: dict[str, PlannedSource] = {}
    states: dict[str, SourceState] = {}
    problems: list[InputProblem] = []
    quarantined: dict[str, str] = {}
    settled: list[str] = []
    known: set[str] = set()
    texts: dict[str, str] = {}
    unchanged = duplicates = 0
    for item, iri, indexed in _with_indexed_states(reader, inputs):
        if isinstance(item, InputProblem):
            problems.append(item)
        elif isinstance(item, Duplicate):
            duplicates += 1
        else:
            state = state_of(item, extraction_iri(reader.minter, iri, method))
            duplicates += iri not in states and texts.setdefault(state[0], iri) != iri
            known |= {iri} if indexed else set()
            if iri in states and states[iri] == state:
                duplicates += 1
            elif iri in states:
                message = "is the key of two different sources: give each its own key"
                problems.append(InputProblem(item.key or "text", message))
            elif indexed == state:
                unchanged += 1
                settled += [iri] if iri in quarantine else []
            elif iri in quarantine and quarantine[iri].state == state:
                quarantined[iri] = item.key or "text"
            else:
                documents = chunk(item, iri, reader.minter, words=words, overlap=overlap)
                is_known, is_quarantined = iri in known, iri in quarantine
                todo[iri] = PlannedSource(iri, item, tuple(documents), is_known, is_quarantined)
            states.setdefault(iri, state)
    return Plan(
        method,
        tuple(todo.values()),
        unchanged,
        duplicates,
        tuple(problems),
        _quarantine_problems(reader, quarantined, known),
        tuple(settled),
    )


def _quarantine_problems(
    reader: GraphReader, names: Mapping[str, str], known: Container[str]
) -> tuple[InputProblem, ...]:
    """The problems of sources whose current version is in quarantine."""
    contents = read_contents(reader, names)
    return tuple(
        quarantine_problem(name, iri, contents[iri].violations, known=iri in known)
        for iri, name in names.items()
    )


def state_of(source: Source, extraction: str) -> SourceState:
    """The state that identifies this version of a source."""
    return text_digest(source.text), source.title, source.language, extraction


def _with_indexed_states(
    reader: GraphReader, inputs: Iterable[Input]
) -> Iterator[tuple[Input, str, SourceState | None]]:
    """Yield inputs; sources with their IRIs and their states in the graph, if they are in it."""
    source, pending = reader.minter.source, iter(inputs)
    while batch := list(islice(pending, LOOKUP_BATCH)):
        iris = [
            source(item.key, item.title, item.text) if isinstance(item, Source) else ""
            for item in batch
        ]
        states = _read_states(reader, filter(None, iris))
        yield from ((item, iri, states.get(iri)) for item, iri in zip(batch, iris, strict=True))


def _read_states(reader: GraphReader, sources: Iterable[str]) -> dict[str, SourceState]:
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


def chunk(
    source: Source, source_iri: str, minter: Minter, *, words: int = 500, overlap: int = 200
) -> list[Document]:
    """Split a source into windows of `words` words, each of which overlaps the previous one.

    The windows are those of `word_windows`; a text without words has no documents. Raises
    `UsageError` for fewer than one word, or an overlap outside ``[0, words)``.
    """
    if words < 1:
        raise UsageError(f"chunk size is {words} words: give at least 1")
    if not 0 <= overlap < words:
        raise UsageError(
            f"an overlap of {overlap} words is out of range for chunks of {words} words: "
            f"give a number from 0 to {words - 1}"
        )
    documents = []
    for begin, end in word_windows(source.text, words, overlap):
        text = source.text[begin:end]
        iri = minter.document(source_iri, begin, end, text)
        documents.append(Document(iri, source_iri, source.title, text, begin, end, source.language))
    return documents


Inputs = str | Path | Source


def read_inputs(
    inputs: Inputs | Iterable[Inputs], **reading: Any
) -> Iterator[Source | InputProblem | Duplicate]:
    """Yield sources, cleaned like files, and files read by `read_paths` with its options."""
    sources, paths = _split_inputs(inputs)
    for source in sources:
        yield _clean_source(source, reading.get("max_chars", MAX_CHARS))
    if paths:
        yield from read_paths(paths, **reading)


def locate_inputs(
    inputs: Inputs | Iterable[Inputs], **reading: Any
) -> Iterator[Source | InputProblem | LocatedOutcome]:
    """The same with the origin of each file. Raises `UsageError` for standard input."""
    sources, paths = _split_inputs(inputs)
    if STDIN in paths:
        raise UsageError("standard input (-) has no path: use sarag index")
    for source in sources:
        yield _clean_source(source, reading.get("max_chars", MAX_CHARS))
    if paths:
        yield from read_with_location(paths, **reading)


def locate_folder(
    folder: str | Path, *, root: str | Path | None = None, **reading: Any
) -> tuple[str, Iterator[LocatedOutcome]]:
    """The key prefix of a folder, and its files. Raises `UsageError` if it is not a folder."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"no such folder: {display_path(path)}: give the folder of the documents")
    top = Path(root) if root is not None else None
    return key_prefix(path, top) or "", read_with_location([path], root=top, **reading)


def _split_inputs(inputs: Inputs | Iterable[Inputs]) -> tuple[list[Source], list[Path]]:
    """Sources and paths."""
    items = [inputs] if isinstance(inputs, str | Path | Source) else list(inputs)
    sources = [item for item in items if isinstance(item, Source)]
    return sources, [Path(item) for item in items if not isinstance(item, Source)]


def _clean_source(source: Source, max_chars: int) -> Source | InputProblem:
    text = clean(source.text)
    message = text_problem(text, max_chars)
    if clean(source.key) != source.key:
        message = "has a key that is not valid Unicode text: use another key"
    if not message and not is_tag(source.language):
        message = f"'{source.language}' is not a language: give a BCP 47 tag such as en or pt-BR"
    if message:
        return InputProblem(source.key or "text", message)
    return replace(source, text=text, title=clean_line(source.title))
