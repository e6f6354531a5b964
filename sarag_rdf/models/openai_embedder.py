"""Embeddings from an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import openai

from sarag_rdf.base.endpoints import LOADING_WAIT, MAX_REPLY
from sarag_rdf.base.errors import ModelError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.models.client import check_model, endpoint_client, endpoint_key, typed_error
from sarag_rdf.models.names import ModelName, Prompts


class OpenAIEmbedder:
    """Embeds with ``POST /embeddings``; the arguments are those of `OpenAILLM`.

    The endpoint knows no prompts: they are put before the texts that it is sent.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        timeout: float = 120.0,
        *,
        batch_size: int = 64,
        max_retries: int = 4,
        max_reply: int = MAX_REPLY,
        loading_wait: float = LOADING_WAIT,
        prompts: Prompts = Prompts(),  # noqa: B008 - frozen
    ) -> None:
        self._base_url = base_url
        self._model = model
        self._prompts = prompts
        self._batch_size = batch_size
        self._client = endpoint_client(
            base_url, endpoint_key(), timeout, max_retries, max_reply, loading_wait
        )
        check_model(model)

    @property
    def batch_size(self) -> int:
        """Texts in one request, each of which is paid for."""
        return self._batch_size

    @property
    def name(self) -> str:
        return str(ModelName(self.model, self._prompts))

    @property
    def model(self) -> str:
        """The model's name without prompts."""
        return f"openai:{self._model}"

    @property
    def prompts(self) -> Prompts:
        return self._prompts

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Raises an `EndpointError`, or `ModelError` for an answer of another shape."""
        return self._embed(texts, self._prompts.passage or "")

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same for queries."""
        return self._embed(texts, self._prompts.query or "")

    def _embed(self, texts: Sequence[str], prompt: str) -> Matrix:
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        rows: list[Sequence[float]] = []
        for start in range(0, len(texts), self._batch_size):
            batch = [prompt + text for text in texts[start : start + self._batch_size]]
            try:
                reply = self._client.embeddings.create(
                    model=self._model, input=batch, encoding_format="float"
                )
            except (openai.OpenAIError, ValueError) as error:
                raise typed_error(error, self._base_url) from None
            rows += self._vectors(reply, len(batch))
            if len(rows[0]) != len(rows[-1]):
                raise ModelError(
                    f"the endpoint gave embeddings of {len(rows[0])} and of {len(rows[-1])} "
                    f"numbers for '{self._model}': is it one model?"
                )
        matrix = np.asarray(rows, dtype=np.float32)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        return np.asarray(matrix / np.maximum(norms, 1e-12), dtype=np.float32)

    def _vectors(self, reply: object, count: int) -> list[Sequence[float]]:
        """The vectors of a reply in the order of the texts; raises `ModelError`."""
        data = getattr(reply, "data", None)
        if not isinstance(data, list) or len(data) != count:
            number = len(data) if isinstance(data, list) else "no"
            raise ModelError(
                f"the endpoint gave {number} embeddings for {count} texts: "
                f"is '{self._model}' an embedding model?"
            )
        positions = [getattr(item, "index", None) for item in data]
        vectors = [getattr(item, "embedding", None) for item in data]
        sizes = {len(v) if isinstance(v, list) and all(map(_is_number, v)) else 0 for v in vectors}
        if (
            0 in sizes
            or len(sizes) != 1
            or sorted(map(str, positions)) != sorted(map(str, range(count)))
        ):
            raise ModelError(
                f"the endpoint gave embeddings of '{self._model}' that are no vectors of one "
                "length, one for each text: is it an embedding model?"
            )
        return [vectors[positions.index(position)] for position in range(count)]  # type: ignore[misc]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
