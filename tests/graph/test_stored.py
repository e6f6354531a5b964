"""Ontologies in a graph: stored, listed, replaced and removed, and what they leave alone."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.ports import Change, Table, Triples
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.graph.vectors.graph_vectors import index_key
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.plugins.llm.extractor import LLMExtractor
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.graph.museum import EX, MUSEUM
from tests.sample_graph import BASE, SOURCES, CapitalExtractor, make_graph

GRAPH = f"{BASE}graph/ontology/museum"
OTHER = """
@prefix ex: <https://museum.example/ontology#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:collected rdfs:domain ex:Museum .
ex:Museum a owl:Class ; rdfs:label "museum"@en .
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("ontologies") / "kg")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may write to."""
    return shutil.copytree(original, tmp_path / "kg")


@pytest.fixture
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as graph:
        yield graph


@pytest.fixture
def museum(tmp_path: Path) -> Path:
    path = tmp_path / "museum.ttl"
    path.write_text(MUSEUM, encoding="utf-8")
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.ttl"
    path.write_text(OTHER, encoding="utf-8")
    return path


def exported(kg: KnowledgeGraph, **parts: Any) -> list[ox.Quad]:
    stream = io.BytesIO()
    kg.export("nquads", stream, **parts)
    return list(ox.parse(stream.getvalue(), format=ox.RdfFormat.N_QUADS))


def rows(kg: KnowledgeGraph, query: str) -> list[tuple[str, ...]]:
    table = kg.query(query)
    assert isinstance(table, Table)
    return sorted(tuple(term.value for term in row) for row in table.rows)


def test_an_ontology_is_added_and_described(kg: KnowledgeGraph, museum: Path) -> None:
    report = kg.ontologies.add(museum)
    (stored,) = kg.ontologies.list()
    assert (report.name, report.graph, report.already) == ("museum", GRAPH, False)
    assert (report.classes, report.properties, report.sources) == (4, 6, len(SOURCES))
    assert [f.term for f in report.findings] == [f"{EX}dateOfBirth"]
    assert (stored.name, stored.graph, stored.triples) == ("museum", GRAPH, report.triples)
    assert (stored.title, stored.version) == ("Museum ontology", "1.2")
    assert stored.source == museum.as_uri()
    assert stored.added.startswith("20")
    quads = [q for q in exported(kg) if q.graph_name == ox.NamedNode(GRAPH)]
    assert len(quads) == report.triples == len(list(ox.parse(MUSEUM, format=ox.RdfFormat.TURTLE)))


def test_the_schema_is_that_of_all_ontologies_together(
    kg: KnowledgeGraph, museum: Path, other: Path
) -> None:
    assert kg.ontologies.schema().digest == kg.ontologies.schema().digest
    assert kg.ontologies.schema() == common_schema()
    planned = kg.ontologies.schema(more=[museum, other])
    kg.ontologies.add(museum)
    alone = kg.ontologies.schema()
    kg.ontologies.add(other)
    both = kg.ontologies.schema()
    assert alone.digest == kg.ontologies.schema("museum").digest != both.digest == planned.digest
    assert f"{EX}Museum" in both.properties[f"{EX}collected"].domains
    assert f"{EX}Person" in both.properties[f"{EX}collected"].domains
    with pytest.raises(UsageError, match="no such ontology: 'x': use one of museum, other"):
        kg.ontologies.schema("x")


def test_a_name_is_replaced_only_if_wanted(kg: KnowledgeGraph, museum: Path, other: Path) -> None:
    kg.ontologies.add(museum)
    assert kg.ontologies.add(museum).already
    with pytest.raises(UsageError, match="already stored as 'museum'"):
        kg.ontologies.add(museum, name="again")
    with pytest.raises(UsageError, match=r"'museum' exists, from file:.*--yes"):
        kg.ontologies.add(other, name="museum")
    assert f"{EX}Person" in kg.ontologies.schema().classes
    assert not kg.ontologies.add(other, name="museum", replace=True).already
    (stored,) = kg.ontologies.list()
    assert (stored.source, stored.title) == (other.as_uri(), "")
    assert list(kg.ontologies.schema().classes) == [f"{EX}Museum"]
    with pytest.raises(UsageError, match="not a valid name"):
        kg.ontologies.add(museum, name="My museum")


def test_removing_leaves_nothing_but_the_record_of_it(
    kg: KnowledgeGraph, museum: Path, other: Path
) -> None:
    def statements() -> set[ox.Quad]:
        volatile = (f"{BASE}graph/runs", "revision")
        return {q for q in exported(kg) if not any(text in str(q) for text in volatile)}

    before = statements()
    kg.ontologies.add(museum)
    kg.ontologies.add(other)
    with pytest.raises(UsageError, match="no such ontology: 'mineral'"):
        kg.ontologies.remove("museum", "mineral")
    assert len(kg.ontologies.list()) == 2
    kg.ontologies.remove("museum", "other", "museum")
    assert kg.ontologies.list() == ()
    assert statements() == before
    with pytest.raises(UsageError, match="the graph has no ontology"):
        kg.ontologies.remove("museum")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<https://x.example/a> <https://x.example/b> "c" .', "no class or property"),
        (f"<{BASE}x> <https://w3id.org/sarag/ontology#mentions> <{BASE}y> .", "--as sarag"),
        (f"<{BASE}x> a <https://w3id.org/sarag/ontology#Entity> .", "--as sarag"),
    ],
)
def test_other_files_are_refused(
    kg: KnowledgeGraph, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "data.ttl"
    path.write_text(text)
    before = exported(kg)
    with pytest.raises(InputError, match=message):
        kg.ontologies.add(path)
    assert exported(kg) == before


def test_a_new_graph_may_begin_with_an_ontology(tmp_path: Path, museum: Path) -> None:
    with sarag_rdf.open(tmp_path / "new", embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.ontologies.schema() == common_schema()
        assert kg.ontologies.add(museum).sources == 0
        assert kg.meta().embedding_model == ""
        assert fsck(kg).in_order
        kg.index(SOURCES, extractor=CapitalExtractor())
        assert kg.meta().embedding_model == HashEmbedder().name
        assert [o.name for o in kg.ontologies.list()] == ["museum"]
        assert kg.search("Who taught Ada?").documents


def test_a_graph_in_memory(museum: Path) -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(museum)
        assert len(kg.ontologies.schema().properties) == 6


# ------------------------------------------------------------------- What it leaves alone


def test_nothing_that_is_searched_changes(kg: KnowledgeGraph, museum: Path, folder: Path) -> None:
    questions = ("Who taught Ada?", "Where does the Danube flow to?")
    before = [kg.search(question) for question in questions]
    stats = kg.stats()
    kg.ontologies.add(museum)
    vectors = kg.session.vectors
    with kg.session.read() as snapshot:
        meta = read_meta(snapshot.reader.store)
        assert meta is not None
        store = vectors.store(snapshot.reader)
        key = index_key(meta.revision, meta.embedding_model)
        assert store.load("document", key) is not None  # carried over to the new revision
    assert [kg.search(question) for question in questions] == before
    changed = {name for name, count in kg.stats().items() if count != stats[name]}
    assert changed == {"named graphs", "quads"}
    assert kg.validate().conforms
    report = fsck(kg)
    assert (report.findings, report.notes) == ((), ())
    assert (folder / "cache").is_dir()


def test_a_query_sees_the_hierarchy(kg: KnowledgeGraph, museum: Path) -> None:
    kg.ontologies.add(museum)
    query = f"SELECT ?c {{ ?c rdfs:subClassOf <{EX}Agent> }}"
    text = f"PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> {query}"
    assert rows(kg, text) == [(f"{EX}Group",), (f"{EX}Person",)]


def test_an_export_has_the_ontology_and_restores_it(
    kg: KnowledgeGraph, museum: Path, tmp_path: Path
) -> None:
    kg.ontologies.add(museum)
    selected = exported(kg, ontologies=True)
    assert {q.graph_name for q in selected} == {ox.NamedNode(GRAPH)}
    assert ox.NamedNode(GRAPH) not in {q.graph_name for q in exported(kg, documents=True)}
    assert b"Ontology: museum" in kg.describe()
    path = tmp_path / "graph.trig"
    with path.open("wb") as stream:
        kg.export("trig", stream)
    with sarag_rdf.open(tmp_path / "copy", embedder=HashEmbedder(), endpoint=None) as copy:
        copy.restore(path)
        assert copy.ontologies.list() == kg.ontologies.list()
        assert copy.ontologies.schema().digest == kg.ontologies.schema().digest
        assert fsck(copy).in_order


def test_an_export_without_the_ontology_restores_without_it(
    kg: KnowledgeGraph, museum: Path, tmp_path: Path
) -> None:
    kg.ontologies.add(museum)
    path = tmp_path / "graph.nq"
    left = [quad for quad in exported(kg) if quad.graph_name != ox.NamedNode(GRAPH)]
    path.write_bytes(ox.serialize(left, format=ox.RdfFormat.N_QUADS) or b"")
    with sarag_rdf.open(tmp_path / "copy", embedder=HashEmbedder(), endpoint=None) as copy:
        copy.restore(path)
        assert copy.ontologies.list() == ()
        assert fsck(copy).in_order


def test_fsck_finds_what_is_missing(kg: KnowledgeGraph, museum: Path) -> None:
    kg.ontologies.add(museum)
    with kg.session.write() as reader:
        node = ox.NamedNode("https://x.example/")
        extra = ox.Quad(node, node, node, ox.NamedNode(f"{GRAPH}-2"))
        quads = tuple(reader.store.quads(GRAPH))
        reader.store.apply(Change(delete=quads, insert=(extra,)))
    found = {str(finding) for finding in fsck(kg).findings}
    assert any("the triples of 'museum' are missing (do: sarag ontology remove" in f for f in found)
    assert any(f"<{GRAPH}-2> is not a known ontology" in f for f in found)


# ----------------------------------------------------------------------- What follows it


def test_the_schema_is_part_of_the_method_of_extraction(kg: KnowledgeGraph, museum: Path) -> None:
    before = kg.extractor("spacy").method
    assert before == SpacyExtractor().method
    kg.ontologies.add(museum)
    schema = kg.ontologies.schema()
    after = kg.extractor("spacy").method
    assert dict(after.settings) == {**before.settings, "ontology": schema.digest}
    llm = LLMExtractor(QueuedLLM([]), schema=schema)
    assert llm.method.settings["ontology"] == schema.digest
    assert "ontology" not in LLMExtractor(QueuedLLM([])).method.settings
    kg.ontologies.remove("museum")
    assert kg.extractor("spacy").method == before


def test_sources_are_extracted_again_with_another_ontology(
    kg: KnowledgeGraph, museum: Path
) -> None:
    kg.index(SOURCES, extractor="spacy")
    assert kg.plan(SOURCES, extractor="spacy").unchanged == len(SOURCES)
    kg.ontologies.add(museum)
    assert len(kg.plan(SOURCES, extractor="spacy").todo) == len(SOURCES)
    assert kg.index(SOURCES, extractor="spacy").updated == len(SOURCES)
    assert kg.plan(SOURCES, extractor="spacy").unchanged == len(SOURCES)


def test_the_vocabulary_of_this_project_can_be_an_ontology(kg: KnowledgeGraph) -> None:
    assert kg.ontologies.add(ontology_path("sarag.ttl")).classes == 46
    result = kg.query(
        "CONSTRUCT { ?s ?p ?o } { ?s a <https://w3id.org/sarag/ontology#Entity> ; ?p ?o }"
    )
    assert isinstance(result, Triples)
    assert fsck(kg).in_order
    assert kg.validate().conforms
