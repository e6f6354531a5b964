"""Questions as SPARQL: patterns in the terms of the graph's schema, checked, run, and cited.

A model is given the part of the schema that a question needs, and replies with patterns. They are
checked against the schema in use; what is wrong is reported back once. The bindings of accepted
patterns are the answer, with the statements behind them; otherwise passages answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sarag_rdf.answering.conversation import Conversation, ReasonerStrategy
from sarag_rdf.answering.single import Single
from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.options import MAX_COUNT, max_tokens_option, option
from sarag_rdf.base.prompts import Prompts
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import (
    Answer,
    Evidence,
    Excerpt,
    RankedDocument,
    Retrieved,
    Section,
    Subgraph,
)
from sarag_rdf.plugins.typed_queries.typed_graph import Solutions, TooLongError, TypedGraph
from sarag_rdf.plugins.typed_queries.typed_patterns import (
    MOST,
    Finding,
    TypedBinding,
    UsedSchema,
    query_of,
    reply_schema,
)
from sarag_rdf.retrieval.context import measured

PROMPT = "sparql_typed"
PROMPTS = Prompts(Path(__file__).with_name("prompts"))


@dataclass(frozen=True, kw_only=True)
class SparqlTyped(ReasonerStrategy):
    """One call for patterns, and a second one if the check of the first finds something wrong.

    The trace has a note ``check`` after each of them, a note ``query`` with the SPARQL and its
    bindings, and a note ``answered`` that says whether the graph or passages answered, and why.
    """

    name = "sparql-typed"
    prompts = PROMPTS
    properties: int = option(
        16, "Maximum number of properties in the prompt, the nearest to the question.", ge=1, le=200
    )
    classes: int = option(
        12, "Maximum number of classes in the prompt, the nearest to the question.", ge=1, le=200
    )
    rows: int = option(
        MAX_COUNT, "Maximum number of rows of a query's result.", ge=1, le=10 * MAX_COUNT
    )
    seconds: float = option(
        10.0, "Time limit of a query, and of all checks of a reply, in seconds.", gt=0.0, le=600.0
    )
    shown: int = option(20, "Maximum number of bindings in an answer.", ge=1, le=MAX_COUNT)
    brief: bool = option(False, "Answer from passages as single:brief=true does.")
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        """From the graph, or else by `single`, whose evidence is retrieved."""
        try:
            solutions = self._solutions(talk)
        except (_NoAnswerError, TooLongError) as error:
            talk.say("note", "answered", {"from": "passages", "reason": str(error)})
            return Single(brief=self.brief, max_tokens=self.max_tokens).answer(talk)
        return self._from_graph(talk, solutions)

    # Patterns

    def _solutions(self, talk: Conversation) -> Solutions:
        """The solutions of the first or second reply; raises `_NoAnswerError` if there are none."""
        graph = talk.view.derived(TypedGraph)
        shown = graph.schema_for(talk.question, classes=self.classes, properties=self.properties)
        if not shown.properties:
            raise _NoAnswerError("the graph has no typed statements")
        reply: Mapping[str, Any] = {}
        findings: list[Finding] = []
        for _ in range(2):
            reply = self._reply(talk, shown, reply, findings)
            query = query_of(reply)
            findings = graph.findings(query, self.seconds)
            records = [asdict(finding) for finding in findings]
            check = {"parsed": True, "accepted": not findings, "findings": records}
            talk.say("note", "check", check)
            if not query.patterns:
                raise _NoAnswerError("the properties of the graph do not express the question")
            if not findings:
                break
        else:
            raise _NoAnswerError(f"the second reply was rejected as well: {findings[0].message}")
        solutions = graph.solve(query, rows=self.rows, seconds=self.seconds)
        detail = asdict(solutions)
        talk.say("note", "query", {**detail, "bindings": list(detail["bindings"])})
        if not solutions.bindings:
            raise _NoAnswerError("the query has no solution")
        return solutions

    def _reply(
        self,
        talk: Conversation,
        shown: UsedSchema,
        before: Mapping[str, Any],
        findings: Sequence[Finding],
    ) -> Mapping[str, Any]:
        """The model's patterns; its second ones, given those before and what is wrong."""
        values: dict[str, Any] = {
            "most": MOST,
            "properties": [
                {
                    "name": own.name,
                    "subject": " or ".join(own.domains) or "anything",
                    "object": " or ".join(own.ranges)
                    or ("value" if own.is_literal else "anything"),
                    "statements": own.statements,
                    "examples": [list(example) for example in own.examples],
                }
                for own in shown.properties.values()
            ],
            "classes": [{"name": c.name, "instances": c.instances} for c in shown.classes.values()],
            "before": json.dumps(before, ensure_ascii=False) if before else "",
            "findings": [finding.message for finding in findings],
        }
        try:
            return talk.call(PROMPT, reply_schema(shown), max_tokens=self.max_tokens, **values)
        except (TruncatedReplyError, UnparsableReplyError) as error:
            talk.say("note", "check", {"parsed": False, "problem": str(error), "findings": []})
            raise _NoAnswerError(f"the reply could not be read: {error}") from error

    # Answers

    def _from_graph(self, talk: Conversation, solutions: Solutions) -> Answer:
        bindings = solutions.bindings[: self.shown]
        talk.say("note", "answered", {"from": "graph", "reason": ""})
        evidence = self._evidence(talk, bindings)
        talk.add(evidence)
        values = [binding.value for binding in bindings]
        text = ", ".join(values) if solutions.count is None else str(solutions.count)
        return talk.answer(
            text,
            reasoning="\n".join(
                f"{binding.value}: {'; '.join(s.text for s in binding.statements)}"
                for binding in bindings
            ),
            citations=[excerpt.citation for excerpt in evidence.context.excerpts.values()],
        )

    def _evidence(self, talk: Conversation, bindings: Sequence[TypedBinding]) -> Evidence:
        """The statements behind bindings, and the sentences of their documents."""
        statements = dict.fromkeys(s for binding in bindings for s in binding.statements)
        documents = talk.view.documents(s.document for s in statements if s.document)
        spans: dict[str, set[tuple[int, int]]] = {}
        for statement in statements:
            if document := documents.get(statement.document):
                spans.setdefault(document.iri, set()).add(_sentence(document.text, statement.text))
        excerpts = {
            f"D{number}": Excerpt(documents[iri], tuple(sorted(ranges)))
            for number, (iri, ranges) in enumerate(spans.items(), start=1)
        }
        texts = tuple(statement.text for statement in statements)
        ranked = tuple(
            RankedDocument(excerpt.document, 1.0, 0.0, 0.0, "", rank)
            for rank, excerpt in enumerate(excerpts.values(), start=1)
        )
        retrieved = Retrieved(
            talk.query, SparqlTyped.name, {}, ranked, (), (), (), Subgraph((), {}, ())
        )
        section = Section("", excerpts, texts)
        return Evidence(retrieved, measured((section,), SparqlTyped.name))


class _NoAnswerError(Exception):
    """The graph does not answer; the message says why."""


def _sentence(text: str, statement: str) -> tuple[int, int]:
    """The sentence of a document that shares most words with a statement, the first of equals."""
    requested = set(statement.casefold().split())
    spans = sentence_spans(text, headings=False) or [(0, len(text))]

    def shared(span: tuple[int, int]) -> int:
        words = text[span[0] : span[1]].casefold().split()
        return len(requested & {word.strip(".,;:!?()'\"") for word in words})

    return max(spans, key=lambda span: (shared(span), -span[0]))
