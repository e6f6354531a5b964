"""Evidence and links that stay when some source graphs go: what `refresh` needs to know of them.

Nothing is read but what a change touches, and of what any number of sources may say, or any number
of relationships join, no more than it takes to know what comes of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyoxigraph import NamedNode

from sarag_rdf.derive.decisions import Decided
from sarag_rdf.derive.derive import ALIAS_MENTION, Evidence, Joined, Use, Vote
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import statement_iri
from sarag_rdf.ports import Term
from sarag_rdf.vocab import SARAG

BOUND = 200
"""The LIMIT of ``relationships-from.rq`` and ``stating-graphs.rq``."""
_TOGETHER = 50
"""What is asked of these at a time."""
_MOST = 100_000
"""Votes that are remembered."""

Pair = tuple[str, str]
_Row = tuple[Any, ...]
_T = TypeVar("_T")


@dataclass(slots=True)
class Tally:
    """Votes that had to be counted, remembered by one writer from commit to commit."""

    _counts: dict[Vote, int] = field(default_factory=dict)

    def __contains__(self, vote: Vote) -> bool:
        return vote in self._counts

    def count(self, reader: GraphReader, votes: Collection[Vote]) -> Counter[Vote]:
        """How many sources give these votes, as the store is."""
        if len(self._counts) + len(votes) > _MOST:
            self._counts.clear()
        unknown = [vote for vote in votes if vote not in self._counts]
        found = {_vote(row): int(sources.value) for *row, sources in _counts(reader, unknown)}
        self._counts.update((vote, found.get(vote, 0)) for vote in unknown)
        return Counter({vote: self._counts[vote] for vote in votes})

    def changed(self, old: Evidence, new: Evidence) -> None:
        """What `old` says is gone, and what `new` says has come."""
        for sign, evidence in ((-1, old), (1, new)):
            for vote, sources in evidence.votes.items():
                if vote in self._counts:
                    self._counts[vote] += sign * sources


class VariantsConcernedError(Exception):
    """What is asked concerns a name with variants, which counts of all sources say nothing of."""


class RemainingEvidence:
    """A store as it is without some source graphs, which hold the `old` evidence."""

    def __init__(
        self,
        reader: GraphReader,
        changed: Iterable[str],
        old: Evidence,
        tally: Tally,
        decided: Decided,
        families: Iterable[str] = (),
    ) -> None:
        """`families` are further names whose variants are concerned."""
        self._reader = reader
        self._decided = decided
        self._families = decided.families.union(families)
        self._changed = frozenset(changed)
        self._old = old
        self._tally = tally

    def _stays(self, graph: str) -> bool:
        """Whether a graph is that of a source that stays."""
        return graph.startswith(self._reader.minter.source_graphs) and graph not in self._changed

    def check(self, names: Iterable[str]) -> None:
        """Raise `VariantsConcernedError` if one of the names has variants, or is one."""
        if self._families and not self._families.isdisjoint(names):
            raise VariantsConcernedError

    def _rows(self, name: str, iris: Iterable[str]) -> Iterator[_Row]:
        """Rows of an evidence query whose last column, the graph, is of a source that stays."""
        return (
            r for r in self._reader.select_provenance_for(name, iris) if self._stays(r[-1].value)
        )

    def votes(self, mentions: set[str]) -> Counter[Vote]:
        """How many sources say what of these names: all that they say."""
        self.check(mentions)
        rows = self._reader.select_provenance_for("mention-votes", mentions)
        votes = Counter({_vote(vote): int(sources.value) for *vote, sources in rows})
        return self._without_old(votes)

    def counted(self, votes: Collection[Vote]) -> Counter[Vote]:
        """How many sources give these votes."""
        return self._without_old(self._tally.count(self._reader, votes))

    def _without_old(self, votes: Counter[Vote]) -> Counter[Vote]:
        return Counter({v: n - self._old.votes[v] for v, n in votes.items()})

    def at_least(self, votes: Collection[Vote]) -> tuple[Counter[Vote], set[Vote]]:
        """How many sources give each of these votes, and of which there may be more than that."""
        self.check(mention for mention, _, _ in votes)
        if self._reader.store.is_shared:
            return self.counted(votes), set()
        known = [vote for vote in votes if vote in self._tally]
        wanted = sorted(set(votes).difference(known), key=str)
        rows, many = _bounded(wanted, self._stating, lambda row: _vote(row[:3]))
        found = self.counted(known)
        found.update(_vote(row[:3]) for row in rows if self._stays(row[3].value))
        return found, many

    def _stating(self, votes: Sequence[Vote]) -> Iterable[_Row]:
        return self._reader.select_provenance_for_terms("stating-graphs", _triples(votes))

    def stated(self, votes: Collection[Vote]) -> set[Vote]:
        """Those of the votes that some source gives."""
        found, many = self.at_least(votes)
        found.update(self.counted([vote for vote in many if not found[vote]]))
        return {vote for vote in votes if found[vote]}

    def owners(self, aliases: Iterable[str]) -> defaultdict[str, set[str]]:
        """Which names give each as an alias."""
        aliases = list(aliases)
        self.check(aliases)
        rows = self._reader.select_provenance_for("alias-claims", aliases)
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for mention, _, alias in self.stated({(m.value, ALIAS_MENTION, a) for m, a in rows}):
            owners[alias.value].add(mention)
        return owners

    def uses(self, *, mentions: Iterable[str] = (), texts: Iterable[str] = ()) -> set[Use]:
        """Uses of the names, and by the texts."""
        asked = list(mentions)
        self.check(asked)
        rows = [*self._rows("mention-uses", asked), *self._rows("text-uses", texts)]
        variant = self._decided.variant
        return {(t.value, p.value, variant(m.value, g.value)) for t, p, m, g in rows}

    def relationships(
        self, *, mentions: Iterable[str] = (), relationships: Iterable[str] = ()
    ) -> set[Joined]:
        """Relationships at an end of which one of the names stands, and those given."""
        asked = list(mentions)
        self.check(asked)
        found = set(self._rows("mention-relationships", asked))
        found |= set(self._rows("relationship-mentions", relationships))
        variant = self._decided.variant
        return {
            (r.value, variant(subject.value, g.value), variant(object_.value, g.value))
            for r, subject, object_, g in found
        }


def targets(reader: GraphReader, mentions: Iterable[str]) -> dict[str, str]:
    """The entities that names refer to."""
    rows = reader.select_provenance_for("mention-targets", mentions)
    return {mention.value: entity.value for mention, entity in rows}


def still_joined(
    reader: GraphReader, pairs: Collection[Pair], without: Mapping[str, Pair]
) -> set[Pair]:
    """Those of the pairs (subject, object) that a relationship of the traversed graph joins.

    `without` are relationships that do not count, with what they join. An entity may have any
    number of relationships. So they are read for subjects that have few, and for the others it is
    only asked how many there are of each pair.
    """

    def ask(batch: Sequence[str]) -> Iterable[_Row]:
        return reader.select_provenance_for("relationships-from", batch)

    subjects = sorted({subject for subject, _ in pairs})
    rows, many = _bounded(subjects, ask, lambda row: str(row[0].value))
    joined = {(s.value, o.value) for s, o, r in rows if r.value not in without}
    related = SARAG.relatedTo.value
    asked = [statement_iri(s, related, o) for s, o in pairs if s in many]
    gone = Counter(without.values())
    for subject, object_, count in reader.select_provenance_for("joining", asked):
        pair = subject.value, object_.value
        if int(count.value) > gone[pair]:
            joined.add(pair)
    return joined.intersection(pairs)


def _counts(reader: GraphReader, votes: Sequence[Vote]) -> Iterator[_Row]:
    """Rows of votes and how many sources give them; of an endpoint all votes on their names.

    Virtuoso 7.2.5 loses rows of VALUES where literals stand beside IRIs.
    """
    if reader.store.is_shared:
        return reader.select_provenance_for("mention-votes", {mention for mention, _, _ in votes})
    return reader.select_provenance_for_terms("vote-counts", _triples(votes))


def _vote(row: Sequence[Any]) -> Vote:
    mention, property_, value = row
    return mention.value, property_.value, value


def _triples(votes: Iterable[Vote]) -> Iterator[tuple[Term, ...]]:
    return ((NamedNode(m), NamedNode(property_), value) for m, property_, value in votes)


def _bounded(
    items: Sequence[_T], ask: Callable[[Sequence[_T]], Iterable[_Row]], of: Callable[[_Row], _T]
) -> tuple[list[_Row], set[_T]]:
    """Rows for items, and those items of which there may be more rows than these.

    Where the rows are cut, the item that most of them are of is not asked for again; where none
    has a good part of them, fewer items are asked for at a time.
    """
    batches = [items[n : n + _TOGETHER] for n in range(0, len(items), _TOGETHER)]
    found: list[_Row] = []
    many: set[_T] = set()
    while batches:
        batch = batches.pop()
        rows = list(ask(batch))
        if len(rows) < BOUND:
            found += rows
            continue
        most, count = Counter(map(of, rows)).most_common(1)[0]
        if len(batch) > 1 and count < BOUND // 4:
            half = len(batch) // 2
            batches += [batch[:half], batch[half:]]
            continue
        found += [row for row in rows if of(row) == most]
        many.add(most)
        rest = [item for item in batch if item != most]
        batches += [rest] if rest else []
    return found, many
