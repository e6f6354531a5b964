"""Exporters: formats in which a graph is written.

An exporter is an `Exporter` value that an entry point of the group ``sarag_rdf.exporters`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from sarag_rdf.base.options import Options
from sarag_rdf.base.ports import LLM, Progress
from sarag_rdf.graph.graph_reader import GraphReader


@dataclass(frozen=True, slots=True)
class ExportedGraph:
    """A graph as an exporter reads it.

    `read` gives the parts of these names, or the whole graph without names; it raises `UsageError`
    for a graph that sarag did not write, which `read_any` gives as it is. `write` opens the graph
    for writing, under its lock. `llm` gives the language model, or raises `UsageError`.
    """

    read: Callable[[Sequence[str]], GraphReader]
    read_any: Callable[[Sequence[str]], GraphReader]
    write: Callable[[], AbstractContextManager[GraphReader]]
    llm: Callable[[], LLM]
    progress: Progress


class ExportReport(Protocol):
    """What an exporter may return; the command ends with exit code 1 if there are `problems`."""

    @property
    def notes(self) -> Sequence[str]:
        """Lines about the output."""

    @property
    def problems(self) -> Sequence[str]:
        """Lines about what should be in the output and is not."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """A format of exports; the suffix of an output file may imply values of its `options`."""

    write: Callable[[ExportedGraph, IO[bytes], Any], ExportReport | None]
    options: type[Options]
    suffixes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
