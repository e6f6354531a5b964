"""Writes to ``sarag serve``: who may, and what holds of the graph afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.compare import isomorphic

import sarag_rdf
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import BASE, graph_of, make_graph, quads_of
from tests.server.running import TOKEN, Running, serving

META, KG = BASE + "graph/meta", BASE + "graph/kg"
OTHER = "http://a.example/graph"
TURTLE = "text/turtle"
REVISION = "SELECT ?r { ?d <https://w3id.org/sarag/ontology#revision> ?r }"


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    return make_graph(tmp_path / "kg")


@pytest.fixture
def server(kg: Path) -> Iterator[Running]:
    with serving(kg, "--writable", "--workers", "1") as running:
        yield running


def store(graph: str) -> str:
    return f"/rdf-graph-store?graph={quote(graph, safe='')}"


def source_graph(kg: Path, word: str) -> str:
    """The graph of the source whose text holds a word."""
    return next(graph_of(q) for q in quads_of(kg) if word in str(q.object))


def is_derived(kg: Path) -> None:
    """The traversed graph is what follows from the evidence, and the graph conforms."""
    from sarag_rdf.base.iris import Minter
    from sarag_rdf.building.incremental import rebuild
    from sarag_rdf.graph.graph_reader import GraphReader
    from sarag_rdf.graph.store.oxigraph import OxigraphStore

    graph = OxigraphStore.open(kg / "store")
    change = rebuild(GraphReader(graph, Minter(BASE)))
    assert set(change.insert) == set(graph.quads(KG))


# --------------------------------------------------------------------------------- Token


def test_without_the_token_nothing_is_written(server: Running, kg: Path) -> None:
    before = quads_of(kg)
    for authorization in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN):
        got = server.ask(
            "POST",
            "/update",
            "CLEAR ALL",
            Content_Type="application/sparql-update",
            Authorization=authorization,
        )
        got.is_line(401, "Authorization: Bearer")
        assert got.headers["www-authenticate"].startswith("Bearer ")
        assert server.ask("DELETE", store(KG), Authorization=authorization).status == 401
        assert quads_of(kg) == before, authorization


def test_the_token_is_not_logged(server: Running) -> None:
    server.ask("GET", f"/sparql?query=ASK%7B%7D&access_token={TOKEN}")
    server.update("INSERT DATA { GRAPH <http://a/> { <http://a/> <http://a/> <http://a/> } }")
    server.stop()
    said = server.log.read_text()
    assert "POST /update 204" in said
    assert TOKEN not in said
    assert "query=" not in said


# ------------------------------------------------------------------------------- Updates


def test_an_update_changes_the_revision_and_is_seen_at_once(server: Running) -> None:
    before = server.values(REVISION)
    got = server.update(f'INSERT DATA {{ GRAPH <{OTHER}> {{ <http://s> <http://p> "ä" }} }}')
    assert (got.status, got.body) == (204, b"")
    assert server.values("SELECT ?o { <http://s> <http://p> ?o }") == [["ä"]]
    after = server.values(REVISION)
    assert len(after) == 1
    assert after != before


def test_forms_and_the_query_path_take_updates_too(server: Running) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    text = quote(f"INSERT DATA {{ GRAPH <{OTHER}> {{ <http://s> <http://p> 1 }} }}")
    for path in ("/update", "/sparql"):
        assert server.ask("POST", path, f"update={text}", token=True, **form).status == 204
        assert server.update(f"DROP GRAPH <{OTHER}>").status == 204


def test_a_change_of_evidence_changes_what_is_derived(server: Running, kg: Path) -> None:
    graph = source_graph(kg, "Boris taught Ada")
    names = (
        "SELECT ?n { ?e a <https://w3id.org/sarag/ontology#Entity> ; "
        "<http://www.w3.org/2004/02/skos/core#prefLabel> ?n }"
    )
    assert ["Boris"] in server.values(names)
    assert server.update(f"DROP GRAPH <{graph}>").status == 204
    assert ["Boris"] not in server.values(names)
    assert ["Ada"] in server.values(names)
    is_derived(kg)


def test_what_is_derived_and_said_of_the_graph_stays_whatever_is_dropped(
    server: Running, kg: Path
) -> None:
    for graph in (KG, META):
        server.update(f"DROP GRAPH <{graph}>").is_line(403, graph)
        server.ask("DELETE", store(graph), token=True).is_line(403)
    before = {str(q) for q in quads_of(kg)}
    assert (
        server.update(
            "DELETE { GRAPH ?g { ?s ?p ?o } } INSERT {} WHERE { "
            f"GRAPH ?g {{ ?s ?p ?o }} FILTER(?g IN (<{KG}>, <{META}>)) }}"
        ).status
        == 204
    )
    after = {str(q) for q in quads_of(kg)}
    assert all("revision" in quad for quad in before ^ after)
    assert server.update("CLEAR ALL").status == 204
    assert {graph_of(q) for q in quads_of(kg)} == {META}
    with sarag_rdf.open(kg, embedder=HashEmbedder()) as graph_:
        assert graph_.meta().base == BASE


def test_an_imported_graph_is_only_read(kg: Path, tmp_path: Path) -> None:
    skos = tmp_path / "rivers.ttl"
    skos.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<http://t.example/1> a skos:Concept ; skos:prefLabel "Danube"@en .\n'
    )
    with sarag_rdf.open(kg, embedder=HashEmbedder()) as graph:
        graph.import_graph(skos, "skos")
        (imported,) = graph.imports()
    with serving(kg, "--writable") as server:
        label = "<http://t.example/1> ?p ?l FILTER(isLiteral(?l))"
        assert server.values(f"SELECT ?l {{ GRAPH ?g {{ {label} }} }}")
        server.update(f"DROP GRAPH <{imported.graph}>").is_line(403, "import it again")
        server.ask("DELETE", store(imported.graph), token=True).is_line(403)
        assert server.update("CLEAR ALL").status == 204
    with sarag_rdf.open(kg, embedder=HashEmbedder()) as graph:
        assert graph.imports() == []
        assert graph.meta().base == BASE


def test_what_cannot_be_derived_is_not_written(server: Running, kg: Path) -> None:
    before = {str(q) for q in quads_of(kg) if "revision" not in str(q.predicate)}
    graph = source_graph(kg, "Boris taught Ada")
    bad = f'<{BASE}doc/x> <https://w3id.org/sarag/ontology#titleMention> "no IRI" .'
    update = f"INSERT DATA {{ GRAPH <{graph}> {{ {bad} }} GRAPH <{OTHER}> {{ {bad} }} }}"
    server.update(update).is_line(409, "nothing was written", "would not conform")
    got = server.ask("PUT", store(graph), bad, token=True, Content_Type=TURTLE)
    got.is_line(409, "nothing was written")
    assert {str(q) for q in quads_of(kg) if "revision" not in str(q.predicate)} == before
    is_derived(kg)


def test_blank_nodes_get_iris(server: Running, kg: Path) -> None:
    text = f"INSERT DATA {{ GRAPH <{OTHER}> {{ _:a <http://p> [ <http://q> (1 2) ] }} }}"
    assert server.update(text).status == 204
    found = [q for q in quads_of(kg) if graph_of(q) == OTHER]
    assert len(found) == 6
    assert not any(isinstance(t, ox.BlankNode) for q in found for t in (q.subject, q.object))
    assert "https://example.org/.well-known/genid/" in str(found)


REFUSED = (
    ("LOAD <http://127.0.0.1:9/x> INTO GRAPH <http://a/>", 403, "--allow-load"),
    ("LOAD SILENT <file:///etc/passwd> INTO GRAPH <http://a/>", 403, "--allow-load"),
    (
        "INSERT { GRAPH <http://a/> { ?s ?p ?o } } WHERE "
        "{ SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        403,
        "--allow-service",
    ),
    ("CLEAR XYZ", 400, "parse"),
    ("INSERT DATA { <http://s> <http://p> 1 }", 400, "default graph"),
    ("DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { ?s ?p ?o }", 400, "default graph"),
    ("COPY <http://a/> TO DEFAULT", 400, "default graph"),
    ("SELECT * { ?s ?p ?o }", 400, "parse"),
)


def test_updates_that_are_refused(server: Running, kg: Path) -> None:
    before = quads_of(kg)
    for text, status, word in REFUSED:
        server.update(text).is_line(status, word)
        assert quads_of(kg) == before, text


def test_another_writer_is_waited_for(server: Running, kg: Path) -> None:
    lock = ox.Store(str(kg / "store"))
    text = f"INSERT DATA {{ GRAPH <{OTHER}> {{ <http://s> <http://p> 1 }} }}"
    got = server.update(text)
    got.is_line(503, "another process is writing")
    assert got.headers["retry-after"]
    del lock
    assert server.update(text).status == 204


def test_a_long_write_is_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    kg = make_graph(tmp_path / "kg")
    before = {str(q) for q in quads_of(kg) if "revision" not in str(q.predicate)}
    with serving(kg, "--writable", "--write-timeout", "2") as server:
        where = " ".join(f"GRAPH ?g{i} {{ ?s{i} ?p{i} ?o{i} }}" for i in range(8))
        text = f"INSERT {{ GRAPH <{OTHER}> {{ ?s0 ?p1 ?o2 }} }} WHERE {{ {where} }}"
        server.update(text).is_line(504, "time limit of 2 seconds", "--write-timeout")
        got = server.update(f"INSERT DATA {{ GRAPH <{OTHER}> {{ <http://s> <http://p> 1 }} }}")
        assert got.status == 204
    after = {str(q) for q in quads_of(kg) if "revision" not in str(q.predicate)}
    assert len(after - before) == 1
    assert before <= after


# ---------------------------------------------------------------------------- Graph store


def test_a_graph_comes_back_as_it_was_put(server: Running) -> None:
    text = '<http://s> <http://p> [ <http://q> "ä"@de , 1.5 ] , "a\\nb" .'
    for status in (201, 204):
        got = server.ask("PUT", store(OTHER), text, token=True, Content_Type=TURTLE)
        assert got.status == status
    got = server.ask("GET", store(OTHER), Accept="application/rdf+xml")
    found = rdflib.Graph().parse(data=got.text, format="xml")
    wanted = rdflib.Graph().parse(data=text, format="turtle")
    assert isomorphic(found, wanted), got.text
    assert server.ask("HEAD", store(OTHER)).status == 200
    assert server.ask("DELETE", store(OTHER), token=True).status == 204
    server.ask("GET", store(OTHER)).is_line(404, OTHER)


def test_a_broken_file_changes_nothing_and_tells_where(server: Running) -> None:
    good = "<http://s> <http://p> 1 ."
    assert server.ask("PUT", store(OTHER), good, token=True, Content_Type=TURTLE).status == 201
    got = server.ask(
        "PUT", store(OTHER), "<http://s>\n  <http://p> .", token=True, Content_Type=TURTLE
    )
    got.is_line(400, "does not parse", "line 2")
    got = server.ask("PUT", store(OTHER), good, token=True, Content_Type="image/png")
    got.is_line(415, TURTLE)
    assert "1" in server.ask("GET", store(OTHER)).text


def test_the_whole_graph_can_be_had_but_not_written_as_default(server: Running, kg: Path) -> None:
    got = server.ask("GET", "/rdf-graph-store?default", Accept="application/n-triples")
    assert {line for line in got.text.splitlines() if line} == {
        f"{quad.triple} ." for quad in quads_of(kg)
    }
    got = server.ask("PUT", "/rdf-graph-store?default", "", token=True, Content_Type=TURTLE)
    got.is_line(409, "--default-graph empty")


def test_a_source_graph_can_be_moved_between_servers(server: Running, kg: Path) -> None:
    graph = source_graph(kg, "Boris taught Ada")
    kept = server.ask("GET", store(graph)).body
    before = {str(q) for q in quads_of(kg) if "revision" not in str(q.predicate)}
    assert server.ask("DELETE", store(graph), token=True).status == 204
    assert server.ask("PUT", store(graph), kept, token=True, Content_Type=TURTLE).status == 201
    assert {str(q) for q in quads_of(kg) if "revision" not in str(q.predicate)} == before
