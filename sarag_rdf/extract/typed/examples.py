"""Examples for extraction: sentences with their statements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExampleStatement:
    """A statement of an example: subject and object as texts, the property by its IRI."""

    subject: str
    property: str
    object: str


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence and all its statements in the terms of the ontology."""

    text: str
    statements: tuple[ExampleStatement, ...]
