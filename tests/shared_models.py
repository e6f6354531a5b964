"""The default models, loaded once in each process that runs tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sarag_rdf.extract.spacy import pipeline
from sarag_rdf.models.sentence_transformer import DEFAULT_MODEL, SentenceTransformerEmbedder
from sarag_rdf.ports import Matrix

if TYPE_CHECKING:
    from spacy.language import Language


class SharedModel:
    """A loaded sentence-transformers model that computes the embedding of a text once."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._vectors: dict[str, Matrix] = {}
        self._turn = threading.Lock()

    def get_embedding_dimension(self) -> int:
        return int(self._model.get_embedding_dimension())

    def encode(self, texts: Sequence[str], **options: Any) -> Matrix:
        with self._turn:
            new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
            if new:
                self._vectors.update(zip(new, self._model.encode(new, **options), strict=True))
            return np.stack([self._vectors[text] for text in texts])


@pytest.fixture(scope="session", autouse=True)
def shared_models() -> Iterator[None]:
    """Load the default spaCy pipeline and embedding model once; other models as ever."""
    load_pipeline, load_model = pipeline.load_pipeline, SentenceTransformerEmbedder._load

    @cache
    def pipeline_of(model: str | None, _defaults: tuple[str, ...]) -> Language:
        return load_pipeline(model)

    @cache
    def default_model() -> SharedModel:
        return SharedModel(load_model(SentenceTransformerEmbedder()))

    def model_of(embedder: SentenceTransformerEmbedder) -> Any:
        return default_model() if embedder.name == DEFAULT_MODEL else load_model(embedder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            pipeline, "load_pipeline", lambda model=None: pipeline_of(model, pipeline.MODELS)
        )
        patch.setattr(SentenceTransformerEmbedder, "_load", model_of)
        yield
