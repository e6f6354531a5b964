"""The tools of the MCP server: what they return, and what they read in a worker process.

Clients get the schemas of the models here. Each reads the fields that it names of the same JSON
that the server and the command line give.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel

from sarag_rdf.base.iris import DEFAULT_BASE
from sarag_rdf.base.types import Citation, Seed, TermCount
from sarag_rdf.graph.graph_reader import DOCUMENTS
from sarag_rdf.graph.store.query_outline import UnusedTerm
from sarag_rdf.kg.entity_lookup import EntityDescription, Neighbourhood
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.queries import QueryExplanation
from sarag_rdf.plugins.explorer import GraphPart
from sarag_rdf.server.jobs import JSON, JobReply, RequestError
from sarag_rdf.server.query_evaluation import known_prefixes
from sarag_rdf.server.sparql import DescribeJob
from sarag_rdf.server.worker import Worker

MAX_TERMS = 200
"""Classes and properties of the schema tool; more are left out, the least frequent first."""
Tool = Literal["entity", "neighbours", "explain_query", "schema"]
MAX_RELATIONSHIPS = 10
"""Relationships of a search; more are left out."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Sentence(_Part):
    """A sentence of a passage."""

    text: str
    begin: int = Field(description="Offset of the sentence in the source, in characters.")
    end: int


class Passage(_Part):
    """A passage of a document."""

    rank: int
    iri: str
    source: str = Field(description="IRI of the source that the passage is from.")
    title: str
    text: str
    begin: int = Field(description="Offset of the text in the source, in characters.")
    end: int
    score: float
    sentences: list[Sentence] = Field(description="Those that the question asks for.")
    why: str = Field(description="The chain from the question to the passage, in words.")


class Evidence(_Part):
    """The sentences of a passage that answer a part of the question, in the order of its parts."""

    rank: int = Field(description="The rank of the passage.")
    title: str
    sentences: list[Sentence]


class RelationshipInWords(_Part):
    """A relationship between two entities, as a document states it."""

    iri: str
    subject_name: str
    object_name: str
    text: str
    similarity: float = Field(description="Similarity to the question, from -1 to 1.")
    start_time: str = Field(description="Year, month or date from which it holds, if known.")
    end_time: str = Field(description="Year, month or date until which it holds, if known.")
    point_in_time: str = Field(description="Year, month or date of an event, if known.")


class SearchResult(_Part):
    """Passages and relationships for a question, the best first."""

    question: str
    retriever: str
    documents: list[Passage]
    evidence_chain: list[Evidence]
    relationships: Annotated[
        list[RelationshipInWords], BeforeValidator(lambda all_: all_[:MAX_RELATIONSHIPS])
    ]


class AnswerResult(_Part):
    """An answer with its citations."""

    outcome: Literal["answered", "insufficient", "evidence"] = Field(
        description="insufficient: the evidence does not state the answer; evidence: the server "
        "has no language model, and returns passages only."
    )
    answer: str
    reasoning: str
    citations: list[Citation]
    model: str
    usage: dict[str, float] = Field(description="Calls of the model, tokens, and cost.")
    evidence: SearchResult


class ExplanationResult(_Part):
    """How passages were found for a question."""

    question: str
    retriever: str
    settings: dict[str, float | int | str]
    seeds: list[Seed]
    documents: list[dict[str, Any]] = Field(
        description="Passages with the parts of their scores, and in 'chain' the steps of "
        "activation that led to them: amount = weight * activation of the origin."
    )


class QueryResult(_Part):
    """The result of a SPARQL query: rows (SELECT), a truth value (ASK) or Turtle."""

    variables: list[str] = Field(default_factory=list)
    rows: list[dict[str, dict[str, str]]] = Field(
        default_factory=list,
        description="Solutions as in SPARQL 1.1 Query Results JSON: variable to term, which has "
        "type, value, and datatype or xml:lang. Unbound variables are left out.",
    )
    boolean: bool | None = None
    turtle: str = ""
    is_truncated: bool = Field(False, description="Whether the result was cut at max_rows.")
    max_rows: int

    @classmethod
    def of(cls, reply: JobReply, max_rows: int) -> QueryResult:
        """The result in a reply to a query."""
        cut = reply.headers.get("X-SPARQL-Truncated") == "true"
        if "json" not in reply.media_type:
            return cls(turtle=reply.body().decode(), is_truncated=cut, max_rows=max_rows)
        data: dict[str, Any] = json.loads(reply.body())
        return cls(
            variables=data["head"].get("vars", []),
            rows=data.get("results", {}).get("bindings", []),
            boolean=data.get("boolean"),
            is_truncated=cut,
            max_rows=max_rows,
        )


class EntityResult(RootModel[EntityDescription]):
    """What the graph says about an entity."""


class NeighboursResult(RootModel[Neighbourhood]):
    """The neighbourhood of an entity, which comes first."""


class QueryExplanationResult(RootModel[QueryExplanation]):
    """What a query would read, without its results."""


class ClassInUse(_Part):
    """A class of the graph."""

    iri: str
    label: str
    instances: int


class PropertyInUse(_Part):
    """A property of the graph, with the classes of its subjects and objects."""

    iri: str
    label: str
    statements: int
    domains: list[TermCount] = Field(default_factory=list)
    ranges: list[TermCount] = Field(default_factory=list)


class SchemaResult(_Part):
    """The terms that a graph uses, how often, and what else is needed to query it."""

    base: str = Field(description="The IRIs of the graph begin with this.")
    classes: list[ClassInUse]
    properties: list[PropertyInUse]
    counts: dict[str, int]
    prefixes: dict[str, str] = Field(description="Declared in every query.")
    imports: list[str] = Field(description="Imported graphs, which 'over' of a query may name.")
    void: str = Field(description="The description of the data set in VoID and DCAT, as Turtle.")


QueryExplanationResult.model_rebuild(_types_namespace={"UnusedTerm": UnusedTerm})


@dataclass(frozen=True, slots=True)
class ToolJob:
    """A call of a tool: a method of the graph for a `text` with options, or its schema.

    A client that may read some graphs only reads the parts of which it may read everything; what
    is counted or listed over the whole store is counted over its graphs.
    """

    tool: Tool
    text: str
    options: Mapping[str, Any]

    def run(self, worker: Worker) -> JobReply:
        """The result as JSON; raises `SaragError`."""
        is_limited = worker.client.is_limited
        if self.tool == "schema":
            result = _readable_schema(worker) if is_limited else schema_of_graph(worker.kg())
        elif self.tool == "explain_query" and is_limited:
            raise RequestError(
                403,
                "explain_query counts in all graphs, and this token is for some only: run the "
                "query itself",
            )
        else:
            result = asdict(getattr(worker.kg(), self.tool)(self.text, **self.options))
        if self.tool == "entity" and is_limited and DOCUMENTS not in worker.parts():
            result["classes"] = ()  # those of ontologies are in the documents' graph
        return JobReply(200, JSON, json.dumps(result, ensure_ascii=False).encode())


def schema_of_graph(kg: KnowledgeGraph) -> dict[str, Any]:
    """The classes and properties of a graph with their labels and counts, prefixes, and VoID."""
    use = kg.ontologies.use()
    labels = {iri: names[0] for iri, (_, names) in kg.ontologies.vocabulary().items()}
    classes = [each for each in use.classes if each.instances][:MAX_TERMS]
    properties = [each for each in use.properties if each.statements][:MAX_TERMS]
    return {
        "base": kg.meta().base,
        "classes": [asdict(each) | {"label": labels.get(each.iri, "")} for each in classes],
        "properties": [asdict(each) | {"label": labels.get(each.iri, "")} for each in properties],
        "counts": kg.stats(),
        "prefixes": kg.prefixes(),
        "imports": [each.name for each in kg.imports()],
        "void": kg.describe().decode(),
    }


def _readable_schema(worker: Worker) -> dict[str, Any]:
    """The terms that the readable graphs use; ends of properties are not counted."""
    meta, readable = worker.snapshot.meta, worker.readable or frozenset()
    part = GraphPart(worker, ("all",))
    classes = part.used("classes-used")[:MAX_TERMS]
    properties = part.used("predicates-used")[:MAX_TERMS]
    terms = part.nodes([iri for iri, _ in (*classes, *properties)])
    labels = {term["iri"]: term["name"] for term in terms}
    return {
        "base": meta.base if meta else DEFAULT_BASE,
        "classes": [{"iri": i, "label": labels[i], "instances": uses} for i, uses in classes],
        "properties": [
            {"iri": i, "label": labels[i], "statements": uses} for i, uses in properties
        ],
        "counts": {"graphs": len(readable), "statements": sum(uses for _, uses in properties)},
        "prefixes": known_prefixes(worker),
        "imports": worker.imports(),
        "void": DescribeJob("urn:sarag:mcp", "text/turtle").run(worker).body().decode(),
    }
