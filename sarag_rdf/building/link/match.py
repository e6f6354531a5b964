"""A link between an entity and an item with its provenance, in memory and as quads.

The link is one triple. Its provenance is at a node whose IRI is derived from the triple, in the
terms of SSSOM (https://w3id.org/sssom/).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.vocab import OWL, RDF, SEMAPV, SKOS, SSSOM, XSD, Term, text_of
from sarag_rdf.graph.graph_reader import GraphReader, Part
from sarag_rdf.graph.parts import LINKS

EXACT = SKOS.exactMatch.value
SAME_AS = OWL.sameAs.value
NO_MAPPING = SSSOM.NoMapping.value
PREDICATES = (
    EXACT,
    SAME_AS,
    *(SKOS[f"{name}Match"].value for name in ("close", "broad", "narrow", "related")),
)
"""Predicates of links."""
UNSPECIFIED = SEMAPV.UnspecifiedMatching.value


@dataclass(frozen=True, slots=True)
class Match:
    """A mapping of SSSOM. Subject, predicate, object and `justification` (SEMAPV) are IRIs.

    `confidence` is in [0, 1], or None; `similarity` is that of the names, by `measure`; `date` is
    an ISO 8601 date or empty; `line` is its line in a file.
    """

    subject: str
    predicate: str
    object: str
    justification: str = UNSPECIFIED
    confidence: float | None = None
    subject_label: str = ""
    object_label: str = ""
    similarity: float | None = None
    measure: str = ""
    tool: str = ""
    date: str = ""
    comment: str = ""
    negated: bool = False
    line: int = field(default=0, compare=False)
    accepted: bool = True
    """False for a row of a review table that has not been accepted."""

    @property
    def pair(self) -> tuple[str, str]:
        """Subject and object."""
        return self.subject, self.object

    @property
    def is_link(self) -> bool:
        """Whether it states a link: accepted, not negated, and not sssom:NoMapping."""
        return self.accepted and not self.negated and self.predicate != NO_MAPPING


def quads_of(minter: Minter, match: Match) -> list[Quad]:
    """The link and its provenance, as quads of the graph of links."""
    graph = NamedNode(minter.links_graph)
    node = NamedNode(minter.mapping(match.subject, match.predicate, match.object))
    ends = (NamedNode(match.subject), NamedNode(match.predicate), NamedNode(match.object))
    statements: list[tuple[NamedNode, Term]] = [
        (RDF.type, OWL.Axiom),
        (OWL.annotatedSource, ends[0]),
        (OWL.annotatedProperty, ends[1]),
        (OWL.annotatedTarget, ends[2]),
        (SSSOM.mapping_justification, NamedNode(match.justification)),
    ]
    if match.confidence is not None:
        statements.append((SSSOM.confidence, _decimal(match.confidence)))
    for property_, text in (
        (SSSOM.object_label, match.object_label),
        (SSSOM.mapping_tool, match.tool),
    ):
        if text:
            statements.append((property_, Literal(text)))
    if match.date:
        statements.append((SSSOM.mapping_date, Literal(match.date, datatype=XSD.date)))
    return [Quad(*ends, graph), *(Quad(node, p, value, graph) for p, value in statements)]


def _decimal(value: float) -> Literal:
    text = format(Decimal(str(round(value, 4))), "f")
    return Literal(text if "." in text else text + ".0", datatype=XSD.decimal)


def rows_of_links(reader: GraphReader, name: str) -> list[tuple[Any, ...]]:
    """Rows of a query file of ``queries/links/``."""
    graphs = {"links": reader.minter.links_graph}
    return replace(reader, over=(Part(LINKS, LINKS, graphs, reader.store),)).rows(name)


def read_links(reader: GraphReader) -> list[Match]:
    """All links of a graph, by subject, object and predicate; without labels of subjects."""
    links = [_match(row) for row in rows_of_links(reader, "mappings")]
    return sorted(links, key=lambda match: (*match.pair, match.predicate))


def _match(row: Sequence[Any]) -> Match:
    subject, predicate, object_, justification, confidence, label, tool, date = (
        term.value if term is not None else "" for term in row
    )
    return Match(
        subject,
        predicate,
        object_,
        justification or UNSPECIFIED,
        float(confidence) if confidence else None,
        object_label=label,
        tool=tool,
        date=date,
    )


def identities(reader: GraphReader) -> list[tuple[str, str]]:
    """(entity, item) pairs of links that state identity."""
    return [(entity.value, item.value) for entity, item, _ in rows_of_links(reader, "identities")]


def quads_of_links(reader: GraphReader, matches: Iterable[Match]) -> list[Quad]:
    """All quads of these links and their provenance in the graph of links."""
    mapping = reader.minter.mapping
    chosen = {(match.subject, match.predicate, match.object) for match in matches}
    nodes = {mapping(*triple) for triple in chosen}
    quads = []
    for quad in reader.store.quads(reader.minter.links_graph):
        subject = text_of(quad.subject)
        if subject in nodes or (subject, quad.predicate.value, text_of(quad.object)) in chosen:
            quads.append(quad)
    return quads
