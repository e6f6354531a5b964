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
from sarag_rdf.plugins.relation_paths.exclusive_values import holding, is_present_tense
from sarag_rdf.plugins.relation_paths.factoid import LEAST, factoid, searches
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_answers import looked_up, stated_units
from sarag_rdf.plugins.relation_paths.path_model import Hop, packaged_model, plural
from sarag_rdf.plugins.relation_paths.paths import PathSearch
from sarag_rdf.retrieval.seeds import ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

_MOST: Final = 300
"""Instances whose values are read, at most."""
_TRIED: Final = 5
"""Instances whose values are looked up, until one is known."""
_NAMED: Final = 5
"""Instances that are named with their values, at most."""
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


def extreme(view: GraphView, query: Query) -> Found | None:
    """The instances of a class with the greatest, smallest, first or last value.

    It is as certain as the value, times the share of the instances that have one; None if that is
    less than `LEAST`, if values leave it open, or if several attributes decide differently.
    """
    asked = _asked(query.text)
    instances = _instances(view, query, asked) if asked else {}
    if asked is None or not 1 < len(instances) <= _MOST:
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


def _instances(view: GraphView, query: Query, asked: _Asked) -> dict[str, str]:
    """What is of a kind, of all or of what the rest of the question says, and its names."""
    one = view.derived(Identities).one
    is_place = asked.rest.startswith((" in ", " on ", " at "))
    if asked.rest and not is_place:
        found = factoid(view, replace(query, text=f"Which {asked.kind} is{asked.rest}?"))
        paths = found.evidence.retrieved.paths if found else ()
        is_cut = any(path.is_cut for path in paths)
        return {} if is_cut else {one(a.iri): a.name for p in paths for a in p.answers if a.iri}
    search = PathSearch(view)
    rows = search.followed.rows_for("class-instances", _classes(search, asked.kind))
    instances = sorted({one(instance.value) for _, instance in rows})
    if len(instances) > _MOST:
        return {}
    labels = entity_labels(view.reader, instances)
    named = {iri: labels[iri][0] for iri in instances if iri in labels}
    return _located(view, asked.rest, named) if is_place else named


def _located(view: GraphView, where: str, instances: Mapping[str, str]) -> dict[str, str]:
    """The instances of which it is stated that they are there."""
    spans = named_spans(view.names, where, ProperNames(view))
    places = {iri for _, entities in spans for iri in view.derived(Identities).every(entities)}
    if len(spans) != 1 or where[spans[0][0][1] :].strip():
        return {}
    for _, paths in _followed(view, "where is # located", instances):
        topics = [path.topic for path in paths if places & {answer.iri for answer in path.answers}]
        return {iri: instances[iri] for iri in topics}
    return {}


def _classes(search: PathSearch, kind: str) -> set[str]:
    """The classes in use that are called so, in the singular or plural, and their subclasses."""
    in_use, content = search.followed, packaged_model().content
    used = [own.iri for part in in_use.parts for own in in_use.used(part).classes]
    above = {iri: in_use.ontology.superclasses(iri) | {iri} for iri in used}
    names = in_use.names({each for several in above.values() for each in several})
    stems = content(kind)
    declared = in_use.ontology.classes
    called = {
        iri
        for iri, name in names.items()
        if any(
            content(label) == stems
            for label in (name, *(declared[iri].alternatives if iri in declared else ()))
        )
    }
    return {iri for iri, several in above.items() if several & called}


def _best(
    view: GraphView, query: Query, asked: _Asked, question: str, instances: Mapping[str, str]
) -> Found | None:
    """The instances with the extreme value of one attribute; without names if they are not sure.

    None if no instance has a value.
    """
    for search, paths in _followed(view, question, instances):
        chosen, stated = holding(search, query, paths, is_now=is_present_tense(question))
        valued = _valued(asked.by, chosen)
        if not valued:
            continue
        first = [path for path, _ in valued[:_NAMED]]
        found = looked_up(search, query, [search.topic(first[0].topic)], first, stated, (), "paths")
        is_sure = len({stated_units(view, [path]) for path, _ in valued}) == 1
        names = [instances[iri] for iri in _extremes(valued)] if is_sure else []
        label = search.index.schema.names[paths[0].hops[-1][0]]
        values = ", ".join(f"{instances[p.topic]} {p.answers[0].name}" for p in first)
        more = ", ..." if len(valued) > _NAMED else ""
        kinds = asked.kind if asked.kind.endswith("s") else plural(asked.kind)
        lead = f"{len(valued)} of {len(instances)} {kinds} state the {label}"
        probability = round(found.probability * len(valued) / len(instances), 4)
        meaning = f"{lead}: {values}{more}; {found.meaning}"
        return replace(found, names=names, meaning=meaning, probability=probability)
    return None


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
    return (-most, -least) if by.kind in ("latest", "largest") else (least, most)


def _extremes(valued: Sequence[tuple[RelationPath, _Range]]) -> list[str]:
    """The topics of the paths with the least value; none if it is not sure which have it."""
    best = min(most for _, (_, most) in valued)
    extremes = [(path.topic, own) for path, own in valued if own[0] <= best]
    is_tie = all(own == (best, best) for _, own in extremes)
    return [topic for topic, _ in extremes] if is_tie or len(extremes) == 1 else []
