"""Keeps embeddings by content in SQLite: the same text is embedded once per model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np

from sarag_rdf.models.sqlite_cache import SqliteCache
from sarag_rdf.ports import Embedder, Matrix

Progress = Callable[[int], None]
"""Called with the number of texts that were done since the last call."""


_SLICE = 512
LATEST = 4096
"""Vectors that are held in memory where they are not kept."""


class CachedEmbedder:
    """An Embedder in front of another; its cache can be deleted at any time."""

    def __init__(
        self,
        embedder: Embedder,
        path: Path | None,
        *,
        slice_size: int | None = None,
        keep: bool = True,
    ) -> None:
        """What is done is kept slice by slice: by default what the embedder takes in one call.

        Unless `keep`, the file is only read, and the latest `LATEST` vectors are held in memory.
        """
        self._embedder = embedder
        self._cache = SqliteCache(path or ":memory:", what="embedding cache", writable=keep)
        self._latest: OrderedDict[bytes, bytes] | None = None if keep else OrderedDict()
        self._slice_size = slice_size or int(getattr(embedder, "batch_size", _SLICE))

    @property
    def name(self) -> str:
        return self._embedder.name

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        """Embed texts, each distinct one once; what is done is kept if the rest is interrupted."""
        keys = [self._key(text) for text in texts]
        found = self._found(dict.fromkeys(keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if progress:
            progress(len(texts) - len(missing))
        # Texts of like length in one slice: less padding, several times faster.
        pending = iter(sorted(missing.items(), key=lambda item: (-len(item[1]), item[0])))
        while batch := list(islice(pending, self._slice_size)):
            vectors = self._embedder.embed([text for _, text in batch])
            new = {key: row.tobytes() for (key, _), row in zip(batch, vectors, strict=True)}
            self._put(new)
            found |= new
            if progress:
                progress(len(batch))
        if not keys:
            return self._embedder.embed([])
        return np.stack([np.frombuffer(found[key], dtype=np.float32) for key in keys])

    def _found(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        latest = {} if self._latest is None else self._latest
        found = {key: latest[key] for key in keys if key in latest}
        return found | self._cache.get_many(key for key in keys if key not in found)

    def _put(self, new: dict[bytes, bytes]) -> None:
        if self._latest is None:
            self._cache.put_many(new)
            return
        self._latest |= new
        while len(self._latest) > LATEST:
            self._latest.popitem(last=False)

    def _key(self, text: str) -> bytes:
        framed = f"{self.name}\0{text}".encode("utf-8", "surrogatepass")
        return sha256(framed).digest()

    def close(self) -> None:
        """Close the cache's file."""
        self._cache.close()
