"""An extractor and an embedder whose work is done by a pool of workers.

Documents go to the workers in batches (`SHARD`), and come back as extractions with the vectors of
their texts. Both are stored when they arrive, by their content: the vectors in the graph's cache of
embeddings, the extractions in a file of their own, which is deleted after a run that was completed.
So an interrupted run repeats only what the workers had not returned. Results are in the order of
the documents, and the batches do not depend on the number of workers: the graph is the same.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event
from time import perf_counter, process_time
from typing import Any, Final

import numpy as np

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import CountsUsage, Embedder, Extractor, Matrix
from sarag_rdf.base.sandbox import idle_children
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Value
from sarag_rdf.documents.format import InputProblem, Record
from sarag_rdf.documents.reading import InputFile
from sarag_rdf.models.caches import CachedEmbedder, SqliteCache
from sarag_rdf.models.client import OpenAIEmbedder
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder
from sarag_rdf.plugins.threads import map_in_order
from sarag_rdf.plugins.workers.pool import MOST, Pool, WorkerDiedError, process_pool
from sarag_rdf.plugins.workers.work import Recipe, Result, Shard, without_models

log = logging.getLogger(__name__)
SHARD: Final = 32
"""Documents that a worker extracts at once."""
TEXTS: Final = 32
"""Texts that a worker embeds at once, where they are not part of a shard."""
ATTEMPTS: Final = 2
"""How many workers may die of the same documents; then each document is extracted alone."""
CACHE: Final = "extractions.sqlite"
"""The file of extractions that are not in the graph yet, in the graph's cache."""


class Timed:
    """An extractor and an embedder in one, with the time that they have taken in one process.

    Workers extract and embed, which is divided by their number. The rest is not: one process
    writes. Both are done at the same time, so that the longer one counts. That of reading is
    measured, not estimated: a plan reads everything, with the same workers.
    """

    def __init__(self, extractor: Extractor, embedder: Embedder) -> None:
        self._extractor, self._embedder, self.method = extractor, embedder, extractor.method
        self.restart()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    @property
    def name(self) -> str:
        return self._embedder.name

    def restart(self) -> None:
        """Forget the time so far, in which models were loaded."""
        self.seconds = self.processor = 0.0
        """By the clock; and with one core, for an embedder that uses several."""

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        results = iter(self._extractor.extract(documents))
        while True:
            with self._timing():
                result = next(results, None)
            if result is None:
                return
            yield result

    def embed(self, texts: Sequence[str]) -> Matrix:
        with self._timing():
            return self._embedder.embed(texts)

    @contextmanager
    def _timing(self) -> Iterator[None]:
        begin, processor = perf_counter(), process_time()
        yield
        seconds = perf_counter() - begin
        self.seconds += seconds
        self.processor += max(seconds, process_time() - processor)


@dataclass(frozen=True)
class Processes:
    """Processes of this machine. For reading they are those that convert untrusted files anyway."""

    size: int
    timed = Timed

    def read(self, files: Iterable[InputFile]) -> Iterator[list[Record | InputProblem]]:
        """The records of files, of which `size` are converted at a time."""
        with idle_children(self.size):
            yield from map_in_order(lambda file, _: [*file.records()], files, self.size)

    def spread(
        self, extractor: Extractor, texts: CachedEmbedder, cache: Callable[[str], Path | None]
    ) -> AbstractContextManager[Extractor]:
        """The block `spread`, in processes that start when they are needed."""
        return spread(partial(process_pool, self.size), extractor, texts, cache)

    def seconds(self, moved: float, rest: float, documents: int) -> float:
        """As `seconds` below, but all processes share the cores of this machine."""
        shared = (moved + rest) / (os.cpu_count() or 1)
        return max(seconds(self.size, moved, rest, documents), shared)


def processes(text: str) -> Processes:
    """Workers are processes of this machine; raises `UsageError` for a bad number."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST:
        raise UsageError(f"--workers {text}: give a number from 1 to {MOST}, or ray://HOST:PORT")
    return Processes(int(text))


def seconds(size: int, moved: float, rest: float, documents: int) -> float:
    """The time of a run, of which workers do `moved` seconds in batches, and one writer `rest`."""
    return max(moved / min(size, -(-documents // SHARD)), rest)


@contextmanager
def spread(
    open_pool: Callable[[bytes], Pool],
    extractor: Extractor,
    texts: CachedEmbedder,
    cache: Callable[[str], Path | None],
) -> Iterator[Extractor]:
    """A block in which an extractor and an embedder work in a pool; the extractor to use in it.

    What calls an endpoint stays in this process: it waits rather than computes, and workers would
    need its key. `cache` gives the path of a cache by its name.
    """
    moves = not isinstance(extractor, CountsUsage)
    embedder = _embedder(texts.embedder)
    recipe = Recipe(without_models(extractor) if moves else None, embedder)
    with closing(open_pool(recipe.pickled())) as pool:
        if embedder is not None:
            with texts.through(SpreadEmbedder(texts.embedder, pool)):
                yield from _extractor(extractor, pool, texts, cache, moves=moves)
        else:
            yield from _extractor(extractor, pool, texts, cache, moves=moves)


def _extractor(
    extractor: Extractor,
    pool: Pool,
    texts: CachedEmbedder,
    cache: Callable[[str], Path | None],
    *,
    moves: bool,
) -> Iterator[Extractor]:
    if not moves:
        yield extractor
        return
    arrived = Arrived(extractor.method, cache(CACHE))
    try:
        yield SpreadExtractor(extractor.method, pool, texts, arrived)
    except BaseException:
        arrived.close()
        raise
    arrived.delete()


def _embedder(embedder: Embedder) -> Embedder | str | None:
    """What a worker makes the embedder of; None for one that calls an endpoint."""
    if isinstance(embedder, SentenceTransformerEmbedder):
        return embedder.name
    return None if isinstance(embedder, OpenAIEmbedder) else embedder


class SpreadExtractor:
    """Extracts in a pool; a document of which workers die becomes a failure of that document."""

    def __init__(self, method: Method, pool: Pool, texts: CachedEmbedder, arrived: Arrived) -> None:
        self.method, self._pool, self._texts, self._arrived = method, pool, texts, arrived
        self.discarded: Counter[str] = Counter()
        """Counts of what the workers' extractors left out, by reason."""
        self._logged: set[str] = set()

    def extract(self, documents: Iterable[Document]) -> Iterator[Result]:
        """One result per document, in order; at most two batches a worker are held at a time.

        When this is broken off, by an interrupt or an error, the workers end at once.
        """
        taken = given = 0

        def counted() -> Iterator[Sequence[Document]]:
            nonlocal taken
            for batch in batches(documents, SHARD):
                taken += len(batch)
                yield batch

        try:
            for shard in map_in_order(self._shard, counted(), self._pool.size):
                self._note(shard)
                for result in shard.results:
                    given += 1
                    yield result
                if shard.error is not None:
                    raise shard.error  # noqa: TRY301
        except BaseException:
            if given < taken:  # else nobody asked for more than the last result
                self._pool.close()
            raise

    def _note(self, shard: Shard) -> None:
        """Count what was left out, and log each warning once."""
        self.discarded.update(shard.discarded)
        for warning in dict.fromkeys(shard.warnings):
            if warning not in self._logged:
                self._logged.add(warning)
                log.warning("%s", warning)

    def _shard(self, documents: Sequence[Document], stop: Event) -> Shard:
        """The results of documents, those that have arrived before and those of a worker."""
        known = self._arrived.get(documents)
        missing = [document for document in documents if document.iri not in known]
        if not missing:
            return Shard(tuple(known[document.iri] for document in documents))
        shard = self._extracted(missing, stop)
        self._arrived.put(zip(missing, shard.results, strict=False))
        if shard.vectors is not None:
            self._texts.keep(shard.texts, shard.vectors)
        if not known:
            return shard
        new = iter(shard.results)
        results: list[Result] = []
        for document in documents:
            result = known.get(document.iri) or next(new, None)
            if result is None:
                break
            results.append(result)
        return Shard(tuple(results), shard.error, shard.discarded, warnings=shard.warnings)

    def _extracted(self, documents: Sequence[Document], stop: Event) -> Shard:
        """The shard of a worker; after two deaths that of each document alone."""
        prompt = self._texts.prompts.passage
        embeds = any(self._texts.cached(d.titled_text, prompt) is None for d in documents)
        for _ in range(ATTEMPTS):
            try:
                shard: Shard = self._pool.call("extract", tuple(documents), embeds=embeds)
            except WorkerDiedError as error:
                died = error
            else:
                return shard
        if len(documents) == 1 or stop.is_set():
            return Shard((died,))
        return _joined([self._extracted([document], stop) for document in documents])


def _joined(shards: Sequence[Shard]) -> Shard:
    """Shards of one document each as one, up to the first that an error ended."""
    ended = next((n for n, shard in enumerate(shards, 1) if shard.error), len(shards))
    shards = shards[:ended]
    matrices = [shard.vectors for shard in shards if shard.vectors is not None]
    return Shard(
        tuple(result for shard in shards for result in shard.results),
        shards[-1].error,
        dict(sum((Counter(shard.discarded) for shard in shards), Counter())),
        tuple(text for shard in shards for text in shard.texts),
        np.concatenate(matrices) if matrices else None,
        tuple(warning for shard in shards for warning in shard.warnings),
    )


class SpreadEmbedder:
    """Embeds passages in a pool; in all else it is the embedder that it stands for."""

    def __init__(self, embedder: Embedder, pool: Pool) -> None:
        self._embedder, self._pool = embedder, pool
        self.batch_size = 4 * TEXTS * pool.size
        """Texts for which it is called at once."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    @property
    def name(self) -> str:
        return self._embedder.name

    def embed(self, texts: Sequence[str]) -> Matrix:
        if not texts:
            return self._part((), Event())
        parts = map_in_order(self._part, batches(texts, TEXTS), self._pool.size)
        return np.concatenate([*parts])

    def _part(self, texts: Sequence[str], _: Event) -> Matrix:
        for _attempt in range(ATTEMPTS):
            try:
                matrix: Matrix = self._pool.call("embed", tuple(texts))
            except WorkerDiedError as error:
                died = error
            else:
                return matrix
        raise died


class Arrived:
    """Extractions that workers have returned, until they are in the graph."""

    def __init__(self, method: Method, path: Path | None) -> None:
        """Only those of `method` are read; without a path nothing is stored."""
        self._path = path
        self._cache = SqliteCache(path, what="cache of extractions") if path else None
        settings = json.dumps(dict(method.settings), sort_keys=True)
        self._method = "\0".join((method.extractor, method.model, method.prompt_hash, settings))

    def get(self, documents: Iterable[Document]) -> dict[str, Extraction]:
        """IRI -> extraction, for the documents that have one."""
        if self._cache is None:
            return {}
        keys = {self._key(document): document.iri for document in documents}
        return {keys[k]: _decoded(value) for k, value in self._cache.get_many(keys).items()}

    def put(self, results: Iterable[tuple[Document, Result]]) -> None:
        """Store extractions; failures are not stored, nor what JSON does not preserve."""
        if self._cache is None:
            return
        encoded = {
            self._key(document): _encoded(result)
            for document, result in results
            if isinstance(result, Extraction)
        }
        self._cache.put_many({key: value for key, value in encoded.items() if value})

    def close(self) -> None:
        """Close the file, for the next run."""
        if self._cache is not None:
            self._cache.close()

    def delete(self) -> None:
        """Delete the file: everything is in the graph."""
        self.close()
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _key(self, document: Document) -> bytes:
        parts = self._method, document.iri, document.title, document.language, document.text
        return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def _encoded(extraction: Extraction) -> bytes:
    """The extraction as compressed JSON; empty if it would not be read back as it is."""
    try:
        value = zlib.compress(json.dumps(asdict(extraction)).encode(), 1)
        return value if _decoded(value) == extraction else b""
    except (TypeError, ValueError):
        return b""


def _decoded(value: bytes) -> Extraction:
    data = json.loads(zlib.decompress(value))
    mentions = tuple(Mention(**_frozen(mention)) for mention in data["mentions"])
    return Extraction(mentions, tuple(Relation(**_frozen(each)) for each in data["relations"]))


def _frozen(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields from JSON: lists are tuples, and objects values."""
    kinds: Mapping[type, Callable[[Any], Any]] = {list: tuple, dict: lambda item: Value(**item)}
    return {name: kinds.get(type(item), lambda same: same)(item) for name, item in fields.items()}
