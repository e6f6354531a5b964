"""What runs beside each other: ``python -m tests.faults.parallel write|read GRAPH COUNT``.

The writer makes a commit of each source. A reader prints a line of JSON for each time it reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Table
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.building import index_run
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor

DOCUMENTS = 2
"""Of each source."""
_COUNT = """SELECT (COUNT(DISTINCT ?source) AS ?sources) (COUNT(DISTINCT ?document) AS ?documents) {
  GRAPH ?graph { ?document a sarag:Document ; sarag:source ?source } }"""


def source(number: int) -> sarag_rdf.Source:
    """One sentence a document."""
    return sarag_rdf.Source(
        f"Ada met Number{number} in Ulm. Number{number} knew Boris{number % 7} there.",
        key=f"{number:04}.txt",
    )


def write(folder: Path, count: int) -> None:
    index_run.COMMIT_DOCUMENTS = 1
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        inputs = map(source, range(count))
        report = kg.index(inputs, extractor=CapitalExtractor(), words=6, overlap=0)
        assert report.added == count, report
        assert report.documents == DOCUMENTS * count, report


def read(folder: Path, count: int) -> None:
    for number in range(count):
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            stats = kg.stats()
            table = kg.query("".join(f"PREFIX {n}: <{i}> " for n, i in PREFIXES.items()) + _COUNT)
            assert isinstance(table, Table)
            ((sources, documents),) = table.rows
            found = kg.search("Whom did Ada meet in Ulm?", limit=100_000)
            line = {
                "stats": [stats["sources"], stats["documents"]],
                "sparql": [int(sources.value), int(documents.value)],
                "found": len({one.document.iri for one in found.documents}),
                "conforms": number % 10 > 0 or kg.validate().conforms,
            }
        print(json.dumps(line), flush=True)


def derived_is_true(folder: Path) -> bool:
    """Whether the traversed graph is what the evidence says."""
    minter = Minter()
    reader = GraphReader(OxigraphStore.open(folder / "store"), minter)
    return set(rebuild(reader).insert) == set(reader.store.quads(minter.kg_graph))


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
