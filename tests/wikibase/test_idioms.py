"""Queries written as for Wikidata answer on an export, in several engines."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import make_graph
from tests.servers import Server
from tests.wikibase.engines import ENGINES, by_server
from tests.wikibase.idioms import IDIOMS, prefixed


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("idioms")
    with sarag_rdf.open(make_graph(folder / "kg"), embedder=HashEmbedder(), endpoint=None) as kg:
        output = io.BytesIO()
        kg.export("wikibase", output)
    (folder / "dump.nt").write_bytes(output.getvalue())
    return folder / "dump.nt"


@pytest.mark.interop
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms(dump: Path, engine: str, name: str) -> None:
    query, expected = IDIOMS[name]
    names = re.findall(r"\?(\w+)", query.partition("{")[0])
    rows = ENGINES[engine](dump, prefixed(query))
    assert {tuple(row[name] for name in names) for row in rows} == expected


@pytest.fixture(scope="module", params=["oxigraph", "virtuoso"])
def endpoint(request: pytest.FixtureRequest, dump: Path) -> str:
    """A server with the export in a named graph, or in the default graph where there is one."""
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    graph = "" if server.name == "oxigraph" else " <https://export.example.org/>"
    lines = dump.read_text("utf-8").splitlines()
    server.load("\n".join(f"{line.removesuffix('.')}{graph} ." for line in lines).encode())
    return server.query_url


@pytest.mark.interop
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_on_servers(endpoint: str, name: str) -> None:
    query, expected = IDIOMS[name]
    names = re.findall(r"\?(\w+)", query.partition("{")[0])
    rows = by_server(endpoint, prefixed(query))
    assert {tuple(row[name] for name in names) for row in rows} == expected
