"""Records of a graph: dataclasses whose fields are the properties of one node.

A `Match` is the record of a link or a decision, in the terms of SSSOM (https://w3id.org/sssom/).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from decimal import Decimal
from typing import Any, TypeVar
from typing import Literal as OneOf

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.vocab import (
    OWL,
    PROV,
    RDF,
    RDFS,
    SEMAPV,
    SSSOM,
    XSD,
    Term,
    iri_or_literal,
    text_of,
)

_Kind = OneOf["text", "iri", "integer", "decimal", "date", "dateTime", "term"]
"""How a value is stored; a term is an IRI or literal in N-Triples notation."""
_Record = TypeVar("_Record")
NO_MAPPING = SSSOM.NoMapping.value
"""The predicate of a `Match` that says that there is no link."""


def stored(
    predicate: NamedNode, kind: _Kind = "text", default: Any = MISSING, *, many: bool = False
) -> Any:
    """A field that is stored with this predicate; empty texts and None are not stored."""
    return field(default=() if many else default, metadata={"stored": (predicate, kind, many)})


def _stored(record: Any) -> list[tuple[Field[Any], NamedNode, _Kind, bool]]:
    """The stored fields of a record, as in `stored`."""
    declared = (own for own in fields(record) if "stored" in own.metadata)
    return [(own, *own.metadata["stored"]) for own in declared]


def decimal(value: float) -> Literal:
    """A canonical xsd:decimal with at most four places."""
    text = format(Decimal(str(round(value, 4))), "f")
    return Literal(text if "." in text else text + ".0", datatype=XSD.decimal)


def _term(value: Any, kind: _Kind) -> Term:
    if kind == "iri":
        return NamedNode(value)
    if kind == "decimal":
        return decimal(value)
    if kind == "term":
        [quad] = ox.parse(f"<urn:s> <urn:p> {value} .", format=ox.RdfFormat.N_TRIPLES)
        return iri_or_literal(quad.object)
    return Literal(str(value), datatype=XSD["string" if kind == "text" else kind])


def _value(term: Term, kind: _Kind) -> Any:
    if kind == "term":
        return str(term)
    read: Any = {"integer": int, "decimal": float}.get(kind, str)
    try:
        return read(term.value)
    except ValueError as error:
        raise StoreError(f"invalid term in the graph: {term} is not of type {kind}") from error


def record_quads(record: Any, node: NamedNode, graph: str, *classes: NamedNode) -> list[Quad]:
    """The quads of a record, with the classes of its node."""
    pairs: list[tuple[NamedNode, Term]] = [(RDF.type, class_) for class_ in classes]
    for own, predicate, kind, many in _stored(type(record)):
        value = getattr(record, own.name)
        pairs += [
            (predicate, _term(v, kind))
            for v in (value if many else (value,))
            if v not in ("", None)
        ]
    return [Quad(node, predicate, value, NamedNode(graph)) for predicate, value in pairs]


def record_of(record: type[_Record], quads: Iterable[Quad], **others: Any) -> _Record:
    """The record in the quads of its node; the least of several values, empty without one."""
    terms: defaultdict[str, list[Term]] = defaultdict(list)
    for quad in quads:
        terms[quad.predicate.value].append(iri_or_literal(quad.object))
    for own, predicate, kind, many in _stored(record):
        values = [_value(t, kind) for t in sorted(terms[predicate.value], key=lambda t: t.value)]
        if many:
            others[own.name] = tuple(values)
        elif values or own.default is MISSING:
            others[own.name] = values[0] if values else ""
    return record(**others)


def by_subject(quads: Iterable[Quad]) -> dict[str, list[Quad]]:
    """The quads of each node, in the order of IRIs."""
    nodes: defaultdict[str, list[Quad]] = defaultdict(list)
    for quad in quads:
        nodes[text_of(quad.subject)].append(quad)
    return dict(sorted(nodes.items()))


@dataclass(frozen=True, slots=True)
class Match:
    """A mapping of SSSOM. Subject, predicate, object and `justification` (SEMAPV) are IRIs.

    `confidence` is in [0, 1], or None; `date` is an ISO 8601 date or empty. Of candidates and rows
    of tables only, `similarity` is that of the names, by `measure`, and `row` that in a file.
    """

    subject: str = stored(OWL.annotatedSource, "iri")
    predicate: str = stored(OWL.annotatedProperty, "iri")
    object: str = stored(OWL.annotatedTarget, "iri")
    justification: str = stored(
        SSSOM.mapping_justification, "iri", SEMAPV.UnspecifiedMatching.value
    )
    confidence: float | None = stored(SSSOM.confidence, "decimal", None)
    subject_label: str = stored(SSSOM.subject_label, default="")
    object_label: str = stored(SSSOM.object_label, default="")
    tool: str = stored(SSSOM.mapping_tool, default="")
    date: str = stored(SSSOM.mapping_date, "date", "")
    comment: str = stored(RDFS.comment, default="")
    origins: tuple[str, ...] = stored(PROV.wasDerivedFrom, "iri", many=True)
    """The entities for which a link was accepted, if they are not its subject."""
    similarity: float | None = None
    measure: str = ""
    negated: bool = False
    row: int = field(default=0, compare=False)
    accepted: bool = True
    """False for a row of a review table that has not been accepted."""

    @property
    def pair(self) -> tuple[str, str]:
        """Subject and object."""
        return self.subject, self.object

    @property
    def triple(self) -> tuple[str, str, str]:
        """Subject, predicate and object."""
        return self.subject, self.predicate, self.object

    @property
    def is_link(self) -> bool:
        """Whether it states a link: accepted, not negated, and not sssom:NoMapping."""
        return self.accepted and not self.negated and self.predicate != NO_MAPPING

    def quads(self, minter: Minter, graph: str) -> list[Quad]:
        """The triple itself, and the quads of its node."""
        node = NamedNode(minter.mapping(*self.triple))
        subject, predicate, object_ = map(NamedNode, self.triple)
        link = Quad(subject, predicate, object_, NamedNode(graph))
        return [link, *record_quads(self, node, graph, OWL.Axiom)]
