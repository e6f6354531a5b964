"""Imports: any RDF in any serialisation, thesauri, exports; broken files leave what was there."""

from __future__ import annotations

import bz2
import gzip
import http.server
import lzma
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, SaragError, UsageError
from sarag_rdf.building import graph_import
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor, quads_of

TURTLE = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix e: <https://ships.example.org/> .
e:vane rdfs:label "Vane"@en, "Fahne"@de ; e:captainOf [ foaf:name "Ida Storm" ; e:bornIn e:holm ] .
e:holm rdfs:label "Holm"@sv ; rdfs:comment "An island."@en .
"""
SKOS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix t: <https://terms.example.org/> .
t:water a skos:Concept ; skos:prefLabel "water"@en .
t:river a skos:Concept ; skos:prefLabel "river"@en ; skos:altLabel "stream"@en ;
  skos:definition "Water that flows."@en ; skos:broader t:water ; skos:related t:boat .
t:boat a skos:Concept ; skos:prefLabel "boat"@en .
"""
GRAPH = "https://example.org/kg/graph/external/"


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([sarag_rdf.Source("Ida sailed to Holm.")], extractor=CapitalExtractor())
        yield kg


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def triples(tmp_path: Path, name: str) -> set[ox.Triple]:
    store = ox.Store.read_only(str(tmp_path / "kg" / "store"))
    return {q.triple for q in store.quads_for_pattern(None, None, None, ox.NamedNode(GRAPH + name))}


def titles(kg: KnowledgeGraph, name: str) -> set[str]:
    """Names of the entities of one imported graph."""
    text = f"SELECT ?l {{ GRAPH <{GRAPH}{name}> {{ ?s ?p ?l }} FILTER(isLITERAL(?l)) }}"
    return {row[0].value for row in kg.query(text).rows}  # type: ignore[union-attr]


# ---------------------------------------------------------------------------- Serialisations


@pytest.mark.parametrize("suffix", ["ttl", "nt", "rdf", "jsonld", "nq", "trig"])
def test_every_serialisation_gives_the_same(
    kg: KnowledgeGraph, tmp_path: Path, suffix: str
) -> None:
    format_ = ox.RdfFormat.from_extension(suffix)
    assert format_ is not None
    quads = list(ox.parse(TURTLE, format=ox.RdfFormat.TURTLE))
    graph = ox.NamedNode("https://ships.example.org/g")
    if format_.supports_datasets:
        quads = [ox.Quad(q.subject, q.predicate, q.object, graph) for q in quads]
    path = tmp_path / f"ships.{suffix}"
    ox.serialize(quads, str(path), format_)
    report = kg.import_graph(path, "rdf")
    assert (report.name, report.kind, report.triples) == ("ships", "rdf", 7)
    found = triples(tmp_path, "ships")
    assert len(found) == 7
    assert not any(isinstance(t.subject, ox.BlankNode) for t in found)
    skolem = {t.subject for t in found if str(t.object) == '"Ida Storm"'}
    assert {t.object for t in found if t.predicate.value.endswith("captainOf")} == skolem
    assert all(str(node).startswith("<https://example.org/kg/genid/") for node in skolem)


@pytest.mark.parametrize("suffix", ["ttl", "nt", "rdf", "jsonld"])
def test_nodes_without_a_label_have_the_same_iri_in_every_import(
    kg: KnowledgeGraph, tmp_path: Path, suffix: str
) -> None:
    """The parser gives them a random label each time."""
    path = tmp_path / f"ships.{suffix}"
    format_ = ox.RdfFormat.from_extension(suffix)
    assert format_ is not None
    if suffix == "ttl":
        written(path, TURTLE)
    else:
        ox.serialize(ox.parse(TURTLE, format=ox.RdfFormat.TURTLE), str(path), format_)
    kg.import_graph(path, "rdf", name="once")
    kg.import_graph(path, "rdf", name="twice")
    assert triples(tmp_path, "once") == triples(tmp_path, "twice")
    assert len(triples(tmp_path, "once")) == 7


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_packed_files(kg: KnowledgeGraph, tmp_path: Path, suffix: str, pack: object) -> None:
    data = pack.compress(TURTLE.encode())  # type: ignore[attr-defined]
    assert kg.import_graph(written(tmp_path / f"s.ttl.{suffix}", data), "rdf").triples == 7
    cut = written(tmp_path / f"cut.ttl.{suffix}", data[: len(data) // 2])
    with pytest.raises(InputError, match=r"cut.ttl is damaged or truncated.*get it again"):
        kg.import_graph(cut, "rdf")
    assert [i.name for i in kg.imports()] == ["s"]


def test_a_url_is_read(kg: KnowledgeGraph, tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    written(folder / "terms.ttl", SKOS)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        report = kg.import_graph(f"{url}terms.ttl", "skos")
        with pytest.raises(InputError, match=r"cannot download .*missing.ttl: File not found"):
            kg.import_graph(f"{url}missing.ttl", "skos")
        server.shutdown()
    assert (report.name, report.kind) == ("terms", "skos")
    with pytest.raises(InputError, match="cannot download"):
        kg.import_graph(f"{url}terms.ttl", "skos", name="again")


def test_languages_are_kept_as_wished(kg: KnowledgeGraph, tmp_path: Path) -> None:
    report = kg.import_graph(written(tmp_path / "s.ttl", TURTLE), "rdf", languages=["en"])
    assert report.triples == 5
    assert titles(kg, "s") == {"Vane", "Ida Storm", "An island."}
    odd = TURTLE.replace('"Fahne"@de', '"Fahne"@de-at, "Vane (UK)"@en-GB')
    kg.import_graph(written(tmp_path / "o.ttl", odd), "rdf", languages=["EN-gb", "De-AT"])
    assert titles(kg, "o") == {"Fahne", "Vane (UK)", "Ida Storm"}
    with pytest.raises(InputError, match=r"no triples in .*, and --language"):
        kg.import_graph(written(tmp_path / "n.nt", '<a:b> <a:c> "d"@sv .'), "rdf", languages=["en"])


# ------------------------------------------------------------------------------------- Views


def test_a_thesaurus_is_seen_as_entities_and_pages(kg: KnowledgeGraph, tmp_path: Path) -> None:
    assert kg.import_graph(written(tmp_path / "t.ttl", SKOS), "skos").warnings == ()
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None, over=["t"]) as one:
        found = one.search("Which water is a stream?")
    pages = {d.document.title: d.document.text for d in found.documents}
    assert pages["river"] == (
        "Water that flows.\nriver, also known as stream.\nriver has the broader concept water.\n"
        "river is related to boat."
    )
    assert pages["water"] == ""
    assert "river" in {seed.name for seed in found.seeds}  # By its other name.


def test_names_by_a_property_of_ones_own(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = written(
        tmp_path / "own.ttl", '<https://x.example/a> <https://x.example/called> "Anna" .'
    )
    with pytest.raises(InputError, match=r"no labels found .*--label IRI"):
        kg.import_graph(path, "rdf")
    assert kg.imports() == []
    kg.import_graph(path, "rdf", label=["https://x.example/called"])
    found = kg.search("Who is Anna?")
    assert found.documents[0].document.title == "Anna"


def test_a_circle_of_broader_concepts_is_told(kg: KnowledgeGraph, tmp_path: Path) -> None:
    text = (
        SKOS + "t:water skos:broader t:lake . t:lake skos:prefLabel 'lake' ; skos:broader t:water ."
    )
    report = kg.import_graph(written(tmp_path / "t.ttl", text), "skos")
    (warning,) = report.warnings
    lake, water = "<https://terms.example.org/lake>", "<https://terms.example.org/water>"
    assert warning == f"skos:broader leads in a circle: {lake} -> {water} -> {lake}"
    assert kg.search("river").documents


# --------------------------------------------------------------------------------- Bad input


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<https://x.example/a> <https://x.example/b>\n  'c .", "bad.ttl, line 2, column 3"),
        ("<https://x.example/a b> <https://x.example/c> 'd' .", r"line 1.*Invalid IRI code point"),
        ("<a> <https://x.example/c> 'd' .", r"line 1, column 1.*relative IRIs need --base-iri"),
        ("@prefix x: <https://x.example/> .\nx:a x:b x:c ;;", "bad.ttl, line 2"),
        ("", "no triples in bad.ttl"),
        ("<https://x.example/a> <https://x.example/b> 'c' .", "no labels found"),
        (b"<https://x.example/a> <https://x.example/b> 'caf\xe9' .", "line 1, column .*UTF-8"),
    ],
)
@pytest.mark.parametrize("replace", [False, True])
def test_a_broken_file_leaves_what_was_there(
    kg: KnowledgeGraph, tmp_path: Path, text: str | bytes, message: str, replace: bool
) -> None:
    kg.import_graph(written(tmp_path / "good.ttl", TURTLE), "rdf", name="ships")
    before = triples(tmp_path, "ships")
    name = "ships" if replace else None
    with pytest.raises(InputError, match=message):
        kg.import_graph(written(tmp_path / "bad.ttl", text), "rdf", name=name, replace=replace)
    assert triples(tmp_path, "ships") == before
    assert [(i.name, i.state) for i in kg.imports()] == [("ships", "complete")]
    assert not triples(tmp_path, "bad")


def test_relative_iris_with_a_base(kg: KnowledgeGraph, tmp_path: Path) -> None:
    text = "<a> <http://www.w3.org/2000/01/rdf-schema#label> 'A' ."
    kg.import_graph(written(tmp_path / "r.ttl", text), "rdf", base_iri="https://x.example/")
    assert {str(t.subject) for t in triples(tmp_path, "r")} == {"<https://x.example/a>"}


def test_what_cannot_be_named_or_read(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = written(tmp_path / "s.ttl", TURTLE)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"name": "No!"}, "is not a valid name of a graph"),
        ({"name": "documents"}, "other than"),
        ({"format": "csv"}, "unknown format 'csv'"),
        ({"base_iri": "there"}, "not an absolute IRI"),
        ({"label": ["<urn:name>"]}, "not an absolute IRI"),
    ]
    for options, message in wrong:
        with pytest.raises(UsageError, match=message):
            kg.import_graph(path, "rdf", **options)
    with pytest.raises(UsageError, match="unknown importer 'owl'"):
        kg.import_graph(path, "owl")
    with pytest.raises(UsageError, match="unknown suffix of"):
        kg.import_graph(written(tmp_path / "s.dat", TURTLE), "rdf")
    with pytest.raises(UsageError, match="no such file"):
        kg.import_graph(tmp_path / "none.ttl", "rdf")
    with pytest.raises(UsageError, match="is a folder"):
        kg.import_graph(tmp_path, "rdf")
    assert kg.imports() == []


# ------------------------------------------------------------------- Again, and interrupted


def test_the_same_file_is_not_imported_twice(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = written(tmp_path / "s.ttl", TURTLE)
    first = kg.import_graph(path, "rdf")
    again = kg.import_graph(path, "rdf")
    assert again.already
    assert (again.name, again.kind, again.triples) == (first.name, first.kind, first.triples)
    written(path, TURTLE + "e:holm e:near e:vane .")
    with pytest.raises(UsageError, match="another file has already been imported as 's'"):
        kg.import_graph(path, "rdf")
    assert kg.import_graph(path, "rdf", replace=True).triples == 8
    kg.forget_import("s")
    assert kg.imports() == []
    assert not triples(tmp_path, "s")
    with pytest.raises(UsageError, match="no such imported graph: 's'"):
        kg.forget_import("s")


def test_the_same_file_seen_in_another_way(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = written(tmp_path / "t.ttl", SKOS)
    kg.import_graph(path, "skos")
    nick = "http://www.w3.org/2004/02/skos/core#altLabel"
    labels: list[list[str]] = [[], [nick]]
    for label in labels:
        with pytest.raises(UsageError, match="with other options has already been imported as 't'"):
            kg.import_graph(path, "rdf", label=label)
    assert [i.kind for i in kg.imports()] == ["skos"]
    assert not kg.import_graph(path, "rdf", replace=True, label=[nick]).already
    assert kg.import_graph(path, "rdf", label=[nick]).already
    with pytest.raises(UsageError, match="this file with other options"):
        kg.import_graph(path, "rdf")


@pytest.mark.parametrize(("name", "state"), [("many.ttl", "24"), ("many.nt", "24")])
def test_an_interrupted_import_goes_on(
    kg: KnowledgeGraph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    state: str,
) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'<https://x.example/{n}> {label} "name {n % 90 + 10}" .\n' for n in range(10, 60)]
    path = written(tmp_path / name, "".join(lines))
    monkeypatch.setattr(graph_import, "BATCH", 8)
    loads = 0
    really = OxigraphStore.load_ntriples

    def stops(self: OxigraphStore, *arguments: Any) -> None:
        nonlocal loads
        loads += 1
        if loads == 4:
            raise KeyboardInterrupt
        really(self, *arguments)

    monkeypatch.setattr(OxigraphStore, "load_ntriples", stops)
    with pytest.raises(KeyboardInterrupt):
        kg.import_graph(path, "rdf")
    assert [(i.name, i.state) for i in kg.imports()] == [("many", state)]
    assert len(triples(tmp_path, "many")) == 24
    with pytest.raises(UsageError, match="the import of 'many' is not complete"):
        sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), over=["many"]).search("name")
    assert all("name" not in d.document.title for d in kg.search("name 3").documents)
    loads = -100
    report = kg.import_graph(path, "rdf")
    assert report.triples == len(triples(tmp_path, "many")) == 50
    assert loads + 100 in (4, 5)  # 26 triples are left: three times 8, then 2, and the end.


def test_batches_of_ntriples_give_what_the_whole_gives(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blank nodes are the same wherever a batch ends."""
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'_:b{n % 7} {label} "name {n}" .\n' for n in range(40)]
    lines += [f'<https://x.example/{n}> {label} "_: {n}" .\n' for n in range(9)]
    lines += ["# a comment\n", "\n"]
    path = written(tmp_path / "blank.nt", "".join(lines))
    kg.import_graph(path, "rdf", name="whole")
    monkeypatch.setattr(graph_import, "BATCH", 7)
    kg.import_graph(path, "rdf", name="batches")
    assert triples(tmp_path, "batches") == triples(tmp_path, "whole")
    assert len(triples(tmp_path, "whole")) == 49
    broken = written(tmp_path / "broken.nt", "".join([*lines, "<https://x.example/ x> .\n"]))
    with pytest.raises(InputError, match=r"broken.nt, line 52, column 1: Invalid IRI"):
        kg.import_graph(broken, "rdf")


# ----------------------------------------------------------------------------------- Exports


@pytest.mark.parametrize("format_", ["trig", "nquads"])
def test_an_export_is_restored_and_indexed_further(
    kg: KnowledgeGraph, tmp_path: Path, format_: str
) -> None:
    path = tmp_path / ("kg.trig" if format_ == "trig" else "kg.nq")
    with path.open("wb") as output:
        kg.export(format_, output)
    with sarag_rdf.open(tmp_path / "copy", embedder=HashEmbedder(), endpoint=None) as copy:
        count = copy.restore(path)
        assert quads_of(tmp_path / "copy") == quads_of(tmp_path / "kg")
        assert count == len(quads_of(tmp_path / "kg"))
        assert copy.restore(path) == count
        assert quads_of(tmp_path / "copy") == quads_of(tmp_path / "kg")
        report = copy.index(
            [sarag_rdf.Source("Ida sailed to Holm."), sarag_rdf.Source("Holm burned.")],
            extractor=CapitalExtractor(),
        )
        assert (report.unchanged, report.added) == (1, 1)
        with pytest.raises(UsageError, match="the graph is not empty"):
            copy.restore(path)


def test_nothing_of_an_interrupted_restoring_stays(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kg.import_graph(written(tmp_path / "s.ttl", TURTLE), "rdf")
    more, less = tmp_path / "more.nq", tmp_path / "less.nq"
    for path, imported in ((more, True), (less, False)):
        with path.open("wb") as output:
            kg.export("nquads", output, imported=imported)

    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    with sarag_rdf.open(tmp_path / "copy", embedder=HashEmbedder(), endpoint=None) as copy:
        with monkeypatch.context() as patched:
            patched.setattr("sarag_rdf.building.graph_import._without_missing", stops)
            with pytest.raises(KeyboardInterrupt):
                copy.restore(more)
        copy.restore(less)
    restored = {q for q in quads_of(tmp_path / "copy") if "/external/" in str(q)}
    assert restored == set()


@pytest.mark.parametrize("imported", [False, True])
def test_imported_graphs_come_back_if_they_were_exported(
    kg: KnowledgeGraph, tmp_path: Path, imported: bool
) -> None:
    kg.import_graph(written(tmp_path / "s.ttl", TURTLE), "rdf")
    path = tmp_path / "kg.nq"
    with path.open("wb") as output:
        kg.export("nquads", output, imported=imported)
    with sarag_rdf.open(tmp_path / "copy", embedder=HashEmbedder(), endpoint=None) as copy:
        copy.restore(path)
        assert [i.name for i in copy.imports()] == (["s"] if imported else [])
        assert copy.validate().conforms
        titles = {d.document.title for d in copy.search("Vane").documents}
    assert ("Vane" in titles) == imported


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "rdf",
            't:boat rdfs:label t:x, "boat" ; t:on t:pond . t:pond rdfs:label t:y ; t:in t:boat .',
        ),
        (
            "skos",
            't:boat a s:Concept ; s:prefLabel "boat"@en, t:x ; s:note [ rdf:value "It floats." ] .',
        ),
    ],
)
def test_names_and_descriptions_that_are_no_literals_are_passed_over(
    tmp_path: Path, kind: str, text: str
) -> None:
    prefixes = {
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "s": "http://www.w3.org/2004/02/skos/core#",
        "t": "https://terms.example.org/",
    }
    head = "".join(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in prefixes.items())
    path = written(tmp_path / "x.ttl", head + text)
    with sarag_rdf.open(tmp_path / "x", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(path, kind, name="x")
    with sarag_rdf.open(tmp_path / "x", embedder=HashEmbedder(), endpoint=None, over=["x"]) as kg:
        result = kg.search("Where is the boat?")
        assert [ranked.document.title for ranked in result.documents] == ["boat"]
        assert [entity.name for entity in result.entities] == ["boat"]


BASE = '<a:g> <https://w3id.org/sarag/ontology#baseIRI> "https://example.org/kg/" <a:g> .'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.ttl", TURTLE, "is not in a format with named graphs"),
        ("x.trig", TURTLE, "it has triples outside named graphs"),
        ("x.nq", f"<a:b> <a:b> _:c <a:g> .\n{BASE}", "it has blank nodes outside ontologies"),
        ("x.nq", "<a:b> <a:b> <a:c> <a:g> .", "is not an export of sarag"),
        ("x.nq", "<a:b> <a:b", "x.nq, line 1"),
    ],
)
def test_what_is_no_export(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = written(tmp_path / name, text)
    copy = sarag_rdf.open(tmp_path / "copy", embedder=HashEmbedder(), endpoint=None)
    with copy, pytest.raises(SaragError, match=message):
        copy.restore(path)
    assert not (tmp_path / "copy").exists()


def test_an_export_is_no_graph_to_import(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = tmp_path / "kg.nt"
    with path.open("wb") as output:
        kg.export("ntriples", output)
    with pytest.raises(InputError, match="import it with --as sarag"):
        kg.import_graph(path, "rdf", name="copy")
