"""Which values on paths hold when they are asked for, and which of them exclude each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, permutations, product

from sarag_rdf.base.iris import statement_iri
from sarag_rdf.base.types import Query, RelationPath
from sarag_rdf.base.vocab import text_of
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import today
from sarag_rdf.graph.valid_time import (
    NO_TIMES,
    Span,
    Times,
    days_of,
    ended_or_later,
    holds,
    moment_of,
    not_holding,
    overlap,
    span_of,
    stated_times,
)
from sarag_rdf.plugins.constraints import Constraints
from sarag_rdf.plugins.relation_paths.path_index import all_in_use
from sarag_rdf.plugins.relation_paths.paths import PathSearch, Stated, Triple, walks
from sarag_rdf.plugins.relation_paths.tense import is_past_tense
from sarag_rdf.retrieval.view import GraphView


def holding(
    search: PathSearch, query: Query, paths: Sequence[RelationPath], *, is_now: bool
) -> tuple[list[RelationPath], dict[Triple, Stated]]:
    """The paths with the answers that hold when asked for, and who states them most certainly.

    That is at the time of the query, or else now, with `is_now`; at any time otherwise. What a
    document says of the time of a statement holds for the same one of an imported graph.
    """
    view, one = search.view, search.identities.one
    absent = view.absent(query)
    imported_absent = absent
    if not query.at and is_now:
        absent |= view.derived(_ended_or_later, today())
        imported_absent |= view.derived(_not_holding, today())
    made = search.statements(paths)
    present = {
        triple: [each for each in several if each.relationship not in absent]
        for triple, several in made.items()
    }
    undated = _undated(search, paths, present) if query.at else frozenset()
    over = {(one(s), p, one(o)) for (s, p, o), several in present.items() if not several}

    def is_present(triple: Triple) -> bool:
        subject, property_, object_ = triple
        if triple in made:
            return bool(present[triple]) and triple not in undated
        is_over = triple in undated or (one(subject), property_, one(object_)) in over
        return not is_over and statement_iri(*triple) not in imported_absent

    chosen = []
    for path in paths:
        pairs = zip(path.answers, walks(path), strict=True)
        if answers := tuple(answer for answer, walk in pairs if all(map(is_present, walk))):
            chosen.append(replace(path, answers=answers))
    return chosen, {
        triple: min(several, key=lambda each: is_past_tense(each.text))  # else the surest
        for triple, several in present.items()
        if several
    }


def known_to_hold(
    search: PathSearch, at: str, triples: Set[Triple], stated: Mapping[Triple, Stated]
) -> set[Triple]:
    """The statements that are said to hold at a time, by documents or in imported graphs.

    What held until 1822 is not known to have held in 1500, and what has no time never is.
    """
    reader, moment = search.view.reader, moment_of(at)
    made = {triple: each.relationship for triple, each in stated.items()}
    times = stated_times(reader, None if triples - made.keys() else made.values())
    known = {node for node, own in times.items() if _is_known(own, moment)}
    described = {triple for _, triple in reified(reader, known - {*made.values()})}
    return described.intersection(triples) | {t for t, node in made.items() if node in known}


def reified(reader: GraphReader, nodes: Iterable[str]) -> Iterator[tuple[str, Triple]]:
    """The nodes of RDF reification among these, and the statements that they describe."""
    for node, *terms in reader.select_provenance_for("reified-statements", nodes):
        subject, property_, object_ = map(text_of, terms[:3])
        yield node.value, (subject, property_, object_)


def _is_known(times: Times, moment: Span) -> bool:
    """Whether something holds at a moment that is not just before an end."""
    start, end, at = times
    span = span_of(end.value) if end else None
    is_end = span is not None and overlap(span, moment)
    return holds(times, moment) and bool(start or at or is_end)


def _undated(
    search: PathSearch, paths: Sequence[RelationPath], stated: Mapping[Triple, Sequence[Stated]]
) -> frozenset[Triple]:
    """The statements without a time, of one value at a time where another value has one."""
    several, undated = _single_values(search, paths), set[Triple]()
    every = chain.from_iterable(stated.values())
    made = {each.relationship for each in every}
    times = stated_times(search.view.reader, made) if several else {}
    for values in several:
        dated = {
            triple
            for triple in chain.from_iterable(values.values())
            if any(each.relationship in times for each in stated.get(triple, ()))
        }
        if dated:
            undated.update(chain.from_iterable(values.values()))
            undated -= dated
    return frozenset(undated)


def _ended_or_later(view: GraphView, day: str) -> frozenset[str]:
    return ended_or_later(view.reader, moment_of(day))


def _not_holding(view: GraphView, day: str) -> frozenset[str]:
    return not_holding(view.reader, moment_of(day))


def exclusive_count(
    search: PathSearch, paths: Sequence[RelationPath], stated: Mapping[Triple, Stated]
) -> int:
    """The most values on paths of which one thing has one at a time; 1 if there are no two."""
    most, several = 1, _single_values(search, paths)
    made = {each.relationship for each in stated.values()}
    times = stated_times(search.view.reader, made) if several else {}
    for values in several:
        known = {
            value: [
                times.get(stated[triple].relationship, NO_TIMES) if triple in stated else NO_TIMES
                for triple in values[value]
            ]
            for value in most_precise(values)
        }
        clashing = {
            one for one, other in permutations(known, 2) if _may_clash(known[one], known[other])
        }
        most = max(most, len(clashing))
    return most


def _may_clash(some: Iterable[Times], others: Iterable[Times]) -> bool:
    """Whether values have a day in common; what has ended has none with what has no time."""
    return all(
        overlap(days_of(one), days_of(other))
        and not any(own[1] and NO_TIMES in (one, other) for own in (one, other))
        for one, other in product(some, others)
    )


def _single_values(
    search: PathSearch, paths: Sequence[RelationPath]
) -> list[dict[str, set[Triple]]]:
    """For each thing and property on paths with one value at a time: value -> its statements."""
    single, one = search.view.derived(single_properties), search.identities.one
    values: defaultdict[tuple[str, str], defaultdict[str, set[Triple]]]
    values = defaultdict(lambda: defaultdict(set))
    for triple in chain.from_iterable(chain.from_iterable(map(walks, paths))):
        subject, property_, value = triple
        if property_ in single:
            values[one(subject), property_][one(value)].add(triple)
    return [dict(own) for own in values.values() if len(own) > 1]


def single_properties(view: GraphView) -> frozenset[str]:
    """The properties with one value at a time."""
    schema = view.derived(all_in_use).ontology
    return frozenset(Constraints.read(view.reader, schema).single)


def most_precise(values: Iterable[str]) -> list[str]:
    """Each value once; not "1938-01" beside "1938-01-31"."""
    several = dict.fromkeys(values)
    dates = [value for value in several if value[:1].isdigit()]
    return [v for v in several if not any(d.startswith(f"{v}-") for d in dates)]
