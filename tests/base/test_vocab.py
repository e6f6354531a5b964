"""The terms that the library writes and reads exist, and the ontology has none without a use."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import rdflib
from rdflib import OWL, RDF, RDFS, Graph, URIRef

import sarag_rdf
from sarag_rdf.base import vocab
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.types import ENTITY_TYPES
from sarag_rdf.base.vocab import PREFIXES, SARAG, TYPE_CLASSES, Namespace

if TYPE_CHECKING:
    from rdflib.namespace import DefinedNamespace

PACKAGE = Path(sarag_rdf.__file__).parent
QUERIES = PACKAGE.parent / "queries"

PUBLISHED: dict[str, type[DefinedNamespace]] = {
    "DCAT": rdflib.DCAT,
    "DCTERMS": rdflib.DCTERMS,
    "FOAF": rdflib.FOAF,
    "OWL": rdflib.OWL,
    "PROV": rdflib.PROV,
    "RDF": rdflib.RDF,
    "RDFS": rdflib.RDFS,
    "SCHEMA": rdflib.SDO,
    "SH": rdflib.SH,
    "SKOS": rdflib.SKOS,
    "VOID": rdflib.VOID,
    "WIKIBASE_SCHEMA": rdflib.SDO,
    "XSD": rdflib.XSD,
}
"""The vocabularies of others as rdflib lists them, by their names in `sarag_rdf.base.vocab`."""

NOT_LISTED = {
    "RDF": {"reifies"},
    "SEMAPV": {
        "ManualMappingCuration",
        "CompositeMatching",
        "LexicalMatching",
        "LexicalSimilarityThresholdMatching",
        "SemanticSimilarityThresholdMatching",
        "UnspecifiedMatching",
    },
    "SPDX": {"Checksum", "algorithm", "checksum", "checksumAlgorithm_sha256", "checksumValue"},
    "SSSOM": {
        "subject_label",
        "NoMapping",
        "confidence",
        "mapping_date",
        "mapping_justification",
        "mapping_tool",
        "object_label",
    },
}
"""Terms that rdflib does not list, as their own documents have them."""

ENTAILED = {"describedBy", "mentions", "outgoing", "hasRelationship"}
"""Properties that a reasoner adds and nobody stores; their comments say so."""


@cache
def ontology() -> Graph:
    return Graph(bind_namespaces="none").parse(ontology_path("sarag.ttl"), format="turtle")


def declared(kind: URIRef) -> set[str]:
    """Local names of the ontology's own terms of one kind."""
    terms = {str(term) for term in ontology().subjects(RDF.type, kind)}
    return {term.removeprefix(SARAG.base) for term in terms if term.startswith(SARAG.base)}


@cache
def used_in_code() -> dict[str, set[str]]:
    """Vocabulary -> names, wherever ``SARAG.name`` or ``SARAG["name"]`` stands."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(ast.Name(vocabulary), name):
                    found[vocabulary].add(name)
                case ast.Subscript(ast.Name(vocabulary), ast.Constant(str(name))):
                    found[vocabulary].add(name)
    return {name: found[name] - {"base"} for name in [*PUBLISHED, *NOT_LISTED, "SARAG"]}


@cache
def used_in_queries() -> dict[str, set[str]]:
    """Prefix -> names, in all query files."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in QUERIES.rglob("*.rq"):
        text = re.sub(r"#.*|<[^>]*>|\"[^\"]*\"", " ", path.read_text(encoding="utf-8"))
        for prefix, name in re.findall(r"(\w+):(\w+)", text):
            found[prefix].add(name)
    return found


def test_every_term_of_the_library_is_in_the_ontology() -> None:
    kinds = (OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty)
    terms = set().union(*map(declared, kinds))
    code, queries = used_in_code()["SARAG"], used_in_queries()["sarag"]
    assert len(code) > 30
    assert len(queries) > 20
    assert code - terms == set()
    assert queries - terms == set()


def test_every_term_of_the_ontology_is_used_or_entailed() -> None:
    used = used_in_code()["SARAG"] | used_in_queries()["sarag"]
    properties = declared(OWL.ObjectProperty) | declared(OWL.DatatypeProperty)
    assert properties - used == ENTAILED
    for name in ENTAILED:
        assert "stored" in str(ontology().value(URIRef(SARAG.base + name), RDFS.comment)), name
    assert declared(OWL.Class) - used == {
        "Text",
        "Description",
        "Referent",
    }  # Classes above others.


@pytest.mark.parametrize("name", PUBLISHED)
def test_terms_of_others_exist(name: str) -> None:
    vocabulary = getattr(vocab, name)
    assert isinstance(vocabulary, Namespace)
    published = str(PUBLISHED[name]._NS)
    is_wikibase = name == "WIKIBASE_SCHEMA"
    assert vocabulary.base == (published.replace("https:", "http:") if is_wikibase else published)
    prefix = next((prefix for prefix, base in PREFIXES.items() if base == vocabulary.base), "")
    terms = used_in_code()[name] | used_in_queries().get(prefix, set())
    listed = NOT_LISTED.get(name, set())
    assert {term for term in terms - listed if term not in PUBLISHED[name]} == set()


@pytest.mark.parametrize("name", sorted(NOT_LISTED.keys() - PUBLISHED.keys()))
def test_terms_that_rdflib_does_not_list_exist(name: str) -> None:
    prefix = next((p for p, base in PREFIXES.items() if base == getattr(vocab, name).base), "")
    assert used_in_code()[name] == NOT_LISTED[name]
    assert used_in_queries().get(prefix, set()) <= NOT_LISTED[name]


def test_terms_of_others_are_used_at_all() -> None:
    """Else the test above could not fail."""
    code = used_in_code()
    assert {name for name in PUBLISHED if code[name]} >= {"RDF", "RDFS", "SKOS", "PROV", "XSD"}
    assert used_in_queries().keys() <= PREFIXES.keys() | {"wd", "wdt", "wikibase"}


def test_namespaces_make_nodes() -> None:
    assert SARAG.describes.value == "https://w3id.org/sarag/ontology#describes"
    assert SARAG["describes"] == SARAG.describes
    with pytest.raises(AttributeError):
        _ = SARAG.__no_such_thing__


def test_prefixes_are_those_of_the_ontology() -> None:
    bound = {prefix: str(base) for prefix, base in ontology().namespaces()}
    assert {prefix: bound.get(prefix) for prefix in PREFIXES} == PREFIXES


def test_every_type_has_a_class_of_its_own() -> None:
    graph = ontology()
    assert TYPE_CLASSES.keys() == set(ENTITY_TYPES)
    subclasses = {
        each
        for kind in (SARAG.Entity, SARAG.Value)
        for each in graph.subjects(RDFS.subClassOf, URIRef(kind.value))
    }
    assert {URIRef(node.value) for node in TYPE_CLASSES.values()} == subclasses
