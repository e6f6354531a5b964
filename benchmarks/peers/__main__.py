"""Runs published packages beside `sarag`, each in a virtual environment of its own.

    python -m benchmarks.peers --corpus corpus.json --questions questions.json --kg kg \\
        --output peers-musique --peers sarag,vectors,bm25s

The corpus is indexed into the folder of --kg unless that is a graph already. Each peer is given the
same passages, questions and embedding model; --output keeps what each returned, and
``summary.json`` with the figures of all of them. The environments are made at the first run, in the
folder of --environments, from the package index that pip is configured for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import sarag_rdf
from benchmarks.peers import ours, summary
from benchmarks.peers.environments import CACHE, PEERS, run
from sarag_rdf.plugins.evaluation.datasets import read_corpus, read_questions


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--kg", type=Path, required=True, help="a graph, or a new folder")
    parser.add_argument("--output", type=Path, required=True, help="a folder for results")
    parser.add_argument("--peers", default=",".join(PEERS), help="default: all")
    parser.add_argument("--environments", type=Path, default=CACHE)
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for each peer")
    options = parser.parse_args()
    names = options.peers.split(",")
    if unknown := [name for name in names if name not in PEERS]:
        parser.error(f"unknown peers: {', '.join(unknown)}; choose from {', '.join(PEERS)}")
    corpus = read_corpus(options.corpus)
    questions = read_questions(options.questions).questions
    output: Path = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    ours.index(options.kg, corpus, output / ours.INDEXED)
    with sarag_rdf.open(options.kg) as kg:
        ours.give(kg, corpus, questions, output / "given")
        if "sarag" in names:
            ours.rank(kg, corpus, questions, output / "sarag")
    for name in names:
        if name != "sarag":
            print(f"{name} ...", file=sys.stderr, flush=True)
            run(PEERS[name], output, options.environments.resolve(), options.timeout)
    summary.write(output, corpus, questions)
    print(summary.table(summary.read(output / summary.FILE)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
