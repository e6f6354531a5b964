"""A server of the Model Context Protocol: the graph as tools, resources and prompts of an agent."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from sarag_rdf import __version__
from sarag_rdf.errors import SaragError, one_line
from sarag_rdf.integrations.mcp_values import (
    AnswerResult,
    ClassFound,
    EntityResult,
    ExplanationResult,
    NeighboursResult,
    PropertyFound,
    QueryExplanationResult,
    QueryResult,
    SchemaResult,
    SearchResult,
    TermUse,
    query_result,
)
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.resources import render_prompt
from sarag_rdf.serve.jobs import JobReply, QueryJob
from sarag_rdf.serve.pool import WorkerPool
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.serve.snapshot import Fingerprint, fingerprint
from sarag_rdf.serve.spool import scratch_folder
from sarag_rdf.serve.worker import run_sparql_jobs

MAX_TERMS = 200
"""Classes and properties of the schema tool; more are left out, the least frequent first."""
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
_ACCEPT = "application/sparql-results+json, text/turtle;q=0.9"
_P = ParamSpec("_P")
_T = TypeVar("_T")

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
    """The tools; each reads the graph as it is now.

    Questions are answered in this process, one at a time. Queries run in worker processes, with the
    limits of `sarag serve`: time, rows, no SERVICE.
    """

    def __init__(self, open_graph: Callable[[], KnowledgeGraph], settings: ServeSettings) -> None:
        self._open_graph = open_graph
        self._settings = settings
        self._lock = threading.Lock()
        self._kg: KnowledgeGraph | None = None
        self._fingerprint: Fingerprint | None = None
        self._pool: WorkerPool | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """A block in which queries can be run; the graph is closed at its end."""
        with scratch_folder() as folder:
            pool = WorkerPool(
                run_sparql_jobs,
                folder,
                self._settings,
                size=self._settings.workers,
                queue=self._settings.queue,
                seconds=self._settings.timeout,
                option="--timeout",
                lazy=True,
            )
            self._pool = pool
            try:
                yield
            finally:
                self._pool = None
                pool.close()
                if self._kg is not None:
                    self._kg.close()

    def read(self, use: Callable[[KnowledgeGraph], _T]) -> _T:
        """The result of a function of the graph in its current state."""
        with self._lock:
            current = fingerprint(self._settings.store)
            if self._kg is None:
                self._kg = self._open_graph()
            if current != self._fingerprint:
                self._kg.reload()
                self._fingerprint = current
            return use(self._kg)

    def schema(self) -> SchemaResult:
        """The terms that the graph uses."""
        return self.read(schema_of_graph)

    async def query(self, text: str, over: tuple[str, ...]) -> QueryResult:
        """The result of a query; raises `RequestError`."""
        assert self._pool is not None, "queries run in a block of `running`"  # noqa: S101
        prologue = await asyncio.to_thread(self.read, lambda kg: kg.prologue(text))
        job = QueryJob(prologue + text, _ACCEPT, "urn:sarag:mcp", over=over)
        return _query_result(await self._pool.run(job), self._settings.max_rows)


def _query_result(reply: JobReply, max_rows: int) -> QueryResult:
    data = reply.head
    if reply.path:
        data += Path(reply.path).read_bytes()
        Path(reply.path).unlink()
    cut = reply.headers.get("X-SPARQL-Truncated") == "true"
    if "json" in reply.media_type:
        return query_result(json.loads(data), is_truncated=cut, max_rows=max_rows)
    return QueryResult(turtle=data.decode(), is_truncated=cut, max_rows=max_rows)


def schema_of_graph(kg: KnowledgeGraph) -> SchemaResult:
    """The classes and properties of a graph with their labels and counts, prefixes, and VoID."""
    use = kg.ontologies.use()
    labels = {iri: names[0] for iri, (_, names) in kg.ontologies.vocabulary().items()}
    classes = [each for each in use.classes if each.instances][:MAX_TERMS]
    properties = [each for each in use.properties if each.statements][:MAX_TERMS]
    return SchemaResult(
        base=kg.meta().base,
        classes=[
            ClassFound(iri=each.iri, label=labels.get(each.iri, ""), instances=each.instances)
            for each in classes
        ],
        properties=[
            PropertyFound(
                iri=each.iri,
                label=labels.get(each.iri, ""),
                statements=each.statements,
                domains=[TermUse.model_validate(term) for term in each.domains],
                ranges=[TermUse.model_validate(term) for term in each.ranges],
            )
            for each in properties
        ],
        counts=kg.stats(),
        prefixes=kg.prefixes(),
        imports=[each.name for each in kg.imports()],
        void=kg.describe().decode(),
    )


def _errors_told(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function of a tool with errors of the library as errors of the tool."""

    @functools.wraps(function)
    def told(*arguments: _P.args, **options: _P.kwargs) -> _T:
        try:
            return function(*arguments, **options)
        except SaragError as error:
            raise ToolError(one_line(str(error))) from error

    told.__doc__ = inspect.getdoc(function)  # the SDK shows it with its indentation
    return told


def make_server(
    open_graph: Callable[[], KnowledgeGraph], settings: ServeSettings
) -> MCPServer[None]:
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
        log_level="ERROR",
    )
    _add_tools(server, tools)
    _add_resources(server, tools)
    _add_prompts(server)
    return server


def _add_tools(server: MCPServer[None], tools: GraphTools) -> None:
    @server.tool(title="Search", annotations=_READS)
    @_errors_told
    def search(
        question: Question, retriever: RetrieverName = "sarag", limit: Passages = 5
    ) -> SearchResult:
        """Find passages and relationships for a question, by spreading activation."""
        return SearchResult.of(
            tools.read(lambda kg: kg.search(question, retriever=retriever, limit=limit))
        )

    @server.tool(title="Ask", annotations=_CALLS_A_MODEL)
    @_errors_told
    def ask(
        question: Question,
        retriever: RetrieverName = "sarag",
        reasoner: Annotated[
            str, Field(description="How to answer: single, cot, decompose, ...")
        ] = "single",
    ) -> AnswerResult:
        """Answer a question with the language model of the server, with citations.

        It may cost money. Prefer 'search', and answer from its passages.
        """
        return AnswerResult.of(
            tools.read(lambda kg: kg.ask(question, retriever=retriever, reasoner=reasoner))
        )

    @server.tool(title="Explain a search", annotations=_READS)
    @_errors_told
    def explain(
        question: Question, retriever: RetrieverName = "sarag", limit: Passages = 5
    ) -> ExplanationResult:
        """Explain how passages are found: seeds, steps of activation, parts of each score."""
        return ExplanationResult.of(
            tools.read(lambda kg: kg.search(question, retriever=retriever, limit=limit))
        )

    @server.tool(title="Entity", annotations=_READS)
    @_errors_told
    def entity(name: Name) -> EntityResult:
        """Look up an entity: classes, descriptions, documents, and statements in and out."""
        return EntityResult.of(tools.read(lambda kg: kg.entity(name)))

    @server.tool(title="Neighbours", annotations=_READS)
    @_errors_told
    def neighbours(
        name: Name,
        hops: Annotated[int, Field(description="Greatest distance.", ge=1, le=3)] = 1,
        limit: Annotated[int, Field(description="Most entities.", ge=1, le=500)] = 50,
    ) -> NeighboursResult:
        """List the entities near an entity, and the statements between them."""
        return NeighboursResult.of(
            tools.read(lambda kg: kg.neighbours(name, hops=hops, limit=limit))
        )

    @server.tool(title="Schema", annotations=_READS)
    @_errors_told
    def schema() -> SchemaResult:
        """List classes and properties with counts, prefixes, imported graphs, and VoID."""
        return tools.schema()

    @server.tool(title="Query", annotations=_READS)
    async def query(sparql: Sparql, over: Over | None = None) -> QueryResult:
        """Run a read-only SPARQL query, with limits on time and rows; no SERVICE, no updates."""
        try:
            return await tools.query(sparql, tuple(over or ()))
        except SaragError as error:
            raise ToolError(one_line(str(error))) from error

    @server.tool(title="Explain a query", annotations=_READS)
    @_errors_told
    def explain_query(sparql: Sparql, over: Over | None = None) -> QueryExplanationResult:
        """Say what a query would read, without running it: patterns with counts, unused terms."""
        return QueryExplanationResult.of(
            tools.read(lambda kg: kg.explain_query(sparql, over=tuple(over or ())))
        )


def _add_resources(server: MCPServer[None], tools: GraphTools) -> None:
    @server.resource(
        "sarag://schema",
        title="Schema in use",
        description="Classes and properties with counts, prefixes, imported graphs, and VoID.",
        mime_type="application/json",
    )
    def schema() -> str:
        return tools.schema().model_dump_json()

    @server.resource(
        "sarag://void",
        title="Description of the data set",
        description="VoID, DCAT and PROV as Turtle.",
        mime_type="text/turtle",
    )
    def void() -> str:
        return tools.read(lambda kg: kg.describe()).decode()


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


def run(
    open_graph: Callable[[], KnowledgeGraph], settings: ServeSettings, *, http: bool = False
) -> None:
    """Serve over standard input and output, or over HTTP at ``/mcp``, until interrupted."""
    server = make_server(open_graph, settings)
    if http:
        server.run("streamable-http", host=settings.host, port=settings.port)
    else:
        server.run("stdio")
