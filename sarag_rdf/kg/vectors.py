"""The models of a graph, the vectors of its texts, and the other arrays that are searched."""

from __future__ import annotations

import logging
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import (
    EmptyGraphError,
    EndpointError,
    ModelError,
    ModelMismatchError,
    SaragError,
    UsageError,
    VectorStoreError,
)
from sarag_rdf.base.ports import LLM, Embedder, Matrix, Progress, silent
from sarag_rdf.graph.graph_reader import Delta, GraphReader, Kind
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.texts import is_disjoint_from_imports
from sarag_rdf.graph.vectors.graph_vectors import EmbedTexts, GraphVectors, carry_over, in_blocks
from sarag_rdf.graph.vectors.vector_store import FolderVectors, VectorStore
from sarag_rdf.models.caches import CachedEmbedder, CachedLLM, EmbeddingPrefetcher
from sarag_rdf.models.embedding_names import ModelName, effective_prompts
from sarag_rdf.models.local_embedder import DEFAULT_MODEL, SentenceTransformerEmbedder
from sarag_rdf.retrieval.view import Engine, GraphView

log = logging.getLogger(__name__)

EMBEDDING_CACHE = "embeddings.sqlite"
REPLY_CACHE = "replies.sqlite"
DATABASES = (EMBEDDING_CACHE, REPLY_CACHE)
"""Caches whose keys are digests of their content: valid for any revision of a graph."""

ChooseVectors = Callable[[str, VectorStore], VectorStore]
"""Takes a name for the parts that are searched, and the default store; returns the store to use."""


def make_llm(endpoint: ModelEndpoint | None, cache: Path | None) -> LLM:
    """A client of the endpoint with a cache of replies (in memory without a path)."""
    if endpoint is None:
        raise UsageError(
            "no model endpoint is named: give --base-url, or set OPENAI_BASE_URL "
            "(and OPENAI_API_KEY if it asks for a key)"
        )
    from sarag_rdf.models.client import endpoint_model
    from sarag_rdf.models.openai_llm import OpenAILLM

    llm = OpenAILLM(replace(endpoint, model=endpoint_model(endpoint)))
    return CachedLLM(llm, cache or ":memory:")


def make_embedder(
    name: str | None, endpoint: ModelEndpoint | None, is_recorded: bool = False
) -> Embedder:
    """An embedder by name: a path or model of sentence-transformers, or ``openai:MODEL``.

    Behind the name may be its prompts (`ModelName`). If it `is_recorded` in a graph these are all
    that there are, else those that a model brings along are used too. Raises `UsageError`.
    """
    given = ModelName.parse(name or DEFAULT_MODEL)
    if given.model.startswith("openai:"):
        from sarag_rdf.models.client import OpenAIEmbedder

        if endpoint is None:
            raise UsageError(f"--embedder {given.model} needs an endpoint: set OPENAI_BASE_URL")
        return OpenAIEmbedder(
            replace(endpoint, model=given.model.removeprefix("openai:")),
            prompts=effective_prompts(given.prompts, {}),
        )
    return SentenceTransformerEmbedder(
        given.model,
        # The default may be installed as a package; a name that was given may be downloaded.
        may_download=bool(name) and not (is_recorded and given.model == DEFAULT_MODEL),
        prompts=given.prompts,
        own_prompts=not is_recorded,
    )


def _is_same_model(named: str, recorded: str) -> bool:
    """Whether a model was named without prompts that is recorded with them."""
    given, known = ModelName.parse(named), ModelName.parse(recorded)
    model = given.model.removeprefix("sentence-transformers/")
    return model == known.model and known.prompts.are_given and not given.prompts.are_given


@dataclass(frozen=True, slots=True)
class Embedders:
    """The model of a graph with the caches of its texts and of questions."""

    texts: CachedEmbedder
    questions: CachedEmbedder


class Models:
    """The embedder and the language model of one graph, with their caches."""

    def __init__(
        self,
        cache: Callable[[str], Path | None],
        embedder: str | Embedder | None = None,
        endpoint: ModelEndpoint | None = None,
        llm: LLM | None = None,
        *,
        writable_cache: bool = True,
    ) -> None:
        """`cache` gives the path of a cache by its name; None keeps it in memory.

        Without `writable_cache` the vectors of questions are not written to it.
        """
        self._cache = cache
        self._named = embedder
        self._endpoint = endpoint
        self._llm = llm
        self._writable_cache = writable_cache
        self._loaded: Embedders | None = None
        self._lock = threading.RLock()

    @property
    def has_llm(self) -> bool:
        """Whether a language model is configured."""
        return self._llm is not None or self._endpoint is not None

    @property
    def concurrency(self) -> int:
        """The number of concurrent calls of the language model."""
        return self._endpoint.concurrency if self._endpoint else 4

    def embedders(self, recorded: str) -> Embedders:
        """The model that was named; else the `recorded` one of the graph; else the default.

        Loaded once: later calls return the same. Raises `ModelError`, `UsageError`.
        """
        with self._lock:
            if self._loaded is None:
                model = self._load(recorded)
                path, keep = self._cache(EMBEDDING_CACHE), self._writable_cache
                texts = CachedEmbedder(model, path)
                questions = texts if keep else CachedEmbedder(model, path, keep=False)
                self._loaded = Embedders(texts, questions)
            return self._loaded

    def _load(self, recorded: str) -> Embedder:
        if self._named is not None and not isinstance(self._named, str):
            return self._named
        if self._named and not _is_same_model(self._named, recorded):
            return make_embedder(self._named, self._endpoint)
        return make_embedder(recorded or None, self._endpoint, bool(recorded))

    def llm(self) -> LLM:
        """The language model, with a cache of its replies; raises `UsageError` without one."""
        with self._lock:
            if self._llm is None:
                self._llm = make_llm(self._endpoint, self._cache(REPLY_CACHE))
            return self._llm

    def close(self) -> None:
        """Close the file of the embedding cache; the next use opens it again."""
        with self._lock:
            if self._loaded is not None:
                self._loaded.texts.close()
                self._loaded.questions.close()


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
        """As in `Models` and `sarag_rdf.open`; `progress` is that of searches, which may embed."""
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

    def view(
        self, reader: GraphReader, facts: GraphView | None = None, *, model: str | None = None
    ) -> GraphView:
        """Everything that retrievers read of the parts that `reader` reads.

        `facts` is the view of the graph that statements are selected from, by default the same; of
        such a graph, `model` names the embedding model. Raises `EmptyGraphError`,
        `ModelMismatchError`, `ModelError`, `VectorStoreError`.
        """
        meta = read_meta(reader.store)
        if meta is None and reader.over is None and model is None:
            raise empty_graph()
        meta = meta or Meta("")
        recorded = meta.embedding_model if model is None else model
        with self._lock:
            embedders = self._models.embedders(recorded)
            embedder = embedders.texts
            if model is None and recorded and embedder.name != recorded:
                raise ModelMismatchError(
                    f"the graph was embedded with '{recorded}', not with '{embedder.name}': omit "
                    "--embedder, or re-embed the graph with "
                    f"sarag index --embedder {shlex.quote(embedder.name)}"
                )
            vectors = GraphVectors(
                reader,
                embedder,
                self.store(reader),
                meta.revision,
                questions=embedders.questions,
                embed=_with_progress(embedder, self._progress),
            )
            if model is None and not len(vectors.nodes("document")):
                raise empty_graph()
            return GraphView(reader, vectors, engine=self._engine, facts=facts)

    def elsewhere(self, cache: Callable[[str], Path | None]) -> Vectors:
        """The same for another graph, with its cache and with the same models."""
        return Vectors(cache, self._models, self._engine, self._choose, self._progress)

    def close(self) -> None:
        """Close the connection to an engine; the next use opens it again."""
        if close := getattr(self._choose, "close", None):
            close()

    def record_model(self, reader: GraphReader, *, tries: bool = True) -> None:
        """Record the embedder in the graph; a new one is tried on one text first, if `tries`.

        Raises `ModelError`, `EndpointError`, `StoreError`.
        """
        recorded = recorded_model(reader)
        embedder = self._models.embedders(recorded).texts
        if tries and embedder.name != recorded:
            embedder.embed(["one two three"])
        from sarag_rdf.building.commit import Writer  # a search does without

        Writer(reader).write_metadata(embedder.name)

    def prefetcher(self, reader: GraphReader) -> EmbeddingPrefetcher:
        """Embeds texts while the graph is being written; `build` takes them from the cache."""
        return EmbeddingPrefetcher(self._models.embedders(recorded_model(reader)).texts.embed)

    def build(self, writer: GraphReader, progress: Progress) -> None:
        """Embed new texts, and build or update everything that the default retriever reads.

        Other kinds of texts follow if a retriever needed them before. `writer` is the reader of the
        write that changed the graph.
        """
        reader = select_parts(writer)
        meta = read_meta(reader.store)
        if meta is None:
            return
        embedder = self._models.embedders(meta.embedding_model).texts
        delta = _delta(reader, meta)
        if delta is not None and not is_disjoint_from_imports(reader, delta):
            delta = None
        embed = _with_progress(embedder, progress)
        vectors = GraphVectors(
            reader, embedder, self.store(reader), meta.revision, delta, embed=embed
        )
        vectors.follow()
        GraphView(reader, vectors, engine=self._engine).prepare()

    def try_build(self, writer: GraphReader, progress: Progress) -> SaragError | None:
        """The same, for writes that are complete without vectors; returns an error of a model."""
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
        model = RecordedModel(meta.embedding_model)
        for reader in (s for s in self.scopes(writer) if is_disjoint_from_imports(s, delta)):
            store = self.store(reader)
            try:
                carry_over(store, meta.embedding_model, delta)
                vectors = GraphVectors(reader, model, store, meta.revision, delta)
                if delta.links and vectors.is_cached():
                    view = GraphView(reader, vectors, engine="memory")
                    _ = view.network, view.name_index
            except VectorStoreError as error:
                log.warning("vectors not updated; the next search updates them: %s", error)

    def rebuild_arrays(self, reader: GraphReader, meta: Meta, store: VectorStore) -> None:
        """Build the arrays of a revision into `store`, from the graph; nothing is embedded."""
        model = RecordedModel(meta.embedding_model)
        vectors = GraphVectors(reader, model, store, meta.revision)
        GraphView(reader, vectors, engine=self._engine).prepare()

    def scopes(self, reader: GraphReader) -> list[GraphReader]:
        """The documents alone, and all parts that are searched by default."""
        every = select_parts(reader)
        return [reader] if every.scope == reader.scope else [reader, every]

    def store(self, reader: GraphReader) -> VectorStore:
        """Where the indexes and arrays of the parts that `reader` reads are stored."""
        scope = "" if reader.over is None else reader.scope[:16]
        folder = self._cache("vectors")
        store = VectorStore() if folder is None else FolderVectors(folder / scope)
        return store if self._choose is None else self._choose(scope or "documents", store)


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """An Embedder by name only, for work in which no text has to be embedded."""

    name: str

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise ModelError(f"{len(texts)} texts would have to be embedded: search the graph once")


def recorded_model(reader: GraphReader) -> str:
    """Name of the embedding model that is recorded in the graph, or an empty string."""
    meta = read_meta(reader.store)
    return meta.embedding_model if meta else ""


def _delta(reader: GraphReader, meta: Meta) -> Delta | None:
    return reader.journal.delta(meta.revision) if reader.journal else None


def _with_progress(embedder: CachedEmbedder, progress: Progress) -> EmbedTexts:
    def embed(kind: Kind, texts: Sequence[str]) -> Iterator[Matrix]:
        advance = progress(f"embedding {kind} texts", len(texts))
        return in_blocks(texts, lambda block: embedder.embed(block, advance))

    return embed


def empty_graph() -> EmptyGraphError:
    """The error for a graph without documents."""
    return EmptyGraphError("the graph is empty: index something first, with sarag index")
