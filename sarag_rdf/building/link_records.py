"""A link between an entity and an item with its provenance, in memory and as quads.

The link is one triple. Its provenance is at a node whose IRI is derived from the triple, in the
terms of SSSOM (https://w3id.org/sssom/).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, Term
from sarag_rdf.base.terms import iri, iri_or_literal, text_of
from sarag_rdf.base.vocab import OWL, PROV, RDF, SARAG, SEMAPV, SKOS, SSSOM, XSD
from sarag_rdf.graph.parts import LINKS
from sarag_rdf.graph.reader import GraphReader, Part

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


_Node = list[tuple[NamedNode, Term]]
"""What the node with the provenance of a link states."""


def following_links(reader: GraphReader, change: Change) -> tuple[set[Quad], set[Quad]]:
    """Quads of links to delete and to insert, so that links start from the entities of a change.

    A link follows the name of the entity for which it was accepted. If that is not where it starts
    now, its node refers to the entity with prov:wasDerivedFrom, so that a link comes back when a
    merge is undone. Of equal links, which merged entities may have, one node remains.
    """
    graph = NamedNode(reader.minter.links_graph)
    old = set(reader.store.quads(graph.value))
    subjects: defaultdict[str, _Node] = defaultdict(list)
    for quad in sorted(old, key=str):
        subjects[iri(quad.subject)].append((quad.predicate, iri_or_literal(quad.object)))
    nodes = {node: each for node, each in subjects.items() if _one(each, OWL.annotatedSource)}
    origins = {node: _origins(statements) for node, statements in nodes.items()}
    targets = _targets(reader, change, {o for each in origins.values() for o in each})
    links: defaultdict[tuple[str, ...], list[tuple[bool, _Node, str]]] = defaultdict(list)
    described = set(nodes)
    for node, statements in nodes.items():
        source, property_, item = (
            _one(statements, end)
            for end in (OWL.annotatedSource, OWL.annotatedProperty, OWL.annotatedTarget)
        )
        described.add(" ".join((source, property_, item)))
        for origin in origins[node]:
            target = targets.get(origin, source)
            links[target, property_, item].append((target != source, statements, origin))
    new = {quad for quad in old if not described & {iri(quad.subject), _spelled(quad)}}
    for (target, property_, item), found in links.items():
        new.add(Quad(NamedNode(target), NamedNode(property_), NamedNode(item), graph))
        mapping = NamedNode(reader.minter.mapping(target, property_, item))
        _, statements, _ = min(found, key=lambda each: each[0])
        new |= {
            Quad(mapping, predicate, value, graph)
            for predicate, value in statements
            if predicate not in (OWL.annotatedSource, PROV.wasDerivedFrom)
        }
        new.add(Quad(mapping, OWL.annotatedSource, NamedNode(target), graph))
        if (own := {origin for _, _, origin in found}) != {target}:
            new |= {Quad(mapping, PROV.wasDerivedFrom, NamedNode(origin), graph) for origin in own}
    return old - new, new - old


def _spelled(quad: Quad) -> str:
    return " ".join((iri(quad.subject), quad.predicate.value, text_of(quad.object)))


def _one(statements: _Node, property_: NamedNode) -> str:
    return min((text_of(value) for p, value in statements if p == property_), default="")


def _origins(statements: _Node) -> list[str]:
    """The entities for which a link was accepted."""
    origins = [text_of(value) for p, value in statements if p == PROV.wasDerivedFrom]
    return origins or [_one(statements, OWL.annotatedSource)]


def _targets(reader: GraphReader, change: Change, entities: Collection[str]) -> dict[str, str]:
    """Entity -> the entity that its name refers to after a change."""
    minter = reader.minter
    mentions = {entity: minter.mention_of_entity(entity) for entity in entities}
    known = frozenset(mentions.values())

    def names(quads: Iterable[Quad]) -> dict[str, str]:
        return {
            iri(quad.subject): text_of(quad.object)
            for quad in quads
            if quad.predicate == SARAG.refersTo and iri(quad.subject) in known
        }

    referred: dict[str, str] = {}
    if entities and minter.kg_graph not in change.drop:
        rows = reader.select_provenance_for("mention-targets", known)
        referred = {mention.value: entity.value for mention, entity in rows}
    deleted, inserted = names(change.delete), names(change.insert)
    referred = {m: entity for m, entity in referred.items() if deleted.get(m) != entity} | inserted
    return {
        entity: referred[mention] for entity, mention in mentions.items() if mention in referred
    }
