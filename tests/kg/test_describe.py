"""The description of a data set: its counts against SPARQL's, its form against SHACL shapes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib
from rdflib import DCAT, DCTERMS, FOAF, PROV, RDF, VOID, BNode, Literal, URIRef

import sarag_rdf
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, Table
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import SARAG, SPDX
from sarag_rdf.building.link_records import EXACT, SAME_AS
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import DatasetMetadata, with_curated_revision, write_dataset_metadata
from sarag_rdf.graph.records import Match
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.sample_graph import BASE, graph_of, make_graph, quads_of
from tests.typed_graph import EX, typed_graph

DATASET = URIRef(BASE + "dataset")
MINTER = Minter()
LICENSE = "https://creativecommons.org/licenses/by/4.0/"
THESAURUS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<https://thesaurus.example.org/1> a skos:Concept ; skos:prefLabel "Ada"@en .
<https://thesaurus.example.org/2> a skos:Concept ; skos:prefLabel "Boris"@en .
<https://other.example/ulm#3> a skos:Concept ; skos:prefLabel "Ulm"@en .
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with an imported thesaurus, and links to it."""
    root = tmp_path_factory.mktemp("described")
    made = make_graph(root / "kg")
    (root / "people.ttl").write_text(THESAURUS)
    with sarag_rdf.open(made, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(root / "people.ttl", "skos")
        pairs = [
            ("ada", EXACT, "https://thesaurus.example.org/1"),
            ("boris", EXACT, "https://thesaurus.example.org/2"),
            ("ulm", SAME_AS, "https://other.example/ulm#3"),
        ]
        kg.links.accept([Match(MINTER.entity(a), p, b) for a, p, b in pairs])
    return made


@pytest.fixture
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as made:
        yield made


def read(data: bytes | str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=data, format="turtle")


def number(graph: rdflib.Graph, node: URIRef, property_: URIRef) -> int:
    found = [str(value) for value in graph.objects(node, property_)]
    assert len(found) == 1, (node, property_, found)
    return int(found[0])


def shapes() -> rdflib.Graph:
    return rdflib.Graph().parse(str(ontology_path("description.ttl")), format="turtle")


def conforms(graph: rdflib.Graph) -> tuple[bool, str]:
    done, _, text = pyshacl.validate(graph, shacl_graph=shapes())
    return bool(done), text


def sparql(kg: KnowledgeGraph, select: str, pattern: str = "") -> list[tuple[str, ...]]:
    """Rows over the distinct triples of all graphs that were not imported."""
    inner = f"""SELECT DISTINCT ?s ?p ?o {{ GRAPH ?g {{ ?s ?p ?o }}
      FILTER(!STRSTARTS(STR(?g), "{MINTER.graph("imported")}")) {pattern} }}"""
    head, _, tail = select.partition(" GROUP")
    result = kg.query(f"SELECT {head} {{ {{ {inner} }} }}" + (f" GROUP{tail}" if tail else ""))
    assert isinstance(result, Table)
    return [tuple(term.value for term in row) for row in result.rows]


# ------------------------------------------------------------------------------ Counts


def test_counts_are_those_of_sparql(kg: KnowledgeGraph) -> None:
    graph = read(kg.describe())
    for property_, expression in (
        (VOID.triples, "COUNT(*)"),
        (VOID.distinctSubjects, "COUNT(DISTINCT ?s)"),
        (VOID.distinctObjects, "COUNT(DISTINCT ?o)"),
        (VOID.properties, "COUNT(DISTINCT ?p)"),
    ):
        ((wanted,),) = sparql(kg, f"({expression} AS ?n)")
        assert number(graph, DATASET, property_) == int(wanted) > 5, property_
    is_a = f"?s <{RDF.type}> ?o ."
    ((entities,),) = sparql(kg, "(COUNT(DISTINCT ?s) AS ?n)", f"?s a <{SARAG.Entity.value}> .")
    assert number(graph, DATASET, VOID.entities) == int(entities) == kg.stats()["entities"]
    ((classes,),) = sparql(kg, "(COUNT(DISTINCT ?o) AS ?n)", is_a + f"FILTER(?p = <{RDF.type}>)")
    assert number(graph, DATASET, VOID.classes) == int(classes) > 5


def test_partitions_are_those_of_sparql(kg: KnowledgeGraph) -> None:
    graph = read(kg.describe())
    rows = sparql(
        kg, "?p (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?a) (COUNT(DISTINCT ?o) AS ?b) GROUP BY ?p"
    )
    found = {
        (
            str(graph.value(part, VOID.property)),
            *(
                str(graph.value(part, p))
                for p in (VOID.triples, VOID.distinctSubjects, VOID.distinctObjects)
            ),
        )
        for part in graph.objects(DATASET, VOID.propertyPartition)
    }
    assert found == set(rows)
    rows = sparql(kg, "?o (COUNT(DISTINCT ?s) AS ?n) GROUP BY ?o", f"FILTER(?p = <{RDF.type}>)")
    classes = {
        (str(graph.value(part, VOID["class"])), str(graph.value(part, VOID.entities)))
        for part in graph.objects(DATASET, VOID.classPartition)
    }
    assert classes == set(rows)


def test_subsets_and_linksets(kg: KnowledgeGraph, folder: Path) -> None:
    graph = read(kg.describe())
    quads = quads_of(folder)

    def size(prefix: str) -> int:
        return len({q.triple for q in quads if graph_of(q).startswith(prefix)})

    subset = {
        name: URIRef(f"{DATASET}/subset-{name}") for name in ("evidence", "traversed", "links")
    }
    imported = URIRef(next(i.iri for i in kg.imports()))
    assert number(graph, subset["evidence"], VOID.triples) == size(MINTER.graph("sources")) > 50
    assert number(graph, subset["traversed"], VOID.triples) == size(MINTER.kg_graph) > 50
    assert number(graph, subset["links"], VOID.triples) == size(MINTER.links_graph) > 5
    assert number(graph, imported, VOID.triples) == 6
    linksets = set(graph.subjects(RDF.type, VOID.Linkset))
    subsets = set(graph.objects(DATASET, VOID.subset))
    assert subsets == {*subset.values(), imported, *linksets}
    found = {
        (
            str(graph.value(graph.value(node, VOID.objectsTarget), VOID.uriSpace)),
            str(graph.value(node, VOID.linkPredicate)),
            str(graph.value(node, VOID.triples)),
        )
        for node in linksets
    }
    assert found == {
        ("https://thesaurus.example.org/", EXACT, "2"),
        ("https://other.example/ulm#", SAME_AS, "1"),
    }


# -------------------------------------------------------------------------------- Form


def test_the_whole_conforms_without_blank_nodes(kg: KnowledgeGraph, tmp_path: Path) -> None:
    dump = tmp_path / "graph.nt"
    dump.write_bytes(b"<a:a> <a:b> <a:c> .\n")
    data = kg.describe(
        [f"{dump}=ntriples", "https://x.example/g.trig.gz=trig"], "https://x.example/q"
    )
    graph = read(data)
    assert not [term for triple in graph for term in triple if isinstance(term, BNode)]
    assert conforms(graph)[0], conforms(graph)[1]
    local = graph.value(predicate=DCAT.downloadURL, object=URIRef(dump.as_uri()))
    assert graph.value(local, DCAT.byteSize) == Literal(20, datatype=rdflib.XSD.nonNegativeInteger)
    assert "nonNegativeInteger" in data.decode()
    checksum = graph.value(local, URIRef(SPDX.checksum.value))
    value = str(graph.value(checksum, URIRef(SPDX.checksumValue.value))).lower()
    assert hashlib.sha256(dump.read_bytes()).hexdigest() in data.decode()
    assert value
    service = graph.value(predicate=RDF.type, object=DCAT.DataService)
    assert graph.value(service, DCAT.endpointURL) == URIRef("https://x.example/q")
    assert graph.value(service, DCAT.servesDataset) == DATASET
    media = {str(value) for value in graph.objects(None, DCAT.mediaType)}
    assert {m.rpartition("/")[2] for m in media} == {"n-triples", "trig"}


@pytest.mark.parametrize(
    "wrong",
    [
        (DATASET, DCTERMS.title, None),
        (DATASET, VOID.triples, Literal(5)),
        (None, VOID.linkPredicate, None),
        (None, VOID["class"], Literal("many")),
    ],
)
def test_the_shapes_find_what_is_wrong(
    kg: KnowledgeGraph, wrong: tuple[URIRef | None, URIRef, Literal | None]
) -> None:
    graph = read(kg.describe())
    node, property_, value = wrong
    if value is None:
        graph.remove((node, property_, None))
    else:
        graph.add((node or next(graph.subjects(property_, None)), property_, value))
    assert not conforms(graph)[0]


def test_vocabularies_examples_and_provenance(kg: KnowledgeGraph) -> None:
    graph = read(kg.describe())
    assert {SARAG.base, str(PROV._NS), str(RDF._NS)} <= {
        str(v) for v in graph.objects(DATASET, VOID.vocabulary)
    }
    examples = {str(e) for e in graph.objects(DATASET, VOID.exampleResource)}
    assert len(examples) == 3
    assert all(e.startswith(MINTER.base + "entity/") for e in examples)
    activities = set(graph.objects(DATASET, PROV.wasGeneratedBy))
    runs = {a for a in activities if (a, RDF.type, URIRef(SARAG.Run.value)) in graph}
    (extraction,) = activities - runs
    assert graph.value(extraction, URIRef(SARAG.extractor.value)) == Literal("capitals")
    ended = {str(graph.value(run, PROV.endedAtTime)) for run in runs}
    assert len(runs) == 2
    assert str(graph.value(DATASET, DCTERMS.modified)) == max(ended)


def test_same_graph_same_bytes(kg: KnowledgeGraph, folder: Path) -> None:
    data = kg.describe()
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as again:
        assert again.describe() == data


# ------------------------------------------------------------------------- Command line


def test_what_is_said_is_kept(sarag: Sarag, tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")
    before = sarag("export", "--kg", folder, "--format", "nquads").out
    bare = sarag("describe", "--kg", folder)
    assert bare.code == 0
    assert bare.complaints == ["sarag: the dataset has no licence: set its IRI with --license"]
    given = ("--title", "Rivers", "--license", LICENSE, "--publisher", "River Society")
    first = sarag("describe", "--kg", folder, *given, "--homepage", "https://x.example/")
    again = sarag("describe", "--kg", folder)
    assert (first.out, again.code, again.err) == (again.out, 0, "")
    graph = read(again.out)
    assert graph.value(DATASET, DCTERMS.title) == Literal("Rivers")
    assert graph.value(DATASET, DCTERMS.license) == URIRef(LICENSE)
    publisher = graph.value(DATASET, DCTERMS.publisher)
    assert graph.value(publisher, FOAF.name) == Literal("River Society")
    assert "Rivers" in sarag("export", "--kg", folder).out
    assert conforms(graph)[0]
    named = sarag("describe", "--kg", folder, "--publisher", "Museum: Minerals")
    assert (named.code, "Museum: Minerals" in named.out) == (0, True)
    changed = sarag("describe", "--kg", folder, "--publisher", "https://society.example/#us")
    assert "Museum" not in changed.out
    assert "River Society" not in changed.out
    assert sarag("validate", "--kg", folder).code == 0
    nothing = [part for name in given[::2] for part in (name, "")]
    sarag("describe", "--kg", folder, *nothing, "--homepage", "")
    assert sarag("export", "--kg", folder, "--format", "nquads").out == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--license", "CC BY"), ("'CC BY' is not an absolute IRI",)),
        (("--distribution", "https://x.example/dump"), ("is not a distribution", "URL=FORMAT")),
        (("--distribution", "no/such/file.nt=ntriples"), ("no/such/file.nt cannot be read",)),
        (("--sparql-endpoint", "here"), ("'here' is not an absolute IRI",)),
    ],
)
def test_what_cannot_be_said(
    sarag: Sarag, folder: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    before = quads_of(folder)
    result = sarag("describe", "--kg", folder, *arguments)
    result.fails(1 if "no/such" in arguments[1] else 2, *words)
    assert quads_of(folder) == before


def test_there_must_be_a_graph(sarag: Sarag, tmp_path: Path) -> None:
    sarag("describe", "--kg", tmp_path / "none", "--title", "x").fails(1, "no graph at")
    assert not (tmp_path / "none").exists()


def test_a_graph_whose_last_change_broke_off_gets_no_revision() -> None:
    """Neither by what is said nor by links: what was broken off would not be found any more."""
    store = OxigraphStore.in_memory()
    reader = GraphReader(store, MINTER)
    described = ox.Quad(
        ox.NamedNode(MINTER.knowledge_graph),
        SARAG.baseIRI,
        ox.Literal(MINTER.base),
        ox.NamedNode(MINTER.meta_graph),
    )
    store.apply(Change(insert=(described,)))
    write_dataset_metadata(reader, DatasetMetadata(title="Rivers"))
    link = Match(MINTER.entity("ada"), EXACT, "https://thesaurus.example.org/1")
    change = Change(insert=tuple(link.quads(MINTER, MINTER.links_graph)))
    store.apply(with_curated_revision(reader, change))
    assert any(quad.object == ox.Literal("Rivers") for quad in store.quads(MINTER.meta_graph))
    assert list(store.quads(MINTER.links_graph))
    assert not any(q.predicate == SARAG.revision for q in store.quads(MINTER.meta_graph))


def test_partitions_of_an_imported_graph(kg: KnowledgeGraph) -> None:
    """Class and property partitions of its own, with distinct subjects and objects."""
    graph = read(kg.describe())
    (imported,) = [node for node in graph.objects(DATASET, VOID.subset) if "people" in str(node)]
    assert isinstance(imported, URIRef)
    assert number(graph, imported, VOID.triples) == 6
    (part,) = graph.objects(imported, VOID.classPartition)
    assert isinstance(part, URIRef)
    assert number(graph, part, VOID.entities) == 3
    found = {
        str(graph.value(part, VOID.property)): tuple(
            number(graph, part, p)
            for p in (VOID.triples, VOID.distinctSubjects, VOID.distinctObjects)
        )
        for part in graph.objects(imported, VOID.propertyPartition)
        if isinstance(part, URIRef)
    }
    assert found == {
        str(RDF.type): (3, 3, 1),
        "http://www.w3.org/2004/02/skos/core#prefLabel": (3, 3, 3),
    }
    assert conforms(graph)[0]


def test_typed_statements_have_partitions() -> None:
    with typed_graph(None) as kg:
        graph = read(kg.describe())
    partitions = {
        str(graph.value(part, VOID.property)): part
        for part in graph.objects(DATASET, VOID.propertyPartition)
    }
    part = partitions[EX + "birthPlace"]
    assert isinstance(part, URIRef)
    assert [number(graph, part, p) for p in (VOID.triples, VOID.distinctObjects)] == [2, 1]
    classes = {
        str(graph.value(part, VOID["class"]))
        for part in graph.objects(DATASET, VOID.classPartition)
    }
    assert EX + "Chemist" in classes
