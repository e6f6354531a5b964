"""Real, small implementations of the model ports: for tests, and for trying things out."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sarag_rdf.base.errors import UnparsableReplyError
from sarag_rdf.base.ports import Matrix, Reply
from sarag_rdf.base.types import Usage
from sarag_rdf.models.json_reply import schema_problem

_WORD = re.compile(r"\w+")
_DIMENSIONS: Final = 64


@dataclass(frozen=True, slots=True)
class Call:
    """What an LLM was asked."""

    prompt: str
    schema: Mapping[str, Any]
    name: str
    max_tokens: int


class QueuedLLM:
    """An `sarag_rdf.base.ports.LLM` that gives the replies it was built with, in order.

    An exception in the queue is raised. A reply that violates the schema raises
    `UnparsableReplyError`, as the port says; an empty queue raises AssertionError. Tokens are
    counted as white-space separated words.
    """

    def __init__(
        self, replies: Iterable[Mapping[str, Any] | Exception], *, model: str = "queued"
    ) -> None:
        self._replies = deque(replies)
        self._model = model
        self._lock = threading.Lock()
        self.calls: list[Call] = []

    @property
    def model(self) -> str:
        return self._model

    @property
    def prompts(self) -> list[str]:
        """The prompts so far, in order."""
        return [call.prompt for call in self.calls]

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        with self._lock:
            self.calls.append(Call(prompt, schema, name, max_tokens))
            if not self._replies:
                raise AssertionError(f"no reply is left for call {len(self.calls)}, '{name}'")
            reply = self._replies.popleft()
        if isinstance(reply, Exception):
            raise reply
        problem = schema_problem(dict(reply), schema)
        if problem:
            raise UnparsableReplyError(f"the queued reply to '{name}' does not fit: {problem}")
        words_out = len(str(reply).split())
        return Reply(dict(reply), Usage(1, 0, len(prompt.split()), words_out))


class HashEmbedder:
    """An `sarag_rdf.base.ports.Embedder` of hashed word counts: shape (n, 64), no entry negative.

    Texts that share a word have a positive cosine; texts that share none mostly have cosine 0
    (words may meet in one of the 64 places). The same text has the same vector everywhere.
    """

    @property
    def name(self) -> str:
        return "hash-64"

    def embed(self, texts: Sequence[str]) -> Matrix:
        matrix = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        for row, text in zip(matrix, texts, strict=True):
            for word in _WORD.findall(text.casefold()) or [""]:
                row[_place(word)] += 1
            row /= np.linalg.norm(row)
        return matrix


def _place(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % _DIMENSIONS
