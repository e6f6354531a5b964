"""Links follow the entities that they start from when these are merged or split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import OWL, PROV, SARAG, Term, iri, iri_or_literal, text_of
from sarag_rdf.graph.graph_reader import GraphReader

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
