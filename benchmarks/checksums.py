"""What checksums of caches cost: ``python -m benchmarks.checksums [MEGABYTES]``.

Times of one run each, with the file in the memory of the system.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sarag_rdf.graph.vectors import files

WIDTH = 384


def main(megabytes: int) -> None:
    rows = megabytes * 1_000_000 // (4 * WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.f32"
        block = np.random.default_rng(0).random((10_000, WIDTH), dtype=np.float32)
        with path.open("wb") as file:
            for begin in range(0, rows, len(block)):
                file.write(block[: rows - begin].tobytes())
        size = path.stat().st_size
        started = time.perf_counter()
        said = files.digest(path)
        print(
            f"taken when written    {time.perf_counter() - started:.2f} s for {size / 1e9:.2f} GB"
        )
        started = time.perf_counter()
        files.check(path, said)
        print(f"opened: {time.perf_counter() - started:.2f} s")
        with path.open("ab") as file:
            file.write(block[:100].tobytes())
        started = time.perf_counter()
        files.check(path, files.digest(path, known=said, unchanged=size))
        print(f"100 rows appended: {time.perf_counter() - started:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"peak memory: {peak} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1536)
