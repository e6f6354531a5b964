"""Labels of large ontologies are read once for a revision of a graph, not in each process."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.types import Source
from sarag_rdf.graph import schema_use
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor

ONTOLOGY = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix x: <https://example.org/x#> .
<https://example.org/x> a owl:Ontology .
x:Waterway a owl:Class ; rdfs:label "waterway"@en .
x:{name} a owl:Class ; rdfs:label "{label}"@en ; rdfs:subClassOf x:Waterway .
"""


def classes_asked_for(folder: Path, question: str) -> object:
    """What a process that opens the graph afresh finds in a question."""
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        return kg.search(question).settings.get("classes")


def test_an_ontology_is_read_once_for_a_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, question = tmp_path / "kg", "Which rivers or canals flow through Ulm?"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source("Ulm lies on Danube.", "Ulm", "ulm")], extractor=CapitalExtractor())
    for name, label, expected in (
        ("River", "river", "river"),
        ("Canal", "canal", "canal and river"),
    ):
        file = tmp_path / f"{label}.ttl"
        file.write_text(ONTOLOGY.format(name=name, label=label))
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            kg.ontologies.add(file)
        assert classes_asked_for(folder, question) == expected
        with monkeypatch.context() as patch:
            patch.delattr(schema_use, "schema_of")  # reading it again would fail
            assert classes_asked_for(folder, question) == expected
