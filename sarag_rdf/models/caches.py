"""SQLite caches of embeddings and model replies, keyed by content; safe to delete."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import astuple, replace
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any, Final
from urllib.parse import quote

import numpy as np

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import shown_path, warn_unwritable
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import (
    LLM,
    Embedder,
    Matrix,
    Reply,
    Seen,
    StreamingLLM,
    Vector,
    embed_queries,
)
from sarag_rdf.base.redaction import redacted_data
from sarag_rdf.base.types import Usage
from sarag_rdf.models.embedding_names import Prompts

OnEmbedded = Callable[[int], None]
"""Called with the number of texts that were embedded since the last call."""


_SLICE = 128
LATEST = 4096
"""Vectors that are held in memory where the file is only read."""


class CachedEmbedder:
    """A cache in front of an Embedder, which can be deleted at any time.

    The key of a vector is the SHA-256 of the model's name and the text, and of the prompt if there
    is one, so that a text has one vector as query and another as passage.
    """

    def __init__(
        self,
        embedder: Embedder,
        path: Path | None,
        *,
        slice_size: int | None = None,
        keep: bool = True,
    ) -> None:
        """Vectors are stored slice by slice; unless `keep`, the latest ones stay in memory."""
        self._embedder = embedder
        self._cache = SqliteCache(path or ":memory:", what="embedding cache", writable=keep)
        self._latest: OrderedDict[bytes, bytes] | None = None if keep else OrderedDict()
        self._slice_size = slice_size or int(getattr(embedder, "batch_size", _SLICE))

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def prompts(self) -> Prompts:
        """What is put before queries and passages."""
        differs = hasattr(self._embedder, "embed_queries")
        prompts: Prompts = getattr(self._embedder, "prompts", Prompts("" if differs else None))
        return prompts

    def embed(self, texts: Sequence[str], progress: OnEmbedded | None = None) -> Matrix:
        """Embed texts, each distinct one once; complete slices survive an interruption."""
        return self._embed(texts, self.prompts.passage, self._embedder.embed, progress)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same for queries."""
        return self._embed(texts, self.prompts.query, partial(embed_queries, self._embedder))

    def _embed(
        self,
        texts: Sequence[str],
        prompt: str | None,
        embed: Callable[[Sequence[str]], Matrix],
        progress: OnEmbedded | None = None,
    ) -> Matrix:
        keys = [self._key(text, prompt) for text in texts]
        values = self._cached_values(dict.fromkeys(keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in values}
        if progress:
            progress(len(texts) - len(missing))
        # Texts of similar length in one slice need less padding: several times faster.
        pending = sorted(missing.items(), key=lambda item: (-len(item[1]), item[0]))
        for batch in batches(pending, self._slice_size):
            vectors = embed([text for _, text in batch])
            new = {key: row.tobytes() for (key, _), row in zip(batch, vectors, strict=True)}
            self._put(new)
            values |= new
            if progress:
                progress(len(batch))
        if not keys:
            return embed([])
        return np.stack([np.frombuffer(values[key], dtype=np.float32) for key in keys])

    @property
    def embedder(self) -> Embedder:
        """What embeds the texts that are not in the cache."""
        return self._embedder

    @contextmanager
    def through(self, embedder: Embedder) -> Iterator[None]:
        """A block in which another embedder takes the place of `embedder`, with its vectors."""
        before = self._embedder, self._slice_size
        self._embedder = embedder
        self._slice_size = int(getattr(embedder, "batch_size", self._slice_size))
        try:
            yield
        finally:
            self._embedder, self._slice_size = before

    def keep(self, texts: Iterable[str], vectors: Matrix) -> None:
        """Store the vectors of passages that `embedder` computed elsewhere."""
        keys = (self._key(text, self.prompts.passage) for text in texts)
        self._put({key: row.tobytes() for key, row in zip(keys, vectors, strict=True)})

    def cached(self, text: str, prompt: str | None = None) -> Vector | None:
        """The vector of a text with that prompt if it is cached; nothing is embedded."""
        key = self._key(text, prompt)
        values = self._cached_values([key])
        return np.frombuffer(values[key], dtype=np.float32) if values else None

    def _cached_values(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        latest = {} if self._latest is None else self._latest
        recent = {key: latest[key] for key in keys if key in latest}
        return recent | self._cache.get_many(key for key in keys if key not in recent)

    def _put(self, new: dict[bytes, bytes]) -> None:
        if self._latest is None:
            self._cache.put_many(new)
            return
        self._latest |= new
        while len(self._latest) > LATEST:
            self._latest.popitem(last=False)

    def _key(self, text: str, prompt: str | None) -> bytes:
        """The digest of name and text; with a prompt that of (digest of name and prompt), text."""
        model = str(getattr(self._embedder, "model", self.name))
        if prompt is None:
            return sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()
        role = sha256(f"{model}\0{prompt}".encode("utf-8", "surrogatepass")).digest()
        return sha256(role + text.encode("utf-8", "surrogatepass")).digest()

    def close(self) -> None:
        """Close the cache's file."""
        self._cache.close()


log = logging.getLogger(__name__)
WAITING = 32
"""The maximum number of batches in the queue; further ones are not prefetched."""
_AT_ONCE = 128
"""Texts that are embedded before the thread checks whether it is closed."""


class EmbeddingPrefetcher:
    """A thread that embeds texts before they are needed; nothing depends on it."""

    def __init__(self, embed: Callable[[Sequence[str]], object]) -> None:
        self._embed = embed
        self._thread = ThreadPoolExecutor(1, "embedding ahead")
        self._pending: list[Future[None]] = []
        self._closed = Event()

    def take(self, texts: Iterable[str]) -> None:
        """Add texts to the queue, unless it is full."""
        self._pending = [future for future in self._pending if not future.done()]
        if len(self._pending) > WAITING:
            log.debug("texts are embedded later: the queue is full")
        else:
            self._pending.append(self._thread.submit(self._work, list(dict.fromkeys(texts))))

    def close(self) -> None:
        """Empty the queue, and wait for the batch that is being embedded."""
        self._closed.set()
        self._thread.shutdown(cancel_futures=True)

    def _work(self, texts: list[str]) -> None:
        # Texts of similar length in one batch need less padding.
        for batch in batches(sorted(texts, key=lambda text: (-len(text), text)), _AT_ONCE):
            if self._closed.is_set():
                return
            try:
                self._embed(batch)
            except Exception as error:  # noqa: BLE001 - raised where the texts are needed
                log.debug("texts are embedded later: %s", error)
                self._closed.set()


class CachedLLM:
    """An `sarag_rdf.base.ports.LLM` with a cache of the replies of another one.

    The key of a reply is the SHA-256 of endpoint, model, settings (temperature, seed), call name,
    prompt, schema and max_tokens; its value is the reply, without secrets that the model repeats,
    and the usage of the call. Errors are not stored.
    """

    def __init__(self, llm: LLM, path: Path | str) -> None:
        self._llm, self.model = llm, llm.model
        self.settings: Mapping[str, str] = getattr(llm, "settings", {})
        """The settings of the model; empty if it has none."""
        self._cache = SqliteCache(path, what="reply cache")
        settings = json.dumps(dict(self.settings), sort_keys=True)
        self._identity = str(getattr(llm, "base_url", "")), llm.model, settings

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        """The cached reply, or that of the model; raises what the model raises."""
        return self._reply(self._llm.complete, prompt, schema, name, max_tokens)

    def stream(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int, seen: Seen
    ) -> Reply:
        """The same; a reply that is not cached is streamed if the model can do so."""
        llm = self._llm
        ask = partial(llm.stream, seen=seen) if isinstance(llm, StreamingLLM) else llm.complete
        return self._reply(ask, prompt, schema, name, max_tokens)

    def _reply(
        self,
        ask: Callable[..., Reply],
        prompt: str,
        schema: Mapping[str, Any],
        name: str,
        max_tokens: int,
    ) -> Reply:
        shape = json.dumps(schema, ensure_ascii=False)
        key = sha256_hex(*self._identity, name, prompt, shape, str(max_tokens)).encode()
        known = self._look_up(key)
        if known is not None:
            return known
        begin = perf_counter()
        reply = ask(prompt, schema, name=name, max_tokens=max_tokens)
        seconds = round(perf_counter() - begin, 3)
        reply = replace(reply, data=redacted_data(reply.data))
        entry = {"data": reply.data, "usage": astuple(reply.usage), "seconds": seconds}
        self._cache.put_many({key: json.dumps(entry).encode()})
        return reply

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._cache.close()

    def _look_up(self, key: bytes) -> Reply | None:
        """The stored reply; None without one that can be read."""
        try:
            entry = json.loads(self._cache.get_many([key]).get(key, b"null"))
            if not isinstance(entry, dict):
                return None
            if entry.keys() != {"data", "usage", "seconds"}:  # an earlier version stored the data
                return Reply(redacted_data(entry), Usage(cached_calls=1))
            data, seconds = redacted_data(entry["data"]), float(entry["seconds"])
            return Reply(data, Usage(cached_calls=1), Usage(*entry["usage"]), seconds)
        except (ValueError, TypeError):
            return None


_DAMAGED: Final = (
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_IOERR_SHORT_READ),
)
"""Primary codes, and extended ones; SQLITE_ERROR means a table with other columns."""
_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
_KEPT: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept'"
_BATCH: Final = 500
_SUM: Final = 4
"""Bytes behind each value: its checksum."""


def fault_of(path: Path) -> str:
    """The fault of a cache file; empty if there is none, or if it is locked or not readable."""
    if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where it may not look
        return "is not a file" if os.path.exists(path) else ""  # noqa: PTH110
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)) as database:
            row = database.execute("PRAGMA integrity_check(1)").fetchone()
            if row == ("ok",) and database.execute(_KEPT).fetchone():
                rows = database.execute("SELECT key, value FROM kept")
                spoiled = sum(not _is_whole(key, value) for key, value in rows)
                row = (f"{spoiled} values do not match their checksums" if spoiled else "ok",)
    except sqlite3.DatabaseError as error:
        return str(error) if _is_damage(error) else ""
    return "" if row == ("ok",) else str(row[0]).replace("\n", " ")


def _is_damage(error: Exception) -> bool:
    """Whether an error is due to the content of the file."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return not isinstance(error, sqlite3.Error)
    return code in _DAMAGED or code & 0xFF in _DAMAGED


class SqliteCache:
    """Keys and values are bytes; threads and processes may share the file.

    A damaged file is set aside with a warning, also while in use; one that cannot be used (no
    permission to write, disk full) is not used, with one warning. SQLite does not notice a changed
    byte of a value, so a value that does not match its checksum counts as absent. The path
    ``:memory:`` stores nothing beyond `close`.
    """

    def __init__(self, path: Path | str, *, what: str, writable: bool = True) -> None:
        """`what` names the cache in warnings; one that is not `writable` need not exist."""
        self._writable = writable
        self._path = Path(path)
        self._what = what
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None
        self._warned = False

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The stored entries of these keys."""
        values: dict[bytes, bytes] = {}
        if not self._writable and not self._path.is_file():
            return values
        with self._lock:
            for batch in batches(keys, _BATCH):
                marks = ",".join("?" * len(batch))
                text = f"SELECT key, value FROM kept WHERE key IN ({marks})"  # noqa: S608
                for key, value in self._run(text, [batch]):
                    if _is_whole(key, value):
                        values[key] = value[:-_SUM]
        return values

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        """Store entries; those of the same key are replaced."""
        with self._lock:
            rows = [(key, value + _sum(key, value)) for key, value in entries.items()]
            self._run("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None

    def _run(self, text: str, rows: Sequence[Sequence[bytes]]) -> list[tuple[Any, ...]]:
        """Run a statement for each row of values; on a damaged file, once more on a new one."""
        try:
            try:
                return self._execute(text, rows)
            except (sqlite3.Error, sqlite3.Warning, TypeError, ValueError) as error:
                if not self._writable or not _is_damage(error):
                    raise
                self.set_aside()
                return self._execute(text, rows)
        except (sqlite3.Error, OSError) as error:
            if not self._warned:
                warn_unwritable(self._path, error)
            self._warned = True
            return []

    def _execute(self, text: str, rows: Sequence[Sequence[bytes]]) -> list[tuple[Any, ...]]:
        if self._database is None:
            self._database = self._open()
        if text.startswith("SELECT"):
            return self._database.execute(text, rows[0]).fetchall()
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(text, rows)
        return []

    def _open(self) -> sqlite3.Connection:
        if not self._writable:
            location = f"file:{quote(str(self._path))}?mode=ro"
            return sqlite3.connect(location, uri=True, timeout=30, check_same_thread=False)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(
            self._path, timeout=30, isolation_level=None, check_same_thread=False
        )
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute(_SCHEMA)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def set_aside(self) -> None:
        """Rename the file, which is damaged; the next use creates a new one."""
        with self._lock:
            self.close()
            names = (self._path.with_name(f"{self._path.name}.damaged-{n}") for n in count(1))
            aside = next(name for name in names if not name.exists())
            self._path.replace(aside)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            log.warning(
                "the %s %s is damaged: it was renamed to %s, and a new one is created",
                self._what,
                shown_path(self._path),
                aside.name,
            )


def _sum(key: bytes, value: bytes) -> bytes:
    """The checksum of a value under its key."""
    return zlib.crc32(value, zlib.crc32(key)).to_bytes(_SUM, "big")


def _is_whole(key: object, value: object) -> bool:
    """Whether a row has the checksum that it was written with."""
    if not isinstance(key, bytes) or not isinstance(value, bytes):
        return False
    return value[-_SUM:] == _sum(key, value[:-_SUM])
