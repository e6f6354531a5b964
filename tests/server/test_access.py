"""Tokens, scopes, readable graphs, requests a minute, the audit log and metrics."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.server.guard import RateLimiter
from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.serve_settings import access_rules, new_token
from tests.command import Sarag
from tests.fault_server import FaultServer, playing
from tests.sample_graph import embeddings, make_graph, remote_embedder
from tests.server.running import JSON, Got, Running, serving

TOKENS = {name: new_token() for name in ("reader", "limited", "allowed", "writer", "slow")}
SECRET = "Falcon"
"""A word that only the denied graph has."""
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
GRAPHS = {
    "secret": f"""
<https://s.example/p> <{LABEL}> "Operation {SECRET}" ;
  <https://s.example/with> <https://s.example/q> .
<https://s.example/q> <{LABEL}> "{SECRET} Base" .""",
    "boats": f"""
<https://b.example/x> <{LABEL}> "Heron" ; <https://b.example/near> <https://b.example/y> .
<https://b.example/y> <{LABEL}> "Otter" .""",
}
RULES = """
tokens:
  - {{name: reader, sha256: {reader}, scopes: [read]}}
  - {{name: limited, sha256: {limited}, scopes: [read, ask, write], graphs: {{deny: [secret]}}}}
  - {{name: allowed, sha256: {allowed}, scopes: [read], graphs: {{allow: [boats]}}}}
  - {{name: writer, sha256: {writer}, scopes: [read, write]}}
  - {{name: slow, sha256: {slow}, scopes: [read], requests_per_minute: 3}}
"""


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with playing(embeddings) as server:
        yield server


@pytest.fixture(scope="module")
def kg(model: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("access")
    folder = make_graph(root / "kg", embedder=remote_embedder(model.base_url))
    embedder = remote_embedder(model.base_url)
    with sarag_rdf.open(folder, embedder=embedder, endpoint=None) as graph:
        for name, data in GRAPHS.items():
            file = root / f"{name}.ttl"
            file.write_text(data)
            graph.import_graph(file, "rdf", name=name)
    return folder


@pytest.fixture(scope="module")
def rules(kg: Path) -> Path:
    file = kg.parent / "tokens.yml"
    file.write_text(RULES.format(**{name: digest for name, (_, digest) in TOKENS.items()}))
    return file


@pytest.fixture(scope="module")
def server(kg: Path, rules: Path, model: FaultServer) -> Iterator[Running]:
    audit = str(kg.parent / "audit.jsonl")
    options = ("--tokens", str(rules), "--writable", "--audit", audit)
    with serving(kg, *options, env=model.settings) as running:
        yield running


def ask(server: Running, who: str, method: str, path: str, body: str = "", **headers: str) -> Got:
    token = TOKENS[who][0] if who in TOKENS else who
    sent = {"Authorization": f"Bearer {token}", **headers} if who else headers
    return server.ask(method, path, body or None, token=False, **sent)


def query(server: Running, who: str, text: str, **parameters: Any) -> Got:
    pairs = urlencode([("query", text), *_pairs(parameters)])
    return ask(server, who, "GET", f"/sparql?{pairs}", Accept=JSON)


def _pairs(parameters: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (name.replace("_", "-"), value)
        for name, values in parameters.items()
        for value in ([values] if isinstance(values, str) else values)
    ]


def secret_graph(kg: Path) -> str:
    store = ox.Store.read_only(str(kg / "store"))
    [graph] = {
        str(quad.graph_name)[1:-1]
        for quad in store.quads_for_pattern(ox.NamedNode("https://s.example/p"), None, None)
    }
    return graph


# --------------------------------------------------------------------------------- Scopes


def test_without_a_token_nothing_is_served_but_documentation(server: Running) -> None:
    for path in ("/sparql?query=ASK%7B%7D", "/rdf-graph-store?default"):
        ask(server, "", "GET", path).is_line(401, "Authorization: Bearer TOKEN")
    for path in ("/sparql?query=ASK%7B%7D", "/search?q=Ada", "/ask?q=Ada"):
        assert "Basic" in ask(server, "", "GET", path).headers["www-authenticate"]
    for path in ("/search?q=Ada", "/ask?q=Ada"):
        assert ask(server, "", "GET", path).json()["error"]["code"] == "unauthorized"
    for path in ("/docs", "/openapi.json", "/health", "/static/page.css"):
        assert ask(server, "", "GET", path).status == 200


def test_a_wrong_token_is_none(server: Running) -> None:
    for who in ("wrong", TOKENS["reader"][0][:-1], TOKENS["reader"][1]):
        ask(server, who, "GET", "/sparql?query=ASK%7B%7D").is_line(401, "unknown token")


def test_a_scope_permits_and_forbids(server: Running) -> None:
    assert query(server, "reader", "ASK {}").status == 200
    error = ask(server, "reader", "GET", "/ask?q=Ada").json()["error"]
    assert error == {"code": "forbidden", "message": "the token 'reader' lacks the scope 'ask'"}
    update = {"Content_Type": "application/sparql-update"}
    insert = "INSERT DATA { GRAPH <https://g.example/1> { <urn:a> <urn:b> 1 } }"
    ask(server, "reader", "POST", "/update", insert, **update).is_line(403, "'write'")
    assert ask(server, "writer", "POST", "/update", insert, **update).status == 204
    clear = "DROP GRAPH <https://g.example/1>"
    assert ask(server, "writer", "POST", "/update", clear, **update).status == 204


def test_a_browser_sends_the_token_as_a_password(server: Running) -> None:
    for user in ("", "anybody"):
        code = base64.b64encode(f"{user}:{TOKENS['reader'][0]}".encode()).decode()
        got = server.ask("GET", "/sparql?query=ASK%7B%7D", Authorization=f"Basic {code}")
        assert got.status == 200
    broken = server.ask("GET", "/sparql?query=ASK%7B%7D", Authorization="Basic ???")
    broken.is_line(401, "unknown token")


# --------------------------------------------------------------------------------- Graphs

_ALL = "?s ?p ?o"
WAYS = {
    "default graph": (f"SELECT * {{ {_ALL} }}", {}),
    "over all": (f"SELECT * {{ {_ALL} }}", {"over": "all"}),
    "over the graph": (f"SELECT * {{ {_ALL} }}", {"over": "secret"}),
    "graph variable": (f"SELECT * {{ GRAPH ?g {{ {_ALL} }} }}", {}),
    "graph variable over all": (f"SELECT * {{ GRAPH ?g {{ {_ALL} }} }}", {"over": "all"}),
    "graph": (f"SELECT * {{ GRAPH <G> {{ {_ALL} }} }}", {}),
    "from": (f"SELECT * FROM <G> {{ {_ALL} }}", {}),
    "prefixed from": (f"PREFIX g: <G> SELECT * FROM g: {{ {_ALL} }}", {}),
    "from named": (f"SELECT * FROM NAMED <G> {{ GRAPH ?g {{ {_ALL} }} }}", {}),
    "escaped from": (f"SELECT * FR\\u004fM <G> {{ {_ALL} }}", {}),
    "from in a comment": (f"SELECT * # FROM <urn:none>\r FROM <G> {{ {_ALL} }}", {}),
    "parameter": (f"SELECT * {{ {_ALL} }}", {"default_graph_uri": "<G>"}),
    "named parameter": (f"SELECT * {{ GRAPH ?g {{ {_ALL} }} }}", {"named_graph_uri": "<G>"}),
    "property path": ("SELECT * { <https://s.example/p> !<urn:x>* ?o }", {"over": "all"}),
    "exists": (
        "SELECT (EXISTS { GRAPH ?g { ?x ?y ?z FILTER(CONTAINS(STR(?z), 'Falcon')) } } AS ?leak) {}",
        {},
    ),
    "subquery": (f"SELECT * {{ {{ SELECT * {{ GRAPH ?g {{ {_ALL} }} }} }} }}", {"over": "all"}),
    "minus": ("SELECT * { GRAPH ?g { ?s ?p ?o } MINUS { <urn:a> <urn:b> <urn:c> } }", {}),
    "names of graphs": ("SELECT DISTINCT ?g { GRAPH ?g {} }", {}),
    "construct": (f"CONSTRUCT {{ {_ALL} }} {{ GRAPH ?g {{ {_ALL} }} }}", {}),
    "describe": ("DESCRIBE <https://s.example/p>", {"over": "all"}),
    "describe from": ("DESCRIBE <https://s.example/p> FROM <G>", {}),
}  # fmt: skip


@pytest.mark.parametrize("who", ["limited", "allowed"])
def test_no_description_reads_a_denied_graph(server: Running, kg: Path, who: str) -> None:
    for iri in ("https://s.example/p", "https://s.example/q", "https://s.example/with", LABEL):
        for format_ in ("turtle", "html"):
            pairs = urlencode({"iri": iri, "format": format_})
            assert ask(server, "reader", "GET", f"/resource?{pairs}").status == 200
            got = ask(server, who, "GET", f"/resource?{pairs}")
            assert got.status == (200 if iri == LABEL else 404), iri
            assert SECRET not in got.text
    graph = ask(server, who, "GET", "/" + secret_graph(kg).removeprefix("https://example.org/kg/"))
    assert graph.status == 404


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("who", ["limited", "allowed"])
def test_no_query_reads_a_denied_graph(server: Running, kg: Path, who: str, way: str) -> None:
    text, parameters = WAYS[way]
    graph = secret_graph(kg)
    text = text.replace("<G>", f"<{graph}>")
    chosen = {name: graph if value == "<G>" else value for name, value in parameters.items()}
    answers = {}
    for name in ("reader", who):
        pairs = urlencode([("query", text), *_pairs(chosen)])
        accept = "text/turtle" if text.startswith(("CONSTRUCT", "DESCRIBE")) else JSON
        answers[name] = ask(server, name, "GET", f"/sparql?{pairs}", Accept=accept)
    got = answers[who]
    assert got.status in (200, 400, 403), got
    assert SECRET not in got.text
    assert "s.example/with" not in got.text
    if way == "names of graphs":
        assert graph in answers["reader"].text
        assert graph not in got.text
    elif way == "exists":
        assert '"true"' in answers["reader"].text
        assert '"false"' in got.text
    elif way not in ("default graph", "escaped from"):
        assert SECRET in answers["reader"].text


def test_counts_and_descriptions_leave_a_denied_graph_out(server: Running, kg: Path) -> None:
    count = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"
    numbers = [
        int(query(server, who, count).json()["results"]["bindings"][0]["n"]["value"])
        for who in ("reader", "limited", "allowed")
    ]
    assert numbers[0] > numbers[1] > numbers[2] == 3
    graph = secret_graph(kg)
    described = {who: ask(server, who, "GET", "/sparql").text for who in ("reader", "limited")}
    assert graph in described["reader"]
    assert graph not in described["limited"]


def test_the_graph_store_hides_a_denied_graph(server: Running, kg: Path) -> None:
    path = f"/rdf-graph-store?graph={secret_graph(kg)}"
    assert SECRET in ask(server, "reader", "GET", path).text
    ask(server, "limited", "GET", path).is_line(404, "no such graph")
    assert SECRET in ask(server, "reader", "GET", "/rdf-graph-store?default").text
    for who in ("limited", "allowed"):
        assert SECRET not in ask(server, who, "GET", "/rdf-graph-store?default").text
    turtle = {"Content_Type": "text/turtle"}
    ask(server, "limited", "PUT", path, "<urn:a> <urn:b> 1 .", **turtle).is_line(403, "not write")
    ask(server, "limited", "DELETE", path).is_line(403, "not write")
    own = "/rdf-graph-store?graph=https://g.example/2"
    assert ask(server, "limited", "PUT", own, "<urn:a> <urn:b> 1 .", **turtle).status == 201
    assert ask(server, "limited", "DELETE", own).status == 204


def test_an_update_cannot_copy_a_denied_graph(server: Running, kg: Path) -> None:
    copy = f"COPY <{secret_graph(kg)}> TO <https://g.example/3>"
    kind = {"Content_Type": "application/sparql-update"}
    ask(server, "limited", "POST", "/update", copy, **kind).is_line(403, "graph store")


def test_a_search_leaves_a_denied_graph_out(server: Running) -> None:
    path = f"/search?{urlencode({'q': f'Operation {SECRET}', 'retriever': 'dense'})}"
    assert SECRET in ask(server, "reader", "GET", path).json()["documents"][0]["title"]
    found = ask(server, "limited", "GET", path)
    assert found.status == 200
    assert "s.example" not in found.text
    assert {document["title"] for document in found.json()["documents"]} >= {"Ada", "Heron"}
    only = ask(server, "allowed", "GET", path).json()["documents"]
    assert {document["title"] for document in only} == {"Heron", "Otter"}


# ------------------------------------------------------------------- Requests, audit, metrics


def test_requests_beyond_the_limit_wait(server: Running) -> None:
    statuses = [query(server, "slow", "ASK {}").status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    got = query(server, "slow", "ASK {}")
    got.is_line(429, "3 requests a minute")
    assert 1 <= int(got.headers["retry-after"]) <= 21
    assert query(server, "reader", "ASK {}").status == 200


def test_a_limit_is_per_client_and_refills(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("sarag_rdf.server.guard.time.monotonic", lambda: now[0])
    limiter = RateLimiter()
    limiter.admit("a", 1)
    limiter.admit("b", 1)
    with pytest.raises(RequestError, match="wait 60 s"):
        limiter.admit("a", 1)
    now[0] += 60
    limiter.admit("a", 1)


def test_the_audit_log_says_who_did_what(server: Running, kg: Path) -> None:
    query(server, "reader", "SELECT * { ?audited ?p ?o } LIMIT 2")
    query(server, "nobody", "SELECT * { ?unknown ?p ?o }")
    deadline = time.monotonic() + 10
    lines: list[dict[str, Any]] = []
    wanted, written = {("unknown", 401), ("audited", 200)}, set[tuple[str, int]]()
    while not wanted <= written and time.monotonic() < deadline:  # a line follows its response
        text = (kg.parent / "audit.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        written = {
            ("audited" if "?audited" in line.get("what", "") else line["who"], line["status"])
            for line in lines
        }
    [line] = [line for line in lines if "?audited" in line.get("what", "")]
    assert (line["who"], line["method"], line["path"]) == ("reader", "GET", "/sparql")
    assert (line["status"], line["rows"], line["client"]) == (200, 2, "127.0.0.1")
    assert line["seconds"] >= 0
    assert line["time"].endswith("+00:00")
    assert wanted <= written
    for token, digest in TOKENS.values():
        assert token not in text
        assert digest not in text
    assert (kg.parent / "audit.jsonl").stat().st_mode & 0o077 == 0


def test_metrics_are_in_the_format_of_prometheus(server: Running) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    query(server, "reader", "SELECT * { ?s ?p ?o } LIMIT 3")
    ask(server, "reader", "GET", "/no/such/path")
    got = ask(server, "reader", "GET", "/metrics")
    assert got.status == 200
    families = {family.name: family for family in text_string_to_metric_families(got.text)}
    counted = {
        (sample.labels["path"], sample.labels["status"]): sample.value
        for sample in families["sarag_requests"].samples
        if sample.name == "sarag_requests_total"
    }
    assert counted["/sparql", "200"] >= 1
    assert counted["other", "404"] >= 1
    assert families["sarag_active_requests"].samples[0].value == 1
    ask(server, "", "GET", "/metrics").is_line(401, "token")


# --------------------------------------------------------------------------------- Starting


def test_other_machines_are_served_only_knowingly(
    sarag: Sarag, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SARAG_SERVE_TOKEN", raising=False)
    done = sarag("serve", "--kg", kg, "--host", "0.0.0.0", "--port", "0")
    done.fails(2, "--tokens", "--anonymous", "SARAG_SERVE_TOKEN")


def test_a_made_token_is_accepted(sarag: Sarag, tmp_path: Path) -> None:
    done = sarag("token", "ann", "--scope", "read", "--scope", "ask", "-q")
    assert done.code == 0
    token = done.err.split()[-1]
    assert token not in done.out
    file = tmp_path / "tokens.yml"
    file.write_text("tokens:\n" + done.out)
    access = access_rules(file, is_local=False).access(f"Bearer {token}")
    assert (access.name, set(access.scopes)) == ("ann", {"read", "ask"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tokens: [", "not YAML"),
        ("- a", "top level"),
        ("tokens: {}\nusers: []", "'tokens': input should be a valid list"),
        ("tokens: [{name: a}]", "'tokens.0.scopes' is missing.*sarag token --help"),
        ("tokens: [{name: a, sha256: 12, scopes: [read]}]", "sha256"),
        (f"tokens: [{{name: a, sha256: {'0' * 64}, scopes: [read]}}]".replace("'", ""), "sha256"),
        (f"tokens: [{{name: a, sha256: '{'0' * 64}', scopes: [root]}}]", "scopes"),
        (f"tokens: [{{name: a, sha256: '{'0' * 64}', scopes: read}}]", "scopes"),
        (f"tokens: [{{name: a, sha256: '{'0' * 64}', scopes: [], rate: 1}}]", "'tokens.0.rate'"),
        (f"tokens: [{{name: anonymous, sha256: '{'0' * 64}', scopes: []}}]", "anonymous"),
        ("anonymous: {scopes: [read], graphs: {hide: [a]}}", "'anonymous.graphs.hide'"),
        ("anonymous: {scopes: [read], requests_per_minute: -1}", "requests_per_minute"),
    ],
)
def test_a_bad_file_of_tokens_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "tokens.yml"
    file.write_text(text)
    with pytest.raises(UsageError, match=words):
        access_rules(file, is_local=True)
