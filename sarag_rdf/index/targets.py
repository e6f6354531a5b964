"""What names refer to, before a change of sources and after it.

The rules lead each name to itself or to one other (`resolve`); what was decided may lead on from
there, in one step. Only names that a change can concern are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.decisions import Decided
from sarag_rdf.index.derive import (
    ALIAS_MENTION,
    NORMALIZED_NAME,
    Evidence,
    Vote,
    claims_in,
    named_in,
)
from sarag_rdf.index.kept import Kept, targets
from sarag_rdf.index.resolve import resolve
from sarag_rdf.iris import Minter

_RESOLVING = (NORMALIZED_NAME, ALIAS_MENTION)
"""What is said of names that tells what they refer to."""


@dataclass(slots=True)
class Targets:
    """The entities that names refer to before and after a change, as far as they are known."""

    reader: GraphReader
    before: dict[str, str]
    after: dict[str, str]
    _known: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._known = self.before.keys() | self.after.keys()

    @property
    def moved(self) -> set[str]:
        """Names that refer to something else, or for the first time, or no longer."""
        names = self.before.keys() | self.after.keys()
        return {name for name in names if self.before.get(name) != self.after.get(name)}

    def learn(self, names: Iterable[str]) -> None:
        """Find out about further names, whose targets do not change."""
        unknown = set(names) - self._known
        found = targets(self.reader, unknown)
        self._known |= unknown
        self.before |= found
        self.after |= found


def targets_of_change(
    reader: GraphReader,
    kept: Kept,
    old: Evidence,
    new: Evidence,
    redecided: set[str],
    decided: Decided,
) -> Targets:
    """What the names of a change refer to, and all names that now refer to something else."""
    changed = (vote for vote in old.votes.keys() ^ new.votes.keys() if vote[1] in _RESOLVING)
    told = set(changed)
    told -= kept.stated(told)
    doubtful = {alias for _, alias in claims_in(told)} | redecided
    claiming = {(m.value, a.value) for m, a in reader.kept_for("mention-claims", doubtful)}
    doubtful |= {alias for m, alias in claiming | new.claims if m in doubtful}
    led = decided.names & doubtful
    doubtful |= decided.names
    kept.check(doubtful)

    before = targets(reader, doubtful | old.mentions | new.mentions)
    gone = named_in(told) - new.named
    doubtful |= new.named - before.keys()
    present = (before.keys() | new.named) - gone
    roots = _roots(reader, kept, new, doubtful & present, decided)
    after = {name: before[name] for name in before if name in present}
    after |= entities(reader.minter, roots, decided)

    led |= {name for name in decided.names if before.get(name) != after.get(name)} | redecided
    with_them = _fellows(reader, before, after, roots, led) - roots.keys() - gone
    kept.check(with_them)
    before |= targets(reader, with_them)
    roots |= _roots(reader, kept, new, with_them, decided)
    after |= entities(reader.minter, roots, decided)
    return Targets(reader, before, after)


def _fellows(
    reader: GraphReader,
    before: Mapping[str, str],
    after: Mapping[str, str],
    roots: Mapping[str, str],
    names: set[str],
) -> set[str]:
    """All names that go with these: they went with them, or do now.

    The rules may lead a name elsewhere and what is decided bring it back to its entity, but not
    the names that went with it.
    """
    concerned = {side[name] for side in (before, after) for name in names & side.keys()}
    concerned |= set(targets(reader, {roots[name] for name in names & roots.keys()}).values())
    return {mention.value for _, mention in reader.kept_for("entity-mentions", concerned)}


def _roots(
    reader: GraphReader, kept: Kept, new: Evidence, names: set[str], decided: Decided
) -> dict[str, str]:
    """Where the rules lead names when a change is made: to themselves, or one other."""
    owners = kept.owners(names)
    for mention, alias in new.claims:
        owners[alias].add(mention)
    further = {owner for name in names for owner in owners[name]} - names
    for alias, found in kept.owners(further).items():
        owners[alias] |= found
    known = spelled(new.votes)

    def normalized(mention: str) -> str:
        rows = reader.kept_for("normalized-names", [mention])
        return known(mention) or min((name.value for _, name in rows), default="")

    return resolve(sorted(names), decided.owners(owners), normalized)


def entities(minter: Minter, roots: Mapping[str, str], decided: Decided) -> dict[str, str]:
    """Names and their entities: that of the name to which the rules lead, or which is decided."""
    merged = decided.merged(roots)
    return {name: minter.entity_of_mention(merged.get(root, root)) for name, root in roots.items()}


def spelled(votes: Iterable[Vote]) -> Callable[[str], str]:
    """Mention -> its normalised name, empty where it is not mentioned."""
    found = {mention: value.value for mention, p, value in votes if p == NORMALIZED_NAME}
    return lambda mention: found.get(mention, "")
