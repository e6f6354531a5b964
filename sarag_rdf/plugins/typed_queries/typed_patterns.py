"""Patterns in the terms of a schema, as models reply with them, and what is wrong with them.

A reply has triple patterns whose properties and classes are names from the schema that the model
was given. Subjects and objects are variables or names in plain words. What needs no graph is
checked here; `sarag_rdf.plugins.typed_queries.typed_graph` checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any, Final

import networkx as nx

from sarag_rdf.base.prompts import array_of, boolean, object_of, one_of, string

ANSWER: Final = "?answer"
"""The variable that is asked for."""
MOST: Final = 4
"""Maximum number of patterns."""
COMPARISONS: Final = {"less": "<", "greater": ">", "equal": "="}
_VARIABLE: Final = re.compile(r"\s*[?$]([A-Za-z]\w*)\s*", re.ASCII)
_COMPARABLE: Final = re.compile(r"-?\d+(?:\.\d+)?|\d{4}-\d\d(?:-\d\d)?")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a query: a kind for statistics, and a message for the model."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class UsedClass:
    """A class with its name, unique in its schema, and its instances with those of subclasses.

    `members` are the IRIs of the class and its subclasses.
    """

    iri: str
    name: str
    instances: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsedProperty:
    """A property with its name, unique in its schema, and the number of its statements.

    `arcs` are the IRIs that state it, and whether they do so from object to subject. `domains` and
    `ranges` are names of the classes of its subjects and objects, the most frequent first.
    `examples` are (subject, object) of statements. `phrases` are further words for it.
    """

    iri: str
    name: str
    statements: int
    arcs: tuple[tuple[str, bool], ...]
    is_literal: bool = False
    domains: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsedSchema:
    """The classes and properties that a graph uses, or those that a question needs, by name."""

    classes: Mapping[str, UsedClass]
    properties: Mapping[str, UsedProperty]

    @classmethod
    def of(cls, classes: Iterable[UsedClass], properties: Iterable[UsedProperty]) -> UsedSchema:
        """The schema of these, in their order."""
        return cls({own.name: own for own in classes}, {own.name: own for own in properties})


def is_variable(end: str) -> bool:
    """Whether a subject or object is a variable (``?x``), and not a name in plain words."""
    return end.startswith("?")


def _end(text: str) -> str:
    """The subject or object that a model wrote; ``answer`` alone is the variable."""
    match = _VARIABLE.fullmatch("?answer" if text.strip() == ANSWER[1:] else text)
    return f"?{match[1]}" if match else " ".join(text.strip(" \"'").split())


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """A triple pattern whose terms are names in plain words, or variables (`is_variable`)."""

    subject: str
    predicate: str
    object: str

    @property
    def ends(self) -> tuple[str, str]:
        """Subject and object."""
        return self.subject, self.object

    def __str__(self) -> str:
        return f"{self.subject} | {self.predicate} | {self.object}"


def variables_of(patterns: Iterable[NamedPattern]) -> tuple[str, ...]:
    """All variables of patterns, each once, in order of appearance."""
    ends = chain.from_iterable(pattern.ends for pattern in patterns)
    return tuple(dict.fromkeys(filter(is_variable, ends)))


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """A query in the terms of a schema; `counts` asks for the number of answers.

    The predicates of `patterns` are names of properties. `classes` are of variables. `comparisons`
    are conditions on dates or numbers: variable, key of `COMPARISONS`, value.
    """

    patterns: tuple[NamedPattern, ...]
    classes: tuple[tuple[str, str], ...] = ()
    comparisons: tuple[tuple[str, str, str], ...] = ()
    counts: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables of patterns, in order of appearance."""
        return variables_of(self.patterns)


def reply_schema(schema: UsedSchema) -> dict[str, Any]:
    """The JSON schema of replies, with the names of the schema."""
    property_, class_ = one_of(schema.properties), one_of(schema.classes)
    pattern = object_of(subject=string(80), property=property_, object=string(80))
    typed = object_of(variable=string(20), **{"class": class_})
    comparison = object_of(variable=string(20), relation=one_of(COMPARISONS), value=string(20))
    return object_of(
        patterns=array_of(pattern, MOST),
        **({"classes": array_of(typed, 2)} if schema.classes else {}),
        comparisons=array_of(comparison, 1),
        count=boolean(),
    )


def query_of(reply: Mapping[str, Any]) -> TypedQuery:
    """The query of a reply that satisfies `reply_schema`; a repeated pattern counts once."""
    patterns = [
        NamedPattern(_end(item["subject"]), item["property"], _end(item["object"]))
        for item in reply["patterns"]
    ]
    return TypedQuery(
        tuple(dict.fromkeys(patterns)),
        tuple((_end(item["variable"]), item["class"]) for item in reply.get("classes", ())),
        tuple(
            (_end(item["variable"]), item["relation"], item["value"].strip())
            for item in reply["comparisons"]
        ),
        reply["count"],
    )


def findings_of(query: TypedQuery, is_literal: Callable[[NamedPattern], bool]) -> list[Finding]:
    """What is wrong with a query, as far as the schema alone tells."""
    if not query.patterns:
        return [Finding("no-pattern", "there is no pattern")]
    findings = []
    if ANSWER not in query.variables:
        findings.append(Finding("no-answer", f"no pattern has the variable {ANSWER}"))
    if not nx.is_connected(nx.Graph(pattern.ends for pattern in query.patterns)):
        findings.append(Finding("disconnected", "the patterns are not connected with one another"))
    findings += [
        Finding("disconnected", f"{variable} has a class, but is in no pattern")
        for variable, _ in query.classes
        if variable not in query.variables
    ]
    findings += [
        Finding("unresolved", f"an end of '{pattern}' is empty")
        for pattern in query.patterns
        if not all(pattern.ends)
    ]
    literals = {
        pattern.object: pattern.predicate for pattern in query.patterns if is_literal(pattern)
    }
    for value, name in literals.items():
        findings += [
            Finding(
                "clash",
                f"{value} is a value of '{name}', so it cannot be the subject of "
                f"'{other.predicate}'",
            )
            for other in query.patterns
            if is_variable(value) and other.subject == value
        ]
    for variable, _, value in query.comparisons:
        if variable not in literals:
            message = f"{variable} cannot be compared: it is not a date or number"
        elif not _COMPARABLE.fullmatch(value):
            message = f"'{value}' is not a number, nor a date such as 1850 or 1850-12-31"
        else:
            continue
        findings.append(Finding("comparison", message))
    return findings


def joins(query: TypedQuery) -> list[tuple[NamedPattern, NamedPattern, str]]:
    """Pairs of patterns with the variable that they share."""
    return [
        (one, other, end)
        for one, other in combinations(query.patterns, 2)
        for end in dict.fromkeys(one.ends)
        if is_variable(end) and end in other.ends
    ]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement behind an answer: its text, and the document that states it, if one does."""

    text: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class TypedBinding:
    """An answer: its name or value, its IRI (empty for a value), and a solution that has it.

    `variables` has the names of all variables; `statements` are behind the patterns, in order.
    """

    value: str
    iri: str
    variables: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Statement, ...] = ()
