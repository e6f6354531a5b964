"""What a commit costs as the graph grows, where every document speaks of one thing.

Writes generated documents in batches, as indexing does, into a graph on disk, and on the way, at
each of the sizes, times commits of one document::

    python -m benchmarks.commit --sizes 1000 10000 100000

Every document mentions the hub, a thing of its own and some of a number of others, some much more
often than others; one in twenty calls the hub by another name or takes it for a person. Prints, for
each size, milliseconds of processor time, the median of several: a document of a batch, a document
that is added, changed in its text, changed in what it says of the hub, taken away; each also as a
multiple of what it was at the first size.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from pyoxigraph import Quad

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.source_evidence import SourceGraph
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore

MINTER = Minter()
METHOD = Method("generated", "none")
HUB = "United Cities"
BATCH = 256
REPEATS = 7


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        f"one hub in every document; batches of {BATCH}, medians of {REPEATS}, seed {options.seed}"
    )
    with tempfile.TemporaryDirectory() as folder:
        measure(OxigraphStore.create(Path(folder) / "store"), sorted(options.sizes), options.seed)
    return 0


def measure(store: OxigraphStore, sizes: Sequence[int], seed: int) -> None:
    bench = Bench(GraphReader(store, MINTER), random.Random(seed))
    first: dict[str, float] = {}
    for size in sizes:
        figures = {"in a batch": bench.grow(size), **bench.single()}
        first = first or figures
        print(f"{size} documents")
        for name, seconds in figures.items():
            print(f"  {name:<28} {1000 * seconds:8.2f} ms   {seconds / first[name]:6.2f}")
        sys.stdout.flush()


@dataclass(slots=True)
class Bench:
    """A graph that grows, and commits to it that are timed."""

    reader: GraphReader
    random: random.Random
    size: int = 0
    _writer: Writer = field(init=False)

    def __post_init__(self) -> None:
        self._writer = Writer(self.reader)

    def grow(self, size: int) -> float:
        """Add documents until there are so many; seconds a document of the last tenth."""
        times: list[float] = []
        while self.size < size:
            numbers = range(self.size, min(size, self.size + BATCH))
            times += [self._commit(self._writer, [], numbers) / len(numbers)]
            self.size += len(numbers)
        return median(times[-max(1, len(times) // 10) :])

    def single(self) -> dict[str, float]:
        """Seconds of commits of one document, each by a writer of its own."""
        times: dict[str, list[float]] = {}
        for repeat in range(REPEATS):
            old, new = self.random.randrange(self.size), self.size + repeat
            steps: dict[str, tuple[list[int], list[int], str]] = {
                "added": ([], [new], HUB),
                "changed": ([new], [new], HUB),
                "changed in its hub": ([new], [new], HUB.upper()),
                "taken away": ([new], [], HUB),
                "another taken away": ([old], [], HUB),
            }
            for name, (drop, numbers, hub) in steps.items():
                taken = self._commit(Writer(self.reader), drop, numbers, hub, name)
                times.setdefault(name, []).append(taken)
            self._commit(self._writer, [], [old])
        self._writer = Writer(self.reader)
        return {name: median(found) for name, found in times.items()}

    def _commit(
        self,
        writer: Writer,
        drop: Iterable[int],
        numbers: Iterable[int],
        hub: str = "",
        text: str = "",
    ) -> float:
        names = [MINTER.source(f"{n}.txt", "", "") for n in {*drop, *numbers}]
        insert = [quad for n in numbers for quad in self._quads(n, hub, text)]
        graphs = [MINTER.source_graph(MINTER.source(f"{n}.txt", "", "")) for n in drop]
        begin = time.process_time()
        writer.commit(graphs, insert, names)
        return time.process_time() - begin

    def _quads(self, number: int, hub: str, text: str) -> list[Quad]:
        own, sentence = f"Thing {number}", f"{text} {number} is a part of it."
        others = {f"Place {int(self.random.paretovariate(0.6)) % 5000}" for _ in range(4)}
        rare = self.random.random() < 0.05 and not hub
        hub = hub or (HUB.lower() if rare else HUB)
        mentions = [
            Mention(own, "misc", (f"T{number}",), (sentence,)),
            Mention(hub, "person" if rare else "geopolitical", ("UC",)),
            *(Mention(other, "geopolitical", (), (f"{other} near {own}",)) for other in others),
        ]
        ends = [(own, hub), *((own, other) for other in others), (hub, min(others))]
        relations = [Relation(a, "is with", b, f"{a} {text} is with {b}") for a, b in ends]
        iri = MINTER.source(f"{number}.txt", "", "")
        source = Source(sentence, own, f"{number}.txt")
        document = Document(
            MINTER.document(iri, 0, len(sentence), sentence), iri, own, sentence, 0, len(sentence)
        )
        extraction = Extraction(tuple(mentions), tuple(relations))
        return SourceGraph(MINTER, source, iri, METHOD, [(document, extraction)]).quads


if __name__ == "__main__":
    sys.exit(main())
