"""A graph that is broken in some way is found to be, and what is derived is made anew."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import NotAGraphError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import RDF, RDFS, SARAG, SKOS
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.graph.graph_reader import KINDS
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import FsckReport, fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests.building.test_quarantine import BAD, too_sure
from tests.command import ROOT, Sarag
from tests.fault_server import FaultServer
from tests.sample_graph import CapitalExtractor, files_of, graph_of, make_graph, quads_of
from tests.servers import Server

MINTER = Minter()
KG = NamedNode(MINTER.kg_graph)
SOURCE = MINTER.source("ada.txt", "", "")


def opened(folder: Path | SparqlEndpoint | None) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A graph, the caches of which are full."""
    folder = make_graph(tmp_path / "kg")
    with opened(folder) as kg:
        kg.search("Who taught Ada?")
    return folder


def change(folder: Path, work: Callable[[ox.Store], None]) -> None:
    """Change the store past the library."""
    store = ox.Store(str(folder / "store"))
    work(store)
    store.flush()


def add(*quads: Quad) -> Callable[[ox.Store], None]:
    return lambda store: store.extend(quads)


def update(text: str) -> Callable[[ox.Store], None]:
    return lambda store: store.update(text)


def check(folder: Path, *, repair: bool = False) -> FsckReport:
    with opened(folder) as kg:
        return fsck(kg, repair=repair)


def lines(report: FsckReport) -> list[str]:
    return list(map(str, report.findings))


def without_meta(folder: Path) -> list[str]:
    """All quads but those of the description, which has another revision after each change."""
    return [str(quad) for quad in quads_of(folder) if graph_of(quad) != MINTER.meta_graph]


def entity(name: str) -> NamedNode:
    return NamedNode(MINTER.entity(name))


# ------------------------------------------------------------------------------ In order


def test_a_graph_in_order(folder: Path) -> None:
    before, quads = files_of(folder / "store"), quads_of(folder)
    report = check(folder)
    assert files_of(folder / "store") == before
    assert (report.in_order, report.findings, report.notes, report.repaired) == (True, (), (), ())
    assert report.counts["sources"] == 3
    assert check(folder, repair=True).repaired == ()
    assert quads_of(folder) == quads


def test_no_graph_and_an_empty_one(tmp_path: Path) -> None:
    with opened(tmp_path / "none") as kg, pytest.raises(NotAGraphError):
        fsck(kg)
    with opened(None) as kg:
        assert fsck(kg).in_order
        kg.index(BAD, extractor=too_sure())
        kg.delete(BAD.key)
        assert fsck(kg, repair=True).in_order


# ----------------------------------------------------------------------- What is derived

DERIVED: dict[str, tuple[Callable[[ox.Store], None], list[str]]] = {
    "an entity without support": (
        add(
            Quad(entity("nobody"), RDF.type, SARAG.Entity, KG),
            Quad(entity("nobody"), SKOS.prefLabel, Literal("Nobody", language="en"), KG),
            Quad(entity("nobody"), RDFS.label, Literal("Nobody", language="en"), KG),
        ),
        ["orphans: 1 entity without evidence", "derived: ", "0 quads missing, 3 extra"],
    ),
    "a link that is lost": (
        update(
            f"DELETE {{ GRAPH {KG} {{ ?a {SARAG.relatedTo} ?b }} }} "
            f"WHERE {{ GRAPH {KG} {{ ?a {SARAG.relatedTo} ?b }} }}"
        ),
        ["derived: ", "missing, 0 extra"],
    ),
    "the traversed graph": (update(f"DROP GRAPH {KG}"), ["derived: ", "shapes: "]),
    "the revision": (
        update(
            f"DELETE {{ GRAPH ?g {{ ?a {SARAG.revision} ?b }} }} "
            f"WHERE {{ GRAPH ?g {{ ?a {SARAG.revision} ?b }} }}"
        ),
        ["revision: missing"],
    ),
    "a blank node": (
        add(Quad(BlankNode("b"), SARAG.relatedTo, entity("nobody"), KG)),
        ["blank nodes: 1 quad", "derived: "],
    ),
}


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_derived_is_made_anew(folder: Path, name: str) -> None:
    work, words = DERIVED[name]
    before = without_meta(folder)
    change(folder, work)
    report = check(folder)
    text = "\n".join(lines(report))
    for word in words:
        assert word in text
    assert "sarag fsck --repair" in text
    repaired = check(folder, repair=True)
    assert repaired.in_order, repaired
    assert any("rebuilt the traversed graph" in done for done in repaired.repaired)
    assert "updated the vectors" in repaired.repaired
    assert without_meta(folder) == before
    assert check(folder).in_order
    with opened(folder) as kg:
        assert kg.search("Who taught Ada?").documents


# ------------------------------------------------------------------------------ Evidence

ELSEWHERE = NamedNode(f"{MINTER.graphs}of-mine")
ORPHAN = NamedNode(f"{MINTER.graph('sources')}{'0' * 32}")
STRAY = NamedNode(f"{MINTER.graph('quarantine')}{'0' * 32}")
UNKNOWN = NamedNode(f"{MINTER.graph('imported')}gone")
THING = NamedNode("https://example.org/thing")
EVIDENCE: dict[str, tuple[Callable[[ox.Store], None], tuple[str, str]]] = {
    "a quad in the default graph": (
        add(Quad(THING, RDF.type, THING, DefaultGraph())),
        ("default graph: 1 quad", "sarag serve --writable"),
    ),
    "a blank node": (
        add(Quad(BlankNode("b"), SARAG.note, THING, NamedNode(MINTER.source_graph(SOURCE)))),
        ("blank nodes: 1 quad in", "DROP GRAPH"),
    ),
    "a source graph without a source": (
        add(Quad(THING, RDF.type, THING, ORPHAN)),
        (f"orphans: {ORPHAN} has no source", f"DROP GRAPH {ORPHAN}"),
    ),
    "a source graph whose source is lost": (
        update(f"DELETE WHERE {{ GRAPH ?g {{ <{SOURCE}> ?p ?o }} }}"),
        ("has no source", "sarag index the file of ada.txt again"),
    ),
    "a source in another graph": (
        update(
            f"DELETE {{ GRAPH ?g {{ <{SOURCE}> ?p ?o }} }} "
            f"INSERT {{ GRAPH {ORPHAN} {{ <{SOURCE}> ?p ?o }} }} "
            f"WHERE {{ GRAPH ?g {{ <{SOURCE}> ?p ?o }} }} ; "
            f"DROP GRAPH <{MINTER.source_graph(SOURCE)}>"
        ),
        ("instead of its own graph", f"DROP GRAPH {ORPHAN}"),
    ),
    "a quarantine graph without a record": (
        add(Quad(THING, SARAG.report, Literal("x"), STRAY)),
        (f"orphans: {STRAY} has no quarantined source", f"DROP GRAPH {STRAY}"),
    ),
    "an imported graph that is not known": (
        add(Quad(THING, RDF.type, THING, UNKNOWN)),
        (f"orphans: {UNKNOWN} is not a known import", f"DROP GRAPH {UNKNOWN}"),
    ),
    "a document without a digest": (
        update(
            f"DELETE {{ GRAPH ?g {{ ?d {SARAG.sha256} ?h }} }} "
            f"WHERE {{ GRAPH ?g {{ ?d a {SARAG.Document} ; {SARAG.sha256} ?h }} }}"
        ),
        ("shapes: ", "A document needs exactly one SHA-256 digest"),
    ),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_is_named_and_never_deleted(folder: Path, name: str) -> None:
    work, words = EVIDENCE[name]
    change(folder, work)
    broken = {quad for quad in quads_of(folder) if graph_of_any(quad) not in _DERIVED}
    text = "\n".join(lines(check(folder)))
    for word in words:
        assert word in text
    report = check(folder, repair=True)
    assert not report.in_order
    assert all(word in "\n".join(lines(report)) for word in words)
    assert {quad for quad in quads_of(folder) if graph_of_any(quad) not in _DERIVED} == broken


_DERIVED = (MINTER.kg_graph, MINTER.meta_graph)


def graph_of_any(quad: Quad) -> str:
    return "" if isinstance(quad.graph_name, DefaultGraph) else graph_of(quad)


def test_a_lost_source_is_put_right_by_the_command_that_is_told(folder: Path) -> None:
    before = without_meta(folder)
    change(folder, update(f"DELETE WHERE {{ GRAPH ?g {{ <{SOURCE}> ?p ?o }} }}"))
    make = sarag_rdf.Source("Ada founded Orbis. Orbis has its seat in Ulm.", "Ada", "ada.txt")
    with opened(folder) as kg:
        assert kg.index(make, extractor=CapitalExtractor()).added == 1
    assert check(folder).in_order
    runs = MINTER.runs_graph
    assert [line for line in without_meta(folder) if runs not in line] == [
        line for line in before if runs not in line
    ]


def test_links_and_graphs_of_others(folder: Path) -> None:
    vain = Match(entity("nobody").value, EXACT, "https://example.org/item/1")
    with opened(folder) as kg:
        kg.links.accept([vain])
    change(folder, add(Quad(THING, RDF.type, THING, ELSEWHERE), Quad(THING, RDF.type, THING, KG)))
    change(folder, update(f"DELETE DATA {{ GRAPH {KG} {{ {THING} a {THING} }} }}"))
    report = check(folder)
    assert lines(report) == [
        f"links: dangling link: {entity('nobody')} is not an entity "
        f"(do: sarag link --undo {entity('nobody').value})"
    ]
    assert f"{ELSEWHERE} is not used by sarag: 1 quad" in report.notes
    assert not check(folder, repair=True).in_order
    with opened(folder) as kg:
        kg.links.undo(entity("nobody").value)
    assert check(folder).in_order


def test_an_import_that_was_broken_off(folder: Path) -> None:
    with opened(folder) as kg:
        kg.import_graph(ROOT / "examples" / "places.ttl", "skos", name="places")
    assert check(folder).in_order
    change(
        folder,
        update(
            f'DELETE {{ GRAPH ?g {{ ?i {SARAG.importState} "complete" }} }} '
            f'INSERT {{ GRAPH ?g {{ ?i {SARAG.importState} "5" }} }} '
            f'WHERE {{ GRAPH ?g {{ ?i {SARAG.importState} "complete" }} }}'
        ),
    )
    [line] = lines(check(folder))
    assert line.startswith("imports: 'places' is not complete")
    assert "sarag import --drop places" in line
    with opened(folder) as kg, kg.session.write():  # as while an import is running
        report = check(folder)
    assert report.in_order
    [note] = [note for note in report.notes if note.startswith("imports: ")]
    assert "'places' is not complete, and this process itself is writing: check again" in note
    with opened(folder) as kg:
        kg.forget_import("places")
    assert check(folder).in_order


def test_quarantine_that_is_damaged(folder: Path) -> None:
    with opened(folder) as kg:
        kg.index(BAD, extractor=too_sure())
    assert check(folder).in_order
    change(
        folder,
        update(
            f"DELETE {{ GRAPH ?g {{ ?q {SARAG.content} ?c }} }} "
            f"WHERE {{ GRAPH ?g {{ ?q {SARAG.content} ?c }} }}"
        ),
    )
    text = "\n".join(lines(check(folder)))
    assert "quarantine: the record of" in text
    assert "sarag quarantine drop" in text
    with opened(folder) as kg:
        kg.quarantine.drop()
    assert check(folder).in_order


# -------------------------------------------------------------------------------- Caches


def kept_files(folder: Path) -> Iterator[Path]:
    yield from (path for path in (folder / "cache" / "vectors").rglob("*") if path.is_file())


def test_vectors_that_are_damaged(folder: Path) -> None:
    """Each file of the cache in turn, cut in half and with its bytes turned round."""
    sound = {path: path.read_bytes() for path in kept_files(folder)}
    found = 0
    for path, content in sound.items():
        for bad in (content[: len(content) // 2], bytes(255 - byte for byte in content)):
            for other, whole in sound.items():
                other.write_bytes(whole)
            path.write_bytes(bad)
            report = check(folder)
            assert all(line.startswith("caches: ") for line in lines(report))
            found += not report.in_order
            repaired = check(folder, repair=True)
            assert repaired.in_order
            with opened(folder) as kg:
                assert kg.search("Who taught Ada?").documents
            for left in set(kept_files(folder)) - sound.keys():
                left.unlink()
    assert found >= len(sound)


def test_a_bit_in_what_is_made_of_the_graph(folder: Path) -> None:
    """One of the bytes of the network that is kept: the file opens, and is not what it was."""
    [path] = (p for p in kept_files(folder) if p.name.startswith("network"))
    content = bytearray(path.read_bytes())
    begin = content.index(b"\n") + 1
    content[begin] ^= 1
    path.write_bytes(content)
    [line] = lines(check(folder))
    assert line == "caches: network: differs from the graph (do: sarag fsck --repair)"
    repaired = check(folder, repair=True)
    assert (repaired.in_order, repaired.repaired[0]) == (True, "discarded network")


def test_vectors_of_other_texts_and_lengths(folder: Path) -> None:
    with opened(folder) as kg:
        with kg.session.read() as snapshot:
            vectors = snapshot.view.vectors
        store, revision = vectors._store, vectors._revision
        for kind in KINDS:
            index = vectors.index(kind)
            key = store.key_of(kind)
            assert key
            matrix = HashEmbedder().embed([*index.iris]) * (2 if kind == "entity" else 1)
            if kind == "document":
                matrix[0, 0] = float("nan")
            iris = [f"{index.iris[0]}0", *index.iris[1:]] if kind == "description" else index.iris
            store.save(kind, key, sorted(iris), [matrix])
        assert revision
    text = "\n".join(lines(check(folder)))
    assert "caches: description: 2 texts only in the graph or in the index" in text
    assert "caches: document: 1 vector" in text
    assert f"caches: entity: {len(index)} vectors not of unit length" in text
    assert "relationship" not in text
    repaired = check(folder, repair=True)
    assert repaired.in_order
    assert {"discarded description", "discarded document", "discarded entity"} <= set(
        repaired.repaired
    )


def test_what_is_kept_for_another_revision_is_no_fault(folder: Path) -> None:
    change(
        folder,
        update(
            f"DELETE {{ GRAPH ?g {{ ?kg {SARAG.revision} ?r }} }} "
            f'INSERT {{ GRAPH ?g {{ ?kg {SARAG.revision} "another" }} }} '
            f"WHERE {{ GRAPH ?g {{ ?kg {SARAG.revision} ?r }} }}"
        ),
    )
    report = check(folder)
    assert report.in_order
    assert report.notes == ()


@pytest.mark.parametrize("name", ["embeddings.sqlite", "replies.sqlite"])
def test_databases_that_are_damaged(folder: Path, name: str) -> None:
    path = folder / "cache" / name
    if name == "replies.sqlite":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE entry (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
            rows = [(bytes([i, j]), bytes(500)) for i in range(9) for j in range(99)]
            database.executemany("INSERT INTO entry VALUES (?, ?)", rows)
        database.close()
    assert check(folder).in_order
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 3000] = bytes(255 for _ in range(3000))
    path.write_bytes(content)
    [line] = lines(check(folder))
    assert line.startswith(f"caches: {name}: ")
    repaired = check(folder, repair=True)
    assert repaired.in_order
    assert f"discarded {name}" in repaired.repaired
    assert (folder / "cache" / f"{name}.damaged-1").exists()


# ------------------------------------------------------------------------- Command line


def test_the_command(
    sarag: Sarag, folder: Path, embedding_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARAG_EMBEDDER", "openai:hash")
    monkeypatch.setenv("SARAG_BASE_URL", embedding_server.base_url)
    sound = sarag("fsck", "--kg", folder)
    counts = check(folder).counts
    assert (sound.code, sound.err) == (0, "")
    assert sound.out == (
        f"{folder}: consistent: 3 sources, 3 documents, {counts['entities']} entities, "
        f"{counts['relationships']} relationships, {counts['quads']} quads\n"
    )
    change(folder, DERIVED["an entity without support"][0])
    broken = sarag("fsck", "--kg", folder)
    assert broken.code == 1
    assert broken.out.splitlines() == [
        "orphans: 1 entity without evidence (do: sarag fsck --repair)",
        "derived: the traversed graph differs from its evidence: 0 quads missing, 3 extra "
        "(do: sarag fsck --repair)",
        f"{folder}: inconsistent: 2 findings",
    ]
    told = sarag("fsck", "--kg", folder, "--json")
    assert told.code == 1
    assert [f["check"] for f in json.loads(told.out)["findings"]] == [
        "orphans",
        "derived",
    ]
    repaired = sarag("fsck", "--kg", folder, "--repair")
    assert (repaired.code, repaired.out.splitlines()[0]) == (
        0,
        "repaired: rebuilt the traversed graph",
    )
    assert repaired.out.splitlines()[-1].startswith(f"{folder}: consistent: 3 sources")
    assert json.loads(sarag("fsck", "--kg", folder, "--json").out)["in_order"] is True
    sarag("fsck", "--kg", "none").fails(1, "no graph at none")


def test_behind_an_endpoint(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "cache"))
    remote = SparqlEndpoint(server.query_url, server.update_url, server.store_url)
    with opened(remote) as kg:
        kg.index(sarag_rdf.Source("Ada met Bea.", "", "a.txt"), extractor=CapitalExtractor())
        assert fsck(kg).findings == ()
        with kg.session.write(create=False) as reader:
            quads = list(reader.store.quads(MINTER.kg_graph))
            reader.store.apply(Change(delete=(quads[0],)))
        assert not fsck(kg).in_order
        assert fsck(kg, repair=True).in_order
