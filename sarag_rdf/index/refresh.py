"""Keeps the traversed graph equal to its evidence when sources come, change or go.

`refresh` computes, before anything is written, what a change of source graphs means for the
traversed graph, so that both are written in one atomic step. What it costs depends on the change
and not on the graph: links of names that refer to what they referred to follow from the evidence
that goes and comes; only what a name that now refers to something else is used for is read; and
names and classes are voted anew only where the votes that change can change the outcome.
`rebuild` computes everything anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyoxigraph import NamedNode, Quad, Triple

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.derive import (
    ALIAS_MENTION,
    NORMALIZED_NAME,
    Evidence,
    Vote,
    claims_in,
    derive,
    end_links,
    entity_names,
    joined_pairs,
    named_in,
    reference,
    related,
    text_links,
)
from sarag_rdf.index.kept import Kept, Tally, still_joined, targets
from sarag_rdf.index.resolve import resolve
from sarag_rdf.index.votes import Names, changed_votes, uncertain
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Change
from sarag_rdf.terms import iri


@dataclass(slots=True)
class _Targets:
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


def refresh(
    reader: GraphReader, drop: Sequence[str], insert: Sequence[Quad], tally: Tally | None = None
) -> Change:
    """Complete a change of source graphs with what follows for the traversed graph.

    `drop` names source graphs that go (or are replaced); `insert` are quads of source graphs
    that come. Returns the whole change; nothing is written. `tally` is what the writer remembers
    of the votes; it is brought up to date as if the change had been made.
    """
    old = Evidence.of(quad for graph in dict.fromkeys(drop) for quad in reader.store.quads(graph))
    new = Evidence.of(insert)
    tally = Tally() if tally is None else tally
    kept = Kept(reader, drop, old, tally)
    found = _targets(reader, kept, old, new)
    differences = (
        _references(found),
        _texts(kept, found, old, new),
        _relationships(reader, kept, found, old, new),
        _names(reader, kept, found, old, new),
    )
    gone = set().union(*(difference[0] for difference in differences))
    come = set().union(*(difference[1] for difference in differences))
    tally.changed(old, new)
    graph = NamedNode(reader.minter.kg_graph)
    return Change(
        drop=tuple(drop),
        delete=tuple(_in_graph(gone - come, graph)),
        insert=(*insert, *_in_graph(come - gone, graph)),
    )


def rebuild(reader: GraphReader) -> Change:
    """The change that makes the traversed graph anew from all evidence."""
    minter = reader.minter
    graphs = [graph.value for (graph,) in reader.kept("source-graphs")]
    evidence = Evidence.of(quad for graph in graphs for quad in reader.store.quads(graph))
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for mention, alias in evidence.claims:
        owners[alias].add(mention)
    found = _resolved(minter, evidence.named, owners, _spelled(evidence.votes))
    graph = NamedNode(minter.kg_graph)
    return Change(drop=(minter.kg_graph,), insert=tuple(_in_graph(derive(evidence, found), graph)))


def _spelled(votes: Iterable[Vote]) -> Callable[[str], str]:
    """Mention -> its normalised name, empty where it is not mentioned."""
    found = {mention: value.value for mention, p, value in votes if p == NORMALIZED_NAME}
    return lambda mention: found.get(mention, "")


_RESOLVING = (NORMALIZED_NAME, ALIAS_MENTION)
"""What is said of names that tells what they refer to."""
_Difference = tuple[set[Triple], set[Triple]]
"""Triples that the evidence no longer supports, if nothing in the second supports them; and those
that it supports now. What stands in both stays."""


def _targets(reader: GraphReader, kept: Kept, old: Evidence, new: Evidence) -> _Targets:
    """What the names of a change refer to, and all names that now refer to something else."""
    changed = (vote for vote in old.votes.keys() ^ new.votes.keys() if vote[1] in _RESOLVING)
    told = set(changed)
    told -= kept.stated(told)
    doubtful = {alias for _, alias in claims_in(told)}
    claiming = {(m.value, a.value) for m, a in reader.kept_for("mention-claims", doubtful)}
    doubtful |= {alias for m, alias in claiming | new.claims if m in doubtful}

    before = targets(reader, doubtful | old.mentions | new.mentions)
    gone = named_in(told) - new.named
    doubtful |= new.named - before.keys()
    present = (before.keys() | new.named) - gone
    after = {name: entity for name, entity in before.items() if name in present}
    after |= _resolved_after(reader, kept, new, doubtful & present)
    return _Targets(reader, before, after)


def _resolved_after(
    reader: GraphReader, kept: Kept, new: Evidence, names: set[str]
) -> dict[str, str]:
    """What names refer to when a change is made."""
    owners = kept.owners(names)
    for mention, alias in new.claims:
        owners[alias].add(mention)
    further = {owner for name in names for owner in owners[name]} - names
    for alias, found in kept.owners(further).items():
        owners[alias] |= found
    known = _spelled(new.votes)

    def normalized(mention: str) -> str:
        rows = reader.kept_for("normalized-names", [mention])
        return known(mention) or min((name.value for _, name in rows), default="")

    return _resolved(reader.minter, names, owners, normalized)


def _resolved(
    minter: Minter,
    names: Iterable[str],
    owners: Mapping[str, set[str]],
    normalized: Callable[[str], str],
) -> dict[str, str]:
    claimed = {alias: frozenset(found) for alias, found in owners.items()}
    found = resolve(sorted(names), claimed, normalized)
    return {name: minter.entity_of_mention(target) for name, target in found.items()}


def _references(found: _Targets) -> _Difference:
    moved = found.moved
    return (
        {reference(name, found.before[name]) for name in moved if name in found.before},
        {reference(name, found.after[name]) for name in moved if name in found.after},
    )


def _texts(kept: Kept, found: _Targets, old: Evidence, new: Evidence) -> _Difference:
    """Links of texts: those of the change, and of all uses of names that moved."""
    stay = kept.uses(mentions=found.moved)
    found.learn(mention for _, _, mention in old.uses | new.uses)
    gone = text_links(old.uses | stay, found.before)
    come = text_links(new.uses | stay, found.after)
    others = kept.uses(texts={iri(link.subject) for link in gone - come})
    found.learn(mention for _, _, mention in others)
    return gone, come | text_links(others, found.after)


def _relationships(
    reader: GraphReader, kept: Kept, found: _Targets, old: Evidence, new: Evidence
) -> _Difference:
    """Links of relationships, and of the entities that they join."""
    stay = kept.relationships(mentions=found.moved)
    was, will_be = old.relationships | stay, new.relationships | stay
    found.learn(mention for _, *ends in was | will_be for mention in ends)
    gone = end_links(was, found.before)
    lost = {iri(link.subject) for link in gone - end_links(will_be, found.after)}
    will_be |= kept.relationships(relationships=lost)
    found.learn(mention for _, *ends in will_be for mention in ends)

    joined = {row[0]: pair for row in was for pair in joined_pairs([row], found.before)}
    pairs = joined_pairs(will_be, found.after)
    parted = set(joined.values()) - pairs
    parted -= still_joined(reader, parted, joined)
    return (
        gone | {related(*pair) for pair in parted},
        end_links(will_be, found.after) | {related(*pair) for pair in pairs},
    )


def _names(
    reader: GraphReader, kept: Kept, found: _Targets, old: Evidence, new: Evidence
) -> _Difference:
    """Names and classes of the entities for which the votes have to be counted."""
    moved = found.moved
    entities = {t[name] for t in (found.before, found.after) for name in moved if name in t}
    changes = changed_votes(old, new, {n: e for n, e in found.after.items() if n not in moved})
    names = Names.of(reader.kept_for("entity-names", entities | changes.keys()))
    entities |= {e for e, votes in changes.items() if not names.settled(e, votes)}

    rows = reader.kept_for("entity-mentions", entities)
    stay = {m.value: entity.value for entity, m in rows if m.value not in moved}
    come = {name: found.after[name] for name in moved if name in found.after}
    whole = come.keys() | {name for name, entity in stay.items() if not names.has(entity)}
    counted = {name: entity for name, entity in stay.items() if name not in whole}
    kept_votes, more = kept.at_least(names.possible(counted))
    new_votes = Counter({v: n for v, n in new.votes.items() if v[0] in stay or v[0] in come})
    new_votes += kept.votes(whole)
    unsure = uncertain(kept_votes + new_votes, more, stay | come)
    kept_votes |= kept.counted(unsure)
    return names.triples(entities), entity_names(kept_votes + new_votes, stay | come)


def _in_graph(triples: Iterable[Triple], graph: NamedNode) -> list[Quad]:
    return [Quad(t.subject, t.predicate, t.object, graph) for t in sorted(triples, key=str)]
