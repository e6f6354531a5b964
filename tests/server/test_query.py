"""Queries to ``sarag serve``: formats, data sets, limits, what is refused, what clients see."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from SPARQLWrapper import JSON as WRAPPED_JSON
from SPARQLWrapper import POST, TURTLE, XML, SPARQLWrapper

from tests.command import ROOT, run_sarag
from tests.sample_graph import BASE, crooked_graph, graph_of, make_graph, quads_of
from tests.server.running import JSON, TOKEN, Running, alive, serving

NAMES = """PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
SELECT ?e ?name { ?e skos:prefLabel ?name } ORDER BY ?name"""
HEAVY = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?s{i} ?p{i} ?o{i} ." for i in range(8)) + " }"
TYPES = "CONSTRUCT { ?s a ?type } WHERE { ?s a ?type }"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crooked_graph(tmp_path_factory.mktemp("query") / "kg")


@pytest.fixture(scope="module")
def server(kg: Path) -> Iterator[Running]:
    with serving(kg, "--timeout", "3", "--max-rows", "20000") as running:
        yield running


def in_file(kg: Path, text: str) -> str:
    done = run_sarag("query", text, "--kg", kg, "--format", "json", cwd=kg.parent)
    assert done.code == 0
    return done.out


# ----------------------------------------------------------------------------- Results


def test_the_result_is_that_of_the_command(server: Running, kg: Path) -> None:
    got = server.query(NAMES)
    assert got.status == 200
    assert got.media_type == JSON
    assert got.headers["vary"] == "Accept"
    assert got.json() == json.loads(in_file(kg, NAMES))
    assert len(got.json()["results"]["bindings"]) >= 13


def test_all_formats_of_rows_hold_the_same(server: Running) -> None:
    """Judged by two other readers: pyoxigraph's parser and rdflib's."""
    formats = {
        JSON: (ox.QueryResultsFormat.JSON, "json"),
        "application/sparql-results+xml": (ox.QueryResultsFormat.XML, "xml"),
        "text/tab-separated-values": (ox.QueryResultsFormat.TSV, None),
    }
    seen = []
    for media_type, (format_, name) in formats.items():
        got = server.query(NAMES, media_type)
        assert got.media_type == media_type
        found = ox.parse_query_results(got.body, format=format_)
        assert isinstance(found, ox.QuerySolutions)
        seen.append([tuple(row) for row in found])
        if name:
            other: Any = rdflib.query.Result.parse(io.BytesIO(got.body), format=name)
            assert [str(row[1]) for row in other] == [row[1].value for row in seen[-1]]
    assert seen[0] == seen[1] == seen[2]
    rows = list(csv.reader(io.StringIO(server.query(NAMES, "text/csv").text, newline="")))
    assert rows == [["e", "name"], *([e.value, name.value] for e, name in seen[0])]


def test_unbound_variables_and_datatypes(server: Running) -> None:
    text = (
        "SELECT ?a ?b (1.5 AS ?c) ('x'@en AS ?d) (BNODE() AS ?f) { VALUES (?a ?b) { (UNDEF 1) } }"
    )
    (row,) = server.query(text).json()["results"]["bindings"]
    assert row.keys() == {"b", "c", "d", "f"}
    assert row["b"]["datatype"] == "http://www.w3.org/2001/XMLSchema#integer"
    assert (row["d"], row["f"]["type"]) == (
        {"type": "literal", "value": "x", "xml:lang": "en"},
        "bnode",
    )
    xml = server.query(text, "application/sparql-results+xml").body
    found = ox.parse_query_results(xml, format=ox.QueryResultsFormat.XML)
    assert isinstance(found, ox.QuerySolutions)
    assert [tuple(solution)[:2] for solution in found] == [
        (None, ox.Literal("1", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")))
    ]
    assert server.query(text, "text/csv").text.splitlines()[1].startswith(",1,1.5,x,_:")
    assert server.query(text, "text/tab-separated-values").text.splitlines()[1].startswith("\t")


@pytest.mark.parametrize("word", ["true", "false"])
def test_a_boolean(server: Running, word: str) -> None:
    text = f"ASK {{ FILTER({word}) }}"
    assert server.query(text).json() == {"head": {}, "boolean": word == "true"}
    xml = server.query(text, "application/sparql-results+xml").body
    assert bool(ox.parse_query_results(xml, format=ox.QueryResultsFormat.XML)) is (word == "true")
    assert server.query(text, "text/csv").text == f"{word}\n"


@pytest.mark.parametrize(
    ("media_type", "name"),
    [
        ("text/turtle", "turtle"),
        ("application/n-triples", "nt"),
        ("application/rdf+xml", "xml"),
        ("application/ld+json", "json-ld"),
        ("application/trig", ""),
        ("application/n-quads", ""),
        ("text/n3", "n3"),
    ],
)
def test_all_formats_of_graphs(server: Running, media_type: str, name: str) -> None:
    got = server.query(TYPES, media_type)
    assert (got.status, got.media_type) == (200, media_type)
    (count,) = server.values("SELECT (COUNT(*) AS ?n) { SELECT DISTINCT ?s ?o { ?s a ?o } }")[0]
    if name:
        assert len(rdflib.Graph().parse(data=got.text, format=name)) == int(count)
    else:
        format_ = ox.RdfFormat.from_media_type(media_type)
        assert len({quad.triple for quad in ox.parse(got.body, format_)}) == int(count)
    described = server.query(f"DESCRIBE <{BASE}dataset>", media_type)
    assert described.media_type == media_type


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("text/csv;q=0.5, application/sparql-results+xml;q=0.9", "application/sparql-results+xml"),
        ("text/*;q=0.9, application/sparql-results+json;q=0.1", "text/csv"),
        ("application/json", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", JSON),
        ("text/csv;q=0, text/*", "text/tab-separated-values"),
        ("TEXT/CSV ; Q=1.0", "text/csv"),
        ("rubbish, ;;;, text/csv", "text/csv"),
    ],
)
def test_negotiation(server: Running, accept: str, media_type: str) -> None:
    assert server.query("SELECT * {}", accept).media_type == media_type


def test_a_format_that_is_not_offered(server: Running) -> None:
    server.query("SELECT * {}", "text/turtle").is_line(406, "application/sparql-results+json")
    server.query(TYPES, "text/csv").is_line(406, "text/turtle")
    server.query(TYPES, "image/png, */*;q=0").is_line(406)
    made = "CONSTRUCT { <urn:a> <urn:1> 1 } WHERE {}"
    server.query(made, "application/rdf+xml").is_line(406, "<urn:1>", "Turtle")
    assert server.query(made, "text/turtle").status == 200


def test_a_prefix_that_is_not_declared(server: Running) -> None:
    server.query("SELECT ?x {\n?x a ex:P}").is_line(400, "prefix ex: is not declared (line 2)")


def test_head_and_options(server: Running) -> None:
    path = "/sparql?" + urlencode({"query": NAMES})
    full, head = server.ask("GET", path), server.ask("HEAD", path)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(full.body))
    options = server.ask("OPTIONS", "/sparql")
    assert (options.status, options.headers["allow"]) == (204, "GET, HEAD, POST, OPTIONS")
    assert "access-control-allow-origin" not in full.headers
    for path, allow in (
        ("/update", "POST, OPTIONS"),
        ("/graph/prefixes", "GET, HEAD, OPTIONS"),
        ("/rdf-graph-store/g", "GET, HEAD, PUT, POST, DELETE, OPTIONS"),
        ("/static/page.css", "GET, HEAD, OPTIONS"),
    ):
        assert server.ask("OPTIONS", path).headers["allow"] == allow, path
    assert server.ask("OPTIONS", "/no/such/path").status == 404


def test_browsers_are_sent_to_the_editor(server: Running) -> None:
    got = server.ask("GET", "/sparql", Accept="text/html,application/xhtml+xml,*/*;q=0.8")
    assert (got.status, got.headers["location"]) == (303, "/sparql-editor")


# ---------------------------------------------------------------------------- Data sets


def test_the_default_graph_is_the_union_and_the_protocol_can_name_another(
    server: Running, kg: Path
) -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    graphs = {graph_of(quad) for quad in quads_of(kg)}
    assert server.values(count) == [[str(len(quads_of(kg)))]]
    for graph in graphs:
        size = str(sum(graph_of(quad) == graph for quad in quads_of(kg)))
        got = server.query(count, **{"default-graph-uri": graph})
        assert got.json()["results"]["bindings"][0]["n"]["value"] == size
        assert server.values(count.replace("{", f"FROM <{graph}> {{", 1)) == [[size]]
    named = server.query(
        "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }", **{"named-graph-uri": BASE + "graph/kg"}
    )
    assert [r["g"]["value"] for r in named.json()["results"]["bindings"]] == [BASE + "graph/kg"]
    server.query(count, **{"default-graph-uri": "not an iri"}).is_line(400, "default-graph-uri")


def test_the_description_tells_the_union(server: Running) -> None:
    found = rdflib.Graph().parse(data=server.ask("GET", "/sparql").text, format="turtle")
    sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
    assert (None, sd.feature, sd.UnionDefaultGraph) in found
    assert (None, sd.supportedLanguage, sd.SPARQL11Update) not in found
    assert (None, sd.name, rdflib.URIRef(BASE + "graph/kg")) in found
    void = rdflib.Namespace("http://rdfs.org/ns/void#")
    assert (None, void.uriSpace, rdflib.Literal(BASE)) in found


# ------------------------------------------------------------------------------- Limits


def test_a_result_is_cut_at_the_limit_and_says_so(kg: Path) -> None:
    with serving(kg, "--max-rows", "7", "--workers", "1") as server:
        link = server.url + "/docs#limits"
        text = "SELECT * { ?s ?p ?o }"
        got = server.query(text)
        assert len(got.json()["results"]["bindings"]) == 7
        assert got.json()["head"]["link"] == [link]
        assert got.headers["x-sparql-maxrows"] == "7"
        assert got.headers["x-sparql-truncated"] == "true"
        assert link in server.query(text, "application/sparql-results+xml").text
        rows = csv.reader(io.StringIO(server.query(text, "text/csv").text, newline=""))
        assert len(list(rows)) == 8
        triples = server.query("CONSTRUCT WHERE { ?s ?p ?o }", "application/n-triples")
        assert len(triples.text.splitlines()) == 7
        assert triples.headers["x-sparql-truncated"] == "true"
        exact = server.query(text + " LIMIT 7")
        assert exact.headers["x-sparql-truncated"] == "false"
        assert "link" not in exact.json()["head"]


def test_a_heavy_query_is_killed_with_its_process(server: Running) -> None:
    server.query("ASK {}")
    before = server.children()
    assert len(before) == 6  # four workers, what they are forked from, and what tracks resources
    server.query(HEAVY).is_line(504, "time limit of 3 seconds", "--timeout")
    after = server.children()
    (gone,) = before - after
    assert not alive(gone)
    assert server.query("ASK {}").status == 200
    assert len(server.children()) == 6
    for _ in range(4):
        assert server.query("ASK {}").status == 200


def test_a_query_ends_when_its_client_hangs_up(kg: Path) -> None:
    with serving(kg, "--timeout", "60", "--workers", "1", "--queue", "0") as server:
        before = server.children()
        wire = threading.Thread(target=lambda: _hang_up(server))
        wire.start()
        wire.join()
        deadline = time.monotonic() + 30
        while server.children() == before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert server.children() != before
        while (got := server.query("ASK {}")).status == 503 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert got.status == 200


def _hang_up(server: Running) -> None:
    import socket

    with socket.create_connection((server.host, server.port)) as wire:
        path = "/sparql?" + urlencode({"query": HEAVY})
        wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(1)


def test_a_large_result_comes_whole_and_leaves_no_file(server: Running) -> None:
    text = "SELECT ?s ?p ?o ?x { ?s ?p ?o . ?x ?y ?z } LIMIT 20000"
    got = server.query(text)
    assert len(got.body) > 2_000_000
    assert got.headers["content-length"] == str(len(got.body))
    assert len(got.json()["results"]["bindings"]) == 20000
    assert left_behind(server) == []


def left_behind(server: Running) -> list[str]:
    """Open files in the folder for answers, except those through which workers read the store."""
    found = []
    for number in server.children():
        for path in Path(f"/proc/{number}/fd").iterdir():
            with_name = str(path.readlink()) if path.exists() else ""
            if "sarag-serve-" in with_name and "/sarag-read-" not in with_name:
                found.append(with_name)
    return found


def test_too_many_at_a_time_are_told_to_come_again(kg: Path) -> None:
    with serving(kg, "--timeout", "4", "--workers", "1", "--queue", "1") as server:
        statuses = []

        def ask() -> None:
            got = server.query(HEAVY)
            statuses.append((got.status, got.headers.get("retry-after")))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        busy = [after for status, after in statuses if status == 503]
        assert len(busy) >= 2
        assert all(busy)
        assert (504, None) in statuses


def test_many_clients_at_a_time(server: Running) -> None:
    wrong = []

    def ask(number: int) -> None:
        for turn in range(5):
            got = server.values(f"SELECT ({number * 100 + turn} AS ?x) {{}}")
            if got != [[str(number * 100 + turn)]]:
                wrong.append(got)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_is_indexed_beside_is_seen(tmp_path: Path) -> None:
    kg = make_graph(tmp_path / "kg")
    from sarag_rdf.base.types import Source

    with serving(kg) as server:
        count = (
            "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s a <https://w3id.org/sarag/ontology#Source> }"
        )
        assert server.values(count) == [["3"]]
        make_graph(kg, [Source("Ceres orbits Sol.", "Ceres", "ceres.txt")])
        assert server.values(count) == [["4"]]


# ------------------------------------------------------------------------------ Refusals


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * { { SELECT * { SERVICE SILENT ?x { ?s ?p ?o } } } }",
        "ASK { FILTER EXISTS { SERVICE <http://127.0.0.1:9/> {} } }",
    ],
)
def test_service_is_refused(server: Running, text: str) -> None:
    server.query(text).is_line(403, "SERVICE", "--allow-service")


def test_service_works_where_it_is_allowed(kg: Path, server: Running) -> None:
    with serving(kg, "--allow-service") as other:
        count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
        text = f"SELECT ?n {{ SERVICE <{server.url}/sparql> {{ {count} }} }}"
        assert other.values(text) == server.values(count)


def test_a_read_only_server_takes_no_writes(server: Running, kg: Path) -> None:
    before = quads_of(kg)
    server.update("CLEAR ALL").is_line(403, "read-only", "--writable")
    store = f"/rdf-graph-store?graph={quote(BASE)}x"
    for method in ("PUT", "POST", "DELETE"):
        got = server.ask(method, store, b"", token=True, Content_Type="text/turtle")
        got.is_line(403, "--writable")
    server.ask(
        "POST", "/sparql", "update=CLEAR+ALL", Content_Type="application/x-www-form-urlencoded"
    ).is_line(403)
    assert quads_of(kg) == before


def test_who_asks_for_json_gets_errors_in_json(server: Running) -> None:
    got = server.ask("GET", "/nothing", Accept="application/json")
    assert got.status == 404
    assert "/docs" in got.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/sparql?query=%zz", None, {}, 400),
        ("GET", "/sparql?query=%ff", None, {}, 400),
        ("GET", "/sparql?query=", None, {}, 400),
        ("GET", "/sparql?query=ASK{}&query=ASK{}", None, {}, 400),
        ("PUT", "/sparql", b"", {}, 405),
        ("GET", "/update?update=CLEAR+ALL", None, {}, 405),
        ("GET", "/nothing", None, {}, 404),
        ("GET", "/static/../settings.py", None, {}, 404),
        ("GET", "/static/%2e%2e/settings.py", None, {}, 404),
        ("GET", "/static/..%2fsettings.py", None, {}, 404),
        ("GET", "//etc/passwd", None, {}, 404),
        ("POST", "/sparql", b"\xff\xfe", {"Content_Type": "application/sparql-query"}, 400),
        ("POST", "/sparql", b"ASK {}", {"Content_Type": "text/plain"}, 415),
        (
            "POST",
            "/sparql",
            b"query=%F",
            {"Content_Type": "application/x-www-form-urlencoded"},
            400,
        ),
        ("GET", "/rdf-graph-store", None, {}, 400),
        ("GET", "/rdf-graph-store?graph=relative", None, {}, 400),
        ("GET", "/rdf-graph-store?graph=http://a/&default", None, {}, 400),
        ("GET", "/rdf-graph-store/..%2f..%2fetc/passwd", None, {}, 404),
        ("GET", "/rdf-graph-store?graph=http://a/%0d%0aX-Evil:1", None, {}, 400),
    ],
)
def test_bad_requests_are_one_line(
    server: Running,
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str],
    status: int,
) -> None:
    server.ask(method, path, body, token=False, **headers).is_line(status)


def test_huge_bodies_are_refused(kg: Path) -> None:
    with serving(kg, "--max-body", "1", "--writable") as server:
        kind = "application/sparql-query"
        got = server.ask("POST", "/sparql", b"#" * (5 << 20), Content_Type=kind)
        got.is_line(413, "larger than")
        head = b"POST /sparql HTTP/1.1\r\nHost: localhost\r\n"
        head += b"Content-Type: application/sparql-update\r\n"
        head += b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
        chunk = b"100000\r\n" + b"#" * 0x100000 + b"\r\n"
        data = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 3
        assert b" 413 " in server.raw(data).split(b"\r\n")[0]
        long = b"GET /sparql?query=" + b"#" * (3 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert server.raw(long)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431", b"")
        assert server.query("ASK {}").status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "a b", "[::1"])
def test_other_names_of_the_host_are_refused(server: Running, host: str) -> None:
    answer = server.raw(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b"\r\n")[0].split()[1] in (b"421", b"400")


def test_this_machine_has_several_names(server: Running) -> None:
    for host in ("localhost", f"localhost:{server.port}", "127.0.0.1", "[::1]:80"):
        assert server.ask("GET", "/sparql?query=ASK{}", Host=host).status == 200


def test_pages_of_other_origins_may_not_ask(server: Running) -> None:
    foreign = {"Sec_Fetch_Site": "cross-site"}
    path = "/sparql?query=ASK{}"
    server.ask("GET", path, token=False, **foreign, Sec_Fetch_Mode="no-cors").is_line(403, "--cors")
    link = {**foreign, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    server.ask("GET", path, token=False, **link).is_line(403, "address bar")
    assert server.ask("GET", "/", token=False, **link).status == 200
    assert server.ask("GET", path, Sec_Fetch_Site="same-origin").status == 200


def test_pages_of_other_origins_may_read_if_told_so(kg: Path) -> None:
    with serving(kg, "--cors", "https://app.example") as server:
        got = server.query("ASK {}")
        assert got.headers["access-control-allow-origin"] == "https://app.example"
        asked = server.ask(
            "OPTIONS", "/sparql", Origin="https://app.example", Access_Control_Request_Method="GET"
        )
        assert asked.headers["access-control-allow-methods"] == "GET, HEAD, POST"
        asked = server.ask(
            "OPTIONS",
            "/rdf-graph-store?graph=urn:g",
            Origin="https://app.example",
            Access_Control_Request_Method="PUT",
        )
        methods = asked.headers["access-control-allow-methods"]
        assert methods == "GET, HEAD, PUT, POST, DELETE"


# ------------------------------------------------------------------------------- Clients


def test_sparqlwrapper(server: Running) -> None:
    client: Any = SPARQLWrapper(server.url + "/sparql")
    client.setQuery(NAMES)
    for method in ("GET", POST):
        client.setMethod(method)
        client.setReturnFormat(WRAPPED_JSON)
        rows = client.queryAndConvert()["results"]["bindings"]
        assert [row["name"]["value"] for row in rows] == [name for _, name in server.values(NAMES)]
    client.setReturnFormat(XML)
    assert len(client.queryAndConvert().getElementsByTagName("result")) == len(rows)
    client.setQuery(TYPES)
    client.setReturnFormat(TURTLE)
    assert b"skos" in client.queryAndConvert()


def test_rdflib_reads_the_graph_remotely(server: Running) -> None:
    graph = rdflib.Graph(SPARQLStore(server.url + "/sparql"))
    found = [str(row.name) for row in graph.query(NAMES)]  # type: ignore[union-attr]
    assert found == [name for _, name in server.values(NAMES)]
    label = rdflib.URIRef("http://www.w3.org/2004/02/skos/core#prefLabel")
    assert len(set(graph.objects(None, label))) == len(set(found))


def test_rdflib_writes_and_reads_remotely(tmp_path: Path) -> None:
    from rdflib.plugins.stores.sparqlstore import SPARQLUpdateStore

    kg = make_graph(tmp_path / "kg")
    with serving(kg, "--writable", "--default-graph", "empty") as server:
        store = SPARQLUpdateStore(
            server.url + "/sparql",
            server.url + "/update",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        graph = rdflib.Graph(store, identifier=rdflib.URIRef("http://a.example/g"))
        triple = (rdflib.URIRef("http://a.example/s"), rdflib.RDF.type, rdflib.Literal("ä\n'"))
        graph.add(triple)
        assert list(graph) == [triple]


def test_examples_answer_and_are_named(server: Running) -> None:
    for path in sorted((ROOT / "queries" / "examples").glob("*.rq")):
        got = server.query(path.read_text("utf-8"), f"{JSON}, text/turtle;q=0.5")
        assert got.status == 200, path
