"""Incremental view maintenance: keeps the traversed graph equal to its evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.derive.decisions import Decided, read_decisions
from sarag_rdf.derive.derive import (
    ALIAS,
    ALIAS_MENTION,
    ENTITY_TYPE,
    NAME,
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
from sarag_rdf.derive.remaining import (
    RemainingEvidence,
    Tally,
    VariantsConcernedError,
    still_joined,
    targets,
)
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Change, Term
from sarag_rdf.terms import iri, iri_or_literal
from sarag_rdf.vocab import RDF, SKOS, TYPE_CLASSES


def refresh(
    reader: GraphReader,
    drop: Sequence[str],
    insert: Sequence[Quad],
    tally: Tally | None = None,
    decided: Decided | None = None,
) -> Change:
    """Complete a change of source graphs with what follows for the traversed graph.

    `drop` names source graphs that go (or are replaced); `insert` are quads of source graphs
    that come. Returns the whole change; nothing is written. `tally` is what the writer remembers
    of the votes; it is brought up to date as if the change had been made. `decided` is what is
    decided from now on, where that changes, too.
    """
    known = Decided.of(read_decisions(reader), reader.minter)
    decided = known if decided is None else decided
    quads = (quad for graph in dict.fromkeys(drop) for quad in reader.store.quads(graph))
    old, new = Evidence.of(quads, known.variant), Evidence.of(insert, decided.variant)
    tally = Tally() if tally is None else tally
    kept = RemainingEvidence(reader, drop, old, tally, decided, known.families)
    try:
        kept.check(old.names | new.names | (decided.families ^ known.families))
        kept.check(name for (name, _), _ in decided.variants.items() ^ known.variants.items())
        gone, come = _differences(reader, kept, old, new, set(decided.changed(known)), decided)
    except VariantsConcernedError:
        gone, come = _anew(reader, drop, insert, decided)
    tally.changed(old, new)
    return _completed(reader, drop, insert, (gone, come))


def refresh_anew(
    reader: GraphReader,
    drop: Sequence[str],
    insert: Sequence[Quad],
    decided: Decided | None = None,
) -> Change:
    """What `refresh` returns, at the cost of reading all evidence that stays.

    The graphs in `drop` are not read, so they may hold anything.
    """
    if decided is None:
        decided = Decided.of(read_decisions(reader), reader.minter)
    gone, come = _anew(reader, drop, insert, decided)
    if not come:
        return Change((*drop, reader.minter.kg_graph), (), tuple(insert))
    return _completed(reader, drop, insert, (gone, come))


def _anew(
    reader: GraphReader, drop: Sequence[str], insert: Sequence[Quad], decided: Decided
) -> _Difference:
    gone = {quad.triple for quad in reader.store.quads(reader.minter.kg_graph)}
    return gone, _derived(reader, decided, without=drop, quads=insert)


def _completed(
    reader: GraphReader, drop: Sequence[str], insert: Sequence[Quad], difference: _Difference
) -> Change:
    gone, come = difference
    graph = NamedNode(reader.minter.kg_graph)
    return Change(
        drop=tuple(drop),
        delete=tuple(_in_graph(gone - come, graph)),
        insert=(*insert, *_in_graph(come - gone, graph)),
    )


def _differences(
    reader: GraphReader,
    kept: RemainingEvidence,
    old: Evidence,
    new: Evidence,
    redecided: set[str],
    decided: Decided,
) -> _Difference:
    found = targets_of_change(reader, kept, old, new, redecided, decided)
    differences = (
        _references(found),
        _texts(kept, found, old, new),
        _relationships(reader, kept, found, old, new),
        _names(reader, kept, found, old, new),
    )
    gone: set[Triple] = set().union(*(difference[0] for difference in differences))
    come: set[Triple] = set().union(*(difference[1] for difference in differences))
    return gone, come


def rebuild(reader: GraphReader) -> Change:
    """The change that makes the traversed graph anew from all evidence, and what was decided."""
    decided = Decided.of(read_decisions(reader), reader.minter)
    return Change(drop=(reader.minter.kg_graph,), insert=tuple(traversed(reader, decided)))


def traversed(reader: GraphReader, decided: Decided) -> list[Quad]:
    """The traversed graph as it follows from all evidence, were this what is decided."""
    return _in_graph(_derived(reader, decided), NamedNode(reader.minter.kg_graph))


def _derived(
    reader: GraphReader, decided: Decided, without: Sequence[str] = (), quads: Sequence[Quad] = ()
) -> set[Triple]:
    """The traversed graph by all evidence; `without` some source graphs, and with these quads."""
    graphs = [graph.value for (graph,) in reader.select_provenance("source-graphs")]
    stay = (q for graph in graphs if graph not in without for q in reader.store.quads(graph))
    evidence = Evidence.of(chain(stay, quads), decided.variant)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for mention, alias in evidence.claims:
        owners[alias].add(mention)
    names = spelled(evidence.votes)
    roots = resolve(sorted(evidence.named), decided.owners(owners), names)
    found = entities(reader.minter, roots, decided)
    for variant in sorted(decided.bases, reverse=True):
        name = decided.bases[variant]
        if variant in found and name not in roots:
            found[name] = found[variant]
    return derive(evidence, found)


_Difference = tuple[set[Triple], set[Triple]]
"""Triples that the evidence no longer supports, if nothing in the second supports them; and those
that it supports now. What stands in both stays."""


def _references(found: Targets) -> _Difference:
    moved = found.moved
    return (
        {reference(name, found.before[name]) for name in moved if name in found.before},
        {reference(name, found.after[name]) for name in moved if name in found.after},
    )


def _texts(kept: RemainingEvidence, found: Targets, old: Evidence, new: Evidence) -> _Difference:
    """Links of texts: those of the change, and of all uses of names that moved."""
    stay = kept.uses(mentions=found.moved)
    found.learn(mention for _, _, mention in old.uses | new.uses)
    gone = text_links(old.uses | stay, found.before)
    come = text_links(new.uses | stay, found.after)
    others = kept.uses(texts={iri(link.subject) for link in gone - come})
    found.learn(mention for _, _, mention in others)
    return gone, come | text_links(others, found.after)


def _relationships(
    reader: GraphReader, kept: RemainingEvidence, found: Targets, old: Evidence, new: Evidence
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
    reader: GraphReader, kept: RemainingEvidence, found: Targets, old: Evidence, new: Evidence
) -> _Difference:
    """Names and classes of the entities for which the votes have to be counted."""
    moved = found.moved
    entities = {t[name] for t in (found.before, found.after) for name in moved if name in t}
    changes = changed_votes(old, new, {n: e for n, e in found.after.items() if n not in moved})
    names = Names.of(reader.select_provenance_for("entity-names", entities | changes.keys()))
    entities |= {e for e, votes in changes.items() if not names.settled(e, votes)}

    rows = reader.select_provenance_for("entity-mentions", entities)
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
    kept: RemainingEvidence,
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
    claiming = {
        (m.value, a.value) for m, a in reader.select_provenance_for("mention-claims", doubtful)
    }
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
    return {
        mention.value for _, mention in reader.select_provenance_for("entity-mentions", concerned)
    }


def _roots(
    reader: GraphReader, kept: RemainingEvidence, new: Evidence, names: set[str], decided: Decided
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
        rows = reader.select_provenance_for("normalized-names", [mention])
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


Changed = tuple[str, Term, int]
"""(property, value, by how many more or fewer sources it is said)"""


def changed_votes(
    old: Evidence, new: Evidence, refers_to: Mapping[str, str]
) -> dict[str, list[Changed]]:
    """Entity -> how votes on it change where `old` evidence is replaced with `new`."""
    difference = Counter(new.votes)
    difference.subtract(old.votes)
    changes: defaultdict[str, list[Changed]] = defaultdict(list)
    for (mention, property_, value), change in difference.items():
        if change and mention in refers_to:
            changes[refers_to[mention]].append((property_, value, change))
    return dict(changes)


def uncertain(
    votes: Mapping[Vote, int], more: Collection[Vote], refers_to: Mapping[str, str]
) -> set[Vote]:
    """Votes that must be counted, because there may be `more` of them than these.

    That there are more makes no difference where these win anyway, over all that is known.
    """
    groups: defaultdict[tuple[str, str, str | None], list[Vote]] = defaultdict(list)
    for vote in votes:
        mention, property_, value = vote
        if mention in refers_to and (property_, value.value) != (ENTITY_TYPE, "misc"):
            language = value.language if isinstance(value, Literal) else None
            groups[refers_to[mention], property_, language].append(vote)
    unsure = {vote for vote in more if not votes.get(vote)}
    for (_, property_, _), group in groups.items():
        unknown = {vote for vote in group if vote in more}
        if unknown and property_ != ALIAS:
            most = max(unknown, key=votes.__getitem__)
            rest = max((votes[vote] for vote in group if vote != most), default=0)
            unsure |= unknown if len(unknown) > 1 or votes[most] <= rest else set()
    return unsure


class Names:
    """Names and classes that entities have now."""

    def __init__(self, triples: Mapping[str, set[Triple]]) -> None:
        self._triples = triples

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Names:
        """Make them of rows of entity, property and value."""
        triples: defaultdict[str, set[Triple]] = defaultdict(set)
        for entity, property_, value in rows:
            triples[entity.value].add(Triple(entity, property_, value))
        return cls(triples)

    def has(self, entity: str) -> bool:
        """Whether an entity has a name or class."""
        return entity in self._triples

    def triples(self, entities: Iterable[str]) -> set[Triple]:
        """What is said of these entities."""
        return {triple for entity in entities for triple in self._triples.get(entity, ())}

    def possible(self, refers_to: Mapping[str, str]) -> set[Vote]:
        """All that sources can say of names, if it makes the names and classes that there are."""
        votes: set[Vote] = set()
        for mention, entity in refers_to.items():
            labels = {
                triple.object
                for triple in self._triples.get(entity, ())
                if triple.predicate in (SKOS.prefLabel, SKOS.altLabel)
            }
            votes |= {(mention, ENTITY_TYPE, Literal(type_)) for type_ in TYPE_CLASSES}
            votes |= {(mention, p, iri_or_literal(v)) for p in (NAME, ALIAS) for v in labels}
        return votes

    def settled(self, entity: str, changes: Iterable[Changed]) -> bool:
        """Whether the votes of an entity come out as they did, without counting them.

        More votes for what has won, and fewer for a class that has lost, change nothing. A name
        that has fewer votes may be gone.
        """
        return all(self._is_settled(entity, *changed) for changed in changes)

    def _is_settled(self, entity: str, property_: str, value: Term, change: int) -> bool:
        if property_ == NAME:
            return change > 0 and self._has(entity, SKOS.prefLabel, value)
        if property_ == ALIAS:
            is_alternative = self._has(entity, SKOS.altLabel, value)
            return self._has(entity, SKOS.prefLabel, value) or (change > 0 and is_alternative)
        if property_ == ENTITY_TYPE and value.value != "misc" and value.value in TYPE_CLASSES:
            return self._has(entity, RDF.type, TYPE_CLASSES[value.value]) == (change > 0)
        return True

    def _has(self, entity: str, property_: NamedNode, value: Term) -> bool:
        triple = Triple(NamedNode(entity), property_, value)
        return triple in self._triples.get(entity, ())


Owners = Mapping[str, frozenset[str]]
"""Name -> the other names that give it as an alias."""


def resolve(
    mentions: Iterable[str], owners: Owners, normalized: Callable[[str], str]
) -> dict[str, str]:
    """Map each mention to the mention whose entity it refers to (itself, or one other).

    A name that is an alias of exactly one other name resolves to that one; an ambiguous alias
    resolves to nobody and stays for itself. One step, no transitive closure: a name whose only
    owner resolves elsewhere stays for itself. Two names that are each other's only alias are
    one entity, that of the longer name (the smaller in code point order among equals).

    `owners` covers the mentions and their owners; `normalized` gives a mention's normalised name.
    """

    def preferred(mention: str) -> tuple[int, str]:
        name = normalized(mention)
        return -len(name), name

    def sole_owner(mention: str) -> str | None:
        found = owners.get(mention, frozenset()) - {mention}
        return next(iter(found)) if len(found) == 1 else None

    targets: dict[str, str] = {}
    for mention in mentions:
        owner = sole_owner(mention)
        if owner is None:
            targets[mention] = mention
            continue
        next_owner = sole_owner(owner)
        if next_owner is None:
            targets[mention] = owner
        elif next_owner == mention:
            targets[mention] = min(mention, owner, key=preferred)
        else:
            targets[mention] = mention
    return targets
