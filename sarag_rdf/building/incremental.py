"""Incremental view maintenance: the traversed graph is a materialised view of the evidence.

`refresh` computes the change of the view from a change of source graphs, reading only the evidence
that the change affects; `recompute` gives the same result from all evidence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import RDF, SARAG, SKOS, TYPE_CLASSES, Term, iri, iri_or_literal
from sarag_rdf.building import derive
from sarag_rdf.building.decision_records import Decisions
from sarag_rdf.building.derive import (
    ALIAS,
    ALIAS_MENTION,
    ENTITY_CLASS,
    ENTITY_TYPE,
    NAME,
    USE_OF,
    VALUE,
    ClassRules,
    SourceEvidence,
    Statement,
    Vote,
)
from sarag_rdf.building.retained import (
    NotIncrementalError,
    RetainedEvidence,
    VoteCounts,
    mention_targets,
    still_related,
)
from sarag_rdf.graph.graph_reader import GraphReader

_ViewDifference = tuple[set[Triple], set[Triple]]
"""Triples whose support has changed: those that may have lost it, and those that are supported now.
Triples in both sets do not change."""
_RESOLUTION_PROPERTIES = (USE_OF, ALIAS_MENTION)
"""Properties of mentions that determine their entity."""
_VOTED = {SKOS.prefLabel: (NAME, ALIAS), SKOS.altLabel: (NAME, ALIAS), SARAG.value: (VALUE,)}
"""Property of an entity -> the properties of the votes that it may follow from."""
VoteChange = tuple[str, Term, int]
"""(property, value, change of the number of sources)"""


@dataclass(slots=True)
class MentionTargets:
    """The entities of mentions before and after a change, for the mentions looked up so far."""

    reader: GraphReader
    before: dict[str, str]
    after: dict[str, str]
    _known: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._known = self.before.keys() | self.after.keys()

    @property
    def moved(self) -> set[str]:
        """Mentions whose entity has changed, including new and removed mentions."""
        names = self.before.keys() | self.after.keys()
        return {name for name in names if self.before.get(name) != self.after.get(name)}

    def load_targets(self, names: Iterable[str]) -> None:
        """Look up the entities of further mentions, which do not change."""
        unknown = set(names) - self._known
        targets = mention_targets(self.reader, unknown)
        self._known |= unknown
        self.before |= targets
        self.after |= targets


class EntityNames:
    """The labels and classes of entities in the store."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """From rows of (entity, property, value)."""
        self._triples: defaultdict[str, set[Triple]] = defaultdict(set)
        for entity, property_, value in rows:
            self._triples[entity.value].add(Triple(entity, property_, value))

    def __contains__(self, entity: str) -> bool:
        return entity in self._triples

    def triples(self, entities: Iterable[str]) -> set[Triple]:
        """The triples of these entities."""
        return {triple for entity in entities for triple in self._triples.get(entity, ())}

    def candidate_votes(self, refers_to: Mapping[str, str]) -> set[Vote]:
        """All votes on these mentions that could have produced the existing labels and classes."""
        votes: set[Vote] = set()
        for mention, entity in refers_to.items():
            votes |= {(mention, ENTITY_TYPE, Literal(type_)) for type_ in TYPE_CLASSES}
            for triple in self._triples.get(entity, ()):
                properties = _VOTED.get(triple.predicate, ())
                votes |= {(mention, p, iri_or_literal(triple.object)) for p in properties}
        return votes

    def is_unchanged(self, entity: str, changes: Iterable[VoteChange]) -> bool:
        """Whether the outcome of the votes certainly does not change, without counting them.

        More votes for a winner, and fewer for a class that has lost, change nothing. A name with
        fewer votes may have lost its last one.
        """
        return all(self._is_vote_unchanged(entity, *changed) for changed in changes)

    def _is_vote_unchanged(self, entity: str, property_: str, value: Term, change: int) -> bool:
        if property_ == NAME:
            return change > 0 and self._has(entity, SKOS.prefLabel, value)
        if property_ == ALIAS:
            is_alternative = self._has(entity, SKOS.altLabel, value)
            return self._has(entity, SKOS.prefLabel, value) or (change > 0 and is_alternative)
        if property_ == VALUE:
            return change > 0 and self._has(entity, SARAG.value, value)
        if property_ == ENTITY_TYPE and value.value != "misc" and value.value in TYPE_CLASSES:
            return self._has(entity, RDF.type, TYPE_CLASSES[value.value]) == (change > 0)
        return True

    def _has(self, entity: str, property_: NamedNode, value: Term) -> bool:
        triple = Triple(NamedNode(entity), property_, value)
        return triple in self._triples.get(entity, ())


def refresh(
    reader: GraphReader,
    drop: Sequence[str],
    insert: Sequence[Quad],
    vote_counts: VoteCounts | None = None,
    decisions: Decisions | None = None,
) -> Change:
    """The change of source graphs, and that of the traversed graph which follows from it.

    `drop` are the source graphs to delete or replace; `insert` are quads of new source graphs.
    Nothing is written. `vote_counts` is the writer's cache of counts, which is updated as if the
    change had been made. `decisions` are those after the change, if they change too.
    """
    known = Decisions.read(reader)
    decisions = known if decisions is None else decisions
    quads = (quad for graph in dict.fromkeys(drop) for quad in reader.store.quads(graph))
    old, new = SourceEvidence.of(quads, known), SourceEvidence.of(insert, decisions)
    vote_counts = VoteCounts() if vote_counts is None else vote_counts
    variants = decisions.variant_names | known.variant_names
    retained = RetainedEvidence(reader, frozenset(drop), old, vote_counts, decisions, variants)
    try:
        if decisions.typing != known.typing:
            raise NotIncrementalError  # noqa: TRY301
        retained.require_no_variants(
            old.names | new.names | (decisions.variant_names ^ known.variant_names)
        )
        retained.require_no_variants(
            name for (name, _), _ in decisions.variants.items() ^ known.variants.items()
        )
        view = _ViewChange(reader, retained, old, new, decisions)
        removed, added = view.difference(set(decisions.changed_mentions(known)))
        change = _to_change(reader, drop, insert, removed, added)
    except NotIncrementalError:
        change = recompute(reader, drop, insert, decisions)
    vote_counts.update(old, new)
    return change


def recompute(
    reader: GraphReader,
    drop: Sequence[str],
    insert: Sequence[Quad],
    decisions: Decisions | None = None,
) -> Change:
    """The same change as `refresh`, computed from all retained evidence.

    The graphs in `drop`, which may also be ontologies, are not read, so their content may be
    invalid.
    """
    decisions = decisions or Decisions.read(reader)
    added = _derive_all(reader, decisions, without=drop, quads=insert)
    if not added:
        return Change((*drop, reader.minter.kg_graph), (), tuple(insert))
    removed = {quad.triple for quad in reader.store.quads(reader.minter.kg_graph)}
    return _to_change(reader, drop, insert, removed, added)


def rebuild(reader: GraphReader, decisions: Decisions | None = None) -> Change:
    """The change that rebuilds the traversed graph from all evidence and decisions."""
    graph = reader.minter.kg_graph
    triples = _derive_all(reader, decisions or Decisions.read(reader))
    return Change(drop=(graph,), insert=_in_graph(triples, graph))


def _to_change(
    reader: GraphReader,
    drop: Sequence[str],
    insert: Sequence[Quad],
    removed: set[Triple],
    added: set[Triple],
) -> Change:
    graph = reader.minter.kg_graph
    delete = _in_graph(removed - added, graph)
    return Change(tuple(drop), delete, (*insert, *_in_graph(added - removed, graph)))


def _in_graph(triples: Iterable[Triple], graph: str) -> tuple[Quad, ...]:
    name = NamedNode(graph)
    ordered = sorted(triples, key=str)
    return tuple(Quad(t.subject, t.predicate, t.object, name) for t in ordered)


def _derive_all(
    reader: GraphReader,
    decisions: Decisions,
    without: Sequence[str] = (),
    quads: Sequence[Quad] = (),
) -> set[Triple]:
    """Derive the traversed graph from all evidence except some source graphs, plus `quads`."""
    graphs = [graph.value for (graph,) in reader.select_provenance("source-graphs")]
    unchanged = (q for graph in graphs if graph not in without for q in reader.store.quads(graph))
    evidence = SourceEvidence.of(chain(unchanged, quads), decisions)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for mention, alias in derive.alias_claims_in(evidence.votes):
        owners[alias].add(mention)
    names = derive.normalized_name_lookup(evidence.votes)
    roots = derive.resolve(
        sorted(derive.mentioned_in(evidence.votes)), decisions.owners(owners), names
    )
    targets = derive.entities(reader.minter, roots, decisions)
    for variant in sorted(decisions.bases, reverse=True):
        name = decisions.bases[variant]
        if variant in targets and name not in roots:
            targets[name] = targets[variant]
    rules = ClassRules.read(reader, derive.properties_of(evidence.statements), without, quads)
    return derive.derive(evidence, targets, rules, decisions)


@dataclass(slots=True)
class _ViewChange:
    """The change of the view when `old` evidence is replaced with `new`."""

    reader: GraphReader
    retained: RetainedEvidence
    old: SourceEvidence
    new: SourceEvidence
    decisions: Decisions
    """Those after the change."""
    targets: MentionTargets = field(init=False)

    def difference(self, changed_decisions: set[str]) -> _ViewDifference:
        """The triples that lose support, and those that have it now.

        `changed_decisions` are the mentions that changed decisions are about.
        """
        self._find_targets(changed_decisions)
        statements = self._statements()
        differences = (
            self._mentions(),
            self._texts(),
            self._relationships(),
            statements,
            self._names(*statements),
        )
        removed: set[Triple] = set().union(*(difference[0] for difference in differences))
        added: set[Triple] = set().union(*(difference[1] for difference in differences))
        return removed, added

    def _find_targets(self, changed_decisions: set[str]) -> None:
        """Find the entities of the mentions in the change, and of all whose entity changes."""
        reader, retained, new, decisions = self.reader, self.retained, self.new, self.decisions
        claims, mentioned = derive.alias_claims_in(new.votes), derive.mentioned_in(new.votes)
        votes = self.old.votes.keys() ^ new.votes.keys()
        flipped = {vote for vote in votes if vote[1] in _RESOLUTION_PROPERTIES}
        flipped -= retained.supported(flipped)
        affected = {alias for _, alias in derive.alias_claims_in(flipped)} | changed_decisions
        claiming = {
            (m.value, a.value) for m, a in reader.select_provenance_for("mention-claims", affected)
        }
        affected |= {alias for m, alias in claiming | claims if m in affected}
        decision_names = decisions.names & affected
        affected |= decisions.names
        retained.require_no_variants(affected)

        before = mention_targets(reader, affected | self.old.mentions | new.mentions)
        removed = derive.mentioned_in(flipped) - mentioned
        affected |= mentioned - before.keys()
        present = (before.keys() | mentioned) - removed
        roots = self._resolved(affected & present)
        after = {name: before[name] for name in before if name in present}
        after |= derive.entities(reader.minter, roots, decisions)

        decision_names |= {
            name for name in decisions.names if before.get(name) != after.get(name)
        } | changed_decisions
        members = self._cluster_members(before, after, roots, decision_names)
        members -= roots.keys() | removed
        retained.require_no_variants(members)
        before |= mention_targets(reader, members)
        roots |= self._resolved(members)
        after |= derive.entities(reader.minter, roots, decisions)
        self.targets = MentionTargets(reader, before, after)

    def _cluster_members(
        self,
        before: Mapping[str, str],
        after: Mapping[str, str],
        roots: Mapping[str, str],
        names: set[str],
    ) -> set[str]:
        """All mentions in the clusters of these, before or after the change.

        Name resolution may move a mention to another entity and a decision move it back, but not
        the other mentions of its cluster, so these have to be resolved too.
        """
        affected = {side[name] for side in (before, after) for name in names & side.keys()}
        targets = mention_targets(self.reader, {roots[name] for name in names & roots.keys()})
        affected |= set(targets.values())
        return {mention for _, mention in self._mentions_of(affected)}

    def _resolved(self, names: set[str]) -> dict[str, str]:
        """The resolution of mentions after the change: to themselves, or to one other."""
        owners = self.retained.owners(names)
        for mention, alias in derive.alias_claims_in(self.new.votes):
            owners[alias].add(mention)
        further = {owner for name in names for owner in owners[name]} - names
        for alias, mentions in self.retained.owners(further).items():
            owners[alias] |= mentions
        new_name = derive.normalized_name_lookup(self.new.votes)

        def normalized(mention: str) -> str:
            rows = self.reader.select_provenance_for("normalized-names", [mention])
            return new_name(mention) or min((name.value for _, name in rows), default="")

        return derive.resolve(sorted(names), self.decisions.owners(owners), normalized)

    def _mentions_of(self, entities: Iterable[str]) -> list[tuple[str, str]]:
        """(entity, mention) pairs of entities in the view."""
        rows = self.reader.select_provenance_for("entity-mentions", entities)
        return [(entity.value, mention.value) for entity, mention in rows]

    def _mentions(self) -> _ViewDifference:
        """The triples of mentions that are new or removed, or that refer to another entity."""
        targets, moved = self.targets, self.targets.moved
        rows = self.reader.select_provenance_for("normalized-names", moved & targets.before.keys())
        before: dict[str, Literal] = {mention.value: name for mention, name in rows}
        after = before | derive.normalized_names(self.new.votes)
        removed: set[Triple] = set()
        added: set[Triple] = set()
        for mention in moved & targets.before.keys():
            removed |= derive.mention_triples(mention, targets.before[mention], before.get(mention))
        for mention in moved & targets.after.keys():
            added |= derive.mention_triples(mention, targets.after[mention], after.get(mention))
        return removed, added

    def _texts(self) -> _ViewDifference:
        """Links of texts: those of the change, and those to names with a new target."""
        targets, old, new = self.targets, self.old.text_mentions, self.new.text_mentions
        unchanged = self.retained.text_mentions(mentions=targets.moved)
        targets.load_targets(mention for _, _, mention in old | new)
        removed = derive.text_links(old | unchanged, targets.before)
        added = derive.text_links(new | unchanged, targets.after)
        others = self.retained.text_mentions(texts={iri(link.subject) for link in removed - added})
        targets.load_targets(mention for _, _, mention in others)
        return removed, added | derive.text_links(others, targets.after)

    def _relationships(self) -> _ViewDifference:
        """Links of relationships, and between the entities that they relate."""
        targets, retained = self.targets, self.retained
        unchanged = retained.relationships(mentions=targets.moved)
        before, after = self.old.relationships | unchanged, self.new.relationships | unchanged
        targets.load_targets(mention for _, *ends in before | after for mention in ends)
        removed = derive.end_links(before, targets.before)
        lost = {iri(link.subject) for link in removed - derive.end_links(after, targets.after)}
        after |= retained.relationships(relationships=lost)
        targets.load_targets(mention for _, *ends in after for mention in ends)

        pair_of = {
            row[0]: pair for row in before for pair in derive.related_pairs([row], targets.before)
        }
        pairs = derive.related_pairs(after, targets.after)
        unrelated = set(pair_of.values()) - pairs
        unrelated -= still_related(self.reader, unrelated, pair_of)
        return (
            removed | {derive.related_to_triple(*pair) for pair in unrelated},
            derive.end_links(after, targets.after)
            | {derive.related_to_triple(*pair) for pair in pairs},
        )

    def _statements(self) -> _ViewDifference:
        """Statements of entities, and classes of entities in terms of ontologies.

        If an entity may lose a statement or class, all its statements and classes are derived
        again.
        """
        reader, retained, targets = self.reader, self.retained, self.targets
        decisions = self.decisions
        unchanged = retained.statements(mentions=targets.moved)
        before, after = self.old.statements | unchanged, self.new.statements | unchanged
        rules = ClassRules.read(reader, derive.properties_of(before | after))
        moved_votes = retained.class_votes(targets.moved)
        old_votes = self.old.votes.keys() | moved_votes
        new_votes = self.new.votes.keys() | moved_votes
        mentions = derive.mentions_of(before | after)
        mentions |= {m for m, property_, _ in old_votes | new_votes if property_ == ENTITY_CLASS}
        if not mentions and not decisions.classes:
            return set(), set()
        targets.load_targets(mentions | decisions.classes.keys())

        def derived(
            statements: set[Statement], votes: Collection[Vote], refers_to: Mapping[str, str]
        ) -> set[Triple]:
            claims = derive.claimed_classes(votes, refers_to)
            claims |= derive.implied_classes(statements, refers_to, rules, decisions)
            return derive.statement_triples(
                statements, refers_to, decisions
            ) | derive.class_triples(claims, refers_to, decisions)

        removed = derived(before, old_votes, targets.before)
        added = derived(after, new_votes, targets.after)
        relationships = {statement.relationship for statement in before}
        lost = {iri(triple.subject) for triple in removed - added}
        affected = lost - relationships
        moved = targets.moved & (targets.before.keys() | decisions.classes.keys())
        sides = (targets.before, targets.after)
        affected |= {side[m] for side in sides for m in moved if m in side}
        if lost or affected:
            statements = after | retained.statements(
                entities=affected, relationships=lost & relationships
            )
            rules = ClassRules.read(reader, derive.properties_of(statements))
            names = {mention for _, mention in self._mentions_of(affected)}
            targets.load_targets(names | derive.mentions_of(statements))
            votes = new_votes | retained.class_votes(names)
            added |= derived(statements, votes, targets.after)
            removed |= self._classes(affected)
        return removed, added

    def _classes(self, entities: Iterable[str]) -> set[Triple]:
        """The classes of entities in the view."""
        rows = self.reader.select_provenance_for("entity-classes", entities)
        return {Triple(entity, RDF.type, class_) for entity, class_ in rows}

    def _names(self, removed: set[Triple], added: set[Triple]) -> _ViewDifference:
        """Labels and types of the entities whose votes or classes change.

        `removed` and `added` are the differences of their statements and classes.
        """
        retained, targets, moved = self.retained, self.targets, self.targets.moved
        entities = {t[name] for t in (targets.before, targets.after) for name in moved if name in t}
        given = {triple for triple in added if triple.predicate == RDF.type}
        stored = self._classes({iri(triple.subject) for triple in removed | given})
        entities |= {iri(triple.subject) for triple in ((stored - removed) | given) ^ stored}
        unmoved = {n: e for n, e in targets.after.items() if n not in moved}
        changes = changed_votes(self.old, self.new, unmoved)
        affected = entities | changes.keys()
        names = EntityNames(self.reader.select_provenance_for("entity-names", affected))
        entities |= {e for e, votes in changes.items() if not names.is_unchanged(e, votes)}

        pairs = self._mentions_of(entities)
        unchanged = {mention: entity for entity, mention in pairs if mention not in moved}
        new = {name: targets.after[name] for name in moved if name in targets.after}
        recounted = new.keys() | {n for n, entity in unchanged.items() if entity not in names}
        counted = {name: entity for name, entity in unchanged.items() if name not in recounted}
        votes, more = retained.lower_bounds(names.candidate_votes(counted))
        mentions = unchanged | new
        new_votes = Counter({v: n for v, n in self.new.votes.items() if v[0] in mentions})
        new_votes += retained.votes(recounted)
        votes |= retained.count(votes_to_count(votes + new_votes, more, mentions))
        return names.triples(entities), derive.entity_names(
            votes + new_votes, mentions, self.decisions,
            (self._classes(entities) - removed) | given,
        )  # fmt: skip


def changed_votes(
    old: SourceEvidence, new: SourceEvidence, refers_to: Mapping[str, str]
) -> dict[str, list[VoteChange]]:
    """Entity -> changes of its votes when `old` evidence is replaced with `new`."""
    difference = Counter(new.votes)
    difference.subtract(old.votes)
    changes: defaultdict[str, list[VoteChange]] = defaultdict(list)
    for (mention, property_, value), change in difference.items():
        if change and mention in refers_to:
            changes[refers_to[mention]].append((property_, value, change))
    return dict(changes)


def votes_to_count(
    votes: Mapping[Vote, int], more: Collection[Vote], refers_to: Mapping[str, str]
) -> set[Vote]:
    """Votes that must be counted exactly, of those in `more`, whose counts are lower bounds.

    The exact count is not needed if the vote wins already with its lower bound.
    """
    groups: defaultdict[tuple[str, str, str | None], list[Vote]] = defaultdict(list)
    for vote in votes:
        mention, property_, value = vote
        if mention in refers_to and (property_, value.value) != (ENTITY_TYPE, "misc"):
            language = value.language if isinstance(value, Literal) else None
            groups[refers_to[mention], property_, language].append(vote)
    uncertain = {vote for vote in more if not votes.get(vote)}
    for (_, property_, _), group in groups.items():
        unknown = {vote for vote in group if vote in more}
        if unknown and property_ not in (ALIAS, VALUE, ENTITY_CLASS):
            most = max(unknown, key=votes.__getitem__)
            rest = max((votes[vote] for vote in group if vote != most), default=0)
            uncertain |= unknown if len(unknown) > 1 or votes[most] <= rest else set()
    return uncertain
