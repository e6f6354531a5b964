"""What is of a kind: instances of classes, and concepts below others in thesauri."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.arrays import find_all
from sarag_rdf.base.iris import normalize_name, statement_of
from sarag_rdf.base.types import Evidence, Excerpt, PathAnswer, Query, RelationPath, Section
from sarag_rdf.base.vocab import RDF, SKOS
from sarag_rdf.plugins.relation_paths.asked_answers import kinds_of
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_model import plural
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch
from sarag_rdf.retrieval.asked_classes import AskedClasses
from sarag_rdf.retrieval.context import measured
from sarag_rdf.retrieval.network import RELATED_TO
from sarag_rdf.retrieval.view import GraphView

_IS_ONE: Final = re.compile(
    r"(?:is|are|was|were) (?:the )?(?P<name>.+?) (?:an?|one of the) (?P<kind>[A-Za-z][A-Za-z -]*)"
)
_KIND: Final = r"(?P<kind>[a-z][a-z -]*?)"
_OF_KIND: Final = r"(?:(?:kinds?|types?|sorts?|species) of )?"
_ANYWHERE: Final = (
    r"(?:are there|exist|are)(?: in (?:this|the) (?:thesaurus|taxonomy|vocabulary|scheme|graph))?"
)
_WHICH: Final = (
    re.compile(rf"(?:which|what) {_OF_KIND}{_KIND} {_ANYWHERE}"),
    re.compile(rf"(?:which|what) (?P<among>[a-z][a-z -]*?) are {_OF_KIND}{_KIND}"),
    re.compile(rf"list (?:all )?(?:the )?{_OF_KIND}{_KIND}"),
)
"""Questions for all that is of a kind: "which species are mammals", "which ships are there"."""
_ANY: Final = frozenset("things species taxa concepts terms entries kinds types".split())
"""What all concepts are called."""
_MOST: Final = 200
"""Concepts that are named, at most."""
_READ: Final = 10_000
"""Concepts below one that are read, at most."""
_QUOTED: Final = 6
"""Concepts whose way is said, at most."""
_STATED, _EXTRACTED = 0.97, 0.85
"""How sure it is of what kind a thing is, by a graph that says so and by a document."""
_BROADER: Final = {SKOS.broader.value, SKOS.broaderTransitive.value}
_NARROWER: Final = {SKOS.narrower.value, SKOS.narrowerTransitive.value}
Ways = Mapping[str, tuple[str, ...]]
"""Concepts with those between one that they are below or above, the nearest to it first."""


def of_a_kind(view: GraphView, query: Query) -> Found | None:
    """Yes, if a thing is of the kind that the question names; or the concepts below one.

    What is not stated may be so: "no" is no answer. Those concepts are named that have none below
    them.
    """
    text = " ".join(query.text.split()).rstrip(" ?.!")
    text = f"{text[:1].lower()}{text[1:]}"
    if match := _IS_ONE.fullmatch(text):
        return _is_of_kind(view, query, match["name"], match["kind"].casefold())
    asked = filter(None, (form.fullmatch(text) for form in _WHICH))
    found = (
        _all_of_kind(view, query, match["kind"], match.groupdict().get("among") or "")
        for match in asked
    )
    return next(filter(None, found), None)


def _is_of_kind(view: GraphView, query: Query, name: str, kind: str) -> Found | None:
    things = view.derived(Identities).every(_named(view, [name]))
    concepts, search = _named(view, _numbers(kind)), _search(view)
    for thing in things if concepts else ():
        ways = _chained(view, thing, up=True)
        if above := sorted(concepts & ways.keys()):
            return _found(search, query, ["yes"], [_path(view, thing, above[0], ways, up=True)])
    documents, kinds = f"{view.reader.minter.base}entity/", kinds_of(search, things)
    for thing in sorted(kinds, key=lambda iri: (iri.startswith(documents), iri)):
        if not kinds[thing].isdisjoint(_numbers(kind)):
            label = view.labels([thing])[thing][0]
            hops, answer = ((RDF.type.value, False),), PathAnswer("", kind)
            path = RelationPath(thing, label, hops, "what the thing is", 1.0, answers=(answer,))
            found = _found(search, query, ["yes"], [path])
            return replace(found, probability=_EXTRACTED) if thing.startswith(documents) else found
    return None


def _all_of_kind(view: GraphView, query: Query, kind: str, among: str) -> Found | None:
    """The lowest concepts below the one that is called so, unless classes are called so, too."""
    if view.derived(AskedClasses).named(kind):
        return None
    several = {
        concept: ways
        for concept in sorted(_named(view, [kind]) or _named(view, _numbers(kind)))
        if (ways := _chained(view, concept, up=False))
    }
    if len(several) != 1:
        return None
    [(concept, ways)] = several.items()
    above = {concept, *_chained(view, concept, up=True)}
    if among and among not in _ANY and above.isdisjoint(_named(view, _numbers(among))):
        return None
    lowest = sorted(ways.keys() - {node for way in ways.values() for node in way})
    if not 0 < len(lowest) <= _MOST:
        return None
    paths = [_path(view, concept, each, ways, up=False) for each in lowest]
    names = sorted(path.answers[0].name for path in paths)
    return _found(_search(view), query, names, paths)


def _search(view: GraphView) -> PathSearch:
    return PathSearch(view, Paths(imported=not view.reader.extracted.parts))


def _numbers(kind: str) -> list[str]:
    """A word for a kind in the singular and the plural."""
    return [kind, plural(kind), kind.removesuffix("s"), re.sub("ies$", "y", kind)]


def _named(view: GraphView, names: Iterable[str]) -> set[str]:
    known = view.names.entities({normalize_name(name) for name in names})
    return {entity for entities in known.values() for entity in entities}


def _chained(view: GraphView, start: str, *, up: bool) -> Ways:
    """The concepts above or below one, all steps of the way, or the first that are too many."""
    ways: dict[str, tuple[str, ...]] = {}
    latest: dict[str, tuple[str, ...]] = {start: ()}
    while latest and len(ways) <= _READ:
        following: dict[str, tuple[str, ...]] = {}
        for lower, upper in _broader(view, latest):
            origin, target = (lower, upper) if up else (upper, lower)
            if origin in latest and target not in ways and target != start:
                way = () if origin == start else (*latest[origin], origin)
                following.setdefault(target, way)
        ways |= following
        latest = following
    return ways


def _broader(view: GraphView, concepts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of concepts, one of these among them: the second is broader than the first."""
    rows = find_all(view.iris.entities, sorted(concepts))
    edges = view.network.incident(RELATED_TO, np.sort(rows[rows >= 0]))
    for row in edges.statement.tolist():
        if triple := statement_of(view.iris.relationships[row]):
            subject, property_, object_ = triple
            if property_ in _BROADER:
                yield subject, object_
            elif property_ in _NARROWER:
                yield object_, subject


def _path(view: GraphView, start: str, end: str, ways: Ways, *, up: bool) -> RelationPath:
    names = view.labels((start, end, *ways[end]))
    hops = ((SKOS.broader.value, not up),) * (len(ways[end]) + 1)
    text = "the broader concepts" if up else "what is below"
    answer = PathAnswer(end, names[end][0], ways[end])
    return RelationPath(start, names[start][0], hops, text, 1.0, answers=(answer,))


def _found(
    search: PathSearch, query: Query, names: Sequence[str], paths: Sequence[RelationPath]
) -> Found:
    topic = search.topic(paths[0].topic)
    retrieved = search.retrieved(query, [topic], tuple(paths))
    on_path = {paths[0].topic, *(path.answers[0].iri for path in paths)}
    pages = [r.document for r in retrieved.documents if r.document.iri in on_path]
    excerpts = {f"D{number}": Excerpt.whole(page) for number, page in enumerate(pages, start=1)}
    sections = (Section("", excerpts, ()),) if excerpts else ()
    labels = search.view.labels({n for p in paths for n in p.answers[0].nodes})
    said = []
    for path in paths[:_QUOTED]:
        between = (labels[node][0] for node in path.answers[0].nodes)
        said.append(" > ".join((path.topic_name, *between, path.answers[0].name)))
    meaning = "; ".join((*said, *(["..."] if len(paths) > len(said) else [])))
    return Found(names, meaning, _STATED, Evidence(retrieved, measured(sections, "paths")))
