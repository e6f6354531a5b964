"""What fails in the middle of an answer, or ends without warning, leaves nothing behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from sarag_rdf.base.files import LOCK
from tests.sample_graph import insert, make_graph
from tests.server.running import Got, Running, all_end, serving
from tests.server.test_query import HEAVY

PREFIX = "sarag-serve-"
GRAPH = ox.NamedNode("http://a.example/g")
MANY = 3000
"""Triples enough that an answer is poured into a file."""
ALL = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH {GRAPH} {{ ?s ?p ?o }} }} ORDER BY ?p"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph whose last triple has the predicate urn:1 and a triple term; one with urn:1 alone."""
    kg = make_graph(tmp_path_factory.mktemp("failures") / "kg")
    node = ox.NamedNode("http://a.example/" + "long" * 20)
    early, late = ox.NamedNode("http://a.example/p"), ox.NamedNode("urn:1")
    quads = [ox.Quad(node, early, ox.Literal(str(number)), GRAPH) for number in range(MANY)]
    term = ox.Triple(node, early, ox.Literal("quoted"))
    insert(kg, *quads, ox.Quad(node, late, term, GRAPH))
    insert(kg, ox.Quad(node, ox.NamedNode("urn:1"), ox.Literal("x"), ox.NamedNode("urn:odd")))
    return kg


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def server(kg: Path, scratch: Path) -> Iterator[Running]:
    with serving(kg, env={"TMPDIR": str(scratch)}) as running:
        yield running


def open_files(server: Running) -> list[str]:
    """Files of the scratch folder that the server's processes hold open, but for its lock."""
    found = []
    for process in (server.process.pid, *server.children()):
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            try:
                name = str(descriptor.readlink())
            except FileNotFoundError:
                continue
            if PREFIX in name and not name.endswith(f"/{LOCK}"):
                found.append(name)
    return found


def test_queries_that_fail_late_keep_no_file(server: Running, scratch: Path) -> None:
    for accept in ("application/ld+json", "application/rdf+xml"):
        for _ in range(5):
            got = server.query(ALL, accept)
            got.is_line(406, "cannot express", "text/turtle")
    assert open_files(server) == []
    (folder,) = scratch.glob(f"{PREFIX}*")
    assert [p.name for p in folder.iterdir() if not p.name.startswith("sarag-read-")] == [LOCK]
    whole = server.query(ALL, "text/turtle")
    assert whole.status == 200
    assert len(whole.body) > MANY


def test_what_a_format_cannot_express_is_not_acceptable(server: Running) -> None:
    odd = "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <urn:odd> { ?s ?p ?o } }"
    server.query(odd, "application/rdf+xml").is_line(406, "urn:1", "text/turtle")
    assert server.query(odd, "application/ld+json").status == 200
    for iri, accept in (("urn:odd", "application/rdf+xml"), (GRAPH.value, "application/ld+json")):
        got = server.ask("GET", f"/rdf-graph-store?graph={iri}", Accept=accept)
        got.is_line(406, "cannot express")
        assert (
            server.ask("GET", f"/rdf-graph-store?graph={iri}", Accept="text/turtle").status == 200
        )


def test_the_folder_of_a_server_that_was_killed_goes_with_the_next(
    kg: Path, tmp_path: Path
) -> None:
    others = tmp_path / f"{PREFIX}of-something-else"
    others.mkdir()
    env = {"TMPDIR": str(tmp_path)}
    with serving(kg, env=env) as running:
        (left,) = set(tmp_path.glob(f"{PREFIX}*")) - {others}
        with serving(kg, env=env) as second:  # one that runs keeps its own
            assert left.is_dir()
            assert second.query("ASK {}").status == 200
        assert left.is_dir()
        children = running.children()
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        assert all_end(children)
        assert left.is_dir()
    with serving(kg, env=env) as running:
        assert not left.exists()
        assert others.is_dir()
        running.stop()
    assert set(tmp_path.glob(f"{PREFIX}*")) == {others}


def test_running_requests_are_told_that_the_server_stops(kg: Path) -> None:
    with serving(kg, "--timeout", "300", "--workers", "1") as server:
        found: list[Got] = []
        threads = [
            threading.Thread(target=lambda: found.append(server.query(HEAVY))) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        assert server.ask("GET", "/openapi.json").status == 200
        server.stop()
        for thread in threads:
            thread.join()
        assert len(found) == 3
        for got in found:
            got.is_line(503, "stopping")
        assert server.process.returncode == 0
