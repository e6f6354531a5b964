"""When statements hold, over HTTP: what was true at a time, and the times in replies and pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from sarag_rdf.graph.store.oxigraph import OxigraphStore
from tests.fault_server import FaultServer, playing
from tests.remote.sample import export_nquads
from tests.sample_graph import remote_embedder
from tests.server.running import Running, serving
from tests.server.test_questions import endpoint
from tests.server.test_resource import page, some, text_of
from tests.servers import Server
from tests.timed_graph import KARL, MUSEUM, timed_graph

QUESTION = "Who was director of the Thule Museum?"
DIRECTORS = """PREFIX common: <https://w3id.org/sarag/common#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
SELECT ?name { ?museum common:head/skos:prefLabel ?name } ORDER BY ?name"""


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with playing(endpoint) as server:
        yield server


@pytest.fixture(scope="module", params=["folder", "oxigraph", "virtuoso"])
def server(
    request: pytest.FixtureRequest, model: FaultServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A server of the graph in its folder, and of the same graph behind an endpoint."""
    embedder = remote_embedder(model.base_url)
    root = tmp_path_factory.mktemp("timed")
    folder, options = timed_graph(root / "kg", embedder), ["--workers", "1"]
    if request.param != "folder":
        endpoint: Server = request.getfixturevalue(request.param)
        endpoint.clear()
        endpoint.load(export_nquads(OxigraphStore.open(folder / "store")))
        options += ["--kg", endpoint.query_url]
    env = {**model.settings, "SARAG_CACHE_DIR": str(root / "cache")}
    with serving(folder, *options, env=env) as running:
        yield running


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("", ["Ida Brandt", "Karl Holm"]),
        ("1925", ["Ida Brandt"]),
        ("1937-06", []),
        ("1970-01-31", ["Karl Holm"]),
        ("1918", []),
    ],
)
def test_a_query_at_a_time(server: Running, at: str, expected: list[str]) -> None:
    parameters = {"query": DIRECTORS, "at": at} if at else {"query": DIRECTORS}
    got = server.ask("GET", "/sparql?" + urlencode(parameters))
    assert got.status == 200, got.text
    assert [row["name"]["value"] for row in got.json()["results"]["bindings"]] == expected


def test_a_posted_query_at_a_time(server: Running) -> None:
    form = "application/x-www-form-urlencoded"
    body = urlencode({"query": DIRECTORS, "at": "1925"})
    got = server.ask("POST", "/sparql", body, Content_Type=form)
    assert [row["name"]["value"] for row in got.json()["results"]["bindings"]] == ["Ida Brandt"]


def found(server: Running, path: str, **more: str) -> dict[str, dict[str, Any]]:
    """The relationships of a search by their texts."""
    parameters = {"q": QUESTION, "c": "0", **more}
    if path == "/ask":
        parameters["reasoner"] = "single"
    got = server.ask("GET", f"{path}?" + urlencode(parameters))
    assert got.status == 200, got.text
    result = got.json()
    result = result.get("evidence", result)
    assert result["settings"].get("at", "") == more.get("at", "")
    return {each["text"]: each for each in result["relationships"]}


@pytest.mark.parametrize("path", ["/search", "/ask"])
def test_a_search_at_a_time(server: Running, path: str) -> None:
    everything = found(server, path)
    assert {"Ida Brandt was director", "Karl Holm was director"} <= everything.keys()
    assert "Karl Holm was director" not in found(server, path, at="1925")
    assert "Ida Brandt was director" not in found(server, path, at="1938")


def test_the_relationships_of_a_search_have_their_times(server: Running) -> None:
    everything = found(server, "/search")
    fields = ("start_time", "end_time", "point_in_time")
    times = {text: tuple(each[name] for name in fields) for text, each in everything.items()}
    assert times["Ida Brandt was director"] == ("1919", "1937-05", "")
    assert times["Karl Holm was director"] == ("1938", "", "")


@pytest.mark.parametrize("path", ["/sparql?query=ASK%20%7B%7D", "/search?q=Ada", "/ask?q=Ada"])
def test_what_is_no_time_is_refused(server: Running, path: str) -> None:
    got = server.ask("GET", f"{path}&at=soon")
    assert got.status == 400
    assert "'soon' is not a time: write a year, month or date" in got.text


def test_a_retriever_without_activation_takes_no_time(server: Running) -> None:
    got = server.ask("GET", "/search?q=Ada&at=1925&retriever=dense")
    assert got.status == 400
    assert "does not spread activation" in got.text


def test_edges_of_the_explorer_have_their_times(server: Running) -> None:
    edges = server.ask("GET", f"/graph/neighbours?iri={quote(KARL, safe='')}").json()["edges"]
    times = {each["text"]: each for each in edges if "text" in each}
    assert times["Karl Holm was director"]["start_time"] == "1938"
    assert times["Karl Holm received the Arctic Prize"]["point_in_time"] == "1940"


def test_pages_show_times(server: Running) -> None:
    text = text_of(page(server, MUSEUM))
    assert "how it was read: Ida Brandt was director · 1919 to 1937-05 · confidence" in text
    iri = some(server, "?x sarag:endTime '1937-05'^^<http://www.w3.org/2001/XMLSchema#gYearMonth>")
    text = text_of(page(server, iri))
    assert "Time 1919 to 1937-05" in text
    assert "start time" not in text
