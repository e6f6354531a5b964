"""Which model embeds a graph, and the vector indexes of its texts."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from sarag_rdf.endpoints import ModelEndpoint
from sarag_rdf.errors import (
    EmptyGraphError,
    ModelError,
    ModelMismatchError,
    StoreError,
    UsageError,
    VectorStoreError,
    place,
)
from sarag_rdf.graph.delta import Delta
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import searched
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import told_apart
from sarag_rdf.graph.vectors import KINDS, EmbedTexts, GraphVectors, Kind, carry_over, in_blocks
from sarag_rdf.index.commit import Writer
from sarag_rdf.inspect.fsck import Broken, check_arrays, check_kept
from sarag_rdf.kg import registry
from sarag_rdf.kg.location import GraphLocation
from sarag_rdf.models.caches import CachedEmbedder, EmbeddingPrefetcher, SqliteCache, fault_of
from sarag_rdf.models.questions import QuestionEmbedder
from sarag_rdf.models.sentence_transformer import DEFAULT_MODEL, SentenceTransformerEmbedder
from sarag_rdf.ports import ChooseVectors, Embedder, Matrix, Progress, VectorStore
from sarag_rdf.retrieve.view import Engine, GraphView
from sarag_rdf.vectors.store import EXACT_UP_TO, FolderVectors, MemoryVectors, RecordingVectorStore

log = logging.getLogger(__name__)

DATABASES = ("embeddings.sqlite", "replies.sqlite")
"""Caches by content, valid for any revision."""


class Embeddings:
    """The embedder that was named; else the one that the graph was embedded with; else the default.

    Vectors are kept in the graph's cache and rebuilt when the graph or the model is another; those
    of new texts are added to it only with `keep`.
    """

    def __init__(
        self,
        location: GraphLocation,
        embedder: str | Embedder | None,
        endpoint: ModelEndpoint | None,
        engine: Engine = "auto",
        vectors: ChooseVectors | None = None,
        *,
        keep: bool = True,
    ) -> None:
        self._location = location
        self._wanted = embedder
        self._endpoint = endpoint
        if engine not in get_args(Engine):
            raise UsageError(f"there is no engine '{engine}': give {', '.join(get_args(Engine))}")
        self._engine: Engine = engine
        self._choose, self._keep = vectors, keep
        self._model: Embedder | None = None
        self._embedder: CachedEmbedder | None = None
        self._questions: CachedEmbedder | None = None
        self._view: GraphView | None = None
        self._turn = threading.RLock()

    def view(self, reader: GraphReader) -> GraphView:
        """What retrievers read of the graph; raises `EmptyGraphError`, `ModelMismatchError`.

        It is made once for a reader, though several threads ask for it.
        """
        with self._turn:
            view = self._view  # another thread may forget it at any time
            if view is None or view.reader is not reader:
                view = self._view = self._made(reader)
            return view

    def _made(self, reader: GraphReader) -> GraphView:
        meta = read_meta(reader.store)
        if meta is None and reader.over is None:
            raise _empty()
        meta = meta or Meta("")
        embedder = self._loaded(meta.embedding_model)
        if meta.embedding_model and embedder.name != meta.embedding_model:
            raise ModelMismatchError(
                f"the graph was embedded with '{meta.embedding_model}', not with "
                f"'{embedder.name}': leave --embedder out, or re-embed it with "
                f"sarag index --embedder {embedder.name}"
            )
        store, questions = self._store(reader), self._questions
        vectors = GraphVectors(reader, embedder, store, meta.revision, questions=questions)
        if not len(vectors.index("document")):
            raise _empty()
        return registry.make_view(reader, vectors, self._engine)

    def record(self, reader: GraphReader) -> None:
        """Write down the model; one that the graph does not have yet must first prove to work."""
        meta = read_meta(reader.store)
        recorded = meta.embedding_model if meta else ""
        embedder = self._loaded(recorded)
        if embedder.name != recorded:
            embedder.embed(["one two three"])
        Writer(reader).describe(embedder.name)

    @contextmanager
    def ahead(self, reader: GraphReader) -> Iterator[EmbeddingPrefetcher]:
        """Embeds texts while the graph is being written; `build` finds them in the cache."""
        meta = read_meta(reader.store)
        ahead = EmbeddingPrefetcher(self._loaded(meta.embedding_model if meta else "").embed)
        try:
            yield ahead
        finally:
            ahead.close()

    def build(self, reader: GraphReader, progress: Progress) -> None:
        """Embed what has not been embedded yet, and make all that is searched.

        What was kept before the writer's changes follows them; without it all is made anew.
        """
        meta = read_meta(reader.store)
        if meta is None:
            return
        embedder = self._loaded(meta.embedding_model)
        delta = reader.journal.delta(meta.revision) if reader.journal else None
        if delta is not None and not told_apart(reader, delta):
            delta = None
        vectors = GraphVectors(reader, embedder, self._store(reader), meta.revision, delta)
        for kind in KINDS:
            vectors.index(kind, _with_progress(embedder, kind, progress))
        registry.make_view(reader, vectors, self._engine).prepare()
        vectors.prepare(progress)
        if isinstance(self._model, QuestionEmbedder):
            self._model.prepare()

    def follow(self, reader: GraphReader) -> None:
        """Keep what a change of links, or of what is said of the graph, does not concern."""
        meta = read_meta(reader.store)
        delta = reader.journal.delta(meta.revision) if meta and reader.journal else None
        if meta is None or delta is None:
            return
        for read in {part.scope: part for part in (reader, searched(reader))}.values():
            try:
                self._followed(read, meta, delta)
            except VectorStoreError as error:
                log.warning("vectors are left to the next search: %s", error)

    def _followed(self, reader: GraphReader, meta: Meta, delta: Delta) -> None:
        store = self._store(reader)
        carry_over(store, meta.embedding_model, delta)
        if delta.links:
            model = _Recorded(meta.embedding_model)
            vectors = GraphVectors(reader, model, store, meta.revision, delta)
            if vectors.is_kept():
                _ = registry.make_view(reader, vectors, "memory").network

    def check(self, reader: GraphReader, *, deep: bool) -> list[Broken]:
        """What is broken of all that is kept.

        With `deep` arrays are made anew to compare: for a graph that is in order.
        """
        meta = read_meta(reader.store) or Meta("")
        broken = [Broken(path.name, fault) for path, fault in self._faults().items()]
        for scope in self._scopes(reader) if meta.revision else ():
            more = check_kept(scope, self._store(scope), meta.revision, meta.embedding_model)
            if deep and not more:
                more = self._unlike(scope, meta)
            broken += more
        return broken

    def discard(self, reader: GraphReader, *, only_broken: bool) -> list[str]:
        """Delete what is kept, or what of it is broken; broken databases are renamed.

        For replies in them were paid for.
        """
        meta = read_meta(reader.store) or Meta("")
        gone = []
        for path in self._faults():
            self._close_caches()
            try:
                SqliteCache(path, what="cache").set_aside()
            except OSError as error:
                log.warning("%s cannot be renamed: %s", place(path), error.strerror)
            else:
                gone.append(path.name)
        for scope in self._scopes(reader) if meta.revision else ():
            store = self._store(scope)
            broken = check_kept(scope, store, meta.revision, meta.embedding_model)
            broken = broken or self._unlike(scope, meta)
            names = [one.name for one in broken] if only_broken else store.names()
            for name in dict.fromkeys(names):
                store.discard(name)
                gone.append(name)
        return gone

    def _unlike(self, reader: GraphReader, meta: Meta) -> list[Broken]:
        """Arrays that are not what the graph gives, where it and its vectors are whole."""
        store = self._store(reader)
        afresh = RecordingVectorStore(store)
        model = _Recorded(meta.embedding_model)
        vectors = GraphVectors(reader, model, afresh, meta.revision)
        try:
            registry.make_view(reader, vectors, self._engine).prepare()
        except (ModelError, StoreError, KeyError, ValueError):
            return []
        return list(check_arrays(store, afresh.arrays, meta.revision, meta.embedding_model))

    def _faults(self) -> dict[Path, str]:
        """What of the caches cannot be used; if a folder is none, that alone."""
        for name in ("", "vectors"):
            folder = self._location.cache(name)
            if folder is None or not os.path.lexists(folder):
                continue
            if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir may raise
                return {folder: "is no folder, but stands where one belongs"}
        paths = filter(None, map(self._location.cache, DATABASES))
        return {path: fault for path in paths if (fault := fault_of(path))}

    def _scopes(self, reader: GraphReader) -> list[GraphReader]:
        """The documents alone, and all that is searched."""
        every = searched(reader)
        return [reader] if every.over is None else [reader, every]

    def model(self) -> Embedder:
        """What embeds questions, without its cache; raises what `view` raises."""
        self.view(self._location.reading())
        assert self._model is not None  # noqa: S101 - made with the view
        return self._model

    def forget(self) -> None:
        """Drop the indexes: the graph may have changed."""
        self._view = None

    def close(self) -> None:
        """Give the cache's file free."""
        self.forget()
        self._close_caches()

    def _close_caches(self) -> None:
        for embedder in (self._embedder, self._questions):
            if embedder is not None:
                embedder.close()

    def _loaded(self, recorded: str) -> CachedEmbedder:
        if self._embedder is None:
            made = self._wanted
            if made is None or isinstance(made, str):
                # The default may come from a package; what was named once may be fetched again.
                name = made or (recorded if recorded != DEFAULT_MODEL else None)
                made = registry.make_embedder(name, self._endpoint)
            path = self._location.cache(DATABASES[0])
            self._model = made
            self._embedder = self._questions = CachedEmbedder(made, path, keep=self._keep)
            if isinstance(made, SentenceTransformerEmbedder):
                self._model = QuestionEmbedder(made, self._embedder)
                self._questions = CachedEmbedder(self._model, path, keep=self._keep)
        return self._embedder

    def _store(self, reader: GraphReader) -> VectorStore:
        """One of its own for every choice of parts."""
        scope = "" if reader.over is None else reader.scope[:16]
        folder = self._location.cache("vectors")
        store: VectorStore = MemoryVectors()
        if folder is not None:
            store = FolderVectors(folder / scope, exact_up_to=_exact_up_to())
        return store if self._choose is None else self._choose(scope or "documents", store)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Stands for a model where nothing has to be embedded."""

    name: str

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise ModelError(f"{len(texts)} texts would have to be embedded: search the graph once")


def _with_progress(embedder: CachedEmbedder, kind: Kind, progress: Progress) -> EmbedTexts:
    def embed(texts: Sequence[str]) -> Iterator[Matrix]:
        advance = progress(f"embedding {kind} texts", len(texts))
        return in_blocks(texts, lambda block: embedder.embed(block, advance))

    return embed


def _exact_up_to() -> int:
    said = os.environ.get("SARAG_EXACT_UP_TO", "")
    if said and not said.isdecimal():
        raise UsageError(f"SARAG_EXACT_UP_TO is a number of vectors, and not '{said}'")
    return int(said) if said else EXACT_UP_TO


def _empty() -> EmptyGraphError:
    return EmptyGraphError("the graph is empty: index something first, with sarag index")
