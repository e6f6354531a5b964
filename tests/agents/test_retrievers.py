"""LangChain's standard tests of retrievers, and what both retrievers say about a document."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.agents import langchain
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import environment
from tests.sample_graph import make_graph

if TYPE_CHECKING:
    from llama_index.core.schema import NodeWithScore

QUESTION = "Which river flows through the seat of Orbis?"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = make_graph(tmp_path_factory.mktemp("retrievers") / "kg")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        yield kg


@pytest.mark.asyncio
@pytest.mark.filterwarnings("ignore:.*is not an async function")
class TestLangChain(RetrieversIntegrationTests):
    """The tests that LangChain has for retrievers."""

    @pytest.fixture(autouse=True)
    def _graph(self, kg: KnowledgeGraph) -> None:
        self.kg = kg

    @property
    def retriever_constructor(self) -> type[langchain.SaragRetriever]:
        return langchain.SaragRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"kg": self.kg, "k": 3}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


def agrees(kg: KnowledgeGraph, metadata: dict[str, Any], text: str) -> None:
    """Metadata are those of the same search, and can be written as JSON."""
    ranked = kg.search(QUESTION, limit=3).documents[metadata["rank"] - 1]
    assert (metadata["iri"], metadata["source"]) == (
        ranked.document.iri,
        ranked.document.source_iri,
    )
    assert (metadata["begin"], metadata["end"]) == (ranked.document.begin, ranked.document.end)
    assert metadata["end"] - metadata["begin"] == len(text)
    assert metadata["score"] == ranked.score
    assert [step["target"] for step in metadata["chain"]] == [s.target for s in ranked.chain]
    assert all(sentence["text"] in text for sentence in metadata["sentences"])
    json.dumps(metadata)


def test_documents_of_langchain(kg: KnowledgeGraph) -> None:
    retriever = langchain.SaragRetriever(kg=kg, k=3)
    documents: list[Document] = retriever.invoke(QUESTION)
    assert [each.id for each in documents] == [
        ranked.document.iri for ranked in kg.search(QUESTION, limit=3).documents
    ]
    for each in documents:
        agrees(kg, each.metadata, each.page_content)
    assert any(each.metadata["chain"] for each in documents)
    assert asyncio.run(retriever.ainvoke(QUESTION)) == documents
    assert [each.id for each in retriever.invoke(QUESTION, k=1)] == [documents[0].id]
    dense = langchain.SaragRetriever(kg=kg, retriever="dense", k=1).invoke(QUESTION)
    assert dense[0].metadata["retriever"] == "dense"
    with pytest.raises(UsageError, match="unknown retriever"):
        langchain.SaragRetriever(kg=kg, retriever="x").invoke(QUESTION)


def test_nodes_of_llamaindex(kg: KnowledgeGraph) -> None:
    from llama_index.core.schema import MetadataMode, NodeRelationship  # takes seconds

    from sarag_rdf.plugins.agents import llamaindex

    retriever = llamaindex.SaragRetriever(kg, k=3)
    nodes: list[NodeWithScore] = retriever.retrieve(QUESTION)
    found = kg.search(QUESTION, limit=3).documents
    assert [(each.node_id, each.score) for each in nodes] == [
        (ranked.document.iri, ranked.score) for ranked in found
    ]
    for each in nodes:
        agrees(kg, each.metadata, each.text)
        read = each.node.get_content(MetadataMode.LLM)
        assert each.text in read
        assert "http" not in read
        source = each.node.relationships[NodeRelationship.SOURCE]
        assert source.node_id == each.metadata["source"]  # type: ignore[union-attr]
    assert asyncio.run(retriever.aretrieve(QUESTION)) == nodes
    with pytest.raises(UsageError, match="unknown option 'x'"):
        llamaindex.SaragRetriever(kg, x=1).retrieve(QUESTION)


@pytest.mark.parametrize("name", ["langchain", "llamaindex"])
def test_without_the_package_the_error_names_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"langchain": "langchain_core", "llamaindex": "llama_index"}[name]
    for module in {package, *(m for m in sys.modules if m.partition(".")[0] == package)}:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"sarag_rdf.plugins.agents.{name}", raising=False)
    with pytest.raises(sarag_rdf.SaragError, match=rf"pip install 'sarag-rdf\[{name}\]'"):
        __import__(f"sarag_rdf.plugins.agents.{name}")


def test_a_search_imports_none_of_them(tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")
    code = f"""
import sys, sarag_rdf
from sarag_rdf.testing.fakes import HashEmbedder
with sarag_rdf.open({str(folder)!r}, embedder=HashEmbedder(), endpoint=None) as kg:
    assert kg.search({QUESTION!r}).documents
    assert kg.query("ASK {{}}") is True
packages = {{"mcp", "langchain_core", "llama_index", "pandas", "oxrdflib", "pydantic"}}
sys.exit(", ".join(packages & sys.modules.keys()) or 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
