"""Where the time of indexing goes, and how much of the machine it uses.

Indexes a corpus as ``sarag index`` does, into a new graph::

    python -m benchmarks.indexing CORPUS.json
    python -m benchmarks.indexing CORPUS.json --extractor openie:FILE --sources 300
    python -m benchmarks.indexing examples/corpus --sources 400 --without-embedding --validate
    python -m benchmarks.indexing CORPUS.json --sources 100 --engines

Prints the setting, then for each stage the seconds of processor time and their share, and last the
share of all cores that was used. Stages run on the main thread; the embedding model works on
threads of its own, beside them where it can. Shares are of processor time, which a machine that is
shared with others disturbs least; the use of cores means something on an idle machine only. With
--validate, the whole graph is validated afterwards, by each engine. With --engines, the texts of
the sources are only embedded, by NumPy and by PyTorch in turn, and the least times of three are
printed relative to those of NumPy.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import sarag_rdf
from benchmarks.stopwatch import Place, Stopwatch
from sarag_rdf.base.ports import Extractor
from sarag_rdf.base.types import Document, Extraction, Source
from sarag_rdf.building import commit, index_run
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.shacl import ENGINES
from sarag_rdf.models.bert import BertEncoder
from sarag_rdf.models.caches import SqliteCache
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder
from sarag_rdf.testing.fakes import HashEmbedder
from tests.reading import read_paths

PLACES: list[Place] = [
    (index_run, "SourceGraph", "evidence"),
    (index_run, "validate_evidence", "validation"),
    (commit, "refresh", "what follows"),
    (OxigraphStore, "apply", "writing the store"),
    (SqliteCache, "get_many", "embedding cache"),
    (SqliteCache, "put_many", "embedding cache"),
    (SentenceTransformerEmbedder, "embed", "model"),
]


class Timed:
    """An extractor, with a stopwatch."""

    def __init__(self, extractor: Extractor, watch: Stopwatch) -> None:
        self._extractor = extractor
        self._watch = watch
        self.method = extractor.method

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        results = iter(self._extractor.extract(documents))
        following = self._watch.timed("extraction", lambda: next(results, None))
        while (result := following()) is not None:
            yield result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--extractor", default="spacy")
    parser.add_argument(
        "--sources", type=int, help="The first of the corpus; or all, over and over as new sources."
    )
    parser.add_argument("--without-embedding", action="store_true", help="Hash words instead.")
    parser.add_argument("--validate", action="store_true")
    parser.add_argument(
        "--engines", action="store_true", help="Only embed, with NumPy and PyTorch."
    )
    options = parser.parse_args()
    sources = [source for source in read_paths([options.corpus]) if isinstance(source, Source)]
    sources = list(islice(copies(sources), options.sources or len(sources)))
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(f"{len(sources)} sources, {options.extractor}; {cores} cores, load {load:.1f} before")
    if options.engines:
        measure_engines([source.text for source in sources])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder) / "kg", sources, options, cores)
    return 0


def copies(corpus: list[Source]) -> Iterator[Source]:
    """The sources over and over, each time under another path."""
    for number, source in enumerate(cycle(corpus)):
        again = number // len(corpus)
        yield replace(source, key=f"{again}/{source.key}") if again else source


def measure(folder: Path, sources: list[Source], options: argparse.Namespace, cores: int) -> None:
    watch = Stopwatch()
    embedder = HashEmbedder() if options.without_embedding else None
    with sarag_rdf.open(folder, embedder=embedder, endpoint=None) as kg, watch.watching(PLACES):
        extractor = Timed(kg.extractor(options.extractor), watch)
        next(iter(extractor.extract([])), None)  # loads its model
        if embedder is None:
            SentenceTransformerEmbedder().embed(["one two three"])
        begin, before, own = time.perf_counter(), used(), time.thread_time()
        watch.seconds.clear()
        report = watch.timed("the rest", kg.index)(sources, extractor=extractor)
        wall, total = time.perf_counter() - begin, used() - before
        main_thread = time.thread_time() - own
        on_main = watch.seconds.pop("model", 0.0)  # none if all was embedded in other threads
        watch.seconds["embedding"] = total - main_thread + on_main
        print(f"{report.documents} documents, {report.mentions} mentions, {wall:.1f} s")
        for stage, seconds in sorted(watch.seconds.items(), key=lambda item: -item[1]):
            each = 1000 * seconds / len(sources)
            print(f"  {stage:<24} {seconds:8.1f} s  {seconds / total:6.1%} {each:8.1f} ms a source")
        print(f"  {'all':<24} {total:8.1f} s; {total / wall / cores:.0%} of {cores} cores")
        for engine in ENGINES if options.validate else ():
            before = time.process_time()
            whole = kg.validate(engine)
            seconds = time.process_time() - before
            assert whole.conforms
            print(f"the whole graph by {engine}: {whole.triples} triples, {seconds:.2f} s")


def measure_engines(texts: list[str]) -> None:
    """Seconds, and those of processor time, in relation to NumPy: the least of three runs."""
    model = SentenceTransformerEmbedder()
    engines: dict[str, Callable[[list[str]], object]] = {
        "NumPy": BertEncoder(model.folder).embed,
        "PyTorch": partial(
            model._load().encode, batch_size=16, normalize_embeddings=True, show_progress_bar=False
        ),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
    for name, embed in [*engines.items()] * 3:
        begin, before = time.perf_counter(), time.process_time()
        embed(texts)
        times[name].append((time.perf_counter() - begin, time.process_time() - before))
    least = {name: [min(each) for each in zip(*rows, strict=True)] for name, rows in times.items()}
    for name, (wall, used) in least.items():
        ratios = wall / least["NumPy"][0], used / least["NumPy"][1]
        print(f"  {name:<8} {ratios[0]:.2f} of the seconds, {ratios[1]:.2f} of processor time")


def used() -> float:
    """Seconds of processor time of this process and its children."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
