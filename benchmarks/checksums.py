"""What checksums of caches cost: ``python -m benchmarks.checksums [MEGABYTES]``.

Times of one run each, with the file in the memory of the system: of all segments, as when a file is
written or opened, and of those that an append of 100 rows has changed.
"""

from __future__ import annotations

import mmap
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sarag_rdf.graph.vectors.vector_store import SEGMENT, checksums

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
        print(f"all of {size / 1e9:.2f} GB: {_seconds(path, 0):.2f} s")
        with path.open("ab") as file:
            file.write(block[:100].tobytes())
        print(f"100 rows appended: {_seconds(path, size // SEGMENT):.2f} s")


def _seconds(path: Path, first: int) -> float:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        begin = time.perf_counter()
        with memoryview(data) as view:
            checksums(view, first)
        return time.perf_counter() - begin


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1536)
