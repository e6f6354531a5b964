"""Documents and an imported graph searched together: activation crosses a link and comes back."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change
from sarag_rdf.base.types import Retrieved
from sarag_rdf.base.vocab import OWL, SKOS
from sarag_rdf.cli.answers import show_retrieved
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import with_revision
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.server.picture import drawing
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor

MINTER = Minter()
GAZETTEER = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix g: <https://gazetteer.example.org/> .
g:ormund rdfs:label "Ormundia"@en ; g:liesOn g:sel .
g:sel rdfs:label "Selva"@en ; rdfs:comment "A quiet water."@en .
g:liesOn rdfs:label "lies near the water"@en .
g:tarn rdfs:label "Tarn"@en ; g:tradesWith g:brae .
g:brae rdfs:label "Brae"@en .
"""
TEXTS = (
    "Ada was born in Ormund.",
    "Timber floats down the Sel.",
    *(f"The {name} Mill grinds corn." for name in ("Abel", "Bart", "Carl", "Dirk", "Emil", "Fred")),
)
QUESTION = "What lies near the water that Ada was born at?"
TOWN, RIVER = MINTER.entity("ormund"), MINTER.entity("sel")
ITEM_TOWN, ITEM_RIVER = "https://gazetteer.example.org/ormund", "https://gazetteer.example.org/sel"


def opened(folder: Path, *over: str) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, over=over)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gazetteer.ttl").write_text(GAZETTEER, encoding="utf-8")
    with opened(tmp_path / "kg") as kg:
        kg.index([sarag_rdf.Source(text) for text in TEXTS], extractor=CapitalExtractor())
        kg.import_graph(tmp_path / "gazetteer.ttl", "rdf")
    return tmp_path / "kg"


def link(folder: Path, *pairs: tuple[str, NamedNode, str], drop: bool = False) -> None:
    store = OxigraphStore.open(folder / "store", writable=True)
    reader = GraphReader(store, MINTER)
    graph = NamedNode(MINTER.links_graph)
    quads = tuple(Quad(NamedNode(s), p, NamedNode(o), graph) for s, p, o in pairs)
    change = Change((MINTER.links_graph,)) if drop else Change(insert=quads)
    store.apply(with_revision(reader, change))
    store.close()


def search(folder: Path, *over: str, **options: Any) -> Retrieved:
    with opened(folder, *over) as kg:
        return kg.search(
            QUESTION,
            **(
                {"c": 0.5, "k": 0, "limit": None, **options}
                if "retriever" not in options
                else options
            ),
        )


def activation(found: Retrieved) -> dict[str, float]:
    return {d.document.text or d.document.title: d.activation for d in found.documents}


LINKS = ((TOWN, SKOS.exactMatch, ITEM_TOWN), (ITEM_RIVER, OWL.sameAs, RIVER))


def test_a_document_is_reached_over_links_alone(folder: Path) -> None:
    before = activation(search(folder))
    assert before[TEXTS[1]] == 0.0
    link(folder, *LINKS)
    found = search(folder)
    assert activation(found)[TEXTS[1]] > 0.0
    link(folder, drop=True)
    assert activation(search(folder))[TEXTS[1]] == 0.0


def test_the_explanation_tells_the_way_across(folder: Path) -> None:
    link(folder, *LINKS)
    found = search(folder)
    river = next(d for d in found.documents if d.document.text == TEXTS[1])
    way = [(found.names.get(s.origin), found.names.get(s.relationship)) for s in river.chain]
    assert ("Ormund", "is the same as") in way
    assert ("Selva", "is the same as") in way
    ends = [(s.origin, s.target) for s in river.chain]
    assert all(a[1] == b[0] for a, b in pairwise(ends))
    assert ends[-1][0] == RIVER
    assert ends[-1][1] == river.document.iri


def test_the_way_across_is_told_and_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link(folder, *LINKS)
    found = search(folder)
    show_retrieved(found, explain=True)
    shown = capsys.readouterr().out
    assert '-> "is the same as" (weight 1.000 passes' in shown
    assert "by: Ormund, which is the same" in shown
    drawn = drawing.activation_html(found)
    assert drawn.count("Ormundia") >= 1


def test_parts_are_searched_alone(folder: Path) -> None:
    link(folder, *LINKS)
    documents, gazetteer = search(folder, "documents"), search(folder, "gazetteer")
    assert {d.document.text for d in documents.documents} <= set(TEXTS)
    assert {d.document.title for d in gazetteer.documents} == {"Ormundia", "Selva", "Tarn", "Brae"}
    both = search(folder, "gazetteer", "documents")
    assert activation(both) == pytest.approx(activation(search(folder)))
    with pytest.raises(UsageError, match="did you mean gazetteer"):
        search(folder, "gazeteer")


@pytest.mark.parametrize(
    "retriever",
    ["khop", "ppr", "sarag-paper", "bm25", "dense", "rrf", "ket", "dotrag"],
)
def test_every_retriever_reads_all_parts(folder: Path, retriever: str) -> None:
    link(folder, *LINKS)
    found = search(folder, retriever=retriever, limit=50)
    alone = search(folder, "gazetteer", retriever=retriever, limit=50)
    assert {d.document.iri for d in alone.documents} <= {
        f"https://gazetteer.example.org/{name}" for name in ("ormund", "sel", "tarn", "brae")
    }
    if retriever in {"ppr", "dense", "bm25"}:
        assert {d.document.iri for d in found.documents} > {ITEM_TOWN, ITEM_RIVER}


def test_a_graph_without_documents_is_searched(tmp_path: Path) -> None:
    file = tmp_path / "places.ttl"
    file.write_text(GAZETTEER, encoding="utf-8")
    with opened(tmp_path / "kg") as kg:
        report = kg.import_graph(file, "rdf", name="gazetteer")
        assert (report.name, report.kind, report.triples) == ("gazetteer", "rdf", 8)
        found = kg.search("Ormundia lies near what?")
    assert found.documents[0].document.title == "Ormundia"
    assert found.documents[0].document.text == "Ormundia lies near the water Selva."
    assert [k.text for k in found.relationships] == ["Ormundia lies near the water Selva"]


def test_what_was_made_of_the_graph_is_made_again(folder: Path) -> None:
    """Deleting the caches changes nothing."""
    link(folder, *LINKS)
    first = search(folder)
    assert search(folder) == first
    kept = folder / "cache" / "vectors"
    assert {path.stem for path in kept.rglob("*.arrays")} >= {
        "name-index",
        "network",
        "words",
        "relationship",
    }
    shutil.rmtree(kept)
    assert search(folder) == first
