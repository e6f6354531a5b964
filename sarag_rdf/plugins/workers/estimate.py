"""How long a run with workers takes, from a sample that one process has indexed.

Workers extract and embed, which is divided by their number. The rest is not: one process writes.
Both are done at the same time, so that the longer one counts. That of reading is measured, not
estimated: a plan reads everything, with the same workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import Any

from sarag_rdf.base.ports import Embedder, Extractor, Matrix
from sarag_rdf.base.types import Document, Extraction


class Timed:
    """An extractor and an embedder in one, with the time that they have taken in one process."""

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
