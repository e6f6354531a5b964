"""What extractors that learn, or ask a model, share: examples, and the arguments of statements.

They yield relations with a property; `with_statements` joins them to the extraction of the
document. Examples are sentences with their statements, which show how texts state a property. A
file has one JSON object a line: ``{"text": "Ada Brook was born in Cardiff.", "statements":
[{"subject": "Ada Brook", "property": "birth place", "object": "Cardiff"}]}``. A property is given
by its label, another of its names, or its IRI.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import read_text
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import EntityType, Extraction, Mention, Relation
from sarag_rdf.extraction.names import build_descriptions
from sarag_rdf.graph.ontology.schema import Schema

_NUMBER = re.compile(r"\s*([-+]?[\d,]*\.?\d+)(?:\s?[a-z%°/]+)?\s*")


def soft_text(text: str) -> str:
    """Text without accents, brackets and their content, quotes, units after numbers and ".0".

    >>> soft_text('"69.0"(minutes)'), soft_text("Émile_Borel_(mathematician)")
    ('69', 'emileborel')
    """
    text = text.replace("_", " ").replace('"', "")
    text = re.sub(r"\s*\([^()]*\)", "", text) or text
    text = "".join(
        c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
    ).lower()
    if number := _NUMBER.fullmatch(text):
        return re.sub(r"\.0+$", "", number[1].replace(",", ""))
    return re.sub(r"[\s.,'’`]+", "", re.sub(r"^(?:the|an?)\s+", "", text.strip()))


def with_statements(
    extraction: Extraction,
    relations: Iterable[Relation],
    schema: Schema,
    *,
    stated: Mapping[str, Iterable[str]] = MappingProxyType({}),
    types: Mapping[str, EntityType] = MappingProxyType({}),
    discarded: Counter[str] | None = None,
) -> Extraction:
    """The extraction with typed relations, whose arguments are mentions.

    Arguments that no mention names become mentions, of the type in `types`. Mentions get the
    classes that are `stated` of them, and those that domains and ranges imply unless they belong
    to these already. Relations that contradict the known classes of an argument, relate a name to
    itself, or repeat another one are left out, and so are further values of functional properties;
    `discarded` counts them by reason.
    """
    names = {
        normalize_name(name): mention.name
        for mention in reversed(extraction.mentions)
        for name in (*mention.aliases, mention.name)
    }

    def named(name: str) -> str:
        return names.get(normalize_name(name), name)

    mentions = {mention.name: mention for mention in extraction.mentions}
    classes = {mention.name: dict.fromkeys(mention.classes) for mention in extraction.mentions}
    for name, own in stated.items():
        classes.setdefault(named(name), {}).update(dict.fromkeys(own))
    counts = Counter[str]() if discarded is None else discarded
    accepted: set[tuple[str, str, str]] = set()
    valued: set[tuple[str, str]] = set()
    added: list[Relation] = []
    for relation in relations:
        property_ = schema.properties[relation.predicate]
        subject = named(relation.subject)
        object_ = relation.object if relation.value else named(relation.object)
        ends = [(subject, property_.domains)]
        if relation.value is None:
            ends.append((object_, property_.ranges))
        if not all(  # a class that the schema does not describe admits everything
            schema.may_belong(classes.get(name, ()), admitted)
            for name, admitted in ends
            if schema.classes.keys() >= set(admitted)
        ):
            counts["statements that violate the domain or range of the property"] += 1
            continue
        if normalize_name(subject) == normalize_name(object_):
            counts["statements of a name about itself"] += 1
            continue
        key = (normalize_name(subject), property_.iri)
        lexical = relation.value.lexical if relation.value else object_
        statement = (*key, normalize_name(lexical))
        if statement in accepted:
            counts["repeated statements"] += 1
            continue
        if property_.is_functional and key in valued:
            counts["further values of a functional property"] += 1
            continue
        accepted.add(statement)
        valued.add(key)
        added.append(replace(relation, subject=subject, object=object_))
        for name, implied in ends:
            if name not in mentions:
                texts = build_descriptions(name, [relation.text])
                mentions[name] = Mention(name, types.get(name, "misc"), descriptions=texts)
            known = classes.setdefault(name, {})
            is_class = len(implied) == 1 and implied[0] in schema.classes
            if is_class and not schema.belongs(known, implied):
                known[implied[0]] = None
    return Extraction(
        tuple(replace(m, classes=tuple(sorted(classes[m.name]))) for m in mentions.values()),
        (*extraction.relations, *added),
    )


# Examples


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
