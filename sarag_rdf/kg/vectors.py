"""The vector indexes of a graph's texts, and the other arrays that are searched."""

from __future__ import annotations

import logging
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from sarag_rdf.base.errors import (
    EmptyGraphError,
    EndpointError,
    ModelError,
    ModelMismatchError,
    SaragError,
    UsageError,
    VectorStoreError,
)
from sarag_rdf.base.ports import ChooseVectors, Matrix, Progress, VectorStore, silent
from sarag_rdf.graph.delta import Delta, Kind
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.texts import is_disjoint_from_imports
from sarag_rdf.graph.vectors.graph_vectors import EmbedTexts, GraphVectors, carry_over, in_blocks
from sarag_rdf.graph.vectors.vector_store import FolderVectors, MemoryVectors
from sarag_rdf.kg import registry
from sarag_rdf.kg.models import Models
from sarag_rdf.models.caches import CachedEmbedder, EmbeddingPrefetcher
from sarag_rdf.retrieval.view import Engine, GraphView

log = logging.getLogger(__name__)


class Vectors:
    """Builds and updates the vector indexes of one graph, and all else that retrievers search.

    They are stored in the graph's cache, under the revision and the model that they belong to.
    """

    def __init__(
        self,
        cache: Callable[[str], Path | None],
        models: Models,
        engine: Engine = "auto",
        choose: ChooseVectors | None = None,
        progress: Progress = silent,
    ) -> None:
        """`cache` and `models` as in `Models`; the rest as in `sarag_rdf.open`.

        `progress` is that of searches, which embed what they need and the graph does not have.
        """
        if engine not in get_args(Engine):
            raise UsageError(
                f"unknown engine '{engine}': choose one of {', '.join(get_args(Engine))}"
            )
        self._cache = cache
        self._models = models
        self._engine: Engine = engine
        self._choose = choose
        self._progress = progress
        self._lock = threading.RLock()

    def view(self, reader: GraphReader, facts: GraphView | None = None) -> GraphView:
        """Everything that retrievers read of the parts that `reader` reads.

        `facts` is the view of the graph that statements are selected from, by default the same.
        Raises `EmptyGraphError`, `ModelMismatchError`, `ModelError`, `VectorStoreError`.
        """
        meta = read_meta(reader.store)
        if meta is None and reader.over is None:
            raise _empty()
        meta = meta or Meta("")
        with self._lock:
            embedder = self._models.embedder(meta.embedding_model)
            if meta.embedding_model and embedder.name != meta.embedding_model:
                raise ModelMismatchError(
                    f"the graph was embedded with '{meta.embedding_model}', not with "
                    f"'{embedder.name}': omit --embedder, or re-embed the graph with "
                    f"sarag index --embedder {shlex.quote(embedder.name)}"
                )
            questions = self._models.question_embedder(meta.embedding_model)
            vectors = GraphVectors(
                reader,
                embedder,
                self.store(reader),
                meta.revision,
                questions=questions,
                embed=_with_progress(embedder, self._progress),
            )
            if not len(vectors.nodes("document")):
                raise _empty()
            return registry.make_view(reader, vectors, self._engine, facts)

    def elsewhere(self, cache: Callable[[str], Path | None]) -> Vectors:
        """The same for another graph, with its cache and with the same models."""
        return Vectors(cache, self._models, self._engine, self._choose, self._progress)

    def facts(self, reader: GraphReader, model: str) -> GraphView:
        """The view of a graph whose statements are activated, with vectors of the named model.

        Raises `ModelError`, `UsageError`.
        """
        meta = read_meta(reader.store) or Meta("")
        with self._lock:
            embedder = self._models.embedder(model)
            vectors = GraphVectors(
                reader,
                embedder,
                self.store(reader),
                meta.revision,
                questions=self._models.question_embedder(model),
                embed=_with_progress(embedder, self._progress),
            )
            return registry.make_view(reader, vectors, self._engine)

    def record_model(self, reader: GraphReader, *, tries: bool = True) -> None:
        """Record the embedder in the graph; a new one is tried on one text first, if `tries`.

        Raises `ModelError`, `EndpointError`, `StoreError`.
        """
        recorded = _model_of(reader)
        embedder = self._models.embedder(recorded)
        if tries and embedder.name != recorded:
            embedder.embed(["one two three"])
        from sarag_rdf.building.index.commit import Writer  # a search does without

        Writer(reader).write_metadata(embedder.name)

    @contextmanager
    def prefetching(self, reader: GraphReader) -> Iterator[EmbeddingPrefetcher]:
        """Embed texts while the graph is being written; `build` takes them from the cache."""
        prefetcher = EmbeddingPrefetcher(self._models.embedder(_model_of(reader)).embed)
        try:
            yield prefetcher
        finally:
            prefetcher.close()

    def build(self, writer: GraphReader, progress: Progress) -> None:
        """Embed new texts, and build or update everything that the default retriever reads.

        Of other kinds of texts only those follow that a retriever needed before. `writer` is the
        reader of the write that changed the graph. What was stored for the revision before it is
        updated; without that everything is built from the graph.
        """
        reader = select_parts(writer)
        meta = read_meta(reader.store)
        if meta is None:
            return
        embedder = self._models.embedder(meta.embedding_model)
        delta = _delta(reader, meta)
        if delta is not None and not is_disjoint_from_imports(reader, delta):
            delta = None
        embed = _with_progress(embedder, progress)
        vectors = GraphVectors(
            reader, embedder, self.store(reader), meta.revision, delta, embed=embed
        )
        vectors.follow()
        registry.make_view(reader, vectors, self._engine).prepare()
        self._models.prepare_questions()

    def try_build(self, writer: GraphReader, progress: Progress) -> SaragError | None:
        """The same; returns an error of a model or an engine, after which the next search builds.

        For writes that are complete without vectors.
        """
        try:
            self.build(writer, progress)
        except (EndpointError, ModelError, UsageError, VectorStoreError) as error:
            return error
        return None

    def carry_over(self, writer: GraphReader) -> None:
        """After a change of links or of the description, keep all that it does not affect."""
        meta = read_meta(writer.store)
        delta = _delta(writer, meta) if meta else None
        if meta is None or delta is None:
            return
        for reader in self.scopes(writer):
            try:
                self._carry_over(reader, meta, delta)
            except VectorStoreError as error:
                log.warning("vectors not updated; the next search updates them: %s", error)

    def _carry_over(self, reader: GraphReader, meta: Meta, delta: Delta) -> None:
        store = self.store(reader)
        carry_over(store, meta.embedding_model, delta)
        if delta.links:
            model = RecordedModel(meta.embedding_model)
            vectors = GraphVectors(reader, model, store, meta.revision, delta)
            if vectors.is_cached():
                _ = registry.make_view(reader, vectors, "memory").network

    def rebuild_arrays(self, reader: GraphReader, meta: Meta, store: VectorStore) -> None:
        """Build the arrays of a revision into `store`, from the graph; nothing is embedded."""
        model = RecordedModel(meta.embedding_model)
        vectors = GraphVectors(reader, model, store, meta.revision)
        registry.make_view(reader, vectors, self._engine).prepare()

    def scopes(self, reader: GraphReader) -> list[GraphReader]:
        """The documents alone, and all parts that are searched by default."""
        every = select_parts(reader)
        return [reader] if every.scope == reader.scope else [reader, every]

    def store(self, reader: GraphReader) -> VectorStore:
        """Where the indexes and arrays of the parts that `reader` reads are stored."""
        scope = "" if reader.over is None else reader.scope[:16]
        folder = self._cache("vectors")
        store: VectorStore = MemoryVectors()
        if folder is not None:
            store = FolderVectors(folder / scope)
        return store if self._choose is None else self._choose(scope or "documents", store)


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """An Embedder by name only, for work in which no text has to be embedded."""

    name: str

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise ModelError(f"{len(texts)} texts would have to be embedded: search the graph once")


def _model_of(reader: GraphReader) -> str:
    """Name of the model that is recorded in the graph, or an empty string."""
    meta = read_meta(reader.store)
    return meta.embedding_model if meta else ""


def _delta(reader: GraphReader, meta: Meta) -> Delta | None:
    return reader.journal.delta(meta.revision) if reader.journal else None


def _with_progress(embedder: CachedEmbedder, progress: Progress) -> EmbedTexts:
    def embed(kind: Kind, texts: Sequence[str]) -> Iterator[Matrix]:
        advance = progress(f"embedding {kind} texts", len(texts))
        return in_blocks(texts, lambda block: embedder.embed(block, advance))

    return embed


def _empty() -> EmptyGraphError:
    return EmptyGraphError("the graph is empty: index something first, with sarag index")
