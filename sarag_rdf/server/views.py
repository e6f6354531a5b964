"""The values that the page of a resource shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

from sarag_rdf.base.vocab import SARAG
from sarag_rdf.server.evidence import Evidence, Passage, Ref, Relationship, Segment, Value

Kind = Literal["entity", "document", "source", "relationship", "class", "property", "resource"]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document, where its text comes from, and parts of its text."""

    ref: Ref
    source: Ref | None
    language: str
    passages: tuple[Passage, ...]
    is_topic: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One end of statements of the same property, with their evidence."""

    end: Ref | Value
    evidence: tuple[Evidence, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class GroupView:
    """Statements of one property, or of one phrase that states no property."""

    property: Ref | Value
    inverse: bool
    rows: tuple[Row, ...]
    left_out: int = 0
    is_exact: bool = True
    query: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link to another graph and how it came about."""

    property: Ref
    target: Ref
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """What joined a name to others: a decision, or a document that gives it as an alias."""

    words: str
    ref: Ref
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """A normalised name that refers to an entity, with its spellings and why it does."""

    mention: Ref
    spellings: tuple[tuple[str, int], ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, and the relationships that were found in it.

    `begin` is its offset in the source.
    """

    begin: int
    segments: tuple[Segment, ...]
    relationships: tuple[tuple[Relationship, Ref, Ref | Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page of a resource shows; parts that a kind does not have are empty."""

    kind: Kind
    iri: str
    title: Ref
    kinds: tuple[Ref, ...]
    names: tuple[Value, ...] = ()
    definitions: tuple[Value, ...] = ()
    facts: tuple[tuple[str, Ref | Value], ...] = ()
    out: tuple[GroupView, ...] = ()
    into: tuple[GroupView, ...] = ()
    phrases: tuple[GroupView, ...] = ()
    phrases_left_out: int = 0
    phrases_exact: bool = True
    documents: tuple[DocumentView, ...] = ()
    document_count: int = 0
    documents_exact: bool = True
    links: tuple[Link, ...] = ()
    naming: tuple[Name, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    is_cut: bool = False
    language: str = ""
    instances: tuple[tuple[Ref | Value, ...], ...] = ()
    instance_count: int = 0
    instances_exact: bool = True
    page: int = 1
    pages: int = 1
    picture: Markup = field(default_factory=Markup)
    drawn: int = 0
    queries: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_explorable(self) -> bool:
        """Whether the explorer can start here: at entities, things of other graphs, classes."""
        evidence = any(class_.iri.startswith(SARAG.base) for class_ in self.kinds)
        return self.kind in ("entity", "class") or (self.kind == "resource" and not evidence)
