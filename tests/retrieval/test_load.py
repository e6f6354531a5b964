"""The network of a graph is what the graph says, whatever came and went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

import sarag_rdf
from sarag_rdf.base.arrays import rows_of
from sarag_rdf.base.iris import statement_iri
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Extraction, Mention, Relation, Source
from sarag_rdf.base.vocab import SKOS
from sarag_rdf.graph.graph_reader import GraphReader, Part
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.texts import full_documents, relationship_texts
from sarag_rdf.graph.vectors import graph_vectors as vectors
from sarag_rdf.graph.vectors.vector_store import FolderVectors
from sarag_rdf.retrieval.network import (
    ABOUT,
    DESCRIBES,
    EDGE_KINDS,
    RELATED_TO,
    ArrayNetwork,
    Iris,
    StoreNetwork,
    network_arrays,
)
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.retrieval.graphs import MINTER, Content, indexed, put
from tests.retrieval.networks import every
from tests.sample_graph import CapitalExtractor


def asked(reader: GraphReader, variables: str, pattern: str) -> list[tuple[str, ...]]:
    """Rows of a pattern over the union of all graphs, each once, sorted."""
    result = reader.store.query(
        "PREFIX s: <https://w3id.org/sarag/ontology#> "
        f"SELECT DISTINCT {variables} WHERE {{ {pattern} }}",
        union=True,
    )
    assert isinstance(result, Table)
    return sorted(tuple(term.value for term in row) for row in result.rows)


def by_sparql(reader: GraphReader) -> dict[str, Any]:
    """The graph by IRIs, one query for each part."""
    return {
        "documents": [d for (d,) in asked(reader, "?d", "?d a s:Document")],
        "entities": [e for (e,) in asked(reader, "?e", "?e a s:Entity")],
        "relationships": [r for (r,) in asked(reader, "?r", "?r a s:Relationship")],
        "described": asked(reader, "?d ?e", "?d a s:Document ; s:describes ?e"),
        "topics": asked(reader, "?d ?e", "?d s:about ?e"),
        "ends": asked(reader, "?r ?s ?o", "?r s:subject ?s ; s:object ?o"),
    }


def iris_of(reader: GraphReader) -> Iris:
    """The nodes of a graph, by SPARQL."""
    lists = by_sparql(reader)
    return Iris(lists["documents"], lists["entities"], lists["relationships"])


def load_network(reader: GraphReader) -> ArrayNetwork:
    iris = iris_of(reader)
    return ArrayNetwork(iris, network_arrays(reader, iris))


def by_network(network: ArrayNetwork) -> dict[str, Any]:
    """The network by IRIs."""
    iris, related = network.iris, network.edges(RELATED_TO)
    documents, entities = iris.documents, iris.entities
    assert related.statement.tolist() == list(range(len(iris.relationships)))
    ends = zip(iris.relationships, related.pairs().tolist(), strict=True)
    described, about = (network.edges(kind).pairs().tolist() for kind in (DESCRIBES, ABOUT))
    return {
        "documents": list(documents),
        "entities": list(entities),
        "relationships": list(iris.relationships),
        "described": [(documents[d], entities[e]) for d, e in described],
        "topics": [(documents[d], entities[e]) for d, e in about],
        "ends": [(r, entities[s], entities[o]) for r, (s, o) in ends],
    }


def same(reader: GraphReader, other: GraphReader) -> bool:
    iris, others = iris_of(reader), iris_of(other)
    one, two = network_arrays(reader, iris), network_arrays(other, others)
    assert one.keys() == two.keys()
    return iris == others and all(np.array_equal(one[name], two[name]) for name in one)


# --------------------------------------------------------------------------- By hand


def test_a_graph_by_hand() -> None:
    met = Extraction(
        (Mention("Ada"), Mention("Bea")),
        (Relation("Ada", "met", "Bea"), Relation("Bea", "met", "Ada")),
    )
    alone = Extraction((Mention("Bea"), Mention("Cid")), ())
    reader, (one, two, three) = indexed(
        [("", "Ada was glad.", met), ("Cid (poet)", "two", alone), ("Empty", "three", Extraction())]
    )
    network = load_network(reader)
    named = [MINTER.entity(name) for name in ("ada", "bea", "cid")]
    ada, bea, cid = rows_of(network.iris.entities, named).tolist()
    first, second, _ = rows_of(network.iris.documents, [one, two, three]).tolist()
    assert set(map(tuple, network.edges(DESCRIBES).pairs().tolist())) == {
        *((first, ada), (first, bea)),
        *((second, bea), (second, cid)),
    }
    assert sorted(network.edges(ABOUT).pairs().tolist()) == sorted([[first, ada], [second, cid]])
    assert sorted(network.edges(RELATED_TO).pairs().tolist()) == sorted([[ada, bea], [bea, ada]])
    assert network.frequencies(np.array([ada, bea, cid])).tolist() == [1, 2, 1]


def test_an_empty_graph() -> None:
    network = load_network(GraphReader(OxigraphStore.in_memory(), MINTER))
    assert not any(by_network(network).values())
    assert [network.edges(kind).pairs().shape for kind in EDGE_KINDS] == [(0, 2)] * 4


def test_documents_without_entities() -> None:
    reader, iris = indexed([("", "one", Extraction()), ("", "two", Extraction())])
    network = load_network(reader)
    assert list(network.iris.documents) == sorted(iris)
    assert len(network.edges(ABOUT)) == len(network.edges(DESCRIBES)) == 0


# ------------------------------------------------------------------------- Of any graph

NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve", "A. B.")
name = st.sampled_from(NAMES)


@st.composite
def contents(draw: st.DrawFn) -> dict[int, Content]:
    """Up to five documents by number; names may be aliases of one another."""
    made: dict[int, Content] = {}
    for number in sorted(draw(st.sets(st.integers(1, 6), max_size=5))):
        names = draw(st.lists(name, max_size=4, unique=True))
        mentions = tuple(
            Mention(one, aliases=tuple(draw(st.lists(name, max_size=1)))) for one in names
        )
        relations: tuple[Relation, ...] = ()
        if names:
            one = st.sampled_from(names)
            ends = draw(st.lists(st.tuples(one, one), max_size=4))
            relations = tuple(Relation(s, f"knows {n}", o) for n, (s, o) in enumerate(ends))
        title = draw(st.sampled_from(["", "Notes", "Ada", "Cid (poet)"]))
        made[number] = title, f"text {number}", Extraction(mentions, relations)
    return made


@given(contents())
def test_the_network_is_what_sparql_finds(made: dict[int, Content]) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    put(reader, made)
    network = load_network(reader)
    assert by_network(network) == by_sparql(reader)
    assert len(network.iris.documents) == len(made)


@settings(max_examples=40)
@given(contents(), contents(), st.sets(st.integers(1, 6)))
def test_after_adding_and_deleting_it_is_that_of_what_is_left(
    first: dict[int, Content], then: dict[int, Content], gone: set[int]
) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    put(reader, first)
    put(reader, then, drop=then.keys() & first.keys())
    left = first | then
    put(reader, {}, drop=gone & left.keys())
    kept = {number: content for number, content in left.items() if number not in gone}
    anew = GraphReader(OxigraphStore.in_memory(), MINTER)
    put(anew, kept)
    assert same(reader, anew)
    assert by_network(load_network(reader)) == by_sparql(reader)
    assert len(iris_of(reader).documents) == len(kept)


# ----------------------------------------------------------------- Statements of an import


def test_the_ends_of_some_statements_of_an_imported_graph() -> None:
    store, base, graph = OxigraphStore.in_memory(), "https://example.org/", "https://example.org/g"
    river, vistula, brda = (NamedNode(base + name) for name in ("river", "vistula", "brda"))
    triples: list[tuple[NamedNode, NamedNode, NamedNode | Literal]] = [
        *((thing, SKOS.prefLabel, Literal("a name")) for thing in (river, vistula, brda)),
        (vistula, SKOS.broader, river),
        (vistula, SKOS.related, brda),
    ]
    store.load(Quad(*triple, NamedNode(graph)) for triple in triples)
    reader = GraphReader(store, MINTER, (Part("rivers", "skos", {"kg": graph}, store),))
    entities = sorted(thing.value for thing in (river, vistula, brda))
    statements = sorted(
        statement_iri(vistula.value, property_.value, object_.value)
        for property_, object_ in ((SKOS.broader, river), (SKOS.related, brda))
    )
    iris = Iris(entities, entities, statements)  # A concept is the document about itself.
    networks = (ArrayNetwork(iris, network_arrays(reader, iris)), StoreNetwork(reader, iris))
    for network in networks:
        found = network.stated(rows_of(statements, [statements[1]]))
        assert found.statement.tolist() == [1]
        ends = rows_of(entities, [vistula.value, brda.value]).tolist()
        assert found.pairs().tolist() == [ends]
        assert len(network.incident(RELATED_TO, every(networks[0]))) == 2


# --------------------------------------------------------------------------------- Cache


def test_arrays_of_another_layout_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, _ = indexed([("Ada", "Ada was glad.", Extraction((Mention("Ada"),), ()))])
    store, embedder = FolderVectors(tmp_path), HashEmbedder()
    with monkeypatch.context() as before:
        before.setattr(vectors, "_LAYOUT", "3")
        old = {"described": np.zeros((1, 2), dtype=np.int32)}
        store.save_arrays("network", vectors.arrays_key("1", embedder.name), old)
    view = GraphView(reader, vectors.GraphVectors(reader, embedder, store, "1"), engine="memory")
    assert len(view.network.edges(DESCRIBES)) == 1
    stored = store.load_arrays("network", vectors.arrays_key("1", embedder.name))
    assert stored is not None
    assert "describes_source" in stored


def test_texts_that_are_read_at_once_are_those_that_are_read_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "rivers.ttl"
    file.write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix schema: <http://schema.org/> .\n"
        "<urn:danube> rdfs:label 'Danube'@en , 'Donau'@de ; schema:description 'a river'@en ;\n"
        "  <urn:flowsThrough> <urn:ulm> , <urn:linz> ; <urn:length> 2850 .\n"
        "<urn:ulm> rdfs:label 'Ulm' . <urn:empty> rdfs:label 'Iller' .\n"
        "<urn:linz> rdfs:label 'Lincs'@hu , 'Linec'@cs ; <urn:liesOn> <urn:danube> .\n",
        encoding="utf-8",
    )
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(Source("notes", "Ulm lies on the Danube."), extractor=CapitalExtractor())
        kg.import_graph(file, "rdf")
        kg.search("Where?")
        with kg.session.read() as snapshot:
            view = snapshot.view
            documents, relationships = view.iris.documents, view.iris.relationships
            assert view.documents(documents) == full_documents(view.reader, documents)
            assert view.statements(relationships) == relationship_texts(view.reader, relationships)
            assert len(documents) == 5
            assert view.documents(["urn:danube"])["urn:danube"].text.startswith("a river\n")
