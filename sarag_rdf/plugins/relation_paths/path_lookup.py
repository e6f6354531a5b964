"""The ends of the relation path that says what is asked, as they hold when asked for.

Paths lead through imported graphs, or else through what was extracted from documents as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, islice
from typing import Final, Literal

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Query, RelationPath, Timed
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.graph.valid_time import NO_TIMES, stated_times, timed
from sarag_rdf.plugins.relation_paths.asked_answers import as_asked, kinds_of, of_kind
from sarag_rdf.plugins.relation_paths.exclusive_values import (
    holding,
    known_to_hold,
    most_precise,
    reified,
)
from sarag_rdf.plugins.relation_paths.path_answers import looked_up
from sarag_rdf.plugins.relation_paths.path_index import all_in_use
from sarag_rdf.plugins.relation_paths.path_model import (
    MOST_HOPS,
    THING,
    VALUE_KINDS,
    Hop,
    annotated,
    packaged_model,
    packaged_phrases,
)
from sarag_rdf.plugins.relation_paths.path_words import Asking, said_words, stem_of
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch, Stated, Topic, Triple, walks
from sarag_rdf.plugins.relation_paths.tense import (
    asks_what_goes_on,
    is_past_state,
    is_past_tense,
    is_present_tense,
    remains_so,
)
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

LEAST: Final = 0.8
"""Least probability of a path that is answered with; `benchmarks/paths.md` has what follows."""
_DOCUMENTS: Final = 10
"""Documents that are cited with an answer, at most."""
_COUNTED: Final = 10
"""Names of things that were counted which are given, at most."""
_NOUN: Final = re.compile(r"\b(?:the|an?) [a-z]")
"""In a question for yes or no: "is X the owner of Y", and not "does X own Y"."""
_AND: Final = re.compile(r"\band\b", re.IGNORECASE)
"""Who asks for several things."""
_TRIED: Final = 3
"""Paths of which one has to lead to what is of the kind that is asked for."""
_HOMONYMS: Final = 5
"""Things with the name of the topic that are followed beside it, at most."""
TimeAsked = Literal["", "known", "former", "asked", "start", "end"]
"""Of statements: any time, one that includes that of the query, one that is over, or their own."""
_OWN_TIMES: Final = {"asked": "times", "start": "start_time", "end": "end_time"}


def followed(
    view: GraphView,
    query: Query,
    question: str,
    kind: str = "",
    *,
    is_count: bool = False,
    among: frozenset[str] = frozenset(),
    most_hops: int = MOST_HOPS,
    time: TimeAsked = "",
) -> Found | None:
    """What answers a question, which is the query or says the same without the kind of thing.

    It is one of the entities `among`, if there are any.
    """
    unnamed = _unnamed(view, question)
    if unnamed is None or _AND.search(unnamed):
        return None
    for search, topics in _readings(view, question, unnamed):
        for best, *others in islice(search.likely(topics), _TRIED):
            if len(best.hops) > most_hops:
                break
            chosen, stated = _holding(search, query, topics, best, time=time)
            if among:
                asked = without_names(view, query.text)
                chosen = _confirming(search, asked, topics, chosen, stated, among)
            if not chosen:
                break
            if is_count and not _are_kinds_known(search, chosen):
                return None
            if chosen := of_kind(search, topics[0].asking, kind, chosen):
                found = looked_up(search, query, topics, chosen, stated, others, "paths")
                if time in _OWN_TIMES:
                    hop = Hop(*best.hops[0])
                    is_said = any(_is_directed(search, topic.asking, hop) for topic in topics)
                    return _timed(search, chosen, found, _OWN_TIMES[time]) if is_said else None
                return _counted(search, chosen, stated, found) if is_count else found
    return None


def _readings(
    view: GraphView, question: str, unnamed: str
) -> Iterator[tuple[PathSearch, list[Topic]]]:
    """Where to search, and what a question is about: what is called exactly so, or else all."""
    for search in searches(view, unnamed):
        topics = search.topics(question)
        yield search, topics
        if len(every := search.topics(question, is_preferred=False)) > len(topics):
            yield search, every


def _unnamed(view: GraphView, question: str) -> str | None:
    """A question without the one thing that it names; None if it names another number."""
    text, marks = MARKED.subn(r"\1", question)
    spans = named_spans(view.names, text, ProperNames(view))
    if len(spans) > 1 or not (spans or marks):
        return None
    if marks:
        return MARKED.sub("", question)
    [((begin, end), _)] = spans
    return f"{text[:begin]} {text[end:]}"


def without_names(view: GraphView, question: str) -> str:
    """A question without names, as their words say nothing of the time."""
    text = MARKED.sub(r"\1", question)
    for (begin, end), _ in sorted(named_spans(view.names, text, ProperNames(view)), reverse=True):
        text = f"{text[:begin]} {text[end:]}"
    return text


def searches(view: GraphView, unnamed: str) -> Iterator[PathSearch]:
    """Paths of imported graphs; of all, if statements of documents could say what is asked.

    Both are followed through all. Documents change, and then all paths are read again: the words of
    ontologies say sooner that none is probable.
    """
    options = Paths(imported=True, least=LEAST, limit=_DOCUMENTS)
    imported = PathSearch(view, options, view.derived(all_in_use))
    if imported.in_use.parts:
        yield imported
    if view.reader.extracted.parts:
        words, known = packaged_model().content(unnamed), view.derived(_words)
        if imported.in_use.parts and imported.identities:  # paths lead from documents into graphs
            known |= imported.index.words
        is_sayable = bool(words) and known.issuperset(words)
        if is_sayable and view.reader.select_provenance("typed-relationship"):
            yield PathSearch(view, replace(options, imported=False))


def _words(view: GraphView) -> frozenset[str]:
    """The stems of all words in which a question may say what documents state.

    Those of the ontology and its phrases, in use or not: nothing that grows with the documents is
    read.
    """
    ontology, model = view.derived(all_in_use).ontology, packaged_model()
    labels = {iri: class_.label.lower() for iri, class_ in ontology.classes.items()}
    kinds = {
        f"-{iri}": labels[own.ranges[0]]
        for iri, own in ontology.properties.items()
        if own.ranges and own.ranges[0] in labels
    }
    common = common_schema().properties
    said = said_words(ontology.properties, common, model.content, kinds).values()
    phrases = chain.from_iterable(
        texts for known in (annotated(view.reader), packaged_phrases()) for texts in known.values()
    )
    classes = (class_.label for class_ in ontology.classes.values())
    names = model.content(" ".join((*phrases, *classes, *VALUE_KINDS, THING)))
    return frozenset(names).union(map(stem_of, chain.from_iterable(said)))


def _holding(
    search: PathSearch,
    query: Query,
    topics: Sequence[Topic],
    best: RelationPath,
    *,
    time: TimeAsked,
) -> tuple[list[RelationPath], Mapping[Triple, Stated]]:
    """A path from all topics with the answers that hold when asked for, and who states them."""
    hops = tuple(Hop(*hop) for hop in best.hops)
    others = [topic for topic in topics if topic.seed.node != best.topic][:_HOMONYMS]
    same = (search.follow_hops(topic, hops) for topic in others)
    alike = (replace(p, score=best.score, probability=best.probability) for p in same)
    paths, asked = [best, *alike], without_names(search.view, query.text)
    if time == "former":
        chosen, stated = holding(search, query, paths, is_now=False)
        now, still = holding(search, query, paths, is_now=True)
        present = [*_without(now, _over(search.view, still, ""))]
        chosen = [*_without_answers(chosen, present)]
    else:
        is_now = is_present_tense(asked)
        chosen, stated = holding(search, query, paths, is_now=is_now)
        if is_now:
            over = _over(search.view, stated, asked if len(hops) == 1 else "")
            chosen = [*_without(chosen, over)]
    if time == "known":
        every = {*chain.from_iterable(chain.from_iterable(map(walks, chosen)))}
        chosen = [*_without(chosen, every - known_to_hold(search, query.at, every, stated))]
    asking = topics[0].asking
    return as_asked(search, f"{asking.before} {asking.after}", chosen, stated), stated


def _over(view: GraphView, stated: Mapping[Triple, Stated], question: str) -> set[Triple]:
    """Statements in the past tense that a question in the present leaves out.

    It leaves out what may have ended, unless it has a start or an end, what was so at a time but
    for what remains so, and of those without a time all, if it asks with a verb for what goes on,
    or if some are in the present tense. The question is empty for the steps of a path.
    """
    past = {t: each for t, each in stated.items() if is_past_tense(each.text)}
    times = stated_times(view.reader, {each.relationship for each in past.values()})
    is_all = asks_what_goes_on(question) or (bool(question) and len(past) < len(stated))
    over = set[Triple]()
    for triple, each in past.items():
        start, end, at = times.get(each.relationship, NO_TIMES)
        is_open = start is not None or end is not None
        is_past = not remains_so(each.text) if at else is_past_state(each.text)
        if (is_past and not is_open) or (is_all and each.relationship not in times):
            over.add(triple)
    return over


def _without(
    paths: Iterable[RelationPath], over: Set[Triple], among: Set[str] = frozenset()
) -> Iterator[RelationPath]:
    """The paths with the answers that need no statement that is over, `among` some if given."""
    for path in paths:
        pairs = zip(path.answers, walks(path), strict=True)
        answers = tuple(a for a, walk in pairs if over.isdisjoint(walk))
        if answers := tuple(a for a in answers if not among or a.iri in among):
            yield replace(path, answers=answers)


def _without_answers(
    paths: Iterable[RelationPath], others: Iterable[RelationPath]
) -> Iterator[RelationPath]:
    """The paths with the answers that others do not have."""
    names = {(a.iri, a.name) for path in others for a in path.answers}
    for path in paths:
        if answers := tuple(a for a in path.answers if (a.iri, a.name) not in names):
            yield replace(path, answers=answers)


def _confirming(
    search: PathSearch,
    asked: str,
    topics: Sequence[Topic],
    paths: Sequence[RelationPath],
    stated: Mapping[Triple, Stated],
    among: Set[str],
) -> list[RelationPath]:
    """The paths to one of the things `among`, if the question says their hop in its direction."""
    hop = Hop(*paths[0].hops[0]) if paths else None
    if hop is None or not any(_is_directed(search, topic.asking, hop) for topic in topics):
        return []
    is_now = is_present_tense(asked)
    over = {t for t, each in stated.items() if is_now and is_past_tense(each.text)}
    return [*_without(paths, over, among)]


def _is_directed(search: PathSearch, asking: Asking, hop: Hop) -> bool:
    """Whether a hop is said by the verb of a question in its direction, or by a noun."""
    said = search.model.words_for(search.index.schema, hop)
    is_noun = _NOUN.search(f"{asking.before} {asking.after}") is not None
    needed = [word for word in asking.words(search.model.content) if word.is_needed]
    return all(not said.isdisjoint(w.forms if is_noun else w.forms[-1:]) for w in needed)


def _are_kinds_known(search: PathSearch, paths: Iterable[RelationPath]) -> bool:
    """Whether all answers have a class: another one may be of the kind that is counted, or not."""
    things = {answer.iri for path in paths for answer in path.answers}
    return things <= kinds_of(search, things - {""}).keys()


def _counted(
    search: PathSearch,
    paths: Sequence[RelationPath],
    stated: Container[Triple],
    found: Found,
) -> Found | None:
    """The number of things that were found, unless there are more, or values.

    It is the least number if documents state any of them, which may say more than was understood.
    """
    things = {search.identities.one(answer.iri) for path in paths for answer in path.answers}
    if "" in things or any(path.is_cut for path in paths):
        return None
    more = ", ..." if len(found.names) > _COUNTED else ""
    names = f"{', '.join(found.names[:_COUNTED])}{more}"
    triples = chain.from_iterable(chain.from_iterable(map(walks, paths)))
    least = "at least " if any(triple in stated for triple in triples) else ""
    number = f"{least}{len(things)}"
    return replace(found, names=(number,), meaning=f"{names}: {found.meaning}")


def _timed(
    search: PathSearch, paths: Sequence[RelationPath], found: Found, field: str
) -> Found | None:
    """The times of all statements that lead to the answers, if each has one of that kind."""
    reader, made = search.view.reader, search.statements(paths)
    said_by = defaultdict[Triple, set[str]](set)
    for triple, several in made.items():
        said_by[triple] |= {each.relationship for each in several}
    if not all(walk[-1] in made for path in paths for walk in walks(path)):
        for node, triple in reified(reader, stated_times(reader)):
            said_by[triple].add(node)
    ways = {
        (answer.name, statement)
        for path in paths
        for answer, walk in zip(path.answers, walks(path), strict=True)
        for statement in said_by[walk[-1]] or {""}
    }
    known = timed(reader, {statement for _, statement in ways} - {""})
    times = {
        (str(getattr(Timed(**known.get(statement, {})), field)), name) for name, statement in ways
    }
    if not times or not all(text for text, _ in times):
        return None
    is_one = len({name for _, name in times}) == 1
    named = (text if is_one else f"{text} ({name})" for text, name in sorted(times))
    return replace(found, names=tuple(most_precise(named)))
