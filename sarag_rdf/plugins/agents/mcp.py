"""A server of the Model Context Protocol: the graph as tools, resources and prompts of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.applications import Starlette

from sarag_rdf import __version__
from sarag_rdf.base.errors import SaragError, one_line
from sarag_rdf.base.prompts import render_prompt
from sarag_rdf.plugins.agents.mcp_tools import ToolJob
from sarag_rdf.plugins.agents.mcp_values import (
    AnswerResult,
    EntityResult,
    ExplanationResult,
    NeighboursResult,
    QueryExplanationResult,
    QueryResult,
    SchemaResult,
    SearchResult,
)
from sarag_rdf.server.access import Access
from sarag_rdf.server.graphs import OpenGraph
from sarag_rdf.server.http import record_of
from sarag_rdf.server.pool import Workers
from sarag_rdf.server.read import QueryJob
from sarag_rdf.server.settings import ServeSettings

_LOCAL: Final = Access("local")
MAX_PASSAGES = 50
"""Passages of a search."""
MAX_ROWS = 1000
"""Rows or triples of the result of a query."""
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


_access: ContextVar[Access] = ContextVar("access")
"""What the client may do whose request is being answered."""


async def with_access(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request with the access of its client.

    It is that of the HTTP request; over standard input and output, all that the tools offer.
    """
    request = ctx.request
    token = _access.set(_LOCAL if request is None else record_of(request).access)
    try:
        return await call_next(ctx)
    finally:
        _access.reset(token)


class GraphTools:
    """The tools; each reads the graph as it is now, in the workers, with their time limits.

    Queries have the limits of `sarag serve`: time, rows, no SERVICE. A client that may read some
    graphs only gets nothing of the others.
    """

    def __init__(self, workers: Workers, max_rows: int) -> None:
        self._workers, self._max_rows = workers, max_rows

    async def run(self, tool: str, **arguments: Any) -> bytes:
        """The result of a tool as JSON; raises `ToolError`."""
        with errors_as_tool_errors():
            access = _access.get()
            if tool == "ask":
                access.require("ask")
            job = ToolJob(tool, arguments)
            reply = await self._workers.questions.run(job, access.graphs, access.name)
            return reply.body()

    async def query(self, text: str, over: tuple[str, ...]) -> QueryResult:
        """The result of a query; raises `ToolError`."""
        with errors_as_tool_errors():
            access = _access.get()
            job = QueryJob(
                text, _ACCEPT, "urn:sarag:mcp", over=over, max_rows=self._max_rows, is_bare=True
            )
            reply = await self._workers.readers.run(job, access.graphs, access.name)
            return QueryResult.of(reply, self._max_rows)


@contextmanager
def errors_as_tool_errors() -> Iterator[None]:
    """A block in which errors of the library become errors of the tool."""
    try:
        yield
    except SaragError as error:
        raise ToolError(one_line(str(error))) from error


def make_server(
    open_graph: OpenGraph, settings: ServeSettings, workers: Workers | None = None
) -> MCPServer[None]:
    """The server of a graph, with its own workers unless there are some already."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        with nullcontext() if workers else own:
            yield

    own = Workers(settings, open_graph, lazy=True)
    server: MCPServer[None] = MCPServer(
        "sarag",
        title="Knowledge graph",
        instructions=_INSTRUCTIONS,
        version=__version__,
        lifespan=lifespan,
        middleware=[with_access],
        log_level="ERROR",
    )
    tools = GraphTools(workers or own, min(settings.max_rows or MAX_ROWS, MAX_ROWS))
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


def http_app(settings: ServeSettings, workers: Workers) -> Starlette:
    """The application for ``/mcp`` of a server that has checked host, origin and token."""
    server = make_server(workers.open_graph, settings, workers)
    checked_before = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(transport_security=checked_before)
