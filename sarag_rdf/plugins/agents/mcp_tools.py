"""What the tools of the MCP server read, in a process of its own that can be stopped.

A client that may read some graphs only reads the parts of which it may read everything; what is
counted or listed over the whole store is counted over its graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from sarag_rdf.base.iris import DEFAULT_BASE
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.agents.mcp_values import (
    AnswerResult,
    ClassFound,
    EntityResult,
    ExplanationResult,
    NeighboursResult,
    PropertyFound,
    QueryExplanationResult,
    SchemaResult,
    SearchResult,
    TermUse,
)
from sarag_rdf.server.answering import JSON, ClientGraphs, OpenGraph
from sarag_rdf.server.describe import describe
from sarag_rdf.server.explore import GraphPart, known_prefixes
from sarag_rdf.server.jobs import (
    AccessibleGraphs,
    DescribeJob,
    ErrorReply,
    JobReply,
    LimitedJob,
    RequestError,
)
from sarag_rdf.server.settings import ServeSettings
from sarag_rdf.server.snapshot import StoreSnapshot
from sarag_rdf.server.spool import Spool
from sarag_rdf.server.worker import catch_errors, run_jobs

MAX_TERMS = 200
"""Classes and properties of the schema tool; more are left out, the least frequent first."""


@dataclass(frozen=True, slots=True)
class ToolJob:
    """A call of a tool with its arguments."""

    tool: str
    arguments: Mapping[str, Any]


class ToolExecutor:
    """Runs one tool at a time."""

    def __init__(self, folder: Path, settings: ServeSettings, open_graph: OpenGraph) -> None:
        self._folder, self._settings = folder, settings
        self._graphs = ClientGraphs(settings, open_graph)

    def run(self, job: ToolJob | LimitedJob) -> JobReply | ErrorReply:
        """The result as JSON."""
        return catch_errors(lambda: self._reply(job))

    def _reply(self, job: ToolJob | LimitedJob) -> JobReply:
        graphs = job.graphs if isinstance(job, LimitedJob) else AccessibleGraphs()
        asked: ToolJob = job.job if isinstance(job, LimitedJob) else job
        result = self._result(asked, graphs)
        data = result if isinstance(result, bytes) else result.model_dump_json().encode()
        with Spool(self._folder) as spool:
            spool.write(data)
            head, path = spool.finish()
            return JobReply(200, JSON, head, path)

    def _result(self, job: ToolJob, graphs: AccessibleGraphs) -> BaseModel | bytes:
        if graphs.is_limited and job.tool in _WHOLE:
            self._graphs.snapshot.refresh()
            readable = self._graphs.snapshot.accessible(graphs) or frozenset()
            return _WHOLE[job.tool](self._graphs.snapshot, self._settings, readable)
        result = _TOOLS[job.tool](self._graphs.of(graphs), **job.arguments)
        if isinstance(result, EntityResult) and not self._graphs.reads_documents(graphs):
            return result.model_copy(update={"classes": []})  # those are in the documents' graph
        return result


def run_tools(
    pipe: Connection, folder: str, settings: ServeSettings, open_graph: OpenGraph
) -> None:
    """Run `ToolJob`s until the pipe is closed; models are loaded by the first that needs them."""
    run_jobs(pipe, folder, ToolExecutor(Path(folder), settings, open_graph).run)


def _search(kg: KnowledgeGraph, **options: Any) -> SearchResult:
    return SearchResult.of(kg.search(**options))


def _ask(kg: KnowledgeGraph, **options: Any) -> AnswerResult:
    return AnswerResult.of(kg.ask(**options))


def _explain(kg: KnowledgeGraph, **options: Any) -> ExplanationResult:
    return ExplanationResult.of(kg.search(**options))


def _entity(kg: KnowledgeGraph, name: str) -> EntityResult:
    return EntityResult.of(kg.entity(name))


def _neighbours(kg: KnowledgeGraph, name: str, hops: int, limit: int) -> NeighboursResult:
    return NeighboursResult.of(kg.neighbours(name, hops=hops, limit=limit))


def _explain_query(
    kg: KnowledgeGraph, sparql: str, over: tuple[str, ...]
) -> QueryExplanationResult:
    return QueryExplanationResult.of(kg.explain_query(sparql, over=over))


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


def _void(kg: KnowledgeGraph) -> bytes:
    return kg.describe()


_TOOLS: Final[Mapping[str, Callable[..., BaseModel | bytes]]] = {
    "search": _search,
    "ask": _ask,
    "explain": _explain,
    "entity": _entity,
    "neighbours": _neighbours,
    "explain_query": _explain_query,
    "schema": schema_of_graph,
    "void": _void,
}


# ------------------------------------------------------- For clients that may read some graphs


def _readable_schema(
    snapshot: StoreSnapshot, settings: ServeSettings, readable: frozenset[str]
) -> SchemaResult:
    """The terms that the readable graphs use; ends of properties are not counted."""
    part = GraphPart(snapshot, ("all",), settings, readable)
    classes = part.used("classes-used")[:MAX_TERMS]
    properties = part.used("predicates-used")[:MAX_TERMS]
    labels = {
        node["iri"]: node["name"]
        for node in part.nodes([iri for iri, _ in (*classes, *properties)])
    }
    meta = snapshot.meta()
    return SchemaResult(
        base=meta.base if meta else DEFAULT_BASE,
        classes=[
            ClassFound(iri=iri, label=labels.get(iri, ""), instances=uses) for iri, uses in classes
        ],
        properties=[
            PropertyFound(
                iri=iri, label=labels.get(iri, ""), statements=uses, domains=[], ranges=[]
            )
            for iri, uses in properties
        ],
        counts={"graphs": len(readable), "statements": sum(uses for _, uses in properties)},
        prefixes=known_prefixes(snapshot, readable),
        imports=snapshot.imports(readable),
        void=_readable_void(snapshot, settings, readable).decode(),
    )


def _readable_void(
    snapshot: StoreSnapshot, settings: ServeSettings, readable: frozenset[str]
) -> bytes:
    """The readable graphs with their sizes."""
    return describe(snapshot, DescribeJob("urn:sarag:mcp", "text/turtle"), settings, readable).head


def _no_explanation(*_: object) -> bytes:
    raise RequestError(
        403,
        "explain_query counts in all graphs, and this token is for some only: run the query itself",
    )


_WHOLE: Final[Mapping[str, Callable[..., BaseModel | bytes]]] = {
    "schema": _readable_schema,
    "void": _readable_void,
    "explain_query": _no_explanation,
}
"""Tools that read the whole store, as clients with limited access may use them."""
