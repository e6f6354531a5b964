"""The MCP server, asked by the client of its SDK: in this process, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent, TextResourceContents

import sarag_rdf
from sarag_rdf.base.types import Source
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.agents import mcp
from sarag_rdf.plugins.agents.mcp import make_server
from sarag_rdf.server.jobs import AccessibleGraphs
from sarag_rdf.server.serve_settings import SCOPES, Access, ServeSettings, new_token
from sarag_rdf.server.worker_pool import Workers
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Sarag, environment
from tests.fault_server import playing
from tests.remote.sample import export_nquads
from tests.sample_graph import BASE, CapitalExtractor, embeddings, make_graph, remote_embedder
from tests.servers import Server

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


def opened(folder: Path, replies: Sequence[Any] = (), **options: Any) -> KnowledgeGraph:
    """The graph with a model that gives these replies, or none; in a worker process, too."""
    llm = QueuedLLM(replies) if replies else None
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, llm=llm, **options)


def opened_slowly(folder: Path, replies: Sequence[Any] = (), **options: Any) -> KnowledgeGraph:
    """The same, and each reading takes a fifth of a second."""
    graph = opened(folder, replies, **options)
    read = graph.session.read

    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(0.2)
        return read(*arguments, **options)

    graph.session.read = slow  # type: ignore[method-assign]
    return graph


def asking(
    folder: Path,
    test: Callable[[Asked], Awaitable[None]],
    replies: Any = (),
    open_graph: Callable[..., KnowledgeGraph] = opened,
    **limits: Any,
) -> None:
    """Run a test with a client that is connected in this process."""

    async def run() -> None:
        settings = ServeSettings(folder, **{"workers": 1, "question_workers": 1, **limits})
        with Workers(settings, partial(open_graph, folder, replies)) as workers:
            async with Client(make_server(settings, workers)) as client:
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
        assert [each["rank"] for each in found["documents"]] == [1, 2]
        first = found["documents"][0]
        assert (first["title"], first["begin"]) == ("Boris", 0)
        assert first["end"] == len(first["text"])
        assert all("(similar to the question)" in each["why"] for each in found["documents"])
        explained = await ask("explain", question=QUESTION, limit=2)
        assert [p["iri"] for p in explained["documents"]] == [p["iri"] for p in found["documents"]]
        passage = explained["documents"][0]
        assert sum(passage["parts"].values()) == pytest.approx(passage["score"])
        assert explained["seeds"][0]["name"]
        message = await ask.error("search", question=QUESTION, retriever="nearest")
        assert "unknown retriever 'nearest': choose from bm25" in message
        assert "limit" in await ask.error("search", question=QUESTION, limit=0)

    asking(folder, test)


def test_an_answer_has_citations_and_without_a_model_there_is_evidence(folder: Path) -> None:
    reply = {"reasoning": "D1.", "sufficient": True, "final_answer": "Danube", "citations": ["D1"]}

    async def answered(ask: Asked) -> None:
        answer = await ask("ask", question=QUESTION, reasoner="single")
        assert (answer["outcome"], answer["answer"]) == ("answered", "Danube")
        [citation] = answer["citations"]
        assert citation["title"] == answer["evidence"]["documents"][0]["title"]
        assert citation["end"] > citation["begin"]

    async def evidence(ask: Asked) -> None:
        answer = await ask("ask", question=QUESTION)
        assert (answer["outcome"], answer["answer"], answer["usage"]["calls"]) == (
            "evidence",
            "",
            0,
        )
        assert answer["evidence"]["documents"]

    asking(folder, answered, [reply])
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
        await ask("query", sparql="ASK {}")  # the process has started
        begin = time.monotonic()
        assert "time limit of 0.5 seconds" in await ask.error("query", sparql=sparql)
        assert time.monotonic() - begin < 5
        assert (await ask("query", sparql="ASK {}"))["boolean"] is True

    asking(folder, test, timeout=0.5)


def test_a_query_that_needs_too_much_memory_is_one_error(folder: Path) -> None:
    async def test(ask: Asked) -> None:
        grow = "?s"
        for _ in range(3):
            grow = f'REPLACE({grow}, ".", ?s)'
        sparql = f"SELECT (STRLEN({grow}) AS ?n) {{ VALUES ?s {{ '{'x' * 400}' }} }}"
        assert "memory limit of 300 MiB" in await ask.error("query", sparql=sparql)
        assert (await ask("query", sparql="ASK {}"))["boolean"] is True

    asking(folder, test, max_memory=300, timeout=120)


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


SECRET = """
@prefix ex: <http://a.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:plan a ex:Conspiracy ; rdfs:label "Zarkovia plan" ; ex:leads ex:spy .
ex:spy a ex:Conspiracy ; rdfs:label "Zarkovia spy" .
"""
OPEN = SECRET.replace("Zarkovia", "Public").replace("ex:Conspiracy", "ex:Agreement")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, a graph that some may not read, and one that all may."""
    root = tmp_path_factory.mktemp("shared")
    folder = make_graph(root / "kg")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        for name, data in (("secret", SECRET), ("public", OPEN.replace("/a.", "/b."))):
            (root / f"{name}.ttl").write_text(data)
            kg.import_graph(root / f"{name}.ttl", "rdf", name=name)
    return folder


QUERIES = (
    "SELECT ?s { ?s a <http://a.example/Conspiracy> }",
    "SELECT ?s { GRAPH ?g { ?s a <http://a.example/Conspiracy> } }",
    "SELECT ?s FROM <GRAPH> { ?s a <http://a.example/Conspiracy> }",
    "SELECT ?s FROM NAMED <GRAPH> { GRAPH <GRAPH> { ?s a <http://a.example/Conspiracy> } }",
    "SELECT ?s { ?s (<http://a.example/leads>|!<http://x.example/>)* <http://a.example/spy> "
    "FILTER(?s != <http://a.example/spy>) }",
    "SELECT ?g { GRAPH ?g { ?s ?p 'Zarkovia plan' } }",
)


@pytest.mark.parametrize(
    "graphs",
    [
        AccessibleGraphs(deny=("secret",)),
        AccessibleGraphs(allow=("public",)),
    ],
)
def test_no_tool_reaches_a_denied_graph(
    shared: Path, graphs: AccessibleGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tool and resource is tried, and works all the same with what may be read."""
    with sarag_rdf.open(shared, embedder=HashEmbedder(), endpoint=None) as kg:
        [graph] = [each.graph for each in kg.imports() if each.name == "secret"]

    async def reached(ask: Asked) -> None:
        assert (await ask("entity", name="Zarkovia plan"))["name"] == "Zarkovia plan"
        assert (await ask("query", sparql=QUERIES[1]))["rows"]

    asking(shared, reached)
    monkeypatch.setattr(mcp, "_LOCAL", Access(frozenset(SCOPES), "alice", graphs))
    name, own = ("Public plan", "http://b.example/plan") if graphs.allow == ("public",) else (
        "Ada", ADA
    )  # fmt: skip

    async def test(ask: Asked) -> None:
        plan = "http://a.example/plan"
        for tool in ("entity", "neighbours"):
            for asked in (plan, "Zarkovia plan"):
                assert "no entity" in await ask.error(tool, name=asked)
        shown = [
            await ask("entity", name=name),
            await ask("neighbours", name=own, hops=3),
            await ask("schema"),
        ]
        for tool in ("search", "explain", "ask"):
            shown.append(await ask(tool, question="What is the Zarkovia plan?"))
        for uri in ("sarag://schema", "sarag://void"):
            [content] = (await ask.client.read_resource(uri)).contents
            assert isinstance(content, TextResourceContents)
            shown.append(content.text)
        for text in map(str, shown):
            bare = text.replace("What is the Zarkovia plan?", "")
            assert not any(word in bare for word in ("Zarkovia", "a.example", "Conspiracy", graph))
        assert "secret" not in shown[2]["imports"]
        for sparql in QUERIES:
            for over in ([], ["all"]):
                found = await ask("query", sparql=sparql.replace("GRAPH>", f"{graph}>"), over=over)
                assert found["rows"] == [], sparql
        assert "for some only" in await ask.error("explain_query", sparql=QUERIES[0])
        built = await ask("query", sparql=f"DESCRIBE <{plan}>", over=["all"])
        assert built["turtle"].strip() == ""

    asking(shared, test)


def test_every_tool_has_a_time_limit_and_ask_a_scope(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(ask: Asked) -> None:
        for tool, arguments in (
            ("search", {"question": QUESTION}),
            ("ask", {"question": QUESTION}),
            ("neighbours", {"name": "Ada"}),
            ("schema", {}),
        ):
            message = await ask.error(tool, **arguments)
            assert "time limit of 0.0001 seconds" in message
            assert "--question-timeout" in message

    asking(folder, slow, open_graph=opened_slowly, question_timeout=0.0001)
    monkeypatch.setattr(mcp, "_LOCAL", Access(frozenset({"read"}), "alice"))

    async def refused(ask: Asked) -> None:
        assert "'alice' lacks the scope 'ask'" in await ask.error("ask", question=QUESTION)

    asking(folder, refused)


def test_a_change_of_the_graph_is_seen(tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")

    async def test(ask: Asked) -> None:
        assert "no entity" in await ask.error("entity", name="Cleo")
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            kg.index(Source("Cleo met Ada.", "Cleo"), extractor=CapitalExtractor())
        assert (await ask("entity", name="Cleo"))["name"] == "Cleo"

    asking(folder, test)


RULES = """
tokens:
  - name: alice
    sha256: {}
    scopes: [read]
    graphs: {{allow: [documents]}}
"""


@asynccontextmanager
async def over_http(kg: str, work: Path, env: dict[str, str]) -> AsyncIterator[Client]:
    """With a token; a request without one, or with another one, is refused."""
    token, digest = new_token()
    rules = work / "tokens.yml"
    rules.write_text(RULES.format(digest))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sarag_rdf", "mcp", "--http", "--port", str(port)]
    command += ["--tokens", str(rules)]
    process = subprocess.Popen([*command, "--kg", kg], env=env, stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            await asyncio.sleep(0.1)
        url = f"http://127.0.0.1:{port}/mcp"
        for header in ({}, {"Authorization": "Bearer of-no-one-at-all"}):
            refused = httpx.post(url, json={}, headers=header, timeout=60)
            assert (refused.status_code, refused.text.count("\n")) == (401, 1)
            assert refused.headers["www-authenticate"].startswith("Bearer")
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport) as client:
                assert "lacks the scope" in await Asked(client).error("ask", question="Why?")
                assert "for some only" in await Asked(client).error(
                    "explain_query", sparql="ASK {}"
                )
                yield client
    finally:
        process.terminate()
        process.communicate()


@asynccontextmanager
async def over_pipes(kg: str, work: Path, env: dict[str, str]) -> AsyncIterator[Client]:
    del work
    arguments = ["-m", "sarag_rdf", "mcp", "--kg", kg]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=env)
    async with Client(server) as client:
        yield client


@pytest.mark.parametrize("place", ["folder", "endpoint"])
@pytest.mark.parametrize("connect", [over_pipes, over_http])
def test_the_command_serves_over_both_transports(
    connect: Any, place: str, tmp_path: Path, oxigraph: Server
) -> None:
    with playing(embeddings) as model:
        folder = make_graph(tmp_path / "kg", embedder=remote_embedder(model.base_url))
        env = environment(SARAG_BASE_URL=model.base_url, SARAG_EMBEDDER="openai:hash")
        env["SARAG_CACHE_DIR"] = str(tmp_path / "cache")
        oxigraph.clear()
        oxigraph.load(export_nquads(OxigraphStore.open(folder / "store")))
        kg = oxigraph.query_url if place == "endpoint" else str(folder)

        async def run() -> None:
            async with connect(kg, tmp_path, env) as client:
                assert client.server_info.name == "sarag"
                ask = Asked(client)
                found = await ask("search", question=QUESTION, limit=1)
                assert found["documents"][0]["title"] == "Boris"
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
    assert "with --tokens, or permit access without one with --anonymous" in done.err
    done = sarag("mcp", "--kg", folder, "--tokens", tmp_path / "tokens.yml")
    assert done.code == 2
    assert "are for --http" in done.err
    monkeypatch.delitem(sys.modules, "sarag_rdf.plugins.agents.mcp")
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    done = sarag("mcp", "--kg", folder)
    assert done.code == 1
    assert "pip install 'sarag-rdf[mcp]'" in done.err


def test_the_sdk_is_imported_for_the_first_request() -> None:
    """The door of a server is opened without it."""
    lines = (
        "import sys",
        "from sarag_rdf.plugins.agents.command import door",
        "assert door(None, None).has('/mcp')",
        "assert 'mcp' not in sys.modules",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
