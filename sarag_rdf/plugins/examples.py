"""Examples: sentences with their statements, which show how texts state a property.

A file has one JSON object a line: ``{"text": "Ada Brook was born in Cardiff.", "statements":
[{"subject": "Ada Brook", "property": "birth place", "object": "Cardiff"}]}``. A property is given
by its label, another of its names, or its IRI.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import read_text
from sarag_rdf.graph.ontology.schema import Schema


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


def read_examples(path: Path, schema: Schema) -> tuple[Example, ...]:
    """The examples in a JSONL file.

    Raises `InputError` with the line for a file that cannot be read, a line in another format, and
    a property that the schema does not have.
    """
    names: dict[str, str] = {}
    for property_ in schema.properties.values():
        for name in (property_.label, *property_.alternatives):
            names.setdefault(name.casefold(), property_.iri)
    names |= {iri: iri for iri in schema.properties}
    examples = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            examples.append(_example(json.loads(line), names))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            form = "not an object with text and statements"
            reason = error if type(error) is ValueError else form
            raise InputError(f"{path}, line {number}: {reason}") from error
    return tuple(examples)


def examples_of(path: str | None, schema: Schema | None) -> tuple[Example, ...]:
    """The examples in the file of an option, or none; raises `UsageError` without a schema."""
    if path is None:
        return ()
    if schema is None:
        raise UsageError("examples require an ontology: add one with  sarag ontology add FILE")
    return read_examples(Path(path), schema)


def _example(row: Mapping[str, Any], names: Mapping[str, str]) -> Example:
    statements = []
    for statement in row["statements"]:
        name = str(statement["property"])
        iri = names.get(name) or names.get(name.casefold())
        if iri is None:
            closest = get_close_matches(name.casefold(), names, 1)
            hint = f": did you mean '{closest[0]}'?" if closest else ""
            raise ValueError(f"no property '{name}' in the ontology{hint}")
        subject, object_ = str(statement["subject"]), str(statement["object"])
        statements.append(ExampleStatement(subject, iri, object_))
    if not isinstance(row["text"], str):
        raise TypeError
    return Example(row["text"], tuple(statements))
