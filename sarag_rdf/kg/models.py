"""The models of one graph, loaded when first used: its embedder and its language model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.options import Options
from sarag_rdf.base.ports import LLM, Embedder, Extractor
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.kg import registry
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.models.embedding_names import ModelName
from sarag_rdf.models.local_embedder import QuestionEmbedder, SentenceTransformerEmbedder

EMBEDDING_CACHE = "embeddings.sqlite"
REPLY_CACHE = "replies.sqlite"
DATABASES = (EMBEDDING_CACHE, REPLY_CACHE)
"""Caches whose keys are digests of their content: valid for any revision of a graph."""


def _is_same_model(named: str, recorded: str) -> bool:
    """Whether a model was named without prompts that is recorded with them."""
    given, known = ModelName.parse(named), ModelName.parse(recorded)
    model = given.model.removeprefix("sentence-transformers/")
    return model == known.model and known.prompts.are_given and not given.prompts.are_given


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

        Without `writable_cache` the vectors of questions are not written to the cache; those of
        the graph's own texts always are.
        """
        self._cache = cache
        self._named = embedder
        self._endpoint = endpoint
        self._llm = llm
        self._writable_cache = writable_cache
        self._model: Embedder | None = None
        self._embedder: CachedEmbedder | None = None
        self._question_embedder: CachedEmbedder | None = None
        self._lock = threading.RLock()

    @property
    def has_llm(self) -> bool:
        """Whether a language model is configured."""
        return self._llm is not None or self._endpoint is not None

    def embedder(self, recorded: str) -> CachedEmbedder:
        """The embedder that was named; else the `recorded` one of the graph; else the default.

        Loaded once: later calls return the same one. Raises `ModelError`, `UsageError`.
        """
        with self._lock:
            if self._embedder is None:
                model = self._load(recorded)
                path, keep = self._cache(EMBEDDING_CACHE), self._writable_cache
                self._embedder = CachedEmbedder(model, path)
                questions = self._embedder if keep else CachedEmbedder(model, path, keep=False)
                self._model, self._question_embedder = model, questions
                if isinstance(model, SentenceTransformerEmbedder):
                    self._model = QuestionEmbedder(model, questions)
                    self._question_embedder = CachedEmbedder(self._model, path, keep=keep)
            return self._embedder

    def question_embedder(self, recorded: str) -> CachedEmbedder:
        """The same model for questions, which may be encoded by a faster engine."""
        self.embedder(recorded)
        assert self._question_embedder is not None  # noqa: S101 - loaded with the embedder
        return self._question_embedder

    def uncached_embedder(self, recorded: str) -> Embedder:
        """The embedder of questions without its cache."""
        self.embedder(recorded)
        assert self._model is not None  # noqa: S101 - loaded with its cache
        return self._model

    def prepare_questions(self) -> None:
        """Check the engine for questions against the model; later processes need not load it."""
        if isinstance(self._model, QuestionEmbedder):
            self._model.prepare()

    def _load(self, recorded: str) -> Embedder:
        if self._named is not None and not isinstance(self._named, str):
            return self._named
        if self._named and not _is_same_model(self._named, recorded):
            return registry.make_embedder(self._named, self._endpoint)
        return registry.make_embedder(recorded or None, self._endpoint, bool(recorded))

    def llm(self) -> LLM:
        """The language model, with a cache of its replies; raises `UsageError` without one."""
        with self._lock:
            if self._llm is None:
                self._llm = registry.make_llm(self._endpoint, self._cache(REPLY_CACHE))
            return self._llm

    def extractor(
        self, name: str | Options, schema: Schema | None = None, recorded: str = ""
    ) -> Extractor:
        """The extractor of that name, which follows a schema if it has classes or properties.

        `recorded` is the embedding model of the graph.
        """
        return registry.make_extractor(
            name,
            self.llm,
            concurrency=self._endpoint.concurrency if self._endpoint else 4,
            schema=schema,
            embedder=lambda: self.embedder(recorded),
        )

    def close(self) -> None:
        """Close the file of the embedding cache; the next use opens it again."""
        with self._lock:
            for embedder in (self._embedder, self._question_embedder):
                if embedder is not None:
                    embedder.close()
