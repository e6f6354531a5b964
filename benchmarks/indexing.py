"""Where the time of indexing goes, and how much of the machine it uses.

Indexes a corpus as ``sarag index`` does, with the default embedding model, into a new graph::

    python -m benchmarks.indexing CORPUS.json
    python -m benchmarks.indexing CORPUS.json --extractor openie:FILE --sources 300

Prints the setting, then for each stage the seconds of processor time and their share, and last the
share of all cores that was used. Stages run on the main thread; the embedding model works on
threads of its own, beside them where it can. Shares are of processor time, which a machine that is
shared with others disturbs least; the use of cores means something on an idle machine only.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import sarag_rdf
from sarag_rdf.base.ports import Extractor
from sarag_rdf.base.types import Document, Extraction, Source
from sarag_rdf.building.index import commit, run
from sarag_rdf.documents import read_paths
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.models.caches import SqliteCache
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder


class Clock:
    """Processor time of stages on the main thread; a stage within another counts for itself."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = 0.0

    def __call__(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return function(*args, **kwargs)
            outer, self._inner = self._inner, 0.0
            begin = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                taken = time.thread_time() - begin
                self.seconds[stage] += taken - self._inner
                self._inner = outer + taken

        return timed


class Timed:
    """An extractor, with a clock."""

    def __init__(self, extractor: Extractor, clock: Clock) -> None:
        self._extractor = extractor
        self._clock = clock
        self.method = extractor.method

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        found = iter(self._extractor.extract(documents))
        following = self._clock("extraction", lambda: next(found, None))
        while (result := following()) is not None:
            yield result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--extractor", default="spacy")
    parser.add_argument("--sources", type=int, default=1_000_000, help="Of the corpus, at most.")
    options = parser.parse_args()
    found = (s for s in read_paths([options.corpus]) if isinstance(s, Source))
    sources = list(islice(found, options.sources))
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(f"{len(sources)} sources, {options.extractor}; {cores} cores, load {load:.1f} before")
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder) / "kg", sources, options.extractor, cores)
    return 0


def measure(folder: Path, sources: list[Source], extractor: str, cores: int) -> None:
    clock = Clock()
    with sarag_rdf.open(folder, endpoint=None) as kg, timed_stages(clock):
        made = Timed(kg.extractor(extractor), clock)
        warm = SentenceTransformerEmbedder()
        warm.embed(["one two three"])
        begin, before, own = time.perf_counter(), used(), time.thread_time()
        clock.seconds.clear()
        report = clock("the rest", kg.index)(sources, extractor=made)
        wall, total = time.perf_counter() - begin, used() - before
        main_thread = time.thread_time() - own
    on_main = clock.seconds.pop("model", 0.0)  # none if all was embedded in other threads
    clock.seconds["embedding"] = total - main_thread + on_main
    print(f"{report.documents} documents, {report.mentions} mentions, {wall:.1f} s")
    for stage, seconds in sorted(clock.seconds.items(), key=lambda item: -item[1]):
        print(f"  {stage:<24} {seconds:8.1f} s  {seconds / total:6.1%}")
    print(f"  {'all':<24} {total:8.1f} s; {total / wall / cores:.0%} of {cores} cores")


def used() -> float:
    """Seconds of processor time of this process and its children."""
    return sum(os.times()[:4])


@contextmanager
def timed_stages(clock: Clock) -> Iterator[None]:
    """Puts clocks on the stages of indexing."""
    places: list[tuple[Any, str, str]] = [
        (run, "source_graph", "evidence"),
        (run, "validate_evidence", "validation"),
        (commit, "refresh", "what follows"),
        (OxigraphStore, "apply", "writing the store"),
        (SqliteCache, "get_many", "embedding cache"),
        (SqliteCache, "put_many", "embedding cache"),
        (SentenceTransformerEmbedder, "embed", "model"),
    ]
    with ExitStack() as patches:
        for where, name, stage in places:
            timed = clock(stage, getattr(where, name))
            patches.enter_context(mock.patch.object(where, name, timed))
        yield


if __name__ == "__main__":
    sys.exit(main())
