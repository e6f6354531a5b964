"""The MCP server, asked by the client of its SDK: in this process, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent, TextResourceContents

import sarag_rdf
from sarag_rdf.integrations.mcp import make_server
from sarag_rdf.models.fakes import HashEmbedder, QueuedLLM
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.types import Source
from tests.command import Sarag, environment
from tests.fault_server import playing
from tests.sample_graph import BASE, CapitalExtractor, embeddings, make_graph

QUESTION = "Which river flows through the seat of Orbis?"
ADA = f"{BASE}entity/ada"
TOOLS = {"search", "ask", "explain", "entity", "neighbours", "schema", "query", "explain_query"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("mcp") / "kg")


class Asked:
    """Calls tools, each with the checks that hold for all of them."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """The structured result, which follows the schema and is the text as well."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        [schema] = [
            each.output_schema for each in (await self.client.list_tools()).tools
            if each.name == tool
        ]  # fmt: skip
        assert schema is not None
        jsonschema.validate(result.structured_content, schema)
        [content] = result.content
        assert isinstance(content, TextContent)
        assert json.loads(content.text) == result.structured_content
        return result.structured_content

    async def error(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        [content] = result.content
        assert isinstance(content, TextContent)
        return content.text


def asking(folder: Path, test: Callable[[Asked], Awaitable[None]], **settings: Any) -> None:
    """Run a test with a client that is connected in this process."""

    def opened() -> sarag_rdf.kg.graph.KnowledgeGraph:
        llm = QueuedLLM([settings.pop("reply")]) if "reply" in settings else None
        return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, llm=llm)

    limits = {key: value for key, value in settings.items() if key != "reply"}

    async def run() -> None:
        server = make_server(opened, ServeSettings(folder, **{"workers": 1, **limits}))
        async with Client(server) as client:
            await test(Asked(client))

    asyncio.run(run())


def test_tools_read_only_and_are_described(folder: Path) -> None:
    async def test(ask: Asked) -> None:
        tools = (await ask.client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        for tool in tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert tool.annotations.open_world_hint == (tool.name == "ask")
            assert tool.output_schema is not None
            assert tool.description is not None
            assert tool.description.endswith(".")
            for argument in tool.input_schema.get("properties", {}).values():
                assert argument.get("description") or argument.get("title"), tool.name

    asking(folder, test)


def test_a_search_and_its_explanation(folder: Path) -> None:
    async def test(ask: Asked) -> None:
        found = await ask("search", question=QUESTION, limit=2)
        assert [each["rank"] for each in found["passages"]] == [1, 2]
        first = found["passages"][0]
        assert (first["title"], first["begin"]) == ("Boris", 0)
        assert first["end"] == len(first["text"])
        assert all("(similar to the question)" in each["why"] for each in found["passages"])
        explained = await ask("explain", question=QUESTION, limit=2)
        assert [p["iri"] for p in explained["passages"]] == [p["iri"] for p in found["passages"]]
        passage = explained["passages"][0]
        assert sum(passage["parts"].values()) == pytest.approx(passage["score"])
        assert explained["seeds"][0]["name"]
        message = await ask.error("search", question=QUESTION, retriever="nearest")
        assert "unknown retriever 'nearest': choose from sarag" in message
        assert "limit" in await ask.error("search", question=QUESTION, limit=0)

    asking(folder, test)


def test_an_answer_has_citations_and_without_a_model_there_is_evidence(folder: Path) -> None:
    reply = {"reasoning": "D1.", "sufficient": True, "final_answer": "Danube", "citations": ["D1"]}

    async def answered(ask: Asked) -> None:
        answer = await ask("ask", question=QUESTION)
        assert (answer["outcome"], answer["answer"]) == ("answered", "Danube")
        [citation] = answer["citations"]
        assert citation["title"] == answer["evidence"]["passages"][0]["title"]
        assert citation["end"] > citation["begin"]

    async def evidence(ask: Asked) -> None:
        answer = await ask("ask", question=QUESTION)
        assert (answer["outcome"], answer["answer"], answer["calls"]) == ("evidence", "", 0)
        assert answer["evidence"]["passages"]

    asking(folder, answered, reply=reply)
    asking(folder, evidence)


def test_entities_and_neighbours(folder: Path) -> None:
    async def test(ask: Asked) -> None:
        entity = await ask("entity", name="ADA")
        assert (entity["iri"], entity["name"]) == (ADA, "Ada")
        assert await ask("entity", name=ADA) == entity
        assert [(s["subject_name"], s["object_name"]) for s in entity["statements"]] == [
            ("Ada", "Orbis"),
            ("Boris", "Ada"),
        ]
        near = await ask("neighbours", name="Ada", hops=2)
        assert {e["name"]: e["distance"] for e in near["entities"]} == {
            "Ada": 0, "Orbis": 1, "Boris": 1, "Ulm": 2, "Tulcea": 2,
        }  # fmt: skip
        assert near["is_complete"]
        few = await ask("neighbours", name="Ada", hops=2, limit=3)
        assert [e["name"] for e in few["entities"]] == ["Ada", "Boris", "Orbis"]
        assert not few["is_complete"]
        assert "no entity is named 'Cleo'" in await ask.error("entity", name="Cleo")
        assert "no entity has the IRI" in await ask.error("entity", name=f"{BASE}entity/cleo")

    asking(folder, test)


def test_queries_have_prefixes_and_limits(folder: Path) -> None:
    async def test(ask: Asked) -> None:
        names = "SELECT ?n { ?e a sarag:Entity ; skos:prefLabel ?n } ORDER BY ?n"
        got = await ask("query", sparql=names)
        assert [row["n"]["value"] for row in got["rows"]] == ["Ada", "Boris", "Danube"]
        assert (got["is_truncated"], got["max_rows"]) == (True, 3)
        assert (await ask("query", sparql=f"ASK {{ <{ADA}> ?p ?o }}"))["boolean"] is True
        built = await ask("query", sparql="CONSTRUCT { ?e a skos:Concept } { ?e a sarag:Entity }")
        assert built["turtle"].count("skos:Concept") == 3
        assert "SERVICE" in await ask.error(
            "query", sparql="SELECT * { SERVICE <http://a.example/> { ?s ?p ?o } }"
        )
        for update in ("LOAD <http://a.example/>", "DELETE WHERE { ?s ?p ?o }", "CLEAR ALL"):
            assert "does not parse" in await ask.error("query", sparql=update)
        assert "'x'" in await ask.error("query", sparql=names, over=["x"])
        explained = await ask("explain_query", sparql="SELECT * { ?e a sarag:Persn }")
        assert explained["unused"][0]["term"] == "sarag:Persn"
        assert explained["patterns"][0]["triples"] == 0

    asking(folder, test, max_rows=3)


def test_a_long_query_ends_at_the_time_limit(folder: Path) -> None:
    crossed = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(6))

    async def test(ask: Asked) -> None:
        sparql = f"SELECT (COUNT(*) AS ?n) {{ {crossed} }}"
        begin = time.monotonic()
        assert "time limit of 0.5 seconds" in await ask.error("query", sparql=sparql)
        assert time.monotonic() - begin < 5
        assert (await ask("query", sparql="ASK {}"))["boolean"] is True

    asking(folder, test, timeout=0.5)


def test_the_schema_is_a_tool_and_a_resource_and_prompts_are_offered(folder: Path) -> None:
    async def test(ask: Asked) -> None:
        schema = await ask("schema")
        assert schema["counts"]["entities"] == 6
        assert schema["prefixes"]["skos"].endswith("core#")
        assert "void:Dataset" in schema["void"]
        resources = (await ask.client.list_resources()).resources
        assert {str(each.uri) for each in resources} == {"sarag://schema", "sarag://void"}
        [content] = (await ask.client.read_resource("sarag://schema")).contents
        assert isinstance(content, TextResourceContents)
        assert json.loads(content.text)["base"] == BASE
        prompts = (await ask.client.list_prompts()).prompts
        assert [each.name for each in prompts] == ["answer", "write_query", "connection"]
        for prompt in prompts:
            values = {each.name: "Ada {{ x }}" for each in prompt.arguments or ()}
            got = await ask.client.get_prompt(prompt.name, values)
            assert isinstance(got.messages[0].content, TextContent)
            assert "Ada {{ x }}" in got.messages[0].content.text
            for tool in TOOLS & set(got.messages[0].content.text.split('"')[1::2]):
                assert tool in TOOLS

    asking(folder, test)


def test_a_change_of_the_graph_is_seen(tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")

    async def test(ask: Asked) -> None:
        assert "no entity" in await ask.error("entity", name="Cleo")
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            kg.index(Source("Cleo met Ada.", "Cleo"), extractor=CapitalExtractor())
        assert (await ask("entity", name="Cleo"))["name"] == "Cleo"

    asking(folder, test)


@asynccontextmanager
async def over_http(folder: Path, env: dict[str, str]) -> AsyncIterator[Client]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sarag_rdf", "mcp", "--http", "--port", str(port)]
    process = subprocess.Popen([*command, "--kg", str(folder)], env=env, stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            await asyncio.sleep(0.1)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            yield client
    finally:
        process.terminate()
        process.communicate()


@asynccontextmanager
async def over_pipes(folder: Path, env: dict[str, str]) -> AsyncIterator[Client]:
    arguments = ["-m", "sarag_rdf", "mcp", "--kg", str(folder)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=env)
    async with Client(server) as client:
        yield client


@pytest.mark.parametrize("connect", [over_pipes, over_http])
def test_the_command_serves_over_both_transports(connect: Any, tmp_path: Path) -> None:
    with playing(embeddings) as model:
        from sarag_rdf.models.openai_embedder import OpenAIEmbedder

        folder = make_graph(tmp_path / "kg", embedder=OpenAIEmbedder(model.base_url, "hash"))
        env = environment(SARAG_BASE_URL=model.base_url, SARAG_EMBEDDER="openai:hash")

        async def run() -> None:
            async with connect(folder, env) as client:
                assert client.server_info.name == "sarag"
                ask = Asked(client)
                found = await ask("search", question=QUESTION, limit=1)
                assert found["passages"][0]["title"] == "Boris"
                got = await ask("query", sparql="SELECT (COUNT(?e) AS ?n) { ?e a sarag:Entity }")
                assert got["rows"][0]["n"]["value"] == "6"
                assert "no entity is named" in await ask.error("entity", name="Cleo")

        asyncio.run(run())


def test_errors_before_the_server_starts(
    folder: Path, tmp_path: Path, sarag: Sarag, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = sarag("mcp", "--kg", tmp_path / "none")
    assert done.code == 1
    assert "none" in done.err
    done = sarag("mcp", "--kg", folder, "--http", "--host", "0.0.0.0")
    assert done.code == 2
    assert "add --anonymous" in done.err
    monkeypatch.delitem(sys.modules, "sarag_rdf.integrations.mcp")
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    done = sarag("mcp", "--kg", folder)
    assert done.code == 1
    assert "pip install 'sarag-rdf[mcp]'" in done.err
