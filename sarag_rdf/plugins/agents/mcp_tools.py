"""What the tools of the MCP server read, in a process of its own that can be stopped.

A client that may read some graphs only reads the parts of which it may read everything; what is
counted or listed over the whole store is counted over its graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from sarag_rdf.server.explore import GraphPart
from sarag_rdf.server.jobs import JSON, JobReply, RequestError
from sarag_rdf.server.query_evaluation import known_prefixes
from sarag_rdf.server.sparql import DescribeJob
from sarag_rdf.server.worker import Worker

MAX_TERMS = 200
"""Classes and properties of the schema tool; more are left out, the least frequent first."""


@dataclass(frozen=True, slots=True)
class ToolJob:
    """A call of a tool with its arguments."""

    tool: str
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        return self.tool

    def run(self, worker: Worker) -> JobReply:
        """The result as JSON; raises `SaragError`."""
        result = self._result(worker)
        data = result if isinstance(result, bytes) else result.model_dump_json().encode()
        return JobReply(200, JSON, data)

    def _result(self, worker: Worker) -> BaseModel | bytes:
        if worker.client.is_limited and self.tool in _WHOLE:
            return _WHOLE[self.tool](worker)
        result = _TOOLS[self.tool](worker.kg(), **self.arguments)
        if isinstance(result, EntityResult) and not worker.reads_documents():
            return result.without_classes()  # those are in the documents' graph
        return result


def _search(kg: KnowledgeGraph, **options: Any) -> SearchResult:
    return SearchResult.of(kg.search(**options))


def _ask(kg: KnowledgeGraph, **options: Any) -> AnswerResult:
    return AnswerResult.of(kg.ask(**options))


def _explain(kg: KnowledgeGraph, **options: Any) -> ExplanationResult:
    return ExplanationResult.of(kg.search(**options))


def _entity(kg: KnowledgeGraph, name: str) -> EntityResult:
    return EntityResult(kg.entity(name))


def _neighbours(kg: KnowledgeGraph, name: str, hops: int, limit: int) -> NeighboursResult:
    return NeighboursResult(kg.neighbours(name, hops=hops, limit=limit))


def _explain_query(
    kg: KnowledgeGraph, sparql: str, over: tuple[str, ...]
) -> QueryExplanationResult:
    return QueryExplanationResult(kg.explain_query(sparql, over=over))


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


def _readable_schema(worker: Worker) -> SchemaResult:
    """The terms that the readable graphs use; ends of properties are not counted."""
    meta, readable = worker.snapshot.meta, worker.readable or frozenset()
    part = GraphPart(worker, ("all",))
    classes = part.used("classes-used")[:MAX_TERMS]
    properties = part.used("predicates-used")[:MAX_TERMS]
    labels = {
        node["iri"]: node["name"]
        for node in part.nodes([iri for iri, _ in (*classes, *properties)])
    }
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
        prefixes=known_prefixes(worker),
        imports=worker.imports(),
        void=_readable_void(worker).decode(),
    )


def _readable_void(worker: Worker) -> bytes:
    """The readable graphs with their sizes."""
    return DescribeJob("urn:sarag:mcp", "text/turtle").run(worker).body()


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
