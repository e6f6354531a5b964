"""What a run of the indexer will do: the sources that are new or changed, and the rest."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.chunk import chunk
from sarag_rdf.index.evidence import extraction_iri, text_digest
from sarag_rdf.index.gate import held_problem
from sarag_rdf.index.quarantine import State, read_contents, read_quarantine
from sarag_rdf.index.read import Duplicate, InputProblem
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
        for source, digest, title, language, extraction in reader.kept_for("source-state", sources)
    }
