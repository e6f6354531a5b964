"""What looking up names costs among a million: those of a question, exact and near.

    python -m benchmarks.names --names 10000 100000 1000000

Names have a first name, one or two last names and sometimes a title, of syllables drawn at random;
last names follow a power law, so many share the frequent ones. The index is written and mapped as
that of a graph is. Each question has sixty possible names, one of which exists, and one misspelt.
Times are processor time of one lookup; "found" are the misspelt names for which a name is near
enough; memory is that of a process that has done nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.scale import memory
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.graph.vectors.vector_store import FolderVectors
from sarag_rdf.retrieval.seeds import Similar
from sarag_rdf.retrieval.view import NameIndex, arrays_of_names

QUESTIONS = 50
COLUMNS = (
    *("index, s", "on disk, MB", "60 exact, ms", "near, ms", "longest, ms"),
    *("found, %", "memory, MB"),
)


def generated(count: int) -> Iterator[str]:
    """Names, the same for the same count."""
    random = np.random.default_rng(0)
    syllables = [f"{a}{b}{c}" for a in "bdfgklmnprstv" for b in "aeiou" for c in ("", "n", "r")]
    chosen = random.integers(len(syllables), size=(max(100, count // 4), 3)).tolist()
    words = ["".join(syllables[at] for at in word).title() for word in chosen]
    last = np.minimum(random.zipf(1.3, size=count), len(words)) - 1
    first = random.integers(len(words), size=count)
    for number in range(count):
        title = f", {number % 9 + 1}th Baron {words[first[-number]]}" if number % 20 == 0 else ""
        yield f"{words[first[number]]} {words[last[number]]}{title}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--names", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(looked_up(options.folder, options.names[0])))
        return 0
    print(f"| names | {' | '.join(COLUMNS)} |")
    print(f"|{'---:|' * 8}")
    for count in options.names:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.process_time()
            arrays = arrays_of_names([*generated(count)])
            FolderVectors(Path(folder)).save_arrays("name-index", "1", arrays)
            seconds = time.process_time() - begin
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
            command = [sys.executable, "-m", "benchmarks.names", "--folder", folder]
            done = subprocess.run(
                [*command, "--names", str(count)], stdout=subprocess.PIPE, check=True
            )
        found = json.loads(done.stdout)
        cells = [f"{count:,}", f"{seconds:.0f}", f"{size:.0f}", *(f"{x:.1f}" for x in found)]
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


def looked_up(folder: Path, count: int) -> tuple[float, ...]:
    """Milliseconds of exact and near lookups, medians and the longest, % found, MB of memory."""
    arrays = FolderVectors(folder).load_arrays("name-index", "1")
    assert arrays is not None
    index = NameIndex(arrays)
    names = [name for name, _ in zip(generated(count), range(QUESTIONS), strict=False)]
    exact, near, found = [], [], 0
    for number, name in enumerate(names):
        possible = [normalize_name(name), *(f"no name {number} {at}" for at in range(59))]
        begin = time.process_time()
        owners = index.owners(possible)
        exact.append(1000 * (time.process_time() - begin))
        assert possible[0] in owners
        typed = name[:3] + name[4:]
        begin = time.process_time()
        candidates = [normalize_name(other) for _, other in index.candidates(typed)]
        _, best = Similar([*dict.fromkeys(candidates)]).to(normalize_name(typed))
        near.append(1000 * (time.process_time() - begin))
        found += bool(best)
    longest = max(*exact[1:], *near[1:])
    times = statistics.median(exact), statistics.median(near), longest
    return *times, 100.0 * found / len(names), memory()["own"]


if __name__ == "__main__":
    sys.exit(main())
