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
from collections.abc import Iterable, Sequence
from itertools import chain

from pyoxigraph import NamedNode, Quad, Triple

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.decisions import Decided, read_decisions
from sarag_rdf.index.derive import (
    Evidence,
    derive,
    end_links,
    entity_names,
    joined_pairs,
    reference,
    related,
    text_links,
)
from sarag_rdf.index.kept import (
    Kept,
    Tally,
    VariantsConcernedError,
    still_joined,
)
from sarag_rdf.index.resolve import resolve
from sarag_rdf.index.targets import Targets, entities, spelled, targets_of_change
from sarag_rdf.index.votes import Names, changed_votes, uncertain
from sarag_rdf.ports import Change
from sarag_rdf.terms import iri


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
    kept = Kept(reader, drop, old, tally, decided, known.families)
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
    kept: Kept,
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
    graphs = [graph.value for (graph,) in reader.kept("source-graphs")]
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


def _texts(kept: Kept, found: Targets, old: Evidence, new: Evidence) -> _Difference:
    """Links of texts: those of the change, and of all uses of names that moved."""
    stay = kept.uses(mentions=found.moved)
    found.learn(mention for _, _, mention in old.uses | new.uses)
    gone = text_links(old.uses | stay, found.before)
    come = text_links(new.uses | stay, found.after)
    others = kept.uses(texts={iri(link.subject) for link in gone - come})
    found.learn(mention for _, _, mention in others)
    return gone, come | text_links(others, found.after)


def _relationships(
    reader: GraphReader, kept: Kept, found: Targets, old: Evidence, new: Evidence
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
    reader: GraphReader, kept: Kept, found: Targets, old: Evidence, new: Evidence
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
