"""One graph in several threads: right results or a typed error, and never the end of the process.

pyoxigraph ends the process when a result is read in another thread than the one that asked.
"""

from __future__ import annotations

import ast
import json
import random
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.ports import Change, Table
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.faults.parallel import source
from tests.sample_graph import CapitalExtractor
from tests.strategies import RETRIEVERS

THREADS = 8
QUESTIONS = [f"Whom did Number{number} meet in Ulm with Boris{number % 7}?" for number in range(20)]


@pytest.fixture(autouse=True)
def threads_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(params=["folder", "memory"])
def kg(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KnowledgeGraph]:
    where = tmp_path / "kg" if request.param == "folder" else None
    with sarag_rdf.open(where, embedder=HashEmbedder(), endpoint=None) as opened:
        opened.index(map(source, range(20)), extractor=CapitalExtractor())
        yield opened


def found(kg: KnowledgeGraph, question: str, retriever: str) -> str:
    return json.dumps(retrieved_to_dict(kg.search(question, retriever=retriever)))


def test_searching_in_threads(kg: KnowledgeGraph) -> None:
    asked = [(question, retriever) for question in QUESTIONS[:6] for retriever in RETRIEVERS]
    want = {pair: found(kg, *pair) for pair in asked}
    random.Random(0).shuffle(asked)
    kg.reload()  # so that they all find nothing made yet
    with ThreadPoolExecutor(THREADS) as pool:
        assert dict(zip(asked, pool.map(lambda pair: found(kg, *pair), asked), strict=True)) == want


def test_searching_while_another_thread_indexes(kg: KnowledgeGraph) -> None:
    stop = threading.Event()
    sizes = []

    def search(number: int) -> int:
        chance, count = random.Random(number), 0
        while not stop.is_set():
            ranked = kg.search(chance.choice(QUESTIONS), limit=1000)
            assert ranked.documents
            sizes.append(kg.stats()["sources"])
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        searching = [pool.submit(search, number) for number in range(4)]
        try:
            for number in range(100, 108):
                kg.index([source(number)], extractor=CapitalExtractor())
                assert kg.stats()["sources"] == number - 79, "what was indexed is seen at once"
        finally:
            stop.set()
        assert all(each.result() > 0 for each in searching)
    assert len(set(sizes)) > 1, "nothing was indexed meanwhile"
    assert kg.validate().conforms


def test_writing_from_two_threads(kg: KnowledgeGraph) -> None:
    """In memory they take turns; a folder is locked for the second, who is told so."""

    def index(number: int) -> int:
        try:
            return kg.index([source(number)], extractor=CapitalExtractor()).added
        except StoreError as error:
            assert "this process itself" in str(error)
            return 0

    with ThreadPoolExecutor(4) as pool:
        added = sum(pool.map(index, range(200, 216)))
    assert added > 0
    assert kg.stats()["sources"] == 20 + added
    assert kg.validate().conforms


def quad(number: int) -> ox.Quad:
    node = ox.NamedNode(f"https://example.org/{number}")
    return ox.Quad(node, node, node, node)


def test_quads_do_not_go_to_another_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        store = OxigraphStore.in_memory()
        store.apply(Change(insert=(quad(1), quad(2))))
        quads = store.quads()
        next(quads)
        with pytest.raises(StoreError, match="a list instead"):
            pool.submit(next, quads).result()


def test_results_are_whole_before_they_are_given_away(kg: KnowledgeGraph) -> None:
    with ThreadPoolExecutor(1) as pool:
        table = pool.submit(kg.query, "SELECT ?s WHERE { ?s ?p ?o }").result()
        assert isinstance(table, Table)
        assert isinstance(table.rows, list)
        assert len(table.rows) > 100
        assert all(row[0].value for row in table.rows)


def test_only_stores_and_workers_hold_results_of_the_engine() -> None:
    """What iterates over the engine stays where one thread reads it to its end."""
    lazy = {"quads_for_pattern", "QuerySolutions", "QueryTriples"}
    holding = set()
    for path in sorted((ROOT / "sarag_rdf").rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text()))
        if any(isinstance(node, ast.Attribute) and node.attr in lazy for node in nodes):
            holding.add(str(path.relative_to(ROOT / "sarag_rdf")))
    assert "graph/store/oxigraph.py" in holding
    # in processes of their own, with one thread
    alone = {"plugins/backup/storage_check.py", "plugins/http_writes/graph_store.py"}
    alone |= {"plugins/http_writes/updates.py"}
    assert {path.partition("/")[0] for path in holding - alone} == {"graph", "server"}


def test_rows_that_another_thread_reads_raise(kg: KnowledgeGraph) -> None:
    """What is not read at once must be read in the thread that began."""
    with kg.session.read() as snapshot:
        rows = snapshot.reader.rows("relationship-ends")
        next(rows)
        with ThreadPoolExecutor(1) as other, pytest.raises(StoreError, match="another thread"):
            other.submit(list, rows).result()
