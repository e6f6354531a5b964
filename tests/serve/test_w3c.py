"""The W3C's tests of the SPARQL 1.1 Protocol and Graph Store Protocol, against ``sarag serve``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sample_graph import make_graph
from tests.serve.running import Running, serving
from tests.serve.w3c import Case, cases, play


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A writable server with an ordinary data set, as the tests expect it."""
    folder = make_graph(tmp_path_factory.mktemp("w3c") / "kg")
    with serving(folder, "--writable", "--default-graph", "empty") as running:
        yield running


@pytest.mark.parametrize("case", cases("protocol/manifest.ttl"))
def test_protocol(case: Case, server: Running) -> None:
    play(server, case, "/sparql/", "/sparql/")


@pytest.mark.parametrize(
    "case",
    cases("graph-store-protocol/manifest-direct.ttl", "graph-store-protocol/manifest-indirect.ttl"),
)
def test_graph_store(case: Case, server: Running) -> None:
    play(server, case, "/gsp", "/rdf-graph-store")
