"""What is of a kind: instances of classes, and concepts below others in thesauri."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import Evidence, Excerpt, PathAnswer, Query, RelationPath, Section
from sarag_rdf.base.vocab import RDF, SKOS
from sarag_rdf.plugins.relation_paths.asked_answers import kinds_of
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_answers import hops_of, joined
from sarag_rdf.plugins.relation_paths.path_model import packaged_model, plural
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch
from sarag_rdf.plugins.relation_paths.thesauri import HIERARCHICAL, Ways, chained
from sarag_rdf.retrieval.asked_classes import AskedClasses
from sarag_rdf.retrieval.context import measured
from sarag_rdf.retrieval.seeds import MARKED, MARKS, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

Answer = Callable[[Query], Found | None]
"""What answers a question with one name."""
_IS_ONE: Final = re.compile(
    r"(?:is|are|was|were) (?:the )?(?P<name>.+?) (?:an?|one of the) (?P<kind>[A-Za-z][A-Za-z -]*)"
)
_KIND: Final = r"(?P<kind>[a-z][a-z -]*?)"
_OF_KIND: Final = r"(?:(?:kinds?|types?|sorts?|species) of )?"
_KINDS_OF: Final = re.compile(r" (?:kinds?|types?|sorts?|species) of ")
_ANYWHERE: Final = (
    r"(?:are there|exist|are)(?: in (?:this|the) (?:thesaurus|taxonomy|vocabulary|scheme|graph))?"
)
_WHICH: Final = (
    re.compile(rf"(?:which|what) {_OF_KIND}{_KIND} {_ANYWHERE}"),
    re.compile(rf"(?:which|what) (?P<among>[a-z][a-z -]*?) are {_OF_KIND}{_KIND}"),
    re.compile(rf"list (?:all )?(?:the )?{_OF_KIND}{_KIND}"),
    re.compile(rf"(?:what|who) are (?:all )?the {_KIND}"),
    re.compile(rf"(?P<count>how many) {_OF_KIND}{_KIND} {_ANYWHERE}"),
)
"""Questions for all that is of a kind: "which species are mammals", "which ships are there"."""
_ANY: Final = frozenset("things species taxa concepts terms entries kinds types".split())
"""What all concepts are called."""
_HOW_MANY: Final = re.compile(r"\bhow many ", re.IGNORECASE)
_NOT_BELOW: Final = re.compile(
    r"\b(?:the|of|all|every|both|each) ?(?=\|)"
    r"|\b(?:most|least|best|worst|first|last|[a-z]{3,}est)\b|\b(?:lack|avoid|hate|exclude|without|oppose|miss|reject|dislike)\w*\b",
    re.IGNORECASE,
)
"""What is not so of a concept if it is so of one below it: who leads a part, or lacks one."""
_BELOW: Final = 100
"""Concepts below one that are asked about, at most."""
_MOST: Final = 200
"""Concepts that are named, at most."""
_QUOTED: Final = 6
"""Concepts whose way is said, at most."""
_STATED, _EXTRACTED = 0.97, 0.85
"""How sure it is of what kind a thing is, by a graph that says so and by a document."""


def of_a_kind(view: GraphView, query: Query) -> Found | None:
    """Yes, if a thing is of the kind that the question names; or all that are known to be.

    What is not stated may be so: "no" is no answer, and there are at least as many. Of concepts
    those are named that have none below them.
    """
    text = " ".join(query.text.split()).rstrip(" ?.!")
    text = f"{text[:1].lower()}{text[1:]}"
    if match := _IS_ONE.fullmatch(text):
        return _is_of_kind(view, query, match["name"], match["kind"].casefold())
    asked = filter(None, (form.fullmatch(text) for form in _WHICH))
    several = ((match, _all_of_kind(view, query, match)) for match in asked)
    for match, found in several:
        if found and match.groupdict().get("count"):
            return replace(found, names=(f"at least {len(found.names)}",))
        if found:
            return found
    return None


def with_what_is_below(view: GraphView, query: Query, answer: Answer) -> Found | None:
    """The answer, with those for concepts below the one that is named.

    What uses PostgreSQL uses a database, but what is said of PostgreSQL is not said of databases.
    """
    found, spans = answer(query), named_spans(view.names, query.text, ProperNames(view))
    if len(spans) != 1 or MARKED.search(query.text) or (found and not _leads_to_topics(found)):
        return found
    [((begin, end), entities)] = spans
    if query.text[begin].isupper() or _NOT_BELOW.search(f"{query.text[:begin]}|{query.text[end:]}"):
        return found
    several = (chained(view, entity, up=False) for entity in sorted(entities))
    below = _leading_back(view, {concept for ways in several for concept in ways})
    if not 0 < len(below) <= _BELOW:
        return found
    which = _HOW_MANY.sub("which ", query.text)
    at = begin + len(which) - len(query.text)
    labels = sorted(own[0] for own in view.labels(below).values())
    texts = (f"{which[:at]}[{label}]{which[at + end - begin :]}" for label in labels)
    others = filter(None, (answer(replace(query, text=text)) for text in texts))
    same = [other for other in others if _leads_to_topics(other)]
    if not same:
        return found
    is_count = which != query.text
    own = answer(replace(query, text=which)) if found and is_count else found
    every = [own, *same] if own else same
    names = tuple(dict.fromkeys(name for each in every for name in each.names))
    lead = f"below {query.text[begin:end].strip(MARKS)}"
    both = joined(query, every, names, lead)
    least = min(each.probability for each in every)
    number = (f"at least {len(names)}",) if is_count else names
    return replace(both, names=number, probability=least)


def _leading_back(view: GraphView, concepts: Iterable[str]) -> list[str]:
    """Those of the concepts, or of what is the same, that are objects of other properties."""
    search, one = _search(view), view.derived(Identities)
    same = {node: concept for concept in sorted(concepts) for node in one.every([concept])}
    rows = search.followed.rows_for("entity-ends", same)
    leading = {
        node.value
        for node, end in rows
        if end.value[:1] == "-" and end.value[1:] not in HIERARCHICAL
    }
    return sorted({same[node] for node in leading})


def _leads_to_topics(found: Found) -> bool:
    """Whether it is what leads to the topic, and not what that leads to."""
    hops = hops_of(found)
    return bool(hops) and hops[0][1]


def _is_of_kind(view: GraphView, query: Query, name: str, kind: str) -> Found | None:
    things = view.derived(Identities).every(_named(view, [name]))
    concepts, search = _named(view, _numbers(kind)), _search(view)
    for thing in things if concepts else ():
        ways = chained(view, thing, up=True)
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


def _all_of_kind(view: GraphView, query: Query, asked: re.Match[str]) -> Found | None:
    """The instances of classes that are called so, or else the lowest concepts below one."""
    kind, among = asked["kind"], asked.groupdict().get("among") or ""
    if view.derived(AskedClasses).named(kind):
        is_of_things = not among and not _KINDS_OF.search(asked[0])
        return _instances(view, query, kind) if is_of_things else None
    several = {
        concept: ways
        for concept in sorted(_named(view, [kind]) or _named(view, _numbers(kind)))
        if (ways := chained(view, concept, up=False))
    }
    if len(several) != 1:
        return None
    [(concept, ways)] = several.items()
    above = {concept, *chained(view, concept, up=True)}
    if among and among not in _ANY and above.isdisjoint(_named(view, _numbers(among))):
        return None
    lowest = sorted(ways.keys() - {node for way in ways.values() for node in way})
    if not 0 < len(lowest) <= _MOST:
        return None
    paths = [_path(view, concept, each, ways, up=False) for each in lowest]
    names = sorted(path.answers[0].name for path in paths)
    return _found(_search(view), query, names, paths)


def _instances(view: GraphView, query: Query, kind: str) -> Found | None:
    """What graphs say is of a class, or what documents do if no graph says it of anything."""
    search, one = _search(view), view.derived(Identities).one
    classes, label = classes_called(search, kind)
    rows = [row for _, row in search.followed.rows_for("class-instances", classes)]
    documents = f"{view.reader.minter.base}entity/"
    stated = [row.value for row in rows if not row.value.startswith(documents)]
    labels = view.labels(stated or [row.value for row in rows])
    things = {one(iri): (iri, name) for iri, (name, *_) in sorted(labels.items())}
    if not 0 < len(things) <= _MOST:
        return None
    answer, hops = PathAnswer("", label), ((RDF.type.value, False),)
    paths = [
        RelationPath(iri, name, hops, "what the thing is", 1.0, answers=(answer,))
        for iri, name in sorted(things.values(), key=lambda thing: thing[1])
    ]
    names = [*dict.fromkeys(path.topic_name for path in paths)]
    found = _found(search, query, names, paths)
    return found if stated else replace(found, probability=_EXTRACTED)


def classes_called(search: PathSearch, kind: str) -> tuple[set[str], str]:
    """The classes in use that are called so, in the singular or plural, and their subclasses.

    And the label of the first that is called so.
    """
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
    label = names[min(called)].lower() if called else ""
    return {iri for iri, several in above.items() if several & called}, label


def _search(view: GraphView) -> PathSearch:
    return PathSearch(view, Paths(imported=not view.reader.extracted.parts))


def _numbers(kind: str) -> list[str]:
    """A word for a kind in the singular and the plural."""
    return [kind, plural(kind), kind.removesuffix("s"), re.sub("ies$", "y", kind)]


def _named(view: GraphView, names: Iterable[str]) -> set[str]:
    known = view.names.entities({normalize_name(name) for name in names})
    return {entity for entities in known.values() for entity in entities}


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
    meaning = "; ".join((*dict.fromkeys(said), *(["..."] if len(paths) > len(said) else [])))
    return Found(names, meaning, _STATED, Evidence(retrieved, measured(sections, "paths")))
