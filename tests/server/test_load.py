"""A server with many clients at the same time, beside a writer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

import sarag_rdf
from tests.fault_server import FaultServer, data, hang, playing
from tests.sample_graph import BASE, CapitalExtractor, embeddings, make_graph, remote_embedder
from tests.server.crowd import Call, Client, Served, crowd, memory, percentile
from tests.server.running import JSON, TOKEN, Running, serving
from tests.server.test_query import HEAVY

CLIENTS, REQUESTS = 32, 600
QUESTION = "Which river flows through the seat of Orbis?"
SLOW = "Who waits for the model?"
GROWTH = 96 << 20
"""Bytes by which the memory of a server may grow under load, once each kind was requested."""
VERSION = """PREFIX sarag: <https://w3id.org/sarag/ontology#>
SELECT ?text { ?d a sarag:Document ; sarag:text ?text FILTER(STRSTARTS(?text, "Version")) }"""


def model(handler: BaseHTTPRequestHandler) -> None:
    """Embeds texts, and answers all questions but one, which waits."""
    raw: bytes = handler.raw  # type: ignore[attr-defined]
    said = {"reasoning": "D1.", "sufficient": True, "final_answer": "Ada", "citations": ["D1"]}
    if b'"input"' in raw:
        embeddings(handler)
    else:
        (hang if SLOW.encode() in raw else data(said))(handler)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FaultServer]:
    with playing(model) as server:
        yield server


@pytest.fixture(scope="module")
def kg(endpoint: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    embedder = remote_embedder(endpoint.base_url)
    return make_graph(tmp_path_factory.mktemp("load") / "kg", embedder=embedder)


@pytest.fixture(scope="module")
def env(endpoint: FaultServer) -> dict[str, str]:
    return endpoint.settings


def page(iri: str) -> Call:
    return Call("page", f"/resource?iri={quote(iri, safe='')}", "text/html")


def sparql(text: str) -> Call:
    return Call("sparql", f"/sparql?{urlencode({'query': text})}", JSON)


def served(server: Running, calls: list[Call], clients: int) -> list[Served]:
    return asyncio.run(crowd(server.host, server.port, calls, clients))


@contextmanager
def asked(server: Running, *calls: Call) -> Iterator[None]:
    """While the block lasts, these requests wait for their answers."""

    async def ask() -> None:
        clients = [Client(server.host, server.port) for _ in calls]
        tasks = [asyncio.create_task(c.get(call)) for c, call in zip(clients, calls, strict=True)]
        while not ended.is_set():
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()

    ended = threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(ask(),))
    thread.start()
    time.sleep(0.5)  # until they are at work
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_an_answer_does_not_wait_for_acknowledgements(kg: Path) -> None:
    """Head and body are sent one after the other; that waited 40 ms with Nagle's algorithm."""
    with serving(kg, "--workers", "1") as server:
        times = [each.seconds for each in served(server, [Call("docs", "/docs")] * 60, 1)][20:]
        assert percentile(times, 0.25) < 0.025


def test_pages_do_not_wait_for_queries_nor_searches_for_answers(
    kg: Path, env: dict[str, str]
) -> None:
    options = ("--workers", "2", "--timeout", "60", "--question-timeout", "60")
    with serving(kg, *options, env=env) as server:
        search = Call("search", f"/search?{urlencode({'q': QUESTION})}")
        ask = Call("ask", f"/ask?{urlencode({'q': SLOW, 'reasoner': 'single'})}")
        [first] = served(server, [search], 1)
        with asked(server, *[sparql(HEAVY)] * 3, *[ask] * 3):
            found = served(server, [page(f"{BASE}entity/ada"), search], 1)
        assert [each.status for each in found] == [200, 200]
        assert b"Ada" in found[0].body
        assert found[1].body == first.body


def test_tokens_share_the_workers_and_not_addresses(kg: Path) -> None:
    """Clients behind a proxy have one address: one that fills its half does not fill the queue."""
    other = "another-token-of-the-tests"
    tokens = kg.parent / "tokens.yml"
    digest = hashlib.sha256(other.encode()).hexdigest()
    tokens.write_text(f"tokens:\n- {{name: other, scopes: [read], sha256: '{digest}'}}\n")
    options = ("--workers", "1", "--queue", "2", "--timeout", "60", "--tokens", str(tokens))
    with serving(kg, *options) as server:
        statuses: Counter[tuple[str, int]] = Counter()

        def ask(token: str) -> None:
            got = server.ask("GET", sparql(HEAVY).path, Authorization=f"Bearer {token}")
            statuses[token, got.status] += 1

        threads = []
        for token in (TOKEN, TOKEN, TOKEN, other):
            threads.append(threading.Thread(target=ask, args=(token,)))
            threads[-1].start()
            time.sleep(0.3)
        assert statuses == {(TOKEN, 503): 1}  # one runs, one waits; and one of the other waits
        server.stop()
        for thread in threads:
            thread.join()


def mixed(count: int) -> list[Call]:
    """Requests of all kinds for the sample graph."""
    chance = random.Random(1)
    kinds = (
        page(f"{BASE}entity/ada"),
        sparql("SELECT ?name { ?e <http://www.w3.org/2004/02/skos/core#prefLabel> ?name }"),
        sparql("SELECT (COUNT(*) AS ?n) { ?s a <https://w3id.org/sarag/ontology#Document> }"),
        sparql(VERSION),
        Call("search", f"/search?{urlencode({'q': QUESTION})}"),
        Call("ask", f"/ask?{urlencode({'q': QUESTION, 'reasoner': 'single'})}"),
        Call("complete", f"/graph/complete?{urlencode({'prefix': 'Ad'})}"),
    )
    return [*kinds, *chance.choices(kinds, k=count - len(kinds))]


@pytest.mark.fault
def test_a_crowd_beside_a_writer_loses_nothing(
    kg: Path, env: dict[str, str], endpoint: FaultServer
) -> None:
    """Every answer is right, or the refusal says when to come again; memory does not grow."""
    with serving(kg, "--queue", "16", env=env) as server:
        for _ in range(2):
            served(server, mixed(60), 8)
        before = memory({server.process.pid, *server.children()})
        ended, written = threading.Event(), [0]

        def write() -> None:
            embedder = remote_embedder(endpoint.base_url)
            with sarag_rdf.open(kg, embedder=embedder, endpoint=None) as graph:
                while not ended.is_set():
                    written[0] += 1
                    text = f"Version{written[0]} of Ulm was read by Ada."
                    source = sarag_rdf.Source(text, "Version", "version.txt")
                    graph.index([source], extractor=CapitalExtractor())

        writer = threading.Thread(target=write)
        writer.start()
        try:
            found = served(server, mixed(REQUESTS), CLIENTS)
        finally:
            ended.set()
            writer.join()
        grown = memory({server.process.pid, *server.children()}) - before
        assert len(found) == REQUESTS
        assert written[0] > 2
        is_right(found)
        assert all(after.isdigit() for each in found for after in each.refusals)
        assert grown < GROWTH
        [last] = served(server, [sparql(VERSION)], 1)
        assert f"Version{written[0]} " in last.body.decode()  # what was written last is served
        assert "Traceback" not in server.log.read_text()


def is_right(found: list[Served]) -> None:
    """Each answer is about one state of the graph, and none goes back behind an earlier answer."""
    versions: list[tuple[Served, int]] = []
    documents = set()
    for each in found:
        assert each.status == 200, (each.call, each.status, each.body)
        if each.call.kind == "ask":
            assert json.loads(each.body)["answer"] == "Ada"
        elif each.call.kind == "search":
            assert "Ada" in {one["title"] for one in json.loads(each.body)["documents"]}
        elif each.call == sparql(VERSION):
            rows = json.loads(each.body)["results"]["bindings"]
            assert len(rows) <= 1  # never two versions
            versions += [(each, int(row["text"]["value"].split()[0][7:])) for row in rows]
        elif "COUNT" in each.call.path:
            [row] = json.loads(each.body)["results"]["bindings"]
            documents.add(int(row["n"]["value"]))
        else:
            assert b"Ada" in each.body
    assert len(documents) <= 2  # before the first version and since
    assert len({version for _, version in versions}) > 1
    for one, version in versions:
        earlier = [v for other, v in versions if other.began + other.seconds < one.began]
        assert version >= max(earlier, default=0)
