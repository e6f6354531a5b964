"""What share of indexing goes into the validation of each source before it joins the graph.

Indexes the example corpus with the spaCy extractor, then a few hundred sources made of it, or a
corpus with an extraction file, and times the gate by itself. Then the whole graph is validated, by
both engines where that does not take long::

    python -m benchmarks.validation --sources 400
    python -m benchmarks.validation --corpus corpus.json --openie openie.json

Prints sources, triples, seconds of processor time of indexing (with a trivial embedder), of
validation in it, the ratio, and milliseconds a source.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from unittest.mock import patch

from pyoxigraph import Quad

import sarag_rdf
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.ports import Extractor
from sarag_rdf.base.types import Source
from sarag_rdf.building.index import quarantine, run
from sarag_rdf.documents import read_paths
from sarag_rdf.extraction.openie import OpenIEExtractor
from sarag_rdf.extraction.spacy.pipeline import SpacyExtractor
from sarag_rdf.graph.store.shacl import ENGINES, ShaclEngine, ValidationReport
from sarag_rdf.testing.fakes import HashEmbedder

CORPUS = Path(__file__).parent.parent / "examples" / "corpus"


class Gate:
    """The gate, with a clock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.triples = 0

    def __call__(self, evidence: Iterable[Quad]) -> ValidationReport:
        begin = time.process_time()
        report = quarantine.validate_evidence(evidence)
        self.seconds += time.process_time() - begin
        self.triples += report.triples
        return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sources", type=int, default=400)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--openie", type=Path)
    options = parser.parse_args()
    try:
        if options.openie:
            measure(read(options.corpus), OpenIEExtractor(options.openie), ["shacl"])
            return 0
        corpus = read(options.corpus or CORPUS)
        measure(corpus, SpacyExtractor())
        measure(list(islice(copies(corpus), options.sources)), SpacyExtractor())
    except SaragError as error:
        print(f"validation: {error}", file=sys.stderr)
        return 1
    return 0


def read(corpus: Path) -> list[Source]:
    return [source for source in read_paths([corpus]) if isinstance(source, Source)]


def copies(corpus: list[Source]) -> Iterable[Source]:
    """The sources over and over, each time under another path."""
    for place, source in enumerate(cycle(corpus)):
        yield replace(source, key=f"{place}/{source.key}")


def measure(
    sources: list[Source], extractor: Extractor, engines: Sequence[ShaclEngine] = ENGINES
) -> None:
    timed = Gate()
    next(iter(extractor.extract([])), None)
    with (
        patch.object(run, "validate_evidence", timed),
        sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg,
    ):
        begin = time.process_time()
        report = kg.index(sources, extractor=extractor)
        seconds = time.process_time() - begin
        assert report.problems == [], report.problems[:3]
        print(
            f"{len(sources)} sources, {timed.triples} triples: indexing {seconds:.1f} s, of which "
            f"validation {timed.seconds:.2f} s ({timed.seconds / seconds:.1%}), "
            f"{1000 * timed.seconds / len(sources):.1f} ms a source"
        )
        for engine in engines:
            begin = time.process_time()
            whole = kg.validate(engine)
            seconds = time.process_time() - begin
            assert whole.conforms
            print(f"    the whole graph by {engine}: {whole.triples} triples, {seconds:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
