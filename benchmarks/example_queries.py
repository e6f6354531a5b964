"""The processor time of every query in queries/examples over a graph made at random.

Each query runs twice: first in a child process that ends at the time limit, then here. Run from
the repository::

    python -m benchmarks.example_queries --edges 10000

Prints Markdown: the processor time of each and its ratio to the fastest, because times differ
between machines. The exit code is 1 if one takes more than `MOST` seconds, or reaches the limit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import sarag_rdf
from benchmarks.generated import Corpus, GeneratedExtractor, WordVectors
from sarag_rdf.base.errors import QueryTimeoutError
from sarag_rdf.kg.graph import KnowledgeGraph

FOLDER = Path(__file__).parents[1] / "queries" / "examples"
MOST = 5.0
"""Seconds of processor time."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edges", type=int, default=10_000, help="relationships in the graph")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each query")
    options = parser.parse_args()
    corpus = Corpus(options.edges)
    with (
        tempfile.TemporaryDirectory() as scratch,
        sarag_rdf.open(Path(scratch) / "kg", embedder=WordVectors(), endpoint=None) as kg,
    ):
        kg.index(corpus.sources(), extractor=GeneratedExtractor(corpus))
        quads = kg.stats()["quads"]
        kg.query("ASK { ?s ?p ?o }")  # copies the union of the documents' graphs, once
        taken = {
            path.stem: processor_time(kg, path.read_text("utf-8"), options.seconds)
            for path in sorted(FOLDER.glob("*.rq"))
        }
    fastest = min((seconds for seconds in taken.values() if seconds is not None), default=0.0)
    print(f"{quads:,} quads\n\n| query | ms | ratio |\n| --- | ---: | ---: |")
    for name, seconds in taken.items():
        figures = (
            "at the limit | "
            if seconds is None
            else f"{1000 * seconds:,.1f} | {seconds / max(fastest, 1e-9):,.0f}"
        )
        print(f"| `{name}` | {figures} |")
    return int(any(seconds is None or seconds > MOST for seconds in taken.values()))


def processor_time(kg: KnowledgeGraph, text: str, limit: float) -> float | None:
    """Seconds of processor time of a query with its results; None if it reaches the limit."""
    try:
        kg.query(text, timeout=limit)
    except QueryTimeoutError:
        return None
    begin = time.process_time()
    kg.query(text)
    return time.process_time() - begin


if __name__ == "__main__":
    sys.exit(main())
