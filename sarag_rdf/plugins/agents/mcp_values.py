"""What the tools of the MCP server return; clients get the schemas of these models."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from sarag_rdf.base.types import Answer, Link, RankedDocument, Retrieved
from sarag_rdf.graph.store.query_outline import UnusedTerm
from sarag_rdf.kg.key_sentences import key_sentences_of
from sarag_rdf.kg.lookup import EntityDescription, Neighbourhood
from sarag_rdf.kg.queries import QueryExplanation
from sarag_rdf.kg.report import names_of, path_in_words
from sarag_rdf.server.jobs import JobReply


class _Value(BaseModel):
    model_config = ConfigDict(from_attributes=True, frozen=True)


class Passage(_Value):
    """A passage of a document."""

    rank: int
    iri: str
    source: str = Field(description="IRI of the source that the passage is from.")
    title: str
    text: str
    begin: int = Field(description="Offset of the text in the source, in characters.")
    end: int
    score: float
    sentence: str = Field(description="The sentence that best shows why it was found.")
    why: str = Field(description="The chain from the question to the passage, in words.")


class RelationshipFound(_Value):
    """A relationship between two entities, as a document states it."""

    iri: str
    subject: str
    object: str
    text: str
    similarity: float = Field(description="Similarity to the question, from -1 to 1.")


class SearchResult(_Value):
    """Passages and relationships for a question, the best first."""

    question: str
    retriever: str
    passages: list[Passage]
    relationships: list[RelationshipFound]

    @classmethod
    def of(cls, retrieved: Retrieved, *, relationships: int = 10) -> SearchResult:
        """The part of a retrieval that a model reads."""
        names = names_of(retrieved)
        sentences = key_sentences_of(retrieved, names)
        return cls(
            question=retrieved.query.text,
            retriever=retrieved.retriever,
            passages=[
                Passage(
                    rank=each.rank,
                    iri=each.document.iri,
                    source=each.document.source_iri,
                    title=each.document.title,
                    text=each.document.text,
                    begin=each.document.begin,
                    end=each.document.end,
                    score=each.score,
                    sentence=sentence,
                    why=path_in_words(each, retrieved, names),
                )
                for each, sentence in zip(retrieved.documents, sentences, strict=True)
            ],
            relationships=[
                _relationship(link, names) for link in retrieved.relationships[:relationships]
            ],
        )


def _relationship(link: Link, names: dict[str, str]) -> RelationshipFound:
    return RelationshipFound(
        iri=link.relationship,
        subject=names.get(link.subject, link.subject),
        object=names.get(link.object, link.object),
        text=link.text,
        similarity=link.similarity,
    )


class Cited(_Value):
    """Where an answer is from: a passage and its offsets in its source."""

    document: str
    source: str
    title: str
    begin: int
    end: int


class AnswerResult(_Value):
    """An answer with its citations."""

    outcome: Literal["answered", "insufficient", "evidence"] = Field(
        description="insufficient: the evidence does not state the answer; evidence: the server "
        "has no language model, and returns passages only."
    )
    answer: str
    reasoning: str
    citations: list[Cited]
    model: str
    calls: int
    tokens: int
    evidence: SearchResult

    @classmethod
    def of(cls, answer: Answer) -> AnswerResult:
        """The part of an answer that a client reads."""
        return cls(
            outcome=answer.outcome,
            answer=answer.text,
            reasoning=answer.reasoning,
            citations=[Cited.model_validate(each) for each in answer.citations],
            model=answer.model,
            calls=answer.usage.calls,
            tokens=answer.usage.tokens_in + answer.usage.tokens_out,
            evidence=SearchResult.of(answer.retrieved),
        )


class QueryResult(_Value):
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

    def without_classes(self) -> EntityResult:
        """The same without the classes of ontologies."""
        return EntityResult(replace(self.root, classes=()))


class NeighboursResult(RootModel[Neighbourhood]):
    """The neighbourhood of an entity, which comes first."""


class QueryExplanationResult(RootModel[QueryExplanation]):
    """What a query would read, without its results."""


class TermUse(_Value):
    """A class or datatype with a number of uses."""

    iri: str
    count: int


class ClassFound(_Value):
    """A class of the graph."""

    iri: str
    label: str
    instances: int


class PropertyFound(_Value):
    """A property of the graph, with the classes of its subjects and objects as found."""

    iri: str
    label: str
    statements: int
    domains: list[TermUse]
    ranges: list[TermUse]


class SchemaResult(_Value):
    """The terms that a graph uses, how often, and what else is needed to query it."""

    base: str = Field(description="The IRIs of the graph begin with this.")
    classes: list[ClassFound]
    properties: list[PropertyFound]
    counts: dict[str, int]
    prefixes: dict[str, str] = Field(description="Declared in every query.")
    imports: list[str] = Field(description="Imported graphs, which 'over' of a query may name.")
    void: str = Field(description="The description of the data set in VoID and DCAT, as Turtle.")


class PassageExplained(_Value):
    """How the score of a passage adds up, and the steps of activation that led to it."""

    rank: int
    iri: str
    title: str
    score: float
    parts: dict[str, float] = Field(description="Summands of the score.")
    measures: dict[str, float]
    activation: float
    similarity: float
    why: str
    steps: list[StepExplained]


class StepExplained(_Value):
    """One step of activation: amount = weight * activation of the origin."""

    round: int
    origin: str
    target: str
    kind: str
    text: str = Field(description="The sentence of the relationship, if it has one.")
    weight: float
    amount: float


class ExplanationResult(_Value):
    """How passages were found for a question."""

    question: str
    retriever: str
    settings: dict[str, float | int | str]
    seeds: list[SeedExplained]
    passages: list[PassageExplained]

    @classmethod
    def of(cls, retrieved: Retrieved) -> ExplanationResult:
        """The explanation of a retrieval."""
        names = names_of(retrieved)
        return cls(
            question=retrieved.query.text,
            retriever=retrieved.retriever,
            settings=dict(retrieved.settings),
            seeds=[
                SeedExplained(
                    iri=seed.node, name=seed.name, activation=seed.activation, reason=seed.reason
                )
                for seed in retrieved.seeds
            ],
            passages=[_explained(each, retrieved, names) for each in retrieved.documents],
        )


class SeedExplained(_Value):
    """Where activation starts."""

    iri: str
    name: str
    activation: float
    reason: str


def _explained(
    ranked: RankedDocument, retrieved: Retrieved, names: dict[str, str]
) -> PassageExplained:
    return PassageExplained(
        rank=ranked.rank,
        iri=ranked.document.iri,
        title=ranked.document.title,
        score=ranked.score,
        parts=dict(ranked.parts),
        measures=dict(ranked.measures),
        activation=ranked.activation,
        similarity=ranked.similarity,
        why=path_in_words(ranked, retrieved, names),
        steps=[
            StepExplained(
                round=step.round,
                origin=names.get(step.origin, step.origin),
                target=names.get(step.target, step.target),
                kind=step.kind,
                text=names.get(step.relationship, ""),
                weight=step.weight,
                amount=step.amount,
            )
            for step in ranked.chain
        ],
    )


QueryExplanationResult.model_rebuild(_types_namespace={"UnusedTerm": UnusedTerm})
PassageExplained.model_rebuild()
ExplanationResult.model_rebuild()
