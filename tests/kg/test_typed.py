"""Typed statements from extraction to export: queries, deletion, RDF 1.2, SHACL, reasoners."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from sarag_rdf.base.ports import Table
from sarag_rdf.base.vocab import RDF, SARAG, XSD, iri, text_of
from sarag_rdf.kg.graph import KnowledgeGraph
from tests.command import Sarag
from tests.typed_graph import EX, add_ontology, typed_graph

BASE = "https://example.org/kg/"
ILSE, EMIL, LINZ = (ox.NamedNode(f"{BASE}entity/{n}") for n in ("ilse_brandt", "emil_sand", "linz"))


def ex(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


STATEMENTS = {
    ox.Triple(ILSE, ex("birthPlace"), LINZ),
    ox.Triple(EMIL, ex("birthPlace"), LINZ),
    ox.Triple(ILSE, ex("teacher"), EMIL),
    ox.Triple(ILSE, ex("birthDate"), ox.Literal("1901-05-07", datatype=XSD.date)),
    ox.Triple(ILSE, ex("height"), ox.Literal("169", datatype=XSD.integer)),
}
CLASSES = {(ILSE, "Chemist"), (ILSE, "Person"), (EMIL, "Person"), (LINZ, "Place")}


@pytest.fixture
def kg() -> Iterator[KnowledgeGraph]:
    with typed_graph(None) as kg:
        yield kg


def rows(kg: KnowledgeGraph, query: str) -> set[tuple[str, ...]]:
    prefixes = f"PREFIX ex: <{EX}> PREFIX sarag: <{SARAG.base}> "
    prefixes += "PREFIX prov: <http://www.w3.org/ns/prov#> "
    result = kg.query(prefixes + query)
    assert isinstance(result, Table)
    return {tuple("" if term is None else term.value for term in row) for row in result.rows}


def exported(kg: KnowledgeGraph, format_: str, *, rdf12: bool = False) -> list[ox.Quad]:
    buffer = io.BytesIO()
    kg.export(format_, buffer, rdf12=rdf12)
    formats = {"turtle": ox.RdfFormat.TURTLE, "trig": ox.RdfFormat.TRIG}
    return list(ox.parse(buffer.getvalue(), format=formats[format_]))


def statements(quads: list[ox.Quad]) -> set[ox.Triple]:
    """The triples about entities with properties of the ontology."""
    return {
        quad.triple
        for quad in quads
        if quad.predicate.value.startswith(EX) and iri(quad.subject).startswith(BASE)
    }


def classes(quads: list[ox.Quad]) -> set[tuple[ox.NamedNode, str]]:
    typed = {(iri(q.subject), iri(q.object)) for q in quads if q.predicate == RDF.type}
    return {(ox.NamedNode(n), c.removeprefix(EX)) for n, c in typed if c.startswith(EX)}


# ------------------------------------------------------------------------------ Queries


def test_statements_and_classes_are_in_the_export(kg: KnowledgeGraph) -> None:
    for format_ in ("turtle", "trig"):
        quads = exported(kg, format_)
        assert statements(quads) == STATEMENTS
        assert classes(quads) == CLASSES


def test_statements_are_queried_by_property_and_class(kg: KnowledgeGraph) -> None:
    born = "SELECT ?p ?date { ?p a ex:Chemist ; ex:birthDate ?date ; ex:birthPlace ?place }"
    assert rows(kg, born) == {(ILSE.value, "1901-05-07")}
    late = f'SELECT ?p {{ ?p ex:birthDate ?d FILTER(?d > "1900-01-01"^^{XSD.date}) }}'
    assert rows(kg, late) == {(ILSE.value,)}
    assert rows(kg, "SELECT ?p { ?p ex:teacher/ex:birthPlace/^ex:birthPlace ?p }") == {
        (ILSE.value,)
    }


def test_a_statement_leads_to_its_sentence(kg: KnowledgeGraph) -> None:
    select = (
        "SELECT ?text ?source { ?r sarag:text ?text ; prov:wasDerivedFrom/sarag:source ?source ; "
    )
    taught = f"sarag:inverseProperty ex:teacher ; sarag:object {ILSE} }}"
    assert rows(kg, select + taught) == {
        ("Emil Sand taught Ilse Brandt.", f"{BASE}source/emil.txt"),
    }
    height = f"sarag:property ex:height ; sarag:value 169 ; sarag:subject {ILSE} }}"
    assert rows(kg, select + height) == {
        ("Ilse Brandt, a chemist, was 169 cm tall.", f"{BASE}source/tall.txt"),
    }


def test_values_have_their_words_and_units(kg: KnowledgeGraph) -> None:
    values = "SELECT ?value ?words ?unit { ?r sarag:value ?value ; sarag:valueText ?words "
    values += "OPTIONAL { ?r sarag:unit ?unit } }"
    assert rows(kg, values) == {
        ("169", "169 cm", "http://qudt.org/vocab/unit/CentiM"),
        ("1901-05-07", "7 May 1901", ""),
    }


def test_a_date_is_a_temporal_entity_with_a_value(kg: KnowledgeGraph) -> None:
    dates = "SELECT ?e ?value { ?e a sarag:TemporalValue ; sarag:value ?value }"
    assert rows(kg, dates) == {(f"{BASE}entity/7_may_1901", "1901-05-07")}


def test_the_export_declares_the_prefix_of_the_ontology(kg: KnowledgeGraph) -> None:
    other = "https://example.org/other#"
    prefixes = (
        f'<urn:a> sh:declare <urn:b> . <urn:b> sh:prefix "o" ; sh:namespace "{other}" . '
        '<urn:c> sh:prefix "unused" ; sh:namespace "https://example.org/unused#" . '
        '<urn:d> sh:prefix "entity" ; sh:namespace "https://example.org/entity#" . '
        '<urn:e> sh:prefix "1:2" ; sh:namespace "no IRI" . '
    )
    declared = f"@prefix sh: <http://www.w3.org/ns/shacl#> . {prefixes} <{other}p> a <{EX}Person> ."
    add_ontology(kg, declared, "other")
    buffer = io.BytesIO()
    kg.export("turtle", buffer)
    text = buffer.getvalue().decode()
    head = [line for line in text.splitlines() if line.startswith("@prefix ")]
    assert f"@prefix ex: <{EX}> ." in head
    assert f"@prefix o: <{other}> ." in head
    assert f"@prefix entity: <{BASE}entity/> ." in head
    assert not [line for line in head if "unused" in line or "1:2" in line]
    assert "ex:birthPlace entity:linz" in text


# ------------------------------------------------------------------------------ Changes


def test_statements_and_classes_go_with_the_last_source(kg: KnowledgeGraph) -> None:
    kg.delete(["tall.txt"])
    quads = exported(kg, "trig")
    assert statements(quads) == {t for t in STATEMENTS if t.predicate != ex("height")}
    assert classes(quads) == CLASSES - {(ILSE, "Chemist")}
    kg.delete(["ilse.txt"])
    quads = exported(kg, "trig")
    assert statements(quads) == {t for t in STATEMENTS if t.predicate == ex("teacher")} | {
        ox.Triple(EMIL, ex("birthPlace"), LINZ)
    }
    assert classes(quads) == CLASSES - {(ILSE, "Chemist")}
    kg.delete(["emil.txt"])
    quads = exported(kg, "trig")
    assert (statements(quads), classes(quads)) == (set(), set())


# ------------------------------------------------------------------------------ RDF 1.2


def reified(quads: list[ox.Quad]) -> set[tuple[str, object]]:
    """(sentence, reified triple) of each reifier."""
    texts = {q.subject: text_of(q.object) for q in quads if q.predicate == SARAG.text}
    return {(texts[quad.subject], quad.object) for quad in quads if quad.predicate == RDF.reifies}


@pytest.mark.parametrize("format_", ["turtle", "trig"])
def test_relationships_reify_their_statements(kg: KnowledgeGraph, format_: str) -> None:
    quads = exported(kg, format_, rdf12=True)
    assert statements(quads) == STATEMENTS
    found = reified(quads)
    date = ox.NamedNode(f"{BASE}entity/7_may_1901")
    assert found == {
        ("Ilse Brandt was born in Linz.", ox.Triple(ILSE, SARAG.relatedTo, LINZ)),
        ("Ilse Brandt was born in Linz.", ox.Triple(ILSE, ex("birthPlace"), LINZ)),
        ("Emil Sand was born in Linz.", ox.Triple(EMIL, SARAG.relatedTo, LINZ)),
        ("Emil Sand was born in Linz.", ox.Triple(EMIL, ex("birthPlace"), LINZ)),
        ("Ilse Brandt was born on 7 May 1901.", ox.Triple(ILSE, SARAG.relatedTo, date)),
        (
            "Ilse Brandt was born on 7 May 1901.",
            ox.Triple(ILSE, ex("birthDate"), ox.Literal("1901-05-07", datatype=XSD.date)),
        ),
        ("Emil Sand taught Ilse Brandt.", ox.Triple(EMIL, SARAG.relatedTo, ILSE)),
        ("Emil Sand taught Ilse Brandt.", ox.Triple(ILSE, ex("teacher"), EMIL)),
        (
            "Ilse Brandt, a chemist, was 169 cm tall.",
            ox.Triple(ILSE, ex("height"), ox.Literal("169", datatype=XSD.integer)),
        ),
        ("Ilse Brandt met Emil Sand.", ox.Triple(ILSE, SARAG.relatedTo, EMIL)),
    }
    asserted = {quad.triple for quad in quads}
    assert {triple for _, triple in found} <= asserted


# --------------------------------------------------------------------- Other consumers


def related(entities: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(subject, phrase, object) by labels, of all statements with the property "related to"."""
    names = {e["id"]: e["labels"].get("en", {}).get("value", "") for e in entities}
    ids = {name: identifier for identifier, name in names.items()}
    return sorted(
        (
            names[entity["id"]],
            statement["qualifiers"][ids["phrase"]][0]["datavalue"]["value"]["text"],
            names[statement["mainsnak"]["datavalue"]["value"]["id"]],
        )
        for entity in entities
        for statement in entity["claims"].get(ids["related to"], ())
    )


def test_the_graph_conforms_to_the_shapes(kg: KnowledgeGraph) -> None:
    report = kg.validate()
    assert report.conforms, report.violations


def test_a_wikibase_export_has_the_same_statements(tmp_path: Path, sarag: Sarag) -> None:
    """The classes of the ontology are items; relationships are as without types."""
    exports = []
    for name, properties in (("typed", True), ("plain", False)):
        with typed_graph(tmp_path / name, typed=properties):
            pass
        done = sarag("export", "--format", "wikibase-json", "--kg", tmp_path / name)
        assert done.code == 0, done.err
        exports.append(related(json.loads(done.out)))
    typed, plain = exports
    assert typed == plain
    assert len(typed) == 4, "a date is no item"
