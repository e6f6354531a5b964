"""What changes a knowledge graph: indexing, importing, restoring, what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sarag_rdf.compression import MAX_EXPANSION
from sarag_rdf.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.errors import DiskFullError, InputError, SaragError
from sarag_rdf.export.description import DatasetMetadata, write_dataset_metadata
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.imports.options import MAX_SECONDS, ImportOptions
from sarag_rdf.imports.restore import exported_base, restore
from sarag_rdf.imports.run import ImportReport, forget_import, run_import
from sarag_rdf.index import run
from sarag_rdf.index.plan import Inputs, Plan, plan, read_inputs
from sarag_rdf.index.repair import repair
from sarag_rdf.kg import registry
from sarag_rdf.kg.embedding import Embeddings
from sarag_rdf.kg.location import GraphLocation
from sarag_rdf.kg.quarantine import Quarantine
from sarag_rdf.ports import LLM, ChooseVectors, Embedder, Extractor, Progress, silent
from sarag_rdf.retrieve.view import Engine


class Changes:
    """A graph that is opened, and the methods of `KnowledgeGraph` that write to it."""

    def __init__(
        self,
        location: str | Path | SparqlEndpoint | None,
        *,
        base: str | None = None,
        over: Sequence[str] = (),
        embedder: str | Embedder | None = None,
        endpoint: ModelEndpoint | None = None,
        llm: LLM | None = None,
        engine: Engine = "auto",
        vectors: ChooseVectors | None = None,
        keep_vectors: bool = True,
    ) -> None:
        """See `sarag_rdf.open`."""
        self._location = GraphLocation(location, base, over)
        self._embeddings = Embeddings(
            self._location, embedder, endpoint, engine, vectors, keep=keep_vectors
        )
        self._endpoint = endpoint
        self._llm = llm

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give files free; the graph stays."""
        self._location.forget()
        self._embeddings.close()

    @contextmanager
    def _writing(self) -> Iterator[GraphReader]:
        """The graph for one writer, in order again if its last change was broken off."""
        try:
            with self._location.writing() as reader:
                repair(reader)
                yield reader
        except DiskFullError as error:
            raise DiskFullError(f"{error}{self._kept()}") from error

    def _kept(self) -> str:
        """How many sources are in the graph, as far as that can be read."""
        try:
            count = len(self._location.reader(or_empty=True).select_provenance("sources"))
        except SaragError:
            return ""
        return f"; {count} sources are in the graph"

    def index(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        words: int = 500,
        overlap: int = 200,
        progress: Progress = silent,
        **reading: Any,
    ) -> run.IndexReport:
        """Index files, folders, or `Source` values; what is in the graph already is left alone.

        `extractor` is ``spacy``, ``llm`` or ``openie:FILE``, or an object. Chunks have `words`
        words, of which `overlap` are shared. `reading` goes to `read_paths` (root, language,
        max_chars). What cannot be read is in the report's `problems`; a run that is interrupted
        keeps what it has committed. A source whose evidence does not conform to the shapes is a
        problem too: it is kept in the `quarantine`.
        """
        made = self.extractor(extractor)

        def todo(reader: GraphReader) -> Plan:
            sources = read_inputs(inputs, **reading)
            return plan(reader, sources, made.method, words=words, overlap=overlap)

        return self._carry_out(todo, made, progress)

    def _carry_out(
        self, todo: Callable[[GraphReader], Plan], extractor: Extractor, progress: Progress
    ) -> run.IndexReport:
        """Plan and index under one lock; where there is nothing to index no graph is made."""
        self._embeddings.forget()
        if self._location.is_new():
            first = todo(self._location.reader(or_empty=True))
            self._location.forget()
            if not first.todo:
                return run.initial_report(first)
            todo = _once(first, todo)
        with self._writing() as reader:
            planned = todo(reader)
            if planned.refused:
                raise InputError(planned.refused)
            self._embeddings.record(reader)
            with self._embeddings.ahead(reader) as ahead:
                report = run.run(reader, planned, extractor, progress=progress, written=ahead.take)
            self._embeddings.build(select_parts(reader), progress)
            return report

    def plan(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        words: int = 500,
        overlap: int = 200,
        **reading: Any,
    ) -> Plan:
        """What `index` would do; nothing is written and no model is asked."""
        made = self.extractor(extractor)
        reader = self._location.reader(or_empty=True)
        sources = read_inputs(inputs, **reading)
        return plan(reader, sources, made.method, words=words, overlap=overlap)

    def quarantine(self) -> Quarantine:
        """The sources whose evidence did not conform, and what can be done with them."""
        return Quarantine(self._location, self._embeddings)

    def import_graph(
        self,
        where: str | Path,
        kind: str,
        *,
        embed: bool = True,
        progress: Progress = silent,
        **options: Any,
    ) -> ImportReport:
        """Import a file, or what a URL gives, as a graph of its own that is only read.

        `kind` is ``wikibase``, ``skos`` or ``rdf``; `options` are those of `ImportOptions`.
        With `embed` the vectors are computed at once; else by the first search.
        """
        order = ImportOptions(kind, **options)
        self._embeddings.forget()
        with self._writing() as reader:
            self._embeddings.record(reader)
            report = run_import(reader, str(where), order, progress)
            if embed:
                self._embeddings.build(select_parts(reader), progress)
            return report

    def restore(
        self,
        where: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - as `ImportOptions` calls it
        embed: bool = True,
        progress: Progress = silent,
        max_expansion: int = MAX_EXPANSION,
        max_seconds: float = MAX_SECONDS,
    ) -> int:
        """Make the graph anew from its TriG or N-Quads export; how many quads it has.

        The graph must be empty. It can be indexed further. `format` is that of the export, where
        the suffix does not tell it. `max_expansion` and `max_seconds` are those of `ImportOptions`.
        """
        limits = (max_expansion, max_seconds)
        base = exported_base(str(where), format, *limits)
        self._embeddings.forget()
        with self._writing() as reader:
            count = restore(reader.store, str(where), base, format, progress, *limits)
        if embed:
            with self._writing() as reader:
                self._embeddings.build(select_parts(reader), progress)
        return count

    def forget_import(self, name: str) -> None:
        """Drop an imported graph."""
        self._embeddings.forget()
        with self._writing() as reader:
            forget_import(reader, name)

    def say(self, **said: str) -> None:
        """Set title, description, license, publisher or homepage; see `DatasetMetadata`."""
        self._embeddings.forget()
        with self._location.changing() as reader:
            write_dataset_metadata(reader, DatasetMetadata(**said))
            self._embeddings.follow(reader)

    def llm(self) -> LLM:
        """The model that answers and extracts."""
        if self._llm is None:
            self._llm = registry.make_llm(self._endpoint, self._location.cache("replies.sqlite"))
        return self._llm

    def extractor(self, extractor: str | Extractor) -> Extractor:
        """The extractor of that name."""
        if isinstance(extractor, str):
            concurrency = self._endpoint.concurrency if self._endpoint else 4
            return registry.make_extractor(extractor, self.llm, concurrency=concurrency)
        return extractor


def _once(planned: Plan, todo: Callable[[GraphReader], Plan]) -> Callable[[GraphReader], Plan]:
    """The plan that was made of a graph that is not there, if there is none even now."""
    return lambda reader: planned if read_meta(reader.store) is None else todo(reader)
