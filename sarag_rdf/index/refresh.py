"""Keeps the traversed graph equal to its evidence when sources come, change or go.

`refresh` computes, before anything is written, what a change of source graphs means for the
traversed graph, so that both are written in one atomic step. It looks only at the entities that
the change touches. `rebuild` computes everything anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyoxigraph import NamedNode, Quad, Triple

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.derive import MENTION_PROPERTIES, Evidence, derive
from sarag_rdf.index.resolve import resolve
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Change
from sarag_rdf.terms import iri
from sarag_rdf.vocab import SARAG

_ALIAS = SARAG.aliasMention.value
_NAME = SARAG.normalizedName.value


class _After:
    """The evidence as it will be: that of a store without the changed graphs, and new evidence."""

    def __init__(self, reader: GraphReader | None, changed: Iterable[str], new: Evidence) -> None:
        self._reader = reader
        self._changed = frozenset(changed)
        self._new = new
        self._new_owners: defaultdict[str, set[str]] = defaultdict(set)
        for mention, property_, value, _ in new.properties:
            if property_ == _ALIAS:
                self._new_owners[value.value].add(mention)

    def _rows(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of an evidence query whose last column, the graph, is an unchanged source's."""
        if self._reader is not None:
            prefix = self._reader.minter.source_graphs
            for row in self._reader.kept_for(name, iris):
                graph = row[-1].value
                if graph.startswith(prefix) and graph not in self._changed:
                    yield row

    def properties(self, mentions: set[str]) -> Evidence:
        """Evidence with the properties of the given mentions only."""
        rows = self._rows("mention-properties", mentions)
        found = {
            (m.value, p.value, v, g.value) for m, p, v, g in rows if p.value in MENTION_PROPERTIES
        }
        return Evidence(found | {row for row in self._new.properties if row[0] in mentions})

    def owners(self, aliases: set[str]) -> dict[str, frozenset[str]]:
        """Who gives each name as an alias."""
        owners = {alias: set(self._new_owners.get(alias, ())) for alias in aliases}
        for mention, alias, _ in self._rows("alias-owners", aliases):
            owners[alias.value].add(mention.value)
        return {alias: frozenset(found) for alias, found in owners.items()}

    def links(self, mentions: set[str]) -> Evidence:
        """Evidence with the uses and relationships of the given mentions only."""
        rows = self._rows("mention-uses", mentions)
        uses = {(text.value, property_.value, m.value) for text, property_, m, _ in rows}
        uses |= {row for row in self._new.uses if row[2] in mentions}
        relationships = {
            (r.value, s.value, o.value)
            for r, s, o, _ in self._rows("mention-relationships", mentions)
        }
        relationships |= {
            row for row in self._new.relationships if row[1] in mentions or row[2] in mentions
        }
        return Evidence(uses=uses, relationships=relationships)


def refresh(reader: GraphReader, drop: Sequence[str], insert: Sequence[Quad]) -> Change:
    """Complete a change of source graphs with what follows for the traversed graph.

    `drop` names source graphs that go (or are replaced); `insert` are quads of source graphs
    that come. Returns the whole change; nothing is written.
    """
    old = Evidence.of(quad for graph in drop for quad in reader.store.quads(graph))
    new = Evidence.of(insert)
    after = _After(reader, drop, new)

    rows = old.properties | new.properties
    aliases = {v.value for _, p, v, _ in rows if p == _ALIAS}
    affected = {m for m, *_ in rows} | aliases
    affected |= {mention for *_, mention in old.uses | new.uses}
    affected |= {v.value for _, p, v, _ in after.properties(aliases).properties if p == _ALIAS}
    new_targets = _resolve(after, reader.minter, affected)
    old_targets = _targets(reader, affected)

    entities = set(new_targets.values()) | set(old_targets.values())
    current = _entity_triples(reader, entities)
    refers_to = dict(new_targets)
    for triple in current:
        if triple.predicate == SARAG.refersTo and iri(triple.subject) not in affected:
            refers_to[iri(triple.subject)] = iri(triple.object)
    mentions = set(refers_to)
    evidence = after.properties(mentions)
    evidence.add(after.links(mentions))
    others = {m for _, s, o in evidence.relationships for m in (s, o)} - mentions
    refers_to |= _targets(reader, others)
    desired = {t for t in derive(evidence, refers_to) if _touches(t, entities)}

    graph = NamedNode(reader.minter.kg_graph)
    return Change(
        drop=tuple(drop),
        delete=tuple(_in_graph(current - desired, graph)),
        insert=(*insert, *_in_graph(desired - current, graph)),
    )


def rebuild(reader: GraphReader) -> Change:
    """The change that makes the traversed graph anew from all evidence."""
    minter = reader.minter
    graphs = [graph.value for (graph,) in reader.kept("source-graphs")]
    evidence = Evidence.of(quad for graph in graphs for quad in reader.store.quads(graph))
    after = _After(None, (), evidence)
    targets = _resolve(after, minter, {m for m, *_ in evidence.properties})
    graph = NamedNode(minter.kg_graph)
    return Change(
        drop=(minter.kg_graph,), insert=tuple(_in_graph(derive(evidence, targets), graph))
    )


def _resolve(after: _After, minter: Minter, names: set[str]) -> dict[str, str]:
    """Mention -> entity for those of the names that some source mentions."""
    owners = after.owners(names)
    further = set().union(*owners.values()) - names if owners else set()
    owners |= after.owners(further)
    normalized = {
        m: v.value for m, p, v, _ in after.properties(names | further).properties if p == _NAME
    }
    present = sorted(names & set(normalized))
    targets = resolve(present, owners, normalized.__getitem__)
    return {m: minter.entity_of_mention(target) for m, target in targets.items()}


def _targets(reader: GraphReader, mentions: set[str]) -> dict[str, str]:
    rows = reader.kept_for("mention-targets", mentions)
    return {mention.value: entity.value for mention, entity in rows}


def _entity_triples(reader: GraphReader, entities: set[str]) -> set[Triple]:
    return {Triple(s, p, o) for _, s, p, o in reader.kept_for("entity-triples", entities)}


def _touches(triple: Triple, entities: set[str]) -> bool:
    ends = (triple.subject, triple.object)
    return any(isinstance(end, NamedNode) and end.value in entities for end in ends)


def _in_graph(triples: Iterable[Triple], graph: NamedNode) -> list[Quad]:
    return [Quad(t.subject, t.predicate, t.object, graph) for t in sorted(triples, key=str)]
