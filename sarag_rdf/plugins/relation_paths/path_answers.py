"""The ends of paths as an answer: how probable it is, and what states it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import (
    Document,
    Evidence,
    Excerpt,
    PathAnswer,
    Query,
    RelationPath,
    Section,
    Timed,
)
from sarag_rdf.base.vocab import text_of
from sarag_rdf.base.words import saying
from sarag_rdf.extraction.text_values import measure
from sarag_rdf.extraction.typed_statements import declared_unit, range_kind
from sarag_rdf.graph.valid_time import stated_times, timed
from sarag_rdf.plugins.relation_paths.asked_answers import kinds_of
from sarag_rdf.plugins.relation_paths.exclusive_values import exclusive_count, most_precise
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_index import all_in_use
from sarag_rdf.plugins.relation_paths.path_model import THING, Hop
from sarag_rdf.plugins.relation_paths.path_wording import spoken
from sarag_rdf.plugins.relation_paths.paths import PathSearch, Stated, Topic, Triple, walks
from sarag_rdf.retrieval.context import measured
from sarag_rdf.retrieval.view import GraphView

_LABEL: Final = re.compile(r"\b(D\d+)(?=; |$)")
"""The label of a document behind what it states."""
_QUOTED: Final = 6
"""Statements that are quoted with an answer, at most."""
_MOST_UNDATED: Final = 5
"""Answers without a time that are named, at most."""


def looked_up(
    search: PathSearch,
    query: Query,
    topics: Sequence[Topic],
    chosen: Sequence[RelationPath],
    stated: Mapping[Triple, Stated],
    others: Sequence[RelationPath],
    name: str,
) -> Found:
    """The ends of the chosen paths, with the documents of the entities on them.

    These are the sentences that state the path and the pages of imported entities, or else the
    documents that describe them. `name` is that of the context. The answer is as probable as the
    path and, of the least certain end, all statements on the surest way to it, divided by the
    number of values that exclude each other.
    """
    best, view = chosen[0], search.view
    retrieved = search.retrieved(query, topics, tuple(chosen))
    retrieved = replace(retrieved, paths=(*chosen, *others))
    answers = [answer for path in chosen for answer in path.answers]
    on_path = {path.topic for path in chosen}.union(
        iri for answer in answers for iri in (*answer.nodes, answer.iri)
    )
    walked = [*chain.from_iterable(map(walks, chosen))]
    ways = [[stated[triple] for triple in walk if triple in stated] for walk in walked]
    certainty: defaultdict[str, float] = defaultdict(float)  # of each thing, by its surest way
    for answer, way in zip(answers, ways, strict=True):
        thing = search.identities.one(answer.iri) if answer.iri else answer.name
        certainty[thing] = max(certainty[thing], prod(each.confidence for each in way))
    made = defaultdict[str, list[Stated]](list)
    for statement in dict.fromkeys(chain.from_iterable(ways)):
        made[statement.document].append(statement)
    ranked_documents = (ranked for ranked in retrieved.documents if ranked.entity)
    reached = [ranked.document for ranked in ranked_documents if ranked.document.text]
    pages = [document for document in reached if document.iri in on_path.union(made)]
    excerpts = {
        f"D{number}": _stating(view, page, made[page.iri])
        for number, page in enumerate(pages or reached, start=1)
    }
    section = Section("", excerpts, ())
    several = exclusive_count(search, chosen, stated)
    problem = "; the statements disagree, it has one value at a time" if several > 1 else ""
    problem += _without_times(view, answers, ways) if query.at else ""
    probability = best.probability * min(certainty.values())
    return Found(
        _names(search, answers),
        f"{_text(search, best)} ({best.topic_name}){problem}{_statements(view, excerpts, ways)}",
        round(probability / several, 4),
        Evidence(retrieved, measured((section,) if excerpts else (), name)),
    )


def _text(search: PathSearch, path: RelationPath) -> str:
    """A path in words, with what its answers are where that is not the usual kind of thing."""
    schema, hops = search.index.schema, [Hop(*hop) for hop in path.hops]
    things = {answer.iri for answer in path.answers if answer.iri}
    kinds, usual = kinds_of(search, things), schema.kinds.get(hops[-1].end, THING)
    declared = search.in_use.ontology.properties.get(hops[-1].predicate)
    has_end = declared and (declared.domains if hops[-1].is_inverse else declared.ranges)
    label = usual.casefold()
    unknown = {label} if has_end else set()  # an answer without a class is what the ontology says
    several = [kinds.get(thing, unknown) for thing in things]
    if all(label in own for own in several):
        return path.text
    common = set.intersection(*several)
    end = min((k for k in schema.kinds.values() if k.casefold() in common), default=THING)
    return spoken(search.model, schema, search.in_use.ontology, hops, end=end)


def _without_times(
    view: GraphView, answers: Sequence[PathAnswer], ways: Sequence[Sequence[Stated]]
) -> str:
    """Which answers are given for a time although nothing says when they hold, if others do."""
    relationships = {each.relationship for each in chain.from_iterable(ways)}
    times = stated_times(view.reader, relationships)
    dated = {
        answer.name
        for answer, way in zip(answers, ways, strict=True)
        if any(each.relationship in times for each in way)
    }
    undated = dict.fromkeys(answer.name for answer in answers if answer.name not in dated)
    if not dated or not undated:
        return ""
    more = ", ..." if len(undated) > _MOST_UNDATED else ""
    return f"; nothing says when, for {', '.join([*undated][:_MOST_UNDATED])}{more}"


def _stating(view: GraphView, document: Document, statements: Sequence[Stated]) -> Excerpt:
    """The sentence that says most of each statement; all of a document that makes none."""
    if not statements:
        return Excerpt.whole(document)
    relationships = (each.relationship for each in statements)
    rows = view.reader.select_provenance_for("relationship-phrases", relationships)
    phrases = {text_of(relationship): text_of(phrase) for relationship, phrase in rows}
    best = {
        saying(document.text, each.text, phrases[each.relationship], document.language)
        for each in statements
    }
    return Excerpt(document, tuple(sorted(best)))


def _statements(
    view: GraphView, excerpts: Mapping[str, Excerpt], ways: Sequence[Sequence[Stated]]
) -> str:
    """Some of the statements of documents on the way to each answer, with times and labels."""
    labels = {excerpt.document.iri: label for label, excerpt in excerpts.items()}
    statements = {
        each.relationship: each
        for each in dict.fromkeys(chain.from_iterable(ways))
        if each.document in labels
    }
    known = timed(view.reader, statements)
    several = []
    for relationship, each in statements.items():
        times = Timed(**known.get(relationship, {})).times
        is_said = not times or times in each.text
        when = "" if is_said else f" ({times})"
        several.append(f"{each.text}{when} {labels[each.document]}")
    more = ["..."] if len(several) > _QUOTED else []
    return f": {'; '.join((*several[:_QUOTED], *more))}" if several else ""


def _names(search: PathSearch, answers: Sequence[PathAnswer]) -> tuple[str, ...]:
    """What answers are called, each thing once, and dates as precisely as they are known."""
    one = search.identities.one
    dates = {answer.name for answer in answers if not answer.iri}
    precise = {*most_precise(dates)}
    called = {answer.iri: answer.name for answer in answers if answer.iri}
    names = dict.fromkeys(called.get(one(answer.iri), answer.name) for answer in answers)
    return tuple(name for name in names if name not in dates or name in precise)


def hops_of(found: Found) -> tuple[tuple[str, bool], ...]:
    """The hops of the path that was followed, as properties, and whether each is inverse."""
    paths = found.evidence.retrieved.paths
    return paths[0].hops if paths else ()


def joined(query: Query, several: Sequence[Found], names: Sequence[str], lead: str) -> Found:
    """An answer that follows from several together, as probable as all of them are.

    Their documents are numbered anew, those of both once; `lead` comes before what each means.
    """
    excerpts: dict[str, Excerpt] = {}
    meanings = []
    for found in several:
        labels = {}
        for label, excerpt in found.evidence.context.excerpts.items():
            iri = excerpt.document.iri
            spans = {*excerpt.spans, *(excerpts[iri].spans if iri in excerpts else ())}
            excerpts[iri] = Excerpt(excerpt.document, tuple(sorted(spans)))
            labels[label] = f"D{[*excerpts].index(iri) + 1}"
        parts = _LABEL.split(found.meaning)
        meanings.append("".join(labels.get(part, part) for part in parts))
    numbered = {f"D{number}": each for number, each in enumerate(excerpts.values(), start=1)}
    all_retrieved = [found.evidence.retrieved for found in several]
    documents = {each.document.iri: each for one in all_retrieved for each in one.documents}
    ranked = sorted(documents.values(), key=lambda each: (-each.score, each.rank))
    retrieved = replace(
        all_retrieved[0],
        query=query,
        documents=tuple(replace(each, rank=n) for n, each in enumerate(ranked, start=1)),
        seeds=tuple(dict.fromkeys(seed for one in all_retrieved for seed in one.seeds)),
        entities=tuple({e.iri: e for one in all_retrieved for e in one.entities}.values()),
        names={iri: name for one in all_retrieved for iri, name in one.names.items()},
        paths=tuple(path for one in all_retrieved for path in one.paths if path.answers),
    )
    sections = (Section("", numbered, ()),) if numbered else ()
    context = measured(sections, several[0].evidence.context.builder)
    probability = round(prod(found.probability for found in several), 4)
    return Found(names, "; ".join((lead, *meanings)), probability, Evidence(retrieved, context))


def stated_units(view: GraphView, paths: Iterable[RelationPath]) -> dict[str, set[str]]:
    """Dates and numbers at the ends of paths -> the units in which documents state them.

    That which a property declares is that of all its values.
    """
    stated = {
        (path.hops[-1][0], answer.name): [path.topic, *answer.nodes][-1]
        for path in paths
        for answer in path.answers
        if not answer.iri
    }
    known, units = view.derived(all_in_use).ontology.properties, defaultdict[str, set[str]](set)
    for property_, value in list(stated):
        own = known.get(property_)
        if own and range_kind(own) in ("number", "any") and (unit := declared_unit(own)):
            units[value].add(unit)
            del stated[property_, value]
    if not view.reader.extracted.parts or not stated:
        return units
    entities = view.derived(Identities).every(stated.values())
    for row in view.reader.select_provenance_for("typed-statements", entities):
        _, _, property_, object_, unit, *_ = row
        if unit and (property_.value, value := text_of(object_)) in stated:
            units[value].add(text_of(unit))
    return units


def with_units(view: GraphView, found: Found) -> Found:
    """Numbers that were found with the unit in which documents state each, if that is one."""
    units = stated_units(view, found.evidence.retrieved.paths)
    return replace(found, names=tuple(with_unit(name, units) for name in found.names))


def with_unit(value: str, units: Mapping[str, set[str]]) -> str:
    """A date or number with the unit in which it is stated, if that is one."""
    own = [*units.get(value, ())]
    return measure(value, own.pop()) if len(own) == 1 else value
