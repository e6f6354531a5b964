"""Which graphs a query over HTTP is asked of: the documents, unless others are named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.building.test_query_over import NAMES, OWN, folder
from tests.server.running import Running, serving

__all__ = ["folder"]
BOATS, TOOLS = {"boats one", "boats two"}, {"tools one", "tools two"}
UNION = b"sparql-service-description#UnionDefaultGraph"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    with serving(folder, "--quiet", "--writable") as running:
        yield running


def names(server: Running, *over: str, method: str = "GET", text: str = NAMES) -> set[str]:
    from urllib.parse import urlencode

    pairs = urlencode([("query", text), *(("over", name) for name in over)])
    kind = "application/x-www-form-urlencoded"
    if method == "GET":
        got = server.ask("GET", f"/sparql?{pairs}")
    else:
        got = server.ask("POST", "/sparql", pairs, Content_Type=kind)
    assert got.status == 200, got.text
    return {row["name"]["value"] for row in got.json()["results"]["bindings"]}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_documents_are_asked_unless_more_is_named(server: Running, method: str) -> None:
    assert names(server, method=method) == OWN
    assert names(server, "documents", method=method) == OWN
    assert names(server, "boats", method=method) == BOATS
    assert names(server, "boats", "documents", method=method) == BOATS | OWN
    assert names(server, "all", method=method) == BOATS | TOOLS | OWN


def test_a_data_set_that_the_query_names_counts(server: Running) -> None:
    [[graph]] = server.values("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p 'boats one'@en } }")
    chosen = NAMES.replace("SELECT DISTINCT ?name {", f"SELECT DISTINCT ?name FROM <{graph}> {{")
    assert chosen != NAMES
    assert names(server, text=chosen) == names(server, "all", text=chosen) == BOATS
    assert {row[0] for row in server.values(chosen)} == BOATS
    twice = server.query(NAMES, over="boats", **{"default-graph-uri": graph})
    twice.is_line(400, "over")


def test_an_unknown_name_is_refused_and_the_known_are_named(server: Running) -> None:
    server.query(NAMES, over="boots").is_line(400, "boots", "boats")


def test_what_is_written_is_asked_at_once(server: Running) -> None:
    label = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    triple = f"GRAPH <https://mine.example.org/g> {{ <https://mine.example.org/x> {label} 'Zoe' }}"
    assert server.update(f"INSERT DATA {{ {triple} }}").status == 204
    assert names(server) == OWN | {"Zoe"}
    assert server.update(f"DELETE DATA {{ {triple} }}").status == 204
    assert names(server) == OWN


def test_the_server_may_be_started_over_other_parts(server: Running, folder: Path) -> None:
    described = server.ask("GET", "/sparql", Accept="application/n-triples")
    assert UNION not in described.body
    with serving(folder, "--quiet", "--over", "all") as whole:
        assert names(whole) == BOATS | TOOLS | OWN
        assert names(whole, "documents") == OWN
        assert UNION in whole.ask("GET", "/sparql", Accept="application/n-triples").body
