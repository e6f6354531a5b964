"""What is served: a graph that is read as an endpoint, and one that was only imported."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import RemoteAuthError
from sarag_rdf.base.types import Source
from sarag_rdf.server.app import examples
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.sample_graph import CapitalExtractor, make_graph
from tests.server.running import TOKEN, serving

CONCEPTS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<https://thesaurus.example.org/1> a skos:Concept ; skos:prefLabel "Danube"@en .
<https://thesaurus.example.org/2> a skos:Concept ; skos:prefLabel "Rivers"@en .
"""


def test_what_is_served_is_read_as_from_its_folder(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_graph(tmp_path / "kg")
    with serving(folder, "--writable") as server:
        url = f"{server.url}/sparql"
        for command in (["stats", "--json"], ["export", "--format", "trig"]):
            inside, outside = sarag(*command, "--kg", folder), sarag(*command, "--endpoint", url)
            assert (inside.code, outside.code) == (0, 0)
            assert inside.out == outside.out
        monkeypatch.setenv("SARAG_SPARQL_TOKEN", TOKEN)
        with sarag_rdf.open(url, embedder=HashEmbedder(), endpoint=None) as kg:
            question = "Which river flows through Ulm?"
            found = [document.document.iri for document in kg.search(question).documents]
            with pytest.raises(RemoteAuthError, match="is managed by sarag"):
                kg.index([Source("Eva lives in Ulm.", "Eva")], extractor=CapitalExtractor())
        assert sarag("export", "--format", "trig", "--kg", folder).out == inside.out
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        assert found == [document.document.iri for document in kg.search(question).documents]


def test_a_graph_that_was_only_imported(tmp_path: Path) -> None:
    (tmp_path / "rivers.ttl").write_text(CONCEPTS)
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(tmp_path / "rivers.ttl", "skos")
    with serving(tmp_path / "kg") as server:
        named = next(e["text"] for e in examples() if "imported" in e["title"])
        assert sorted(name for _, _, name in server.values(named)) == ["Danube", "Rivers"]
        for example in examples():
            assert server.query(example["text"], "*/*").status == 200
