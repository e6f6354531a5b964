"""RDF that leaves the library: the same bytes always, and what other readers make of them."""

from __future__ import annotations

import io
import json
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from sarag_rdf.base.errors import StoreError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, Table, Triples
from sarag_rdf.base.vocab import PREFIXES, RDF, SARAG, SKOS
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.rdf_export import (
    DATASET_FORMATS,
    FORMATS,
    ExportParts,
    GraphSelection,
    select_graphs,
    sorted_quads,
    sorted_triples,
    write_parts,
)
from tests.kg.consumers import CONSUMERS
from tests.sample_graph import BASE, CROOKED_NAMES, crooked_graph, make_graph, quads_of, rdf_bytes

if TYPE_CHECKING:
    from typing_extensions import Buffer

ALL = tuple(FORMATS)
READINGS = [(name, format_) for name, (_, formats) in CONSUMERS.items() for format_ in formats]


def filled(quads: Iterable[ox.Quad], store: OxigraphStore | None = None) -> OxigraphStore:
    made = store or OxigraphStore.in_memory()
    for quad in quads:
        made.apply(Change(insert=(quad,)))
    return made


def union(quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """The quads' triples, as quads of the default graph."""
    return {ox.Quad(quad.subject, quad.predicate, quad.object) for quad in quads}


def canonical(quads: Iterable[ox.Quad]) -> ox.Dataset:
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


@pytest.fixture(scope="module")
def quads(tmp_path_factory: pytest.TempPathFactory) -> list[ox.Quad]:
    """A graph of ordinary sentences and of crooked names."""
    folder = tmp_path_factory.mktemp("graphs")
    return sorted(
        {*quads_of(make_graph(folder / "plain")), *quads_of(crooked_graph(folder / "crooked"))},
        key=str,
    )


def reader_of(store: OxigraphStore) -> GraphReader:
    return GraphReader(store, Minter(BASE))


def everything(store: OxigraphStore) -> GraphSelection:
    return select_graphs(store, Minter(BASE), ExportParts(imported=True))


@pytest.fixture(scope="module")
def store(quads: list[ox.Quad]) -> OxigraphStore:
    return filled(quads)


@pytest.fixture(scope="module")
def files(store: OxigraphStore, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The graph as a file of each format."""
    folder = tmp_path_factory.mktemp("exports")
    for name in ALL:
        (folder / name).write_bytes(rdf_bytes(store, name, base=BASE))
    return {name: folder / name for name in ALL}


# ------------------------------------------------------------------------------- Bytes


def test_there_are_six_formats() -> None:
    assert ALL == ("turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml")


@pytest.mark.parametrize("format_", ALL)
def test_same_graph_same_bytes(
    quads: list[ox.Quad], files: dict[str, Path], tmp_path: Path, format_: str
) -> None:
    """Filled in another order, in memory and on disk, with quads put in and taken out between."""
    wanted = files[format_].read_bytes()
    for seed, made in ((1, OxigraphStore.in_memory()), (2, OxigraphStore.create(tmp_path / "s"))):
        shuffled = random.Random(seed).sample(quads, len(quads))
        store = filled(shuffled[:50], made)
        store.apply(Change(delete=tuple(shuffled[:50])))
        store.apply(Change(insert=tuple(reversed(shuffled))))
        assert rdf_bytes(store, format_, base=BASE) == wanted
        store.close()
    again = OxigraphStore.open(tmp_path / "s")
    assert rdf_bytes(again, format_, base=BASE) == wanted


def test_an_export_reads_from_things_to_evidence_and_types_come_first(store: OxigraphStore) -> None:
    triples = list(sorted_triples(store, everything(store), BASE))
    subjects = list(dict.fromkeys(str(triple.subject)[1:-1] for triple in triples))
    values = {str(t.subject)[1:-1] for t in triples if t.object == SARAG.Value}
    segments = [
        "value" if s in values else s.removeprefix(BASE).split("/")[0] if "#" not in s else "use"
        for s in subjects
    ]
    kinds = list(dict.fromkeys(segments))
    order = ["dataset", "entity", "value", "source", "doc", "relationship", "use"]
    assert [kind for kind in kinds if kind in order] == [k for k in order if k in kinds]
    for kind in kinds:
        own = [s for s, segment in zip(subjects, segments, strict=True) if segment == kind]
        assert own == sorted(own)
    assert len(subjects) > 100
    first = {triple.subject: triple.predicate for triple in reversed(triples)}
    typed = {triple.subject for triple in triples if triple.predicate == RDF.type}
    assert typed
    assert {first[subject] for subject in typed} == {RDF.type}


def test_every_triple_once(quads: list[ox.Quad]) -> None:
    """Also those that are in two graphs, as an imported graph may have them."""
    imported = ox.NamedNode(BASE + "graph/external/copy")
    copies = [ox.Quad(q.subject, q.predicate, q.object, imported) for q in quads[::5]]
    quads = [*quads, *dict.fromkeys(copies)]
    store = filled(quads)
    triples = list(sorted_triples(store, everything(store), BASE))
    assert len(triples) == len(set(triples)) == len(union(quads)) < len(quads)
    found = list(sorted_quads(store, everything(store), BASE))
    assert len(found) == len(set(found)) == len(quads)


# ----------------------------------------------------------------------------- Readers


@pytest.mark.interop
@pytest.mark.parametrize(("consumer", "format_"), READINGS)
def test_read_by(quads: list[ox.Quad], files: dict[str, Path], consumer: str, format_: str) -> None:
    """As many triples as there are, and the same ones: also names that syntaxes trip over."""
    wanted = set(quads) if format_ in DATASET_FORMATS else union(quads)
    found = CONSUMERS[consumer][0](files[format_], format_)
    assert len(found) == len(set(found)) == len(wanted)
    assert canonical(found) == canonical(wanted)


@pytest.mark.interop
def test_every_format_is_read_by_two_at_least() -> None:
    for format_ in ALL:
        assert len([name for name, known in READINGS if known == format_]) >= 2


@pytest.mark.parametrize("format_", ALL)
def test_names_survive(files: dict[str, Path], format_: str) -> None:
    found = CONSUMERS["pyoxigraph"][0](files[format_], format_)
    labels = {
        quad.object.value
        for quad in found
        if quad.predicate == SKOS.prefLabel and isinstance(quad.object, ox.Literal)
    }
    assert labels >= set(CROOKED_NAMES)


def test_xml_is_well_formed(files: dict[str, Path]) -> None:
    root = ET.parse(files["rdfxml"]).getroot()
    texts = {element.text for element in root.iter(f"{{{SKOS.base}}}prefLabel")}
    assert texts >= set(CROOKED_NAMES)


def test_json_is_json(files: dict[str, Path]) -> None:
    data = json.loads(files["jsonld"].read_bytes())
    assert len(data) > 100


# ------------------------------------------------------------------------------ Syntax


@pytest.mark.parametrize("format_", ALL)
def test_rdf_1_1_without_blank_nodes(files: dict[str, Path], format_: str) -> None:
    for quad in CONSUMERS["pyoxigraph"][0](files[format_], format_):
        assert isinstance(quad.subject, ox.NamedNode)
        assert isinstance(quad.object, ox.NamedNode | ox.Literal)
        if isinstance(quad.object, ox.Literal):
            assert quad.object.direction is None
    text = files[format_].read_text(encoding="utf-8")
    assert not re.search(r"^\s*(@version|VERSION)\b|rdf:version|its:version", text, re.MULTILINE)


@pytest.mark.parametrize("format_", ["turtle", "trig", "rdfxml"])
def test_prefixes_are_readable(files: dict[str, Path], format_: str) -> None:
    text = files[format_].read_text(encoding="utf-8")
    declared = dict(re.findall(r"(?:@prefix |xmlns:)(\w+)(?:: |=)[<\"]([^>\"]*)[>\"]", text))
    own = {
        name: f"{BASE}{name}/"
        for name in (
            "entity", "mention", "doc", "description", "relationship", "source", "extraction",
            "graph", "run",
        )
    }  # fmt: skip
    known = {**PREFIXES, **own}
    body = re.sub(r"^@prefix.*\n", "", text, flags=re.MULTILINE)
    if format_ == "rdfxml":
        assert {"rdf", "sarag", "skos", "prov", "dcterms"} <= declared.keys()
        assert declared.items() - {("its", "http://www.w3.org/2005/11/its")} <= known.items()
    else:
        terms = re.sub(r'"(?:[^"\\]|\\.)*"', "", body)
        used = {name for name in known if re.search(rf"(?<!\w){name}:[^/]", terms)}
        assert declared == {name: known[name] for name in used}
        assert {"entity", "sarag", "skos", "void"} <= used
        assert {"sssom", "semapv", "foaf", "schema"}.isdisjoint(used)
        assert not re.search(f"<({'|'.join(map(re.escape, known.values()))})", terms)
    for word in ("sarag:text", "skos:prefLabel", "prov:wasDerivedFrom", "dcterms:title"):
        assert word in body
    if format_ != "rdfxml":
        assert re.search(r"^\s*entity:[a-z]\w+ a sarag:\w+", body, re.MULTILINE)
        assert "<https://w3id.org/" not in body


def test_named_graphs_are_kept_apart(files: dict[str, Path], quads: list[ox.Quad]) -> None:
    graphs = {str(quad.graph_name) for quad in quads}
    assert len(graphs) > 10
    for format_ in sorted(DATASET_FORMATS):
        found = CONSUMERS["pyoxigraph"][0](files[format_], format_)
        assert {str(quad.graph_name) for quad in found} == graphs


# --------------------------------------------------------------------------- Streaming


class WatchedStore(OxigraphStore):
    """Notes when it is asked."""

    def __init__(self, events: list[str]) -> None:
        super().__init__(ox.Store())
        self.events = events

    def query(self, text: str, **dataset: Any) -> Table | Triples | bool:
        self.events.append("query")
        return super().query(text, **dataset)


class WatchedStream(io.RawIOBase):
    """Notes when it is written to."""

    def __init__(self, events: list[str]) -> None:
        self.events = events

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        self.events.append("write")
        return len(memoryview(data))


def many(count: int) -> Iterator[ox.Quad]:
    graph = ox.NamedNode(BASE + "graph/kg")
    for number in range(count):
        node = ox.NamedNode(f"{BASE}entity/E-{number}")
        yield ox.Quad(node, SKOS.prefLabel, ox.Literal("name " * 20), graph)


@pytest.mark.parametrize("format_", ALL)
def test_writes_while_it_reads(format_: str) -> None:
    """Only one batch of subjects is held: bytes leave before the last batch is asked for."""
    events: list[str] = []
    store = WatchedStore(events)
    store.apply(Change(insert=tuple(many(5_000))))
    stream = WatchedStream(events)
    write_parts(reader_of(store), format_, stream, ExportParts())  # type: ignore[arg-type]
    queries = [place for place, event in enumerate(events) if event == "query"]
    # the first ones are for the graphs and for prefixes
    queries = queries[1 if format_ in ("ntriples", "nquads") else 3 :]
    assert len(queries) > 10
    assert "write" in events[: queries[3]]
    between = [events[a:b].count("write") for a, b in pairwise(queries[2:])]
    assert min(between) >= 1


def test_triples_are_made_when_asked_for() -> None:
    events: list[str] = []
    store = WatchedStore(events)
    store.apply(Change(insert=tuple(many(2_000))))
    triples = sorted_triples(store, everything(store), BASE)
    events.clear()
    next(triples)
    assert events == ["query"] * 3


# ------------------------------------------------------------------------------ Errors


NODE, PROPERTY, GRAPH = (ox.NamedNode(BASE + name) for name in ("node", "p", "graph/kg"))


@pytest.mark.parametrize(
    "quad",
    [
        ox.Quad(ox.BlankNode("b"), PROPERTY, NODE, GRAPH),
        ox.Quad(NODE, PROPERTY, ox.BlankNode("b"), GRAPH),
        ox.Quad(NODE, PROPERTY, ox.Triple(NODE, PROPERTY, NODE), GRAPH),
    ],
    ids=["subject", "object", "triple"],
)
@pytest.mark.parametrize("format_", ALL)
def test_what_has_no_lasting_name_is_refused(quad: ox.Quad, format_: str) -> None:
    store = ox.Store()
    store.add(quad)
    with pytest.raises(
        StoreError,
        match=r"invalid term in the graph: .* is (not an IRI|neither an IRI nor a literal)",
    ):
        rdf_bytes(OxigraphStore(store), format_)


@pytest.mark.parametrize("format_", ALL)
def test_empty_graph(format_: str) -> None:
    data = rdf_bytes(OxigraphStore.in_memory(), format_)
    assert list(ox.parse(data, format=FORMATS[format_])) == []


@pytest.mark.parametrize(
    "predicate", ["urn:1", "http://e.example/", "http://e.example/a#", "http://e.example/a?b=1"]
)
def test_a_predicate_that_rdf_xml_cannot_express(predicate: str) -> None:
    """The engine writes it as an element without a name, which is not well-formed."""
    name = ox.NamedNode("urn:g")
    quad = ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode(predicate), ox.Literal("x"), name)
    store = filled([quad])
    with pytest.raises(UsageError) as caught:
        rdf_bytes(store, "rdfxml")
    assert f"cannot express the predicate <{predicate}>" in str(caught.value)
    assert predicate.encode() in rdf_bytes(store, "turtle")


@pytest.mark.parametrize(
    "predicate", ["http://e.example/1a", "urn:a:b1", "http://e.example/a.b-c", "urn:\u00e9"]
)
def test_a_predicate_that_ends_with_a_name(predicate: str) -> None:
    name = ox.NamedNode("urn:g")
    quad = ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode(predicate), ox.Literal("x"), name)
    written = rdf_bytes(filled([quad]), "rdfxml")
    assert ET.fromstring(written).tag.endswith("RDF")
    assert union(ox.parse(written, format=ox.RdfFormat.RDF_XML)) == union([quad])
