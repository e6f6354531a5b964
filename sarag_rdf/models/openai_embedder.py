"""Embeddings from an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import openai

from sarag_rdf.errors import ModelError
from sarag_rdf.models.endpoint_errors import typed_error
from sarag_rdf.models.openai_llm import endpoint_client, endpoint_key
from sarag_rdf.ports import Matrix


class OpenAIEmbedder:
    """Embeds with ``POST /embeddings``; `timeout` in seconds a request."""

    def __init__(
        self, base_url: str, model: str, timeout: float = 120.0, *, batch_size: int = 64
    ) -> None:
        self._base_url = base_url
        self._model = model
        self._batch_size = batch_size
        self._key = endpoint_key()
        self._client = endpoint_client(base_url, self._key, timeout)

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Raises an `EndpointError`, or `ModelError` for an answer of another shape."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        rows: list[Sequence[float]] = []
        for start in range(0, len(texts), self._batch_size):
            batch = list(texts[start : start + self._batch_size])
            try:
                reply = self._client.embeddings.create(
                    model=self._model, input=batch, encoding_format="float"
                )
            except openai.OpenAIError as error:
                raise typed_error(error, self._base_url, self._key) from None
            if len(reply.data) != len(batch):
                raise ModelError(
                    f"the endpoint gave {len(reply.data)} embeddings for {len(batch)} texts: "
                    f"is '{self._model}' an embedding model?"
                )
            rows += [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
        matrix = np.asarray(rows, dtype=np.float32)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        return np.asarray(matrix / np.maximum(norms, 1e-12), dtype=np.float32)
