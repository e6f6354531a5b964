"""``sarag serve --kg URL``: the graph behind a SPARQL endpoint, as from a folder."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import QueryError, UsageError
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.server.endpoint_store import _limited, _without_dataset
from sarag_rdf.server.serve_settings import ServeSettings, new_token
from tests.command import Sarag
from tests.fault_server import FaultServer, playing
from tests.remote.sample import export_nquads
from tests.sample_graph import CapitalExtractor, embeddings, make_graph, remote_embedder
from tests.server.running import JSON, Got, Running, serving
from tests.servers import Server, oxigraph_server

SARAG = "PREFIX sarag: <https://w3id.org/sarag/ontology#> "
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
SECRET = "Falcon"
BOATS = (
    f'<https://b.example/x> <{LABEL}> "Heron" ; <https://b.example/near> <https://b.example/y> .'
)
TOKENS = {name: new_token() for name in ("reader", "allowed", "nobody")}
RULES = """
tokens:
  - {{name: reader, sha256: {reader}, scopes: [read, ask]}}
  - {{name: allowed, sha256: {allowed}, scopes: [read], graphs: {{allow: [boats]}}}}
  - {{name: nobody, sha256: {nobody}, scopes: [read], graphs: {{allow: [none]}}}}
"""


@dataclass(frozen=True)
class Pair:
    """Servers of the same graph: from its folder, and from behind an endpoint."""

    folder: Running
    remote: Running
    kg: Path
    endpoint: Server

    def both(self, path: str, who: str = "reader", accept: str = "*/*") -> tuple[Got, Got]:
        """The replies of both, without their ports."""
        sent = {"Authorization": f"Bearer {TOKENS[who][0]}", "Accept": accept}
        got = (
            server.ask("GET", path, None, token=False, **sent)
            for server in (self.folder, self.remote)
        )
        first, second = (
            Got(each.status, each.headers, re.sub(rb"127\.0\.0\.1:\d+", b"HOST", each.body))
            for each in got
        )
        return first, second

    def query(self, text: str, who: str = "reader", **more: Any) -> tuple[Got, Got]:
        return self.both("/sparql?" + urlencode({"query": text, **more}, doseq=True), who, JSON)


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with playing(embeddings) as server:
        yield server


@pytest.fixture(scope="module")
def env(model: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    cache = str(tmp_path_factory.mktemp("cache"))
    base = {"SARAG_EMBEDDER": "openai:hash", "SARAG_BASE_URL": model.base_url}
    return base | {"SARAG_CACHE_DIR": cache}


@pytest.fixture(scope="module")
def pair(
    model: FaultServer, env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    root = tmp_path_factory.mktemp("pair")
    embedder = remote_embedder(model.base_url)
    kg = make_graph(root / "kg", embedder=embedder)
    with sarag_rdf.open(kg, embedder=embedder, endpoint=None) as graph:
        for name, data in (("boats", BOATS), ("secret", BOATS.replace("Heron", SECRET))):
            file = root / f"{name}.ttl"
            file.write_text(data)
            graph.import_graph(file, "rdf", name=name)
    rules = root / "tokens.yml"
    rules.write_text(RULES.format(**{name: digest for name, (_, digest) in TOKENS.items()}))
    (root / "remote").mkdir()
    with oxigraph_server() as endpoint:
        endpoint.load(export_nquads(OxigraphStore.open(kg / "store")))
        options = ("--tokens", str(rules), "--max-rows", "200")
        remote = ("--kg", endpoint.query_url, *options)
        with (
            serving(kg, *options, env=env) as folder,
            serving(root / "remote" / "kg", *remote, env=env) as served,
        ):
            yield Pair(folder, served, kg, endpoint)


def first(pair: Pair, class_: str) -> str:
    text = f"{SARAG}SELECT (MIN(?x) AS ?first) {{ ?x a sarag:{class_} }}"
    [row] = pair.query(text)[0].json()["results"]["bindings"]
    value: str = row["first"]["value"]
    return value


@pytest.mark.parametrize(
    "path",
    [
        "/", "/sparql", "/health", "/graph/prefixes",
        "/graph/complete?kind=entity&prefix=a", "/graph/complete?kind=class&prefix=",
        "/graph/complete?kind=property&prefix=", "/graph/complete?kind=entity&prefix=h&over=all",
        "/search?q=Who+lives+in+Zaragoza%3F", "/search?q=Where+is+the+Heron%3F&over=boats",
        "/resource?iri=urn:nothing",
    ],
)  # fmt: skip
def test_a_path_returns_the_same(pair: Pair, path: str) -> None:
    folder, remote = pair.both(path)
    assert (remote.status, remote.body) == (folder.status, folder.body)
    assert remote.status in (200, 404)


@pytest.mark.parametrize("class_", ["Entity", "Document", "Source", "Relationship", "Mention"])
def test_a_page_and_its_neighbourhood_are_the_same(pair: Pair, class_: str) -> None:
    iri = first(pair, class_)
    for path, accept in (
        ("/resource?", "text/html"),
        ("/resource?", "text/turtle"),
        ("/graph/neighbours?", "*/*"),
    ):
        folder, remote = pair.both(path + urlencode({"iri": iri}), accept=accept)
        assert folder.status == 200
        assert remote.body == folder.body


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o LIMIT 20", {}),
        ("SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o", {"over": "all"}),
        ("SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o", {"over": ["boats", "secret"]}),
        (f"SELECT * {{ ?s ?p ?o }} ORDER BY ?s ?p ?o VALUES ?p {{ <{LABEL}> }}", {}),
        ("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }", {"over": "boats"}),
        ("SELECT ?s { ?s ?p <x> } # a comment", {}),
        ("ASK { ?s <https://b.example/near> ?o }", {}),
        ("ASK { ?s <https://b.example/near> ?o }", {"over": "boats"}),
        ("SELECT * { ?s ?p ?o ", {}),
        ("DEFINE input:default-graph-uri <urn:x> SELECT * { ?s ?p ?o }", {}),
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", {}),
        ("SELECT * { ?s ?p ?o }", {"over": "nothing"}),
        ("SELECT * { ?s ?p ?o }", {"default-graph-uri": "urn:nothing"}),
    ],
)
def test_a_query_returns_the_same(pair: Pair, text: str, more: dict[str, Any]) -> None:
    folder, remote = pair.query(text, **more)
    assert (remote.status, remote.body) == (folder.status, folder.body)
    names = ("x-sparql-maxrows", "x-sparql-truncated")
    assert [remote.headers.get(n) for n in names] == [folder.headers.get(n) for n in names]


def test_triples_and_graphs_are_the_same(pair: Pair) -> None:
    def triples(got: Got) -> set[str]:
        assert got.status == 200, got.text
        return {str(quad) for quad in ox.parse(got.body, ox.RdfFormat.N_TRIPLES)}

    graph = pair.query("SELECT ?g { GRAPH ?g { ?s <https://b.example/near> ?o } } ORDER BY ?g")
    name = graph[1].json()["results"]["bindings"][0]["g"]["value"]
    construct = urlencode({"query": "CONSTRUCT WHERE { ?s ?p ?o }", "over": "boats"})
    paths = [
        f"/sparql?{construct}", "/rdf-graph-store?default",
        "/rdf-graph-store?" + urlencode({"graph": name}),
    ]  # fmt: skip
    for path in paths:
        folder, remote = pair.both(path, accept="application/n-triples")
        assert triples(remote) == triples(folder) != set()


# ------------------------------------------------------------------------------ Permissions


EVERYTHING = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"


def test_a_token_for_some_graphs_sees_these_only(pair: Pair) -> None:
    secret = pair.query(f'SELECT ?g {{ GRAPH ?g {{ ?s ?p "{SECRET}" }} }}')[0]
    graph = secret.json()["results"]["bindings"][0]["g"]["value"]
    texts = [
        EVERYTHING,
        f"SELECT * FROM <{graph}> {{ ?s ?p ?o }}",
        f"SELECT * FROM NAMED <{graph}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
        f"SELECT * {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}",
    ]
    for text in texts:
        assert SECRET in pair.query(text)[1].text
        for who in ("allowed", "nobody"):
            folder, remote = pair.query(text, who)
            assert SECRET not in remote.text
            assert remote.status == 200
            rows = [got.json()["results"]["bindings"] for got in (folder, remote)]
            assert sorted(map(str, rows[0])) == sorted(map(str, rows[1]))
    named = {"default-graph-uri": graph, "named-graph-uri": graph}
    for who in ("allowed", "nobody"):
        assert pair.query(EVERYTHING, who, **named)[1].json()["results"]["bindings"] == []
        path = "/rdf-graph-store?" + urlencode({"graph": graph})
        pair.both(path, who)[1].is_line(404, "no such graph")
    assert "Heron" in pair.query(EVERYTHING, "allowed")[1].text
    assert pair.query(EVERYTHING, "nobody")[1].json()["results"]["bindings"] == []
    page = "/resource?" + urlencode({"iri": "https://b.example/x"})
    folder, remote = pair.both(page, "allowed", "text/html")
    assert remote.body == folder.body
    assert SECRET not in remote.text
    assert SECRET in pair.both(page)[1].text


def test_from_is_removed_wherever_it_stands() -> None:
    """Virtuoso adds the graphs of FROM to those of the request."""
    text = "PREFIX a: <urn:a:> SELECT * FROM a:b FROM NAMED <urn:c> WHERE { ?s ?p 'FROM <urn:d>' }"
    left = _without_dataset(text)
    assert left.split() == "PREFIX a: <urn:a:> SELECT * WHERE { ?s ?p 'FROM <urn:d>' }".split()
    with pytest.raises(QueryError, match="FROM in this query could not be read"):
        _without_dataset("SELECT * { { SELECT * FROM <urn:a> { ?s ?p ?o } } }")


@pytest.mark.parametrize(
    ("text", "want", "is_ordered"),
    [
        ("SELECT * { ?s ?p ?o }", "SELECT * { ?s ?p ?o } LIMIT 3", False),
        ("SELECT * { ?s ?p ?o } LIMIT 9", "SELECT * { ?s ?p ?o } LIMIT 9", True),
        ("SELECT * { { SELECT * { ?s ?p ?o } LIMIT 9 } }",
         "SELECT * { { SELECT * { ?s ?p ?o } LIMIT 9 } } LIMIT 3", False),
        ("SELECT * { ?s ?p ?o } ORDER BY ?s VALUES ?s { <urn:LIMIT> }",
         "SELECT * { ?s ?p ?o } ORDER BY ?s LIMIT 3 VALUES ?s { <urn:LIMIT> }", True),
    ],
)  # fmt: skip
def test_the_row_limit_is_added_where_there_is_none(text: str, want: str, is_ordered: bool) -> None:
    limited, ordered = _limited(text, 3, 3)
    assert (limited.split(), ordered) == (want.split(), is_ordered)
    if "ORDER" in text:
        assert _limited(text, 3, 2) == (text, True)


# ------------------------------------------------------------------------- Starting, changing


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--writable", "write to the endpoint itself (sarag index PATH --kg http://127.0.0.1:1/q)"),
        ("--allow-service", "--allow-service is for a graph in a folder"),
        ("--over=documents", "cannot connect to http://127.0.0.1:1/q"),
        ("--default-graph=urn:g", "--default-graph needs --graph-kind wikibase, skos or rdf"),
    ],
)
def test_what_cannot_be_served_is_said_at_the_start(sarag: Sarag, option: str, words: str) -> None:
    result = sarag("serve", "--kg", "http://127.0.0.1:1/q", "--port", "0", option)
    result.fails(1 if "connect" in words else 2, words)


def test_an_empty_endpoint_and_mcp(sarag: Sarag, oxigraph: Server) -> None:
    oxigraph.clear()
    for command in (("serve", "--port", "0"), ("mcp",)):
        result = sarag(*command, "--kg", oxigraph.query_url)
        result.fails(1, f"{oxigraph.query_url} holds no graph written by sarag")


def test_indexing_is_seen_and_an_endpoint_that_has_gone_is_an_error(
    env: dict[str, str], model: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", env["SARAG_CACHE_DIR"])
    embedder = remote_embedder(model.base_url)
    text = f"{SARAG}SELECT ?text {{ ?d a sarag:Document ; sarag:text ?text }}"

    def index(name: str) -> str:
        with sarag_rdf.open(endpoint.query_url, embedder=embedder, endpoint=None) as graph:
            source = sarag_rdf.Source(f"{name} came to Zaragoza.", name, f"{name}.txt")
            graph.index([source], extractor=CapitalExtractor())
            return graph.meta().revision

    with oxigraph_server() as endpoint:
        revisions = [index("Cid")]
        options = ("--kg", endpoint.query_url)
        with serving(tmp_path / "kg", *options, env=env) as server:
            etags = set()
            for name in ("Dora", "Eve"):
                revisions.append(index(name))
                assert server.ask("GET", "/health").json()["revision"] == revisions[-1]
                assert [f"{name} came to Zaragoza."] in server.values(text)
                found = server.ask("GET", f"/search?q=Did+{name}+come+to+Zaragoza").json()
                assert name in {document["title"] for document in found["documents"]}
                page = server.ask("GET", "/entity/zaragoza", Accept="text/html")
                assert page.status == 303
                page = server.ask("GET", page.headers["location"], Accept="text/html")
                assert f"{name} came to" in page.text
                etags.add(page.headers["etag"])
            assert len(etags) == 2
            endpoint_is_gone = f"cannot connect to {endpoint.query_url}"
            os.kill(endpoint.pid, signal.SIGKILL)
            server.query("ASK {}").is_line(502, endpoint_is_gone)
            server.ask("GET", "/health").is_line(502, endpoint_is_gone)
            search = server.ask("GET", "/search?q=Zaragoza")
            search.is_json_error(502, "store", endpoint_is_gone)
            assert "Traceback" not in server.log.read_text()


def test_another_graph_is_served_by_its_kind(
    env: dict[str, str], oxigraph: Server, tmp_path: Path
) -> None:
    oxigraph.clear()
    near = BOATS.replace(" ;", " <https://g.example/1> .\n<https://b.example/x>", 1)
    oxigraph.load(near.replace("y> .", "y> <https://g.example/1> .").encode())
    options = ("--kg", oxigraph.query_url, "--graph-kind", "rdf")
    graph = ("--default-graph", "https://g.example/1")
    with serving(tmp_path / "kg", *options, *graph, env=env) as server:
        assert server.values("SELECT ?o { ?s <https://b.example/near> ?o }") == [
            ["https://b.example/y"]
        ]
        iri = urlencode({"iri": "https://b.example/x"})
        assert "Heron" in server.ask("GET", f"/resource?{iri}", Accept="text/html").text
        [edge] = server.ask("GET", f"/graph/neighbours?{iri}").json()["edges"]
        assert edge["target"] == "https://b.example/y"
        assert server.ask("GET", "/health").json()["revision"] == ""


def test_settings_name_a_folder_to_write_to(tmp_path: Path) -> None:
    assert ServeSettings(tmp_path, writable=True).folder == tmp_path
    with pytest.raises(UsageError, match="default_graph of a server must be one of union, empty"):
        ServeSettings(tmp_path, default_graph="urn:g")
