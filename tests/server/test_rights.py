"""Two stores that differ in what a token may not read answer every request of it alike.

`SARAG_RIGHTS_CASES` is the number of requests of each token and pair of stores.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.types import Source
from sarag_rdf.server.serve_settings import new_token
from tests.fault_server import FaultServer, data, playing
from tests.sample_graph import (
    BASE,
    SOURCES,
    CapitalExtractor,
    also_embeds,
    insert,
    make_graph,
    remote_embedder,
)
from tests.server.running import JSON, Got, Running, serving
from tests.strategies import REASONERS, RETRIEVERS

CASES = int(os.environ.get("SARAG_RIGHTS_CASES", "20"))
KG = f"{BASE}graph/kg"
OWN = "https://g.example/own"
HIDDEN_OWN = "https://g.example/hidden"
ADA, ULM = f"{BASE}entity/ada", f"{BASE}entity/ulm"
_PREFIXES = f"""
@prefix b: <https://b.example/> . @prefix s: <https://s.example/> . @prefix ada: <{BASE}entity/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sarag: <https://w3id.org/sarag/ontology#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
BOATS = """
b:x a b:Boat ; rdfs:label "Heron" ; b:near b:y .
b:y a b:Boat ; rdfs:label "Otter" ; rdfs:comment "Otter is moored in Ulm near Heron." .
b:near rdfs:label "moored near" .
"""
SECRET = """
s:p a s:Spy ; rdfs:label "Operation Falcon" ; s:with b:x, ada:ada ; b:near b:y .
s:q a b:Boat ; rdfs:label "Falcon Base" ; rdfs:comment "Ada met Heron and Otter in Ulm." .
ada:ada a s:Spy ; rdfs:label "Adamant" ; s:with ada:ulm . ada:ulm rdfs:label "Ulm an der Donau" .
b:x a s:Spy ; rdfs:label "Heronry" ; s:with b:y .
b:near sarag:activationWeight 0.0 ; sarag:forwardPhrase "spies on" ; rdfs:label "spies on" .
b:Boat sarag:activationWeight 0.5 ; rdfs:subClassOf s:Spy .
sarag:relatedTo sarag:activationWeight 0.25 .
"""
_TRIPLES = {OWN: "b:x b:owner ada:ada .", HIDDEN_OWN: "ada:ada b:owner b:y ; a s:Spy ." + SECRET}


@dataclass(frozen=True)
class Pair:
    """A store with something hidden and one without it, and tokens that may not read it.

    `tokens`: name -> graphs in the file of tokens, in which ``SOURCE`` is the IRI of the graph of
    the hidden source.
    """

    imports: tuple[str, ...]
    hidden: tuple[str, ...]
    tokens: dict[str, str]


PAIRS = {
    "an import and a graph": Pair(
        ("boats",),
        ("import", "graph"),
        {
            "denied": f"{{deny: [secret, '{HIDDEN_OWN}']}}",
            "by-iri": f"{{deny: ['{BASE}graph/external/secret', '{HIDDEN_OWN}']}}",
            "allowed": f"{{allow: [documents, boats], deny: ['{HIDDEN_OWN}']}}",
            "boats": "{allow: [boats]}",
            "traversed": f"{{allow: ['{KG}', '{OWN}']}}",
        },
    ),
    "the only import": Pair((), ("import",), {"denied": "{deny: [secret]}"}),
    "a source": Pair(("boats",), ("source",), {"denied": "{deny: ['SOURCE']}"}),
}


@also_embeds
def endpoint(handler: BaseHTTPRequestHandler, asked: Any) -> None:
    """Embeds; an answer is a digest of what the model was given."""
    digest = hashlib.sha256(json.dumps(asked["messages"]).encode()).hexdigest()
    answer = {"reasoning": digest, "sufficient": True, "final_answer": digest[:8]}
    data({**answer, "citations": ["D1"]})(handler)


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with playing(endpoint) as server:
        yield server


def stored(folder: Path, graph: str, text: str) -> None:
    """Put a graph of one's own into a store."""
    quads = ox.parse((_PREFIXES + text).encode(), ox.RdfFormat.TURTLE)
    insert(folder, *(ox.Quad(q.subject, q.predicate, q.object, ox.NamedNode(graph)) for q in quads))


def twins(root: Path, pair: Pair, model: FaultServer) -> tuple[Path, Path, str]:
    """The store with what is hidden, the one without it, and the graph of the hidden source."""
    embedder = remote_embedder(model.base_url)
    plain, full = make_graph(root / "plain" / "kg", embedder=embedder), root / "full" / "kg"

    def change(folder: Path, names: tuple[str, ...]) -> None:
        with sarag_rdf.open(folder, embedder=embedder, endpoint=None) as kg:
            for name in names:
                if name == "source":
                    hidden = Source("Ada met Eva in Ulm. Eva sailed the Heron.", "Eva", "eva.txt")
                    kg.index([*SOURCES, hidden], extractor=CapitalExtractor())
                if name in ("boats", "import"):
                    file = root / f"{name}.ttl"
                    file.write_text(_PREFIXES + (BOATS if name == "boats" else SECRET))
                    kg.import_graph(file, "rdf", name="boats" if name == "boats" else "secret")

    change(plain, pair.imports)
    stored(plain, OWN, _TRIPLES[OWN])
    stored(plain, f"{BASE}graph/links", "ada:ulm skos:exactMatch b:x .")
    shutil.copytree(plain, full)
    before = set(ox.Store.read_only(str(full / "store")).named_graphs())
    change(full, pair.hidden)
    new = set(ox.Store.read_only(str(full / "store")).named_graphs()) - before
    if "import" in pair.hidden:
        stored(full, f"{BASE}graph/links", "ada:ada skos:exactMatch s:p . s:p a s:Spy .")
    if "graph" in pair.hidden:
        stored(full, HIDDEN_OWN, _TRIPLES[HIDDEN_OWN])
    source = next((str(g)[1:-1] for g in new if "/graph/source/" in str(g)), "")
    return full, plain, source


# --------------------------------------------------------------------------------- Requests


@dataclass(frozen=True)
class Request:
    """A request; `body` is sent by POST, or by the `method`."""

    path: str
    accept: str = "*/*"
    body: str = ""
    media_type: str = ""
    method: str = ""

    def send(self, server: Running, token: str) -> Got:
        headers = {"Authorization": f"Bearer {token}", "Accept": self.accept}
        if self.media_type:
            headers["Content_Type"] = self.media_type
        method = self.method or ("POST" if self.body else "GET")
        return server.ask(method, self.path, self.body or None, token=False, **headers)


QUESTIONS = (
    "Which river flows through the seat of Orbis?",
    "Who met Heron and Otter?",
    "Operation Falcon",
    "Ada",
    "Where is Otter moored near?",
    "Eva sailed the Heron",
)
IRIS = (
    *(ADA, ULM, f"{BASE}entity/eva", "https://b.example/x", "https://b.example/y", OWN, HIDDEN_OWN),
    *("https://s.example/p", "https://s.example/Spy", "https://s.example/with", KG, "urn:none"),
    *("https://b.example/Boat", "https://b.example/near", "https://w3id.org/sarag/ontology#Entity"),
    *("http://www.w3.org/2000/01/rdf-schema#label", f"{BASE}graph/external/secret"),
    *(f"{BASE}graph/{name}" for name in ("links", "meta", "external/boats", "external/none")),
)
OVER = ("", "", "all", "documents", "boats", "secret", "none", "links")
PREFIXES = ("A", "Ada", "Heron", "Fal", "Op", "Ul", "s", "b", "w", "n", "Eva", "E", "B", "l")
QUERIES = (
    "SELECT * { ?s ?p ?o }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } }",
    "SELECT * { GRAPH <IRI> { ?s ?p ?o } }",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s ?p ?o }",
    "SELECT * { <IRI> ?p ?o }",
    "SELECT * { <IRI> (<https://b.example/near>|!<urn:none>)* ?o }",
    "SELECT * FROM <IRI> { ?s ?p ?o }",
    "SELECT * FROM NAMED <IRI> { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?s (SAMPLE(?o) AS ?one) { ?s ?p ?o } GROUP BY ?s ORDER BY ?s",
    "SELECT * { ?s ?p ?o } LIMIT 7",
    "SELECT * { ?s ?p ?o OPTIONAL { GRAPH ?g { ?o ?q ?r } } } OFFSET 3 LIMIT 9",
    "SELECT (EXISTS { GRAPH ?g { ?x a <https://s.example/Spy> } } AS ?e) {}",
    "ASK { ?s a <https://s.example/Spy> }",
    "DESCRIBE <IRI>",
    "CONSTRUCT WHERE { <IRI> ?p ?o }",
    "SELECT * { GRAPH ?g {} }",
    "SELECT * { ?s ?p",
)
RESULTS = (JSON, "text/csv", "application/sparql-results+xml", "text/turtle", "application/n-quads")


def _url(path: str, **parameters: str) -> str:
    return f"{path}?{urlencode({k: v for k, v in parameters.items() if v})}"


def _graph(chance: random.Random) -> Request:
    over, limit = chance.choice(OVER), str(chance.choice(("", 1, 3, 30)))
    if chance.random() < 0.4:
        kind = chance.choice(("", "class", "property", "entity"))
        prefix = chance.choice(PREFIXES)
        return Request(_url("/graph/complete", prefix=prefix, kind=kind, limit=limit, over=over))
    if chance.random() < 0.6:
        iri = chance.choice(IRIS)
        return Request(_url("/graph/neighbours", iri=iri, limit=limit, over=over))
    if chance.random() < 0.1:
        return Request("/graph/prefixes")
    body = json.dumps(chance.sample(IRIS, 5))
    return Request(_url("/graph/names", over=over), body=body, media_type="application/json")


def _query(chance: random.Random) -> Request:
    text = chance.choice(QUERIES).replace("IRI", chance.choice(IRIS))
    more = {"over": chance.choice(OVER)} if chance.random() < 0.6 else {}
    if not more and chance.random() < 0.3:
        more[chance.choice(("default-graph-uri", "named-graph-uri"))] = chance.choice(IRIS)
    return Request(_url("/sparql", query=text, **more), chance.choice(RESULTS))


def _search(chance: random.Random) -> Request:
    retriever = chance.choice(("", "", *RETRIEVERS))
    parameters = {"q": chance.choice(QUESTIONS), "retriever": retriever}
    parameters |= {"over": chance.choice(OVER), "limit": str(chance.choice(("", 1, 20)))}
    if chance.random() < 0.3:
        parameters["weights"] = chance.choice(
            ("https://s.example/Spy=2", "moored near=2", "spies on=2", "Boat=0.5", "Spy=2")
        )
    if chance.random() < 0.3:
        parameters["trace"] = "true"
    return Request(_url("/search", **parameters))


def _ask(chance: random.Random) -> Request:
    reasoner = chance.choice(("", "cot", *REASONERS))
    question = chance.choice(QUESTIONS)
    if chance.random() < 0.4:
        message = {"role": "user", "content": question}
        body = {"model": reasoner or "single", "messages": [message], "stream": False}
        if chance.random() < 0.5:
            body["sarag"] = {"over": chance.choice(OVER[2:])}
        if chance.random() < 0.3:
            body["stream"] = True
        media_type = "application/json"
        return Request("/v1/chat/completions", body=json.dumps(body), media_type=media_type)
    stream = chance.choice(("", "true"))
    over = chance.choice(OVER)
    return Request(_url("/ask", q=question, reasoner=reasoner, over=over, stream=stream))


def _resource(chance: random.Random) -> Request:
    iri = chance.choice(IRIS)
    if chance.random() < 0.3:
        return Request("/" + quote(iri.removeprefix(BASE).removeprefix("https://")))
    return Request(_url("/resource", iri=iri, format=chance.choice(("html", "turtle", "jsonld"))))


def _store(chance: random.Random) -> Request:
    path = f"/rdf-graph-store?graph={quote(chance.choice(IRIS), safe='')}"
    if chance.random() < 0.2:
        path = "/rdf-graph-store?default"
    if chance.random() < 0.3:
        return Request(path, method="DELETE")
    if chance.random() < 0.3:
        return Request(path, body="<urn:a> <urn:b> <urn:c> .", media_type="text/x", method="PUT")
    return Request(path, chance.choice(("text/turtle", "application/n-triples")))


def _other(chance: random.Random) -> Request:
    paths = ("/", "/sparql", "/sparql-editor", "/docs", "/openapi.json", "/v1/models", "/none")
    return Request(chance.choice(paths), chance.choice(("*/*", "text/turtle", "text/html")))


KINDS: tuple[tuple[int, Callable[[random.Random], Request]], ...] = (
    *((5, _graph), (5, _query), (4, _search), (2, _ask), (2, _resource), (2, _store), (1, _other)),
)


def requests(seed: str, cases: int) -> list[Request]:
    """Different requests, the same ones for the same seed."""
    chance = random.Random(seed)
    weights = [weight for weight, _ in KINDS]
    found: dict[Request, None] = {}
    while len(found) < cases:
        [(_, make)] = chance.choices(KINDS, weights)
        found[make(chance)] = None
    return list(found)


# --------------------------------------------------------------------------------- Comparison

HEADERS = {
    "date": "the time of the answer",
    "etag": "changes with every write to the store, also to a graph that is hidden",
}
"""Headers that may differ, and why this tells nothing but that and when the store was written."""
TEXTS = {
    r'"chatcmpl-[0-9a-f]{32}"': "a random number",
    r'"created": ?\d+': "the time of the answer",
    r"http://127\.0\.0\.1:\d+": "the address of the server",
    r'"seconds": ?[\d.e-]+': "how long a step took",
}
"""The same of texts."""


def masked(got: Got) -> tuple[int, dict[str, str], str]:
    """An answer without what may differ."""

    def mask(text: str) -> str:
        for pattern in TEXTS:
            text = re.sub(pattern, "", text)
        return text

    headers = {name: mask(value) for name, value in got.headers.items() if name not in HEADERS}
    text = mask(got.text)
    if any(re.search(pattern, got.text) for pattern in TEXTS):
        headers.pop("content-length", None)
    return got.status, headers, text


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_hidden_changes_no_answer(name: str, model: FaultServer, tmp_path: Path) -> None:
    pair = PAIRS[name]
    full, plain, source = twins(tmp_path, pair, model)
    tokens = {who: new_token() for who in pair.tokens}
    lines = ["tokens:"]
    for who, graphs in pair.tokens.items():
        lines.append(f"  - {{name: {who}, sha256: {tokens[who][1]}, scopes: [read, ask, write], ")
        lines.append(f"     graphs: {graphs.replace('SOURCE', source)}}}")
    different: dict[tuple[str, Request], tuple[Got, Got]] = {}
    statuses: dict[int, int] = {}
    with ExitStack() as stack:
        servers = []
        for folder in (full, plain):
            rules = folder.parent / "tokens.yml"
            rules.write_text("\n".join(lines))
            options = ("--tokens", str(rules), "--writable")
            servers.append(stack.enter_context(serving(folder, *options, env=model.settings)))
        for who, (token, _) in tokens.items():
            for request in requests(f"{name} {who}", CASES):
                one, other = (request.send(server, token) for server in servers)
                statuses[one.status] = statuses.get(one.status, 0) + 1
                if masked(one) != masked(other):
                    different[who, request] = one, other
    if os.environ.get("SARAG_RIGHTS_SHOW"):
        for (who, request), (one, other) in different.items():
            print("####", who, request)
            print("   ", one.status, one.text[:1500])
            print("   ", other.status, other.text[:1500])
    assert not different, [
        (who, request.path, one.status, other.status)
        for (who, request), (one, other) in different.items()
    ]
    assert statuses[200] > sum(statuses.values()) / 3, statuses
