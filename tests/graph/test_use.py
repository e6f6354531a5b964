"""How a graph uses the classes and properties of its ontologies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import ClassUse, PropertyUse, TermCount
from sarag_rdf.base.vocab import COMMON, RDF, RDFS, SARAG, XSD
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.typed_graph import EX, SOURCES, TURTLE, TypedExtractor, index_people

IMPORTED = """
@prefix f: <https://feeds.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
f:a a f:Feed , f:Thing ; rdfs:label "A" ; f:next f:b , f:c ; f:size 3 , "3"^^xsd:decimal .
f:b a f:Feed ; rdfs:label "B"@en ; f:next f:c .
f:c f:size 3 .
"""
F = "https://feeds.example/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("used")
    (root / "feeds.ttl").write_text(IMPORTED)
    with sarag_rdf.open(root / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        index_people(kg, root)
        kg.import_graph(root / "feeds.ttl", "rdf", embed=False)
    return root / "kg"


@pytest.fixture(scope="module")
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as made:
        yield made


def test_terms_of_the_ontology_as_found(kg: KnowledgeGraph) -> None:
    use = kg.ontologies.use()
    assert {class_.iri for class_ in use.classes} == {
        EX + name for name in ("Person", "Chemist", "Place")
    }
    by_iri = {property_.iri.removeprefix(EX): property_ for property_ in use.properties}
    assert set(by_iri) == {"birthPlace", "birthDate", "teacher", "height"}
    place = by_iri["birthPlace"]
    assert (place.statements, place.subjects, place.objects) == (2, 2, 1)
    assert TermCount(SARAG.GeoPoliticalEntity.value, 1) in place.ranges
    assert place.domains[0].count == 2
    assert by_iri["birthDate"].ranges == (TermCount(XSD.date.value, 1),)
    assert by_iri["height"].ranges == (TermCount(XSD.integer.value, 1),)
    assert SARAG.Entity.value not in {
        t.iri for p in use.properties for t in (*p.domains, *p.ranges)
    }
    assert kg.ontologies.use("people") == use
    with pytest.raises(UsageError, match="no such ontology"):
        kg.ontologies.use("other")


def test_an_imported_graph_as_found(kg: KnowledgeGraph) -> None:
    use = kg.ontologies.use(over="feeds")
    assert use.classes == (ClassUse(F + "Feed", 2), ClassUse(F + "Thing", 1))
    feed, thing = TermCount(F + "Feed", 2), TermCount(F + "Thing", 1)
    one = TermCount(F + "Feed", 1)
    by_iri = {property_.iri: property_ for property_ in use.properties}
    assert by_iri[F + "next"] == PropertyUse(F + "next", 3, 2, 2, (feed, thing), (one,))
    assert by_iri[F + "size"] == PropertyUse(
        F + "size", 3, 2, 2, (one, thing),
        (TermCount(XSD.decimal.value, 1), TermCount(XSD.integer.value, 1)),
    )  # fmt: skip
    assert by_iri[RDFS.label.value].ranges == (
        TermCount(RDF.langString.value, 1),
        TermCount(XSD.string.value, 1),
    )
    assert by_iri[RDF.type.value].statements == 3
    with pytest.raises(UsageError, match="no such graph"):
        kg.ontologies.use(over="nope")
    with pytest.raises(UsageError, match="not one imported graph"):
        kg.ontologies.use(over="all")
    with pytest.raises(UsageError, match="name no ontology"):
        kg.ontologies.use("people", over="feeds")


def test_counts_are_those_of_the_quads(kg: KnowledgeGraph) -> None:
    with kg.session.read() as snapshot:
        quads = list(snapshot.own.store.quads(snapshot.own.minter.kg_graph))
    typed = [q for q in quads if q.predicate.value.startswith(EX)]
    statements = Counter(q.predicate.value for q in typed)
    use = kg.ontologies.use()
    assert {p.iri: p.statements for p in use.properties} == dict(statements)
    for property_ in use.properties:
        own = [q for q in typed if q.predicate.value == property_.iri]
        assert property_.subjects == len({q.subject for q in own})
        assert property_.objects == len({q.object for q in own})
        subjects = {q.subject for q in own}
        classes = Counter(
            q.object.value
            for q in quads
            if q.predicate == RDF.type and q.subject in subjects
            if isinstance(q.object, ox.NamedNode) and q.object != SARAG.Entity
        )
        assert {term.iri: term.count for term in property_.domains} == dict(classes)


def test_the_packaged_ontology_if_none_is_stored() -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=TypedExtractor())
        use = kg.ontologies.use()
        assert all(class_.iri.startswith(COMMON.base) for class_ in use.classes)
        assert sum(property_.statements for property_ in use.properties) == 0
        assert len(use.properties) == len(kg.ontologies.schema().properties) > 50


def test_the_command_shows_it(sarag: Sarag, folder: Path) -> None:
    lines = sarag("ontology", "show", "--kg", folder).out.splitlines()
    assert "in the graph: 4 properties" in lines
    (height,) = [line for line in lines if line.startswith("  height  ") and "integer" in line]
    assert height.split()[1:4] == ["1", "1", "1"]
    assert (
        sarag("ontology", "show", "--kg", folder, "--over", "documents").out.splitlines() == lines
    )
    shown = json.loads(sarag("ontology", "show", "--kg", folder, "--json").out)
    assert [o["name"] for o in shown["ontologies"]] == ["people"]
    assert len(shown["use"]["properties"]) == 4
    lines = sarag("ontology", "show", "--over", "feeds", "--kg", folder).out.splitlines()
    assert lines[:4] == [
        "",
        "in the graph: 2 classes",
        f"  <{F}Feed>   2",
        f"  <{F}Thing>  1",
    ]
    assert any("rdfs:label" in line and "rdf:langString 1" in line for line in lines)
    found = json.loads(sarag("ontology", "show", "--over", "feeds", "--kg", folder, "--json").out)
    assert found["classes"][0] == {"iri": F + "Feed", "instances": 2}
    sarag("ontology", "show", "--over", "x", "--kg", folder).fails(2, "no such graph: 'x'")


def test_terms_that_are_never_used(sarag: Sarag, tmp_path: Path) -> None:
    """A class with instances of a subclass is used."""
    (tmp_path / "one.ttl").write_text(TURTLE)
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(tmp_path / "one.ttl")
        kg.index(SOURCES[2:], extractor=TypedExtractor())
    shown = sarag("ontology", "show", "--kg", tmp_path / "kg").out
    assert shown.endswith("\nnever used: place, birth date, birth place, teacher\n")
