"""A server of the Model Context Protocol: the graph as tools, resources and prompts of an agent."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, Final, TypeVar

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field
from starlette.applications import Starlette

from sarag_rdf import __version__
from sarag_rdf.base.errors import SaragError, one_line
from sarag_rdf.base.plugins import REASONER, RETRIEVER
from sarag_rdf.base.prompts import render_prompt
from sarag_rdf.plugins.agents.mcp_tools import (
    AnswerResult,
    EntityResult,
    ExplanationResult,
    NeighboursResult,
    QueryExplanationResult,
    QueryResult,
    SchemaResult,
    SearchResult,
    Tool,
    ToolJob,
)
from sarag_rdf.server.asking import job_of
from sarag_rdf.server.jobs import JobReply
from sarag_rdf.server.query_evaluation import QueryJob
from sarag_rdf.server.requests import Ask, Search, record_of
from sarag_rdf.server.serve_settings import SCOPES, Access, ServeSettings
from sarag_rdf.server.worker import Job
from sarag_rdf.server.worker_pool import WorkerPool, Workers

_LOCAL: Final = Access(frozenset(SCOPES), "local")
MAX_PASSAGES = 50
"""Passages of a search."""
MAX_ROWS = 1000
"""Rows or triples of the result of a query."""
_SHORT: frozenset[Tool] = frozenset({"entity", "neighbours"})
"""Tools that take little time in any graph."""
_INSTRUCTIONS = (
    "A knowledge graph made from documents. Use 'search' for passages that answer a question, "
    "'entity' and 'neighbours' to follow what a passage names, and 'schema' before 'query' for "
    "counts, lists and comparisons. Cite the title and source of what you use."
)
_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_CALLS_A_MODEL = _READS.model_copy(update={"idempotent_hint": False, "open_world_hint": True})
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
_Result = TypeVar("_Result", bound=BaseModel)
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


def make_server(settings: ServeSettings, workers: Workers) -> MCPServer[None]:
    """The server of a graph, which reads it in running workers.

    Each tool reads the graph as it is now, with the limits of `sarag serve`: time, rows, no
    SERVICE. A client that may read some graphs only gets nothing of the others.
    """
    max_rows = min(settings.max_rows or MAX_ROWS, MAX_ROWS)

    async def reply_to(
        job: Callable[[], Job], pool: WorkerPool, *, is_short: bool = False
    ) -> JobReply:
        """The reply to a job; errors of the library become errors of the tool."""
        access = _access.get()
        try:
            return await pool.run(job(), access.graphs, access.name, is_short=is_short)
        except SaragError as error:
            raise ToolError(one_line(str(error))) from error

    async def asked(kind: type[_Result], declared: type[Search], **values: Any) -> _Result:
        """The result of a search or an answer, read from its JSON."""

        def job() -> Job:
            if declared is Ask:
                _access.get().require("ask")
            return job_of(declared.checked(values))

        reply = await reply_to(job, workers.questions, is_short=declared is Search)
        return kind.model_validate_json(reply.body())

    async def called(kind: type[_Result], tool: Tool, text: str = "", **options: Any) -> _Result:
        todo = ToolJob(tool, text, options)
        reply = await reply_to(lambda: todo, workers.questions, is_short=tool in _SHORT)
        return kind.model_validate_json(reply.body())

    server: MCPServer[None] = MCPServer(
        "sarag",
        title="Knowledge graph",
        instructions=_INSTRUCTIONS,
        version=__version__,
        middleware=[with_access],
        log_level="ERROR",
    )

    @server.tool(title="Search", annotations=_READS)
    async def search(
        question: Question, retriever: RetrieverName = RETRIEVER, limit: Passages = 5
    ) -> SearchResult:
        """Find passages and relationships for a question, by spreading activation."""
        return await asked(SearchResult, Search, q=question, retriever=retriever, limit=limit)

    @server.tool(title="Ask", annotations=_CALLS_A_MODEL, description=_ASK)
    async def ask(
        question: Question,
        retriever: RetrieverName = RETRIEVER,
        reasoner: Annotated[
            str, Field(description="How to answer: auto, single, cot, ...")
        ] = REASONER,
    ) -> AnswerResult:
        return await asked(AnswerResult, Ask, q=question, retriever=retriever, reasoner=reasoner)

    @server.tool(title="Explain a search", annotations=_READS)
    async def explain(
        question: Question, retriever: RetrieverName = RETRIEVER, limit: Passages = 5
    ) -> ExplanationResult:
        """Explain how passages are found: seeds, steps of activation, parts of each score."""
        return await asked(ExplanationResult, Search, q=question, retriever=retriever, limit=limit)

    @server.tool(title="Entity", annotations=_READS)
    async def entity(name: Name) -> EntityResult:
        """Look up an entity: classes, descriptions, documents, and statements in and out."""
        return await called(EntityResult, "entity", name)

    @server.tool(title="Neighbours", annotations=_READS)
    async def neighbours(
        name: Name,
        hops: Annotated[int, Field(description="Greatest distance.", ge=1, le=3)] = 1,
        limit: Annotated[int, Field(description="Most entities.", ge=1, le=500)] = 50,
    ) -> NeighboursResult:
        """List the entities near an entity, and the statements between them."""
        return await called(NeighboursResult, "neighbours", name, hops=hops, limit=limit)

    @server.tool(title="Schema", annotations=_READS)
    async def schema() -> SchemaResult:
        """List classes and properties with counts, prefixes, imported graphs, and VoID."""
        return await called(SchemaResult, "schema")

    @server.tool(title="Query", annotations=_READS)
    async def query(sparql: Sparql, over: Over | None = None) -> QueryResult:
        """Run a read-only SPARQL query, with limits on time and rows; no SERVICE, no updates."""
        parts, base = tuple(over or ()), "urn:sarag:mcp"
        job = QueryJob(sparql, _ACCEPT, base, over=parts, max_rows=max_rows, is_bare=True)
        return QueryResult.of(await reply_to(lambda: job, workers.readers), max_rows)

    @server.tool(title="Explain a query", annotations=_READS)
    async def explain_query(sparql: Sparql, over: Over | None = None) -> QueryExplanationResult:
        """Say what a query would read, without running it: patterns with counts, unused terms."""
        return await called(QueryExplanationResult, "explain_query", sparql, over=tuple(over or ()))

    @server.resource("sarag://schema", title="Schema in use", mime_type="application/json")
    async def schema_in_use() -> str:
        """Classes and properties with counts, prefixes, imported graphs, and VoID."""
        return (await schema()).model_dump_json()

    @server.resource("sarag://void", title="Description of the data set", mime_type="text/turtle")
    async def void() -> str:
        """VoID, DCAT and PROV as Turtle."""
        return (await schema()).void

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

    return server


def http_app(settings: ServeSettings, workers: Workers) -> Starlette:
    """The application for ``/mcp`` of a server that has checked host, origin and token."""
    checked_before = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return make_server(settings, workers).streamable_http_app(transport_security=checked_before)
