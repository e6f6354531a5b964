"""A server of the Model Context Protocol: the graph as tools, resources and prompts of an agent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field

from sarag_rdf import __version__
from sarag_rdf.base.errors import SaragError, one_line
from sarag_rdf.base.resources import render_prompt
from sarag_rdf.base.temporary import ScratchFolder
from sarag_rdf.kg.query import prologue_for
from sarag_rdf.plugins.agents.mcp_tools import ToolJob, run_tools
from sarag_rdf.plugins.agents.mcp_values import (
    AnswerResult,
    EntityResult,
    ExplanationResult,
    NeighboursResult,
    QueryExplanationResult,
    QueryResult,
    SchemaResult,
    SearchResult,
    query_result,
)
from sarag_rdf.server.access import Access
from sarag_rdf.server.answering import OpenGraph
from sarag_rdf.server.guarded import ACCESS
from sarag_rdf.server.jobs import ExploreJob, JobReply, LimitedJob, QueryJob
from sarag_rdf.server.pool import WorkerPool
from sarag_rdf.server.questions import body_of
from sarag_rdf.server.server import serve_to_clients
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.worker import run_sparql_jobs

_LOCAL: Final = Access("local")
MAX_PASSAGES = 50
"""Passages of a search."""
_INSTRUCTIONS = (
    "A knowledge graph made from documents. Use 'search' for passages that answer a question, "
    "'entity' and 'neighbours' to follow what a passage names, and 'schema' before 'query' for "
    "counts, lists and comparisons. Cite the title and source of what you use."
)
_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_CALLS_A_MODEL = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
_ASK = (
    "Answer a question with the language model of the server, with citations. It may cost money: "
    "prefer 'search', and answer from its passages."
)
_ACCEPT = "application/sparql-results+json, text/turtle;q=0.9"

Question = Annotated[str, Field(description="A question in natural language.", min_length=1)]
Sparql = Annotated[
    str, Field(description="SPARQL 1.1 query; the prefixes of the schema are declared already.")
]
Name = Annotated[str, Field(description="Name or IRI of an entity.", min_length=1)]
RetrieverName = Annotated[
    str,
    Field(description="A retriever, such as sarag, dense or bm25; NAME:KEY=VALUE sets options."),
]
Passages = Annotated[int, Field(description="Maximum number of passages.", ge=1, le=MAX_PASSAGES)]
Over = Annotated[
    list[str],
    Field(description="Parts to query: documents, names of imported graphs, or all."),
]


class GraphTools:
    """The tools; each reads the graph as it is now, in worker processes with time limits.

    Queries have the limits of `sarag serve`: time, rows, no SERVICE. A client that may read some
    graphs only gets nothing of the others.
    """

    def __init__(self, open_graph: OpenGraph, settings: ServeSettings) -> None:
        self._open_graph = open_graph
        self._settings = settings
        self._queries: WorkerPool
        self._tools: WorkerPool

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """A block in which tools can be run."""
        settings = self._settings
        with ScratchFolder("mcp") as scratch, ExitStack() as pools:
            folder = scratch.path
            self._tools = WorkerPool(
                run_tools,
                folder,
                settings,
                self._open_graph,
                size=settings.question_workers,
                queue=settings.queue,
                max_memory=settings.worker_memory,
                seconds=settings.question_timeout,
                option="--question-timeout",
                lazy=True,
                grace=1.0,
            )
            pools.callback(self._tools.close)
            self._queries = WorkerPool(
                run_sparql_jobs,
                folder,
                settings,
                size=settings.workers,
                queue=settings.queue,
                max_memory=settings.worker_memory,
                seconds=settings.timeout,
                option="--timeout",
                lazy=True,
            )
            pools.callback(self._queries.close)
            yield

    async def run(self, tool: str, **arguments: Any) -> bytes:
        """The result of a tool as JSON; raises `ToolError`."""
        with errors_told():
            access = _access.get()
            if tool == "ask":
                access.require("ask")
            job = _limited(ToolJob(tool, arguments), access)
            return body_of(await self._tools.run(job, access.name))

    async def query(self, text: str, over: tuple[str, ...]) -> QueryResult:
        """The result of a query; raises `ToolError`."""
        with errors_told():
            access = _access.get()
            known = await self._queries.run(_limited(ExploreJob("prefixes"), access), access.name)
            prefixes = json.loads(body_of(known))["prefixes"]
            prologue = prologue_for(text, lambda: prefixes)
            job = QueryJob(prologue + text, _ACCEPT, "urn:sarag:mcp", over=over)
            reply = await self._queries.run(_limited(job, access), access.name)
            return _query_result(reply, self._settings.max_rows)


def _limited(job: Any, access: Access) -> Any:
    return LimitedJob(job, access.graphs) if access.graphs.is_limited else job


_access: ContextVar[Access] = ContextVar("access")
"""What the client may do whose request is being answered."""


async def with_access(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request with the access of its client.

    It is that of the HTTP request; over standard input and output, all that the tools offer.
    """
    request = ctx.request
    token = _access.set(_LOCAL if request is None else request.scope[ACCESS])
    try:
        return await call_next(ctx)
    finally:
        _access.reset(token)


@contextmanager
def errors_told() -> Iterator[None]:
    """A block in which errors of the library become errors of the tool."""
    try:
        yield
    except SaragError as error:
        raise ToolError(one_line(str(error))) from error


def _query_result(reply: JobReply, max_rows: int) -> QueryResult:
    data = body_of(reply)
    cut = reply.headers.get("X-SPARQL-Truncated") == "true"
    if "json" in reply.media_type:
        return query_result(json.loads(data), is_truncated=cut, max_rows=max_rows)
    return QueryResult(turtle=data.decode(), is_truncated=cut, max_rows=max_rows)


def make_server(open_graph: OpenGraph, settings: ServeSettings) -> MCPServer[None]:
    """The server of a graph, for the transports of the SDK and for its client in tests."""
    tools = GraphTools(open_graph, settings)

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        async with tools.running():
            yield

    server: MCPServer[None] = MCPServer(
        "sarag",
        title="Knowledge graph",
        instructions=_INSTRUCTIONS,
        version=__version__,
        lifespan=lifespan,
        middleware=[with_access],
        log_level="ERROR",
    )
    _add_tools(server, tools)
    _add_resources(server, tools)
    _add_prompts(server)
    return server


def _add_tools(server: MCPServer[None], tools: GraphTools) -> None:
    @server.tool(title="Search", annotations=_READS)
    async def search(
        question: Question,
        retriever: RetrieverName = "sarag",
        limit: Passages = 5,
    ) -> SearchResult:
        """Find passages and relationships for a question, by spreading activation."""
        return SearchResult.model_validate_json(
            await tools.run("search", question=question, retriever=retriever, limit=limit)
        )

    @server.tool(title="Ask", annotations=_CALLS_A_MODEL, description=_ASK)
    async def ask(
        question: Question,
        retriever: RetrieverName = "sarag",
        reasoner: Annotated[
            str, Field(description="How to answer: single, cot, decompose, ...")
        ] = "single",
    ) -> AnswerResult:
        return AnswerResult.model_validate_json(
            await tools.run("ask", question=question, retriever=retriever, reasoner=reasoner)
        )

    @server.tool(title="Explain a search", annotations=_READS)
    async def explain(
        question: Question,
        retriever: RetrieverName = "sarag",
        limit: Passages = 5,
    ) -> ExplanationResult:
        """Explain how passages are found: seeds, steps of activation, parts of each score."""
        return ExplanationResult.model_validate_json(
            await tools.run("explain", question=question, retriever=retriever, limit=limit)
        )

    @server.tool(title="Entity", annotations=_READS)
    async def entity(name: Name) -> EntityResult:
        """Look up an entity: classes, descriptions, documents, and statements in and out."""
        return EntityResult.model_validate_json(await tools.run("entity", name=name))

    @server.tool(title="Neighbours", annotations=_READS)
    async def neighbours(
        name: Name,
        hops: Annotated[int, Field(description="Greatest distance.", ge=1, le=3)] = 1,
        limit: Annotated[int, Field(description="Most entities.", ge=1, le=500)] = 50,
    ) -> NeighboursResult:
        """List the entities near an entity, and the statements between them."""
        return NeighboursResult.model_validate_json(
            await tools.run("neighbours", name=name, hops=hops, limit=limit)
        )

    @server.tool(title="Schema", annotations=_READS)
    async def schema() -> SchemaResult:
        """List classes and properties with counts, prefixes, imported graphs, and VoID."""
        return SchemaResult.model_validate_json(await tools.run("schema"))

    @server.tool(title="Query", annotations=_READS)
    async def query(sparql: Sparql, over: Over | None = None) -> QueryResult:
        """Run a read-only SPARQL query, with limits on time and rows; no SERVICE, no updates."""
        return await tools.query(sparql, tuple(over or ()))

    @server.tool(title="Explain a query", annotations=_READS)
    async def explain_query(sparql: Sparql, over: Over | None = None) -> QueryExplanationResult:
        """Say what a query would read, without running it: patterns with counts, unused terms."""
        return QueryExplanationResult.model_validate_json(
            await tools.run("explain_query", sparql=sparql, over=tuple(over or ()))
        )


def _add_resources(server: MCPServer[None], tools: GraphTools) -> None:
    @server.resource(
        "sarag://schema",
        title="Schema in use",
        description="Classes and properties with counts, prefixes, imported graphs, and VoID.",
        mime_type="application/json",
    )
    async def schema() -> str:
        return (await tools.run("schema")).decode()

    @server.resource(
        "sarag://void",
        title="Description of the data set",
        description="VoID, DCAT and PROV as Turtle.",
        mime_type="text/turtle",
    )
    async def void() -> str:
        return (await tools.run("void")).decode()


def _add_prompts(server: MCPServer[None]) -> None:
    @server.prompt(title="Answer from the graph")
    def answer(question: str) -> str:
        """Answer a question from passages of the graph, with sources."""
        return render_prompt("mcp/answer", question=question)

    @server.prompt(title="Answer by a query")
    def write_query(question: str) -> str:
        """Write, check and run a SPARQL query for a question."""
        return render_prompt("mcp/query", question=question)

    @server.prompt(title="Find connections")
    def connection(first: str, second: str) -> str:
        """Find how two entities are connected."""
        return render_prompt("mcp/connection", first=first, second=second)


def run(open_graph: OpenGraph, settings: ServeSettings, *, http: bool = False) -> None:
    """Serve over standard input and output, or over HTTP at ``/mcp``, until interrupted."""
    server = make_server(open_graph, settings)
    if not http:
        server.run("stdio")
        return
    checked_before = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    serve_to_clients(server.streamable_http_app(transport_security=checked_before), settings)
