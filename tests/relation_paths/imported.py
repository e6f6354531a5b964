"""A graph of the tests, with the ontology that describes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sarag_rdf
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder


@contextmanager
def imported(folder: Path, ontology: str, statements: str = "") -> Iterator[KnowledgeGraph]:
    """A graph in a folder, of an ontology with what it describes, and of further statements."""
    (folder / "ontology.ttl").write_text(ontology, encoding="utf-8")
    (folder / "graph.ttl").write_text(ontology + statements, encoding="utf-8")
    with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(folder / "ontology.ttl")
        kg.import_graph(folder / "graph.ttl", "rdf", name="graph")
        yield kg
