"""Turtle of an induced ontology: properties that were proposed from a corpus, to be edited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from sarag_rdf.vocab import OWL, RDFS, SARAG, SKOS

_LOCAL_NAME = re.compile(r"[^\W\d_]\w*")


@dataclass(frozen=True, slots=True)
class ProposedClass:
    """A class by its local name, with a label."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class ProposedProperty:
    """A property by its local name; `domain` and `range` are local names of classes, or empty."""

    name: str
    label: str
    phrases: tuple[str, ...]
    inverse_phrases: tuple[str, ...]
    domain: str
    range: str
    is_literal: bool
    examples: tuple[str, ...]
    count: int


def write_turtle(
    namespace: str,
    classes: Sequence[ProposedClass],
    properties: Sequence[ProposedProperty],
    language: str = "en",
) -> str:
    """An ontology in a namespace that ends in ``#`` or ``/``; counts are in comments."""
    base = namespace.rstrip("#/")
    prefixes = {"": namespace, "owl": OWL.base, "rdfs": RDFS.base}
    prefixes |= {"sarag": SARAG.base, "skos": SKOS.base}
    lines = [f"@prefix {prefix}: {NamedNode(iri)} ." for prefix, iri in prefixes.items()]
    title = Literal("Induced ontology", language="en")
    lines += ["", f"{NamedNode(base)} a owl:Ontology ;", f"    rdfs:label {title} ."]
    for class_ in classes:
        label = Literal(class_.label, language="en")
        lines += ["", f":{class_.name} a owl:Class ;", f"    rdfs:label {label} ."]
    for property_ in properties:
        noun = "relationship" if property_.count == 1 else "relationships"
        lines += ["", f"# {property_.count} {noun}"]
        lines += _property(property_, namespace, language)
    return "\n".join(lines) + "\n"


def _property(property_: ProposedProperty, namespace: str, language: str) -> list[str]:
    kind = "owl:DatatypeProperty" if property_.is_literal else "owl:ObjectProperty"
    statements = [f"rdfs:label {Literal(property_.label, language=language)}"]
    statements += _texts("sarag:statedAs", property_.phrases, language)
    statements += _texts("sarag:inverselyStatedAs", property_.inverse_phrases, language)
    statements += [f"rdfs:domain :{property_.domain}"] if property_.domain else []
    if property_.is_literal:
        statements.append("rdfs:range rdfs:Literal")
    elif property_.range:
        statements.append(f"rdfs:range :{property_.range}")
    statements += _texts("skos:example", property_.examples, language)
    is_plain = _LOCAL_NAME.fullmatch(property_.name) and property_.name.isascii()
    node = f":{property_.name}" if is_plain else str(NamedNode(namespace + property_.name))
    return [
        f"{node} a {kind} ;",
        *(f"    {s} ;" for s in statements[:-1]),
        f"    {statements[-1]} .",
    ]


def _texts(predicate: str, texts: Sequence[str], language: str) -> Iterator[str]:
    if texts:
        yield f"{predicate} " + " , ".join(str(Literal(text, language=language)) for text in texts)
