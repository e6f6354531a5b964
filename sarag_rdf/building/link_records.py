"""Links between entities and items: as records, and as they follow their entities.

A link is one triple in the graph of links. Its provenance is at a node whose IRI is derived from
the triple. Links follow the entities that they start from when these are merged or split.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from pyoxigraph import Quad

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import OWL, SARAG, SKOS, SSSOM, iri, text_of
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.records import NO_MAPPING as NO_MAPPING
from sarag_rdf.graph.records import Match as Match
from sarag_rdf.graph.records import by_subject, record_of

EXACT = SKOS.exactMatch.value
SAME_AS = OWL.sameAs.value
PREDICATES = (
    EXACT,
    SAME_AS,
    *(SKOS[f"{name}Match"].value for name in ("close", "broad", "narrow", "related")),
)
"""Predicates of links."""


def quads_of(minter: Minter, match: Match) -> list[Quad]:
    """The link and its provenance, as quads of the graph of links."""
    return replace(match, subject_label="", comment="").quads(minter, minter.links_graph)


def read_links(reader: GraphReader) -> list[Match]:
    """All links of a graph, by subject, object and predicate; without labels of subjects."""
    quads = list(reader.store.quads(reader.minter.links_graph))
    triples = {_triple(quad) for quad in quads}
    links = [
        record_of(Match, node)
        for node in by_subject(quads).values()
        if any(quad.predicate == SSSOM.mapping_justification for quad in node)
    ]
    links = [link for link in links if link.triple in triples]
    return sorted(links, key=lambda match: (*match.pair, match.predicate))


def identities(reader: GraphReader) -> list[tuple[str, str]]:
    """(entity, item) pairs of links that state identity, in a fixed order."""
    links = map(_triple, reader.store.quads(reader.minter.links_graph))
    return sorted({(entity, item) for entity, p, item in links if p in (EXACT, SAME_AS)})


def quads_of_links(reader: GraphReader, matches: Iterable[Match]) -> list[Quad]:
    """All quads of these links and their provenance in the graph of links."""
    chosen = {match.triple for match in matches}
    nodes = {reader.minter.mapping(*triple) for triple in chosen}
    quads = reader.store.quads(reader.minter.links_graph)
    return [quad for quad in quads if iri(quad.subject) in nodes or _triple(quad) in chosen]


def _triple(quad: Quad) -> tuple[str, str, str]:
    return iri(quad.subject), quad.predicate.value, text_of(quad.object)


def following_links(reader: GraphReader, change: Change) -> tuple[set[Quad], set[Quad]]:
    """Quads of links to delete and to insert, so that links start from the entities of a change.

    A link follows the name of the entity for which it was accepted. If that is not where it starts
    now, its node refers to the entity with prov:wasDerivedFrom, so that a link comes back when a
    merge is undone. Of equal links, which merged entities may have, one node remains.
    """
    minter, graph = reader.minter, reader.minter.links_graph
    old = set(reader.store.quads(graph))
    links = {
        node: record_of(Match, quads)
        for node, quads in by_subject(old).items()
        if any(quad.predicate == OWL.annotatedSource for quad in quads)
    }
    accepted = [(link, o) for link in links.values() for o in link.origins or (link.subject,)]
    targets = _targets(reader, change, {origin for _, origin in accepted})
    moved: defaultdict[tuple[str, ...], list[tuple[Match, str]]] = defaultdict(list)
    for link, origin in accepted:
        target = targets.get(origin, link.subject)
        moved[target, link.predicate, link.object].append((link, origin))
    described = {link.triple for link in links.values()}
    new = {q for q in old if iri(q.subject) not in links and _triple(q) not in described}
    for (target, *_), equal in moved.items():
        link, _ = min(equal, key=lambda pair: pair[0].subject != target)
        origins = {origin for _, origin in equal}
        others = () if origins == {target} else tuple(sorted(origins))
        link = replace(link, subject=target, origins=others)
        new |= {*link.quads(minter, graph)}
    return old - new, new - old


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
