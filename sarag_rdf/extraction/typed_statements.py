"""Typed statements: the literals that a property admits, and arguments as mentions.

Extractors that find statements in terms of an ontology, by a language model or by what they
learned, yield relations with a property; `with_statements` joins them to the extraction of the
document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import EntityType, Extraction, Mention, Relation, Value
from sarag_rdf.base.vocab import RDFS, XSD
from sarag_rdf.extraction.names import build_descriptions
from sarag_rdf.extraction.text_values import WKT, parse_value
from sarag_rdf.graph.ontology.schema import (
    OntologyProperty,
    Schema,
    label_datatype,
    named_datatype,
    value_datatype,
)

RangeKind = Literal[
    "date", "duration", "number", "string", "url", "coordinates", "entity", "any", "unsupported"
]
"""What the objects of a property are; values of an unsupported datatype are not read from texts."""


def _datatypes(names: str) -> frozenset[str]:
    return frozenset(XSD[name].value for name in names.split())


_INTEGERS: Final = _datatypes(
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte"
)
_DATATYPES: Final[Mapping[RangeKind, frozenset[str]]] = {
    "date": _datatypes("date dateTime dateTimeStamp gYear gYearMonth gMonthDay"),
    "duration": _datatypes("duration dayTimeDuration yearMonthDuration"),
    "number": _INTEGERS | _datatypes("decimal double float"),
    "url": _datatypes("anyURI"),
    "coordinates": frozenset({WKT}),
}
"""Kind of range -> its datatypes."""
_UNSUPPORTED: Final = _datatypes("boolean time gDay gMonth base64Binary hexBinary QName NOTATION")


def datatype_of(property_: OntologyProperty) -> str:
    """The IRI of the datatype of a property; empty if its objects are entities, or anything.

    Ontologies in the wild declare dates as properties of entities, with a class "Date" as range or
    with none: `sarag_rdf.graph.ontology.literals` has the names and words that stand for datatypes.
    """
    if property_.is_literal:
        is_any = property_.ranges == (RDFS.Literal.value,)
        return "" if is_any else value_datatype(property_.label, property_.ranges)
    if property_.ranges:
        return next(filter(None, map(named_datatype, property_.ranges)), "")
    return label_datatype(property_.label)


def range_kind(property_: OntologyProperty) -> RangeKind:
    """The kind of the objects of a property."""
    datatype = datatype_of(property_)
    if not datatype:
        return "any" if property_.is_literal or not property_.ranges else "entity"
    if datatype in _UNSUPPORTED:
        return "unsupported"
    kinds = (kind for kind, datatypes in _DATATYPES.items() if datatype in datatypes)
    return next(kinds, "string")


def literal(property_: OntologyProperty, text: str, value: Value | None) -> Value | None:
    """The literal of an object of the text; None for an entity, and where the range excludes it.

    `value` is what the text reads as, if it is a date, number or other value. Dates keep the
    precision of the text and numbers their unit; other texts are strings.

    >>> floors = OntologyProperty("urn:floors", "floors", ranges=(XSD.integer.value,), is_literal=1)
    >>> literal(floors, "3", None).lexical, literal(floors, "3.5", None)
    ('3', None)
    """
    kind = range_kind(property_)
    if kind in ("entity", "unsupported"):
        return None
    if kind == "any":
        as_text = Value(text, text, XSD.string.value) if property_.is_literal else None
        return value or as_text
    if kind == "string":
        return Value(text, text, XSD.string.value)
    if kind == "number":
        value = parse_value(text, "number") or value
    if value is None or value.datatype not in _DATATYPES[kind]:
        return None
    is_fraction = value.datatype not in _INTEGERS
    return None if is_fraction and datatype_of(property_) in _INTEGERS else value


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
