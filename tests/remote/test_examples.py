"""Queries of the editor and of the guide at real servers: the same rows, in the same order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.resources import query_file, query_names
from sarag_rdf.base.vocab import text_of
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.remote.sample import CORPUS, export_nquads
from tests.sample_graph import CapitalExtractor
from tests.servers import oxigraph_server, virtuoso_server
from tests.test_queries import example_store
from tests.typed_graph import index_people

GUIDE = (ROOT / "docs" / "how-to" / "query-with-sparql.md").read_text("utf-8")
QUERIES = {name: query_file("examples", name).text for name in query_names("examples")}
QUERIES |= dict(enumerate(re.findall(r"^```sparql\n(.*?)^```$", GUIDE, re.M | re.S)))  # type: ignore[arg-type]
OF_ALL_GRAPHS = ("02-classes", "08-named-graphs")
"""Virtuoso has graphs of its own."""
SEPARATOR = ", "
ENTITY_NAMES = "SELECT ?n { ?e a sarag:Entity ; skos:prefLabel ?n } ORDER BY STR(?n) ?e"


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    """Documents, typed statements, an imported graph, links, and the activation of a question."""
    root = tmp_path_factory.mktemp("examples")
    example_store(root).close()
    with sarag_rdf.open(root / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(CORPUS, extractor=CapitalExtractor())
        index_people(kg, root)
        yield kg


@pytest.fixture(scope="module", params=["oxigraph", "virtuoso"])
def far(
    request: pytest.FixtureRequest, near: KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KnowledgeGraph]:
    """The same graph behind an endpoint, with the limit on rows that Virtuoso itself has."""
    with ExitStack() as stack:
        is_virtuoso = request.param == "virtuoso"
        server = stack.enter_context(virtuoso_server(10_000) if is_virtuoso else oxigraph_server())
        with near.session.read() as snapshot:
            assert isinstance(snapshot.reader.store, OxigraphStore)
            server.load(export_nquads(snapshot.reader.store))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SARAG_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield stack.enter_context(sarag_rdf.open(server.query_url, endpoint=None))


def value(term: Any) -> Any:
    """A term in which the servers agree: numbers by value, and the names of a list in any order."""
    text = None if term is None else text_of(term)
    if text is None or SEPARATOR in text:
        return text and sorted(text.split(SEPARATOR))
    with suppress(ValueError):
        return round(float({"true": "1", "false": "0"}.get(text, text)), 12)
    return text


def test_all_queries_are_found() -> None:
    assert len(QUERIES) >= 25


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_the_same_rows_in_the_same_order(
    near: KnowledgeGraph, far: KnowledgeGraph, name: str
) -> None:
    wanted, found = (kg.query(QUERIES[name]) for kg in (near, far))
    if isinstance(wanted, Triples):
        assert isinstance(found, Triples)
        assert set(found.triples) == set(wanted.triples) != set()
        return
    assert isinstance(wanted, Table)
    assert isinstance(found, Table)
    assert found.variables == wanted.variables
    rows, others = ([tuple(map(value, row)) for row in table.rows] for table in (wanted, found))
    if name in OF_ALL_GRAPHS:
        known = {row[0] for row in rows}
        others = [row for row in others if row[0] in known]
    assert others == rows
    assert rows or name not in query_names("examples")


def test_columns_are_terms_with_the_same_languages(
    near: KnowledgeGraph, far: KnowledgeGraph
) -> None:
    assert far.query(ENTITY_NAMES) == near.query(ENTITY_NAMES)
