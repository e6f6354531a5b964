"""Evidence and links that stay when some source graphs go: what `refresh` needs to know of them.

Nothing is read but what a change touches. What all sources say of a name is read as counts, and
taken from the counts is what the sources say that go; of a link that goes it is asked whether
something else supports it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.derive import ALIAS_MENTION, Evidence, Joined, Use, Vote
from sarag_rdf.iris import statement_iri
from sarag_rdf.vocab import SARAG

BOUND = 500
"""The LIMIT of ``relationships-from.rq``."""
_TOGETHER = 100
"""Entities whose relationships are asked for at a time."""
_MOST = 100_000
"""Names whose counts are remembered."""

Pair = tuple[str, str]


@dataclass(slots=True)
class Tally:
    """Counts of what is said of names, remembered by one writer from commit to commit."""

    _votes: dict[str, Counter[Vote]] = field(default_factory=dict)

    def votes(self, reader: GraphReader, mentions: set[str]) -> Counter[Vote]:
        """How many sources say what of these names, as the store is."""
        unknown = mentions - self._votes.keys()
        if len(self._votes) + len(unknown) > _MOST:
            self._votes.clear()
            unknown = mentions
        self._votes.update((mention, Counter()) for mention in unknown)
        for mention, property_, value, sources in reader.kept_for("mention-votes", unknown):
            found = mention.value, property_.value, value
            self._votes[mention.value][found] += int(sources.value)
        together: Counter[Vote] = Counter()
        for mention in mentions:
            together.update(self._votes[mention])
        return together

    def changed(self, old: Evidence, new: Evidence) -> None:
        """What `old` says is gone, and what `new` says has come."""
        for vote, sources in old.votes.items():
            if vote[0] in self._votes:
                self._votes[vote[0]][vote] -= sources
        for vote, sources in new.votes.items():
            if vote[0] in self._votes:
                self._votes[vote[0]][vote] += sources


class Kept:
    """A store as it is without some source graphs, which hold the `old` evidence."""

    def __init__(
        self, reader: GraphReader, changed: Iterable[str], old: Evidence, tally: Tally
    ) -> None:
        self._reader = reader
        self._changed = frozenset(changed)
        self._old = old
        self._tally = tally

    def _rows(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of an evidence query whose last column, the graph, is of a source that stays."""
        prefix = self._reader.minter.source_graphs
        for row in self._reader.kept_for(name, iris):
            graph = row[-1].value
            if graph.startswith(prefix) and graph not in self._changed:
                yield row

    def votes(self, mentions: set[str]) -> Counter[Vote]:
        """How many sources say what of these names."""
        votes = self._tally.votes(self._reader, mentions)
        votes.subtract({vote: n for vote, n in self._old.votes.items() if vote[0] in mentions})
        return +votes

    def owners(self, aliases: Iterable[str]) -> defaultdict[str, set[str]]:
        """Which names give each as an alias."""
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for mention, alias, sources in self._reader.kept_for("alias-claims", aliases):
            gone = self._old.votes.get((mention.value, ALIAS_MENTION, alias), 0)
            if int(sources.value) > gone:
                owners[alias.value].add(mention.value)
        return owners

    def claimed(self, claims: Iterable[Pair]) -> set[Pair]:
        """Those of the claims (mention, alias) that some source of the store makes."""
        statements = [statement_iri(m, ALIAS_MENTION, alias) for m, alias in claims]
        rows = self._reader.kept_for("stated", statements)
        return {(mention.value, alias.value) for mention, _, alias in rows}

    def uses(self, *, mentions: Iterable[str] = (), texts: Iterable[str] = ()) -> set[Use]:
        """Uses of the names, and by the texts."""
        found = {(t.value, p.value, m.value) for t, p, m, _ in self._rows("mention-uses", mentions)}
        rows = self._rows("text-uses", texts)
        return found | {(text.value, property_.value, m.value) for text, property_, m, _ in rows}

    def relationships(
        self, *, mentions: Iterable[str] = (), relationships: Iterable[str] = ()
    ) -> set[Joined]:
        """Relationships at an end of which one of the names stands, and those given."""
        found = set(self._rows("mention-relationships", mentions))
        found |= set(self._rows("relationship-mentions", relationships))
        return {(r.value, subject.value, object_.value) for r, subject, object_, _ in found}


def targets(reader: GraphReader, mentions: Iterable[str]) -> dict[str, str]:
    """The entities that names refer to."""
    rows = reader.kept_for("mention-targets", mentions)
    return {mention.value: entity.value for mention, entity in rows}


def still_joined(
    reader: GraphReader, pairs: Collection[Pair], without: Mapping[str, Pair]
) -> set[Pair]:
    """Those of the pairs (subject, object) that a relationship of the traversed graph joins.

    `without` are relationships that do not count, with what they join. An entity may have any
    number of relationships. So they are read for subjects that have few, and for the others it is
    only asked how many there are of each pair.
    """
    rows, many = _relationships(reader, {subject for subject, _ in pairs})
    joined = {(s.value, o.value) for s, o, r in rows if r.value not in without}
    related = SARAG.relatedTo.value
    asked = [statement_iri(s, related, o) for s, o in pairs if s in many]
    gone = Counter(without.values())
    for subject, object_, count in reader.kept_for("joining", asked):
        pair = subject.value, object_.value
        if int(count.value) > gone[pair]:
            joined.add(pair)
    return joined.intersection(pairs)


def _relationships(
    reader: GraphReader, subjects: set[str]
) -> tuple[list[tuple[Any, ...]], set[str]]:
    """Relationships of the subjects that have few, and the subjects that have many."""
    wanted = sorted(subjects)
    batches = [wanted[n : n + _TOGETHER] for n in range(0, len(wanted), _TOGETHER)]
    found: list[tuple[Any, ...]] = []
    many: set[str] = set()
    while batches:
        batch = batches.pop()
        rows = list(reader.kept_for("relationships-from", batch))
        if len(rows) < BOUND:
            found += rows
        elif len(batch) > 1:
            half = len(batch) // 2
            batches += [batch[:half], batch[half:]]
        else:
            many.update(batch)
    return found, many
