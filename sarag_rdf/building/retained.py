"""The evidence and links that remain after a change of source graphs, read from the store.

Only the parts that a change affects are read. Queries whose results could be as large as the graph,
such as the sources of a vote or the relationships of an entity, have a LIMIT; exact counts are
queried only where the limit is reached.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyoxigraph import NamedNode

from sarag_rdf.base.iris import statement_iri, use_of
from sarag_rdf.base.vocab import SARAG, Term
from sarag_rdf.building.decision_records import Decisions
from sarag_rdf.building.derive import (
    ALIAS_MENTION,
    DOCUMENT,
    ENTITY_CLASS,
    ENTITY_TYPE,
    OBJECT,
    SUBJECT,
    NameUses,
    RelationshipEnds,
    SourceEvidence,
    Statement,
    TextMention,
    Vote,
    add_least,
    statement_of,
)
from sarag_rdf.graph.graph_reader import GraphReader

ROW_LIMIT = 200
"""The LIMIT of ``relationships-from.rq``, ``stating-graphs.rq`` and ``graphs-with-value.rq``."""
_BATCH = 50
"""Subjects or votes in one such query."""
_MAX_REMEMBERED = 100_000
"""Maximum number of cached votes."""

_TYPES = (ENTITY_TYPE, ENTITY_CLASS)
"""Properties with values that the uses of many names have."""

Pair = tuple[str, str]
_Row = tuple[Any, ...]
_T = TypeVar("_T")


@dataclass(slots=True)
class VoteCounts:
    """A cache of vote counts, which a writer passes from commit to commit."""

    _counts: dict[Vote, int] = field(default_factory=dict)

    def __contains__(self, vote: Vote) -> bool:
        return vote in self._counts

    def count(self, reader: GraphReader, votes: Collection[Vote]) -> Counter[Vote]:
        """The number of sources in the store for each of these votes."""
        if len(self._counts) + len(votes) > _MAX_REMEMBERED:
            self._counts.clear()
        unknown = [vote for vote in votes if vote not in self._counts]
        result = {_vote(row): int(sources.value) for *row, sources in _counts(reader, unknown)}
        self._counts.update((vote, result.get(vote, 0)) for vote in unknown)
        return Counter({vote: self._counts[vote] for vote in votes})

    def update(self, old: SourceEvidence, new: SourceEvidence) -> None:
        """Adjust the counts when `old` evidence is replaced with `new`."""
        for sign, evidence in ((-1, old), (1, new)):
            for vote, sources in evidence.votes.items():
                if vote in self._counts:
                    self._counts[vote] += sign * sources


class NotIncrementalError(Exception):
    """The change cannot be computed from the affected evidence alone.

    It affects a name with variants, for which counts over all sources are not valid, or decisions
    about classes and phrases have changed.
    """


@dataclass(slots=True)
class RetainedEvidence:
    """The evidence in a store, except that of the `changed` source graphs (the `old` evidence).

    `variant_names` are names with variants, before or after the change.
    """

    reader: GraphReader
    changed: frozenset[str]
    old: SourceEvidence
    vote_counts: VoteCounts
    decisions: Decisions
    variant_names: set[str]

    def _is_retained(self, graph: str) -> bool:
        """Whether a graph is a source graph that does not change."""
        return self.reader.minter.kind_of(graph) == "sources" and graph not in self.changed

    def require_no_variants(self, names: Iterable[str]) -> None:
        """Raise `NotIncrementalError` if one of the mentions is a variant or has variants."""
        if self.variant_names and not self.variant_names.isdisjoint(names):
            raise NotIncrementalError

    def _rows(self, name: str, iris: Iterable[str]) -> Iterator[_Row]:
        """Rows of an evidence query whose last column is a retained source graph."""
        return (
            r
            for r in self.reader.select_provenance_for(name, iris)
            if self._is_retained(r[-1].value)
        )

    def votes(self, mentions: set[str]) -> Counter[Vote]:
        """All votes on these mentions, with their numbers of sources."""
        self.require_no_variants(mentions)
        rows = self.reader.select_provenance_for("mention-votes", mentions)
        votes = Counter({_vote(vote): int(sources.value) for *vote, sources in rows})
        return self._without_removed(votes)

    def count(self, votes: Collection[Vote]) -> Counter[Vote]:
        """The number of sources for each of these votes."""
        return self._without_removed(self.vote_counts.count(self.reader, votes))

    def _without_removed(self, votes: Counter[Vote]) -> Counter[Vote]:
        return Counter({v: n - self.old.votes[v] for v, n in votes.items()})

    def lower_bounds(self, votes: Collection[Vote]) -> tuple[Counter[Vote], set[Vote]]:
        """Lower bounds of the counts of these votes, and the votes whose bound may not be exact."""
        self.require_no_variants(mention for mention, _, _ in votes)
        if self.reader.store.is_shared:
            return self.count(votes), set()
        known = [vote for vote in votes if vote in self.vote_counts]
        requested = sorted(set(votes).difference(known), key=str)
        types = [vote for vote in requested if vote[1] in _TYPES]
        others = [vote for vote in requested if vote[1] not in _TYPES]
        rows, many = _select_bounded(types, self._stating("stating-graphs"), _vote)
        more_rows, more = _select_bounded(others, self._stating("graphs-with-value"), _vote)
        rows, many = [*rows, *more_rows], many | more
        result = self.count(known)
        stating = {(_vote(row), row[3].value) for row in rows}
        result.update(vote for vote, graph in stating if self._is_retained(graph))
        return result, many

    def _stating(self, query: str) -> Callable[[Sequence[Vote]], Iterable[_Row]]:
        return lambda votes: self.reader.select_provenance_for_terms(query, _triples(votes))

    def supported(self, votes: Collection[Vote]) -> set[Vote]:
        """The votes that have at least one source."""
        result, many = self.lower_bounds(votes)
        result.update(self.count([vote for vote in many if not result[vote]]))
        return {vote for vote in votes if result[vote]}

    def owners(self, aliases: Iterable[str]) -> defaultdict[str, set[str]]:
        """Alias -> the mentions that have it as an alias."""
        aliases = list(aliases)
        self.require_no_variants(aliases)
        rows = self.reader.select_provenance_for("alias-claims", aliases)
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for mention, _, alias in self.supported({(m.value, ALIAS_MENTION, a) for m, a in rows}):
            owners[alias.value].add(mention)
        return owners

    def text_mentions(
        self, *, mentions: Iterable[str] = (), texts: Iterable[str] = ()
    ) -> set[TextMention]:
        """Links between texts and mentions, for these mentions and these texts."""
        asked = list(mentions)
        self.require_no_variants(asked)
        rows = [*self._rows("mention-uses", asked), *self._rows("text-uses", texts)]
        variant = self.decisions.variant
        return {(t.value, p.value, variant(m.value, g.value)) for t, p, m, g in rows}

    def relationships(
        self, *, mentions: Iterable[str] = (), relationships: Iterable[str] = ()
    ) -> set[RelationshipEnds]:
        """Relationships with one of the mentions as subject or object, and those given."""
        asked = list(mentions)
        self.require_no_variants(asked)
        result = set(self._rows("mention-relationships", asked))
        result |= set(self._rows("relationship-mentions", relationships))
        variant = self.decisions.variant
        return {
            (r.value, variant(subject.value, g.value), variant(object_.value, g.value))
            for r, subject, object_, g in result
        }

    def class_votes(self, mentions: Iterable[str]) -> set[Vote]:
        """The votes of retained sources for classes of an ontology."""
        rows = self._rows("class-votes", mentions)
        return {(mention.value, ENTITY_CLASS, class_) for mention, class_, _ in rows}

    def statements(
        self,
        *,
        mentions: Iterable[str] = (),
        entities: Iterable[str] = (),
        relationships: Iterable[str] = (),
    ) -> set[Statement]:
        """The statements of relationships with one of these ends, and of those given."""
        asked = list(mentions)
        self.require_no_variants(asked)
        reader, decisions = self.reader, self.decisions
        requested = {*relationships}
        requested |= {row[0].value for row in self._rows("mention-ends", asked)}
        requested |= {
            row[1].value for row in reader.select_provenance_for("typed-of-entities", entities)
        }
        properties: defaultdict[tuple[str, str], dict[str, Term]] = defaultdict(dict)
        for relationship, property_, value, graph in self._rows("statement-parts", requested):
            add_least(properties[relationship.value, graph.value], property_.value, value)
        uses = self._name_uses(properties) if decisions.phrases else NameUses()
        result = (
            statement_of(relationship, graph, parts, decisions, uses)
            for (relationship, graph), parts in properties.items()
        )
        return {statement for statement in result if statement is not None}

    def _name_uses(self, properties: Mapping[tuple[str, str], Mapping[str, Term]]) -> NameUses:
        """The types and values of the name uses at the ends of relationships."""
        iris = {
            use_of(parts[DOCUMENT].value, parts[end].value)
            for parts in properties.values()
            for end in (SUBJECT, OBJECT)
            if DOCUMENT in parts and end in parts
        }
        rows = self._rows("use-types", iris)
        return NameUses.of((u.value, g.value, p.value, v) for u, p, v, g in rows)


def mention_targets(reader: GraphReader, mentions: Iterable[str]) -> dict[str, str]:
    """Mention -> its entity in the traversed graph."""
    rows = reader.select_provenance_for("mention-targets", mentions)
    return {mention.value: entity.value for mention, entity in rows}


def still_related(
    reader: GraphReader, pairs: Collection[Pair], without: Mapping[str, Pair]
) -> set[Pair]:
    """The (subject, object) pairs that a relationship of the traversed graph relates.

    `without` are relationships to ignore, with their pairs. Relationships are read for subjects
    with few of them; for the others, their number is queried for each pair.
    """

    def ask(batch: Sequence[str]) -> Iterable[_Row]:
        return reader.select_provenance_for("relationships-from", batch)

    subjects = sorted({subject for subject, _ in pairs})
    rows, many = _select_bounded(subjects, ask, lambda row: str(row[0].value))
    joined = {(s.value, o.value) for s, o, r in rows if r.value not in without}
    related_to_triple = SARAG.relatedTo.value
    asked = [statement_iri(s, related_to_triple, o) for s, o in pairs if s in many]
    removed = Counter(without.values())
    for subject, object_, count in reader.select_provenance_for("joining", asked):
        pair = subject.value, object_.value
        if int(count.value) > removed[pair]:
            joined.add(pair)
    return joined.intersection(pairs)


def _counts(reader: GraphReader, votes: Sequence[Vote]) -> Iterator[_Row]:
    """Rows of votes and their numbers of sources; on an endpoint, of all votes on the mentions.

    Virtuoso 7.2.5 loses rows of VALUES that have both literals and IRIs.
    """
    if reader.store.is_shared:
        return reader.select_provenance_for("mention-votes", {mention for mention, _, _ in votes})
    return reader.select_provenance_for_terms("vote-counts", _triples(votes))


def _vote(row: Sequence[Any]) -> Vote:
    mention, property_, value = row[:3]
    return mention.value, property_.value, value


def _triples(votes: Iterable[Vote]) -> Iterator[tuple[Term, ...]]:
    return ((NamedNode(m), NamedNode(property_), value) for m, property_, value in votes)


def _select_bounded(
    items: Sequence[_T], ask: Callable[[Sequence[_T]], Iterable[_Row]], of: Callable[[_Row], _T]
) -> tuple[list[_Row], set[_T]]:
    """Rows for items, and the items that may have more rows.

    If a batch reaches the limit, the item with most rows is not queried again; if no item has a
    large share of the rows, the batch is halved.
    """
    batches = [items[n : n + _BATCH] for n in range(0, len(items), _BATCH)]
    result: list[_Row] = []
    many: set[_T] = set()
    while batches:
        batch = batches.pop()
        rows = list(ask(batch))
        if len(rows) < ROW_LIMIT:
            result += rows
            continue
        most, count = Counter(map(of, rows)).most_common(1)[0]
        if len(batch) > 1 and count < ROW_LIMIT // 4:
            half = len(batch) // 2
            batches += [batch[:half], batch[half:]]
            continue
        result += [row for row in rows if of(row) == most]
        many.add(most)
        rest = [item for item in batch if item != most]
        batches += [rest] if rest else []
    return result, many
