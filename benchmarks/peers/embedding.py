"""The embedding model for peers: reads lists of texts from a pipe, and writes their vectors.

Each answer is the processor time that they take, and the vectors as 32-bit numbers. A text that
another peer has asked for comes from a file, with the time that it took then.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing

import numpy as np

from benchmarks.peers.exchange import read_block, write_block
from sarag_rdf.base.ports import Embedder, Matrix
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder

TABLE = "CREATE TABLE IF NOT EXISTS known (text TEXT PRIMARY KEY, vector BLOB, seconds REAL)"
BATCH = 256


def embed(model: Embedder, known: sqlite3.Connection, texts: Sequence[str]) -> tuple[float, Matrix]:
    """Processor seconds and vectors; new texts are added to the known ones.

    The seconds of a batch are divided by the lengths of its texts.
    """
    rows: dict[str, tuple[bytes, float]] = {}
    for text in dict.fromkeys(texts):
        select = "SELECT vector, seconds FROM known WHERE text = ?"
        if row := known.execute(select, (text,)).fetchone():
            rows[text] = row
    new = sorted({*texts} - {*rows}, key=lambda text: (len(text), text))
    for begin in range(0, len(new), BATCH):
        batch = new[begin : begin + BATCH]
        start = time.process_time()
        vectors = model.embed(batch)
        share = (time.process_time() - start) / sum(len(text) + 1 for text in batch)
        for text, vector in zip(batch, vectors, strict=True):
            rows[text] = vector.tobytes(), share * (len(text) + 1)
    known.executemany("INSERT INTO known VALUES (?, ?, ?)", [(t, *rows[t]) for t in new])
    known.commit()
    seconds = sum(rows[text][1] for text in texts)
    vectors = np.frombuffer(b"".join(rows[text][0] for text in texts), dtype=np.float32)
    return seconds, vectors.reshape(len(texts), -1)


def main() -> None:
    model = SentenceTransformerEmbedder()
    model.embed(["The model is loaded before anything is timed."])
    with closing(sqlite3.connect(sys.argv[1])) as known:
        known.execute(TABLE)
        while True:
            try:
                texts = json.loads(read_block(sys.stdin.buffer))
            except EOFError:
                return
            seconds, vectors = embed(model, known, texts)
            write_block(sys.stdout.buffer, json.dumps(seconds).encode())
            write_block(sys.stdout.buffer, vectors.tobytes())


if __name__ == "__main__":
    main()
