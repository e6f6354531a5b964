"""Superlatives: which instances of a class have the extreme value of all, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Final, NamedTuple

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Query, RelationPath
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.graph.valid_time import span_of
from sarag_rdf.plugins.relation_paths.compared_attributes import Criterion, criterion
from sarag_rdf.plugins.relation_paths.exclusive_values import holding
from sarag_rdf.plugins.relation_paths.factoid import factoid
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.memberships import classes_called
from sarag_rdf.plugins.relation_paths.path_answers import looked_up, stated_units, with_unit
from sarag_rdf.plugins.relation_paths.path_lookup import LEAST, searches
from sarag_rdf.plugins.relation_paths.path_model import Hop, plural
from sarag_rdf.plugins.relation_paths.path_wording import is_participle, spoken, verb_of
from sarag_rdf.plugins.relation_paths.paths import PathSearch
from sarag_rdf.plugins.relation_paths.tense import (
    is_present_tense,
)
from sarag_rdf.retrieval.seeds import ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

_MOST: Final = 300
"""Instances whose values are read, at most."""
_TRIED: Final = 5
"""Instances whose values are looked up, until one is known."""
_NAMED: Final = 5
"""Instances that are named with their values, at most."""
_STEPS: Final = 5
"""Steps from a place to those that contain it, at most."""
_WHERE: Final = r"(?P<rest> (?:in|on|at|of|by|from|near|located|owned|made|built) .+)?"
_SUPERLATIVE: Final = r"(?:(?:most|least) [a-z]+|[a-z]+est)"
_IS_OR_HAS: Final = (
    rf"(?:is|are|was|were) (?:the )?{_SUPERLATIVE}"
    r"|(?:has|have|had) the (?:most|fewest|least|[a-z]+est) [a-z]+"
    r"(?: (?!(?:in|on|at|of)\b)[a-z]+)?"
)
_EVENT: Final = r"(?:was )?[a-z]+(?: out)? (?:first|earliest|last|latest)"
_WHO: Final = "(?:which|what|who)"
_KIND: Final = r"(?P<kind>[a-z][a-z -]*?)"
_FORMS: Final = (
    re.compile(rf"{_WHO} (?:is|was|are|were) the (?P<word>{_SUPERLATIVE}) {_KIND}{_WHERE}"),
    re.compile(rf"(?:which|what) {_KIND}{_WHERE} (?P<predicate>{_IS_OR_HAS}|{_EVENT})"),
    re.compile(rf"(?:which|what) {_KIND} (?P<predicate>{_IS_OR_HAS}){_WHERE}"),
)
_Range = tuple[Decimal, Decimal]
"""The least and the greatest number that a value may be; days are numbers, too."""


class _Asked(NamedTuple):
    """The kind of thing that is asked for, where or whose it is, and what decides."""

    kind: str
    rest: str
    by: Criterion


class _Instances(NamedTuple):
    """The names of what is of a kind, of which share it is known, and what the class is called."""

    names: Mapping[str, str]
    kind: str = ""
    share: float = 1.0
    note: str = ""


def extreme(view: GraphView, query: Query) -> Found | None:
    """The instances of a class with the greatest, smallest, first or last value.

    It is as certain as the value, times the share of the instances that have one, and of those of
    which it is known where they are, if that is asked; None if that is less than `LEAST`, if values
    leave it open, or if several attributes decide differently.
    """
    asked = _asked(query.text)
    instances = _instances(view, query, asked) if asked else None
    if asked is None or instances is None or not 1 < len(instances.names) <= _MOST:
        return None
    found = [_best(view, query, asked, question, instances) for question in asked.by.questions]
    known = [each for each in found if each is not None]
    if not known or len({tuple(each.names) for each in known}) > 1:
        return None
    return known[0] if known[0].names and known[0].probability >= LEAST else None


def _asked(question: str) -> _Asked | None:
    text = " ".join(question.split()).rstrip(" ?.!")
    text = f"{text[:1].lower()}{text[1:]}"
    for form in _FORMS:
        if match := form.fullmatch(text):
            parts = match.groupdict()
            by = criterion(parts.get("predicate") or f"is the {parts['word']}")
            return _Asked(match["kind"], match["rest"] or "", by) if by else None
    return None


def _instances(view: GraphView, query: Query, asked: _Asked) -> _Instances | None:
    """What is of a kind, of all or of what the rest of the question says.

    None if one of all has no name, so that it could not be named if it were the extreme one.
    """
    is_place = asked.rest.startswith((" in ", " on ", " at "))
    if asked.rest and not is_place:
        return _instances_of_path(view, query, asked)
    search, identities = PathSearch(view), view.derived(Identities)
    classes, kind = classes_called(search, asked.kind)
    rows = search.followed.rows_for("class-instances", classes)
    instances = sorted({identities.one(instance.value) for _, instance in rows})
    if len(instances) > _MOST:
        return None
    labels = entity_labels(view.reader, identities.every(instances))
    named = {
        iri: labels[node][0]
        for iri in instances
        for node in reversed(identities.of(iri))
        if node in labels
    }
    if len(named) < len(instances):
        return None
    every = _Instances(named, kind)
    return _located(view, asked.rest, every) if is_place else every


def _instances_of_path(view: GraphView, query: Query, asked: _Asked) -> _Instances | None:
    """What answers the question which things of a kind are as the rest of the question says."""
    found = factoid(view, replace(query, text=f"Which {asked.kind} is{asked.rest}?"))
    paths = found.evidence.retrieved.paths if found else ()
    if any(path.is_cut for path in paths):
        return None
    one = view.derived(Identities).one
    return _Instances({one(a.iri): a.name for path in paths for a in path.answers if a.iri})


def _located(view: GraphView, where: str, every: _Instances) -> _Instances | None:
    """The instances of which it is stated that they are there, or in a place that is there.

    Of an instance in a place that contains the one asked for it is not known.
    """
    spans = named_spans(view.names, where, ProperNames(view))
    if len(spans) != 1 or where[spans[0][0][1] :].strip():
        return None
    identities = view.derived(Identities)
    places = {identities.one(iri) for iri in spans[0][1]}
    for search, paths in _followed(view, "where is # located", every.names):
        if not paths:
            return None
        last = Hop(*paths[0].hops[-1])
        direct = {path.topic: {identities.one(a.iri) for a in path.answers} for path in paths}
        above = _above(search, last, places.union(*direct.values()))
        around = {place for asked in places for place in above[asked]} - places
        there = {
            iri: any(not places.isdisjoint(above[place]) for place in own)
            for iri, own in direct.items()
        }
        known = [iri for iri, own in direct.items() if there[iri] or not own <= around]
        kinds = plural(every.kind)
        note = f"the location of {len(known)} of {len(every.names)} {kinds} is known; "
        names = {iri: every.names[iri] for iri in known if there[iri]}
        return _Instances(names, every.kind, len(known) / len(every.names), note)
    return None


def _above(search: PathSearch, hop: Hop, places: Iterable[str]) -> dict[str, set[str]]:
    """Places -> these and the places that contain them, by a hop that is followed upwards."""
    direct: dict[str, set[str]] = {}

    def containing(place: str) -> set[str]:
        if place not in direct:
            answers = search.follow_hops(search.topic(place), (hop,)).answers
            direct[place] = {search.identities.one(answer.iri) for answer in answers}
        return direct[place]

    above = {}
    for place in places:
        found, latest = {place}, {place}
        for _ in range(_STEPS):
            latest = {each for inner in latest for each in containing(inner)} - found
            found |= latest
        above[place] = found
    return above


def _best(
    view: GraphView, query: Query, asked: _Asked, question: str, instances: _Instances
) -> Found | None:
    """The instances with the extreme value of one attribute; without names if they are not sure.

    None if no instance has a value.
    """
    names = instances.names
    for search, paths in _followed(view, question, names):
        chosen, stated = holding(search, query, paths, is_now=is_present_tense(question))
        valued = _valued(asked.by, chosen)
        if not valued:
            continue
        first = [_spoken(search, path, instances.kind) for path, _ in valued[:_NAMED]]
        found = looked_up(search, query, [search.topic(first[0].topic)], first, stated, (), "paths")
        units = [stated_units(view, [path]) for path, _ in valued]
        is_sure = len({frozenset[str]().union(*each.values()) for each in units}) == 1
        extremes = [names[iri] for iri in _extremes(valued)] if is_sure else []
        values = ", ".join(
            f"{names[path.topic]} {with_unit(path.answers[0].name, of)}"
            for path, of in zip(first, units, strict=False)
        )
        more = ", ..." if len(valued) > _NAMED else ""
        lead = f"{instances.note}{_lead(search, first[0], len(valued), instances)}"
        share = instances.share * len(valued) / len(names)
        meaning = f"{lead}: {values}{more}; {found.meaning}"
        probability = round(found.probability * share, 4)
        return replace(found, names=extremes, meaning=meaning, probability=probability)
    return None


def _spoken(search: PathSearch, path: RelationPath, kind: str) -> RelationPath:
    """A path in words, from an instance of a kind if it is known."""
    hops = [Hop(*hop) for hop in path.hops]
    schema, ontology = search.index.schema, search.in_use.ontology
    return replace(path, text=spoken(search.model, schema, ontology, hops, kind))


def _lead(search: PathSearch, path: RelationPath, count: int, instances: _Instances) -> str:
    """How many instances have a value: "5 of 6 bridges state the length"."""
    kinds = f" {plural(instances.kind)}" if instances.kind else ""
    label = search.index.schema.names[path.hops[-1][0]]
    is_noun = verb_of(label) is None and not is_participle(label)
    state = f"state the {label}" if is_noun else "state a value"
    return f"{count} of {len(instances.names)}{kinds} {state}"


def _followed(
    view: GraphView, question: str, instances: Mapping[str, str]
) -> Iterator[tuple[PathSearch, list[RelationPath]]]:
    """The path that says what is asked, from each of the instances from which it leads anywhere.

    First in imported graphs, then in all.
    """
    for search in searches(view, question.replace("#", "")):
        if best := _path(search, question, instances):
            hops = tuple(Hop(*hop) for hop in best.hops)
            paths = (search.follow_hops(search.topic(iri), hops) for iri in instances)
            likely = (replace(p, score=best.score, probability=best.probability) for p in paths)
            yield search, [path for path in likely if path.answers]


def _path(search: PathSearch, question: str, instances: Mapping[str, str]) -> RelationPath | None:
    """The path that says what is asked of one of the first instances."""
    for name in islice(instances.values(), _TRIED):
        _, paths = search.find(question.replace("#", f"[{name}]"))
        if paths and paths[0].answers:
            return paths[0]
    return None


def _valued(by: Criterion, paths: Iterable[RelationPath]) -> list[tuple[RelationPath, _Range]]:
    """Paths with the range of the values that they lead to, the extreme one first."""
    ranges = []
    for path in paths:
        values = [value for answer in path.answers if (value := _range(by, answer.name))]
        if values:
            ranges.append((path, (min(v[0] for v in values), max(v[1] for v in values))))
    return sorted(ranges, key=lambda each: each[1])


def _range(by: Criterion, name: str) -> _Range | None:
    """The least and the greatest that a value may be; negative where the greatest is asked for."""
    if by.kind in ("earliest", "latest"):
        span = span_of(name)
        if span is None:
            return None
        least, most = (Decimal(372 * year + 31 * month + day) for year, month, day in span)
    else:
        try:
            least = most = Decimal(name)
        except InvalidOperation:
            return None
        if not least.is_finite():
            return None
    is_greatest = by.kind in ("latest", "largest")
    return (most.copy_negate(), least.copy_negate()) if is_greatest else (least, most)


def _extremes(valued: Sequence[tuple[RelationPath, _Range]]) -> list[str]:
    """The topics of the paths with the least value; none if it is not sure which have it."""
    best = min(most for _, (_, most) in valued)
    extremes = [(path.topic, own) for path, own in valued if own[0] <= best]
    is_tie = all(own == (best, best) for _, own in extremes)
    return [topic for topic, _ in extremes] if is_tie or len(extremes) == 1 else []
