"""A factoid question: the ends of the relation path that says what is asked.

Paths lead through imported graphs, or else through what was extracted from documents as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.questions import is_yes_or_no
from sarag_rdf.base.types import Query, RelationPath
from sarag_rdf.extraction.text_values import parse_value
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.graph.valid_time import stated_times
from sarag_rdf.plugins.relation_paths.asked_answers import WHICH, as_asked, kinds_of, of_kind
from sarag_rdf.plugins.relation_paths.exclusive_values import holding
from sarag_rdf.plugins.relation_paths.identities import Identities
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
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch, Stated, Triple, walks
from sarag_rdf.plugins.relation_paths.tense import (
    asks_what_goes_on,
    is_past_state,
    is_past_tense,
    is_present_tense,
)
from sarag_rdf.retrieval.asked_classes import AskedClasses
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

LEAST: Final = 0.8
"""Least probability of a path that is answered with; `benchmarks/paths.md` has what follows."""
_DOCUMENTS: Final = 10
"""Documents that are cited with an answer, at most."""
_HOW_MANY: Final = re.compile(r"\bhow many (\w+)", re.IGNORECASE)
_HAVING: Final = re.compile(
    r"\b[Hh]ow many (\w+(?: \w+)?) "
    r"(?:(?:has|have|had) ((?:the |an? )?[\[\"]?[A-Z\d].*?)|(?:do|does|did) (.+?) have)\W*$"
)
"""A question that a property such as "number of seats" may answer."""
_COUNTED: Final = 10
"""Names of things that were counted which are given, at most."""
_NOT_CONFIRMED: Final = re.compile(
    r"\b(?:not|never|no|only|or|both|either|neither|always|first|last|former)\b|n['\u2019]t\b"
    r"|\b(?:can|could|may|might|must|shall|should|will|would)\b",
    re.IGNORECASE,
)
_NOUN: Final = re.compile(r"\b(?:the|an?) [a-z]")
"""In a question for yes or no: "is X the owner of Y", and not "does X own Y"."""
_TWO: Final = 2
"""Things that a question for yes or no names."""
_WORD: Final = re.compile(r"\w+")
_LABEL: Final = 3
"""Words of the longest label of a kind of thing that is asked for."""
_NOT_LOOKED_UP: Final = re.compile(
    r"\bwhy\b|\bhow\b(?! (?:long|far|large|tall|big|high|deep|wide|old|many|much)\b)", re.IGNORECASE
)
_AT_TIME: Final = re.compile(
    r" (?:in|on|during|as of) ((?:the )?(?:\w+ ){0,2}\d{4}(?:-\d\d){0,2})\W*$", re.IGNORECASE
)
_AND: Final = re.compile(r"\band\b", re.IGNORECASE)
"""Who asks for several things."""
_HOMONYMS: Final = 5
"""Things with the name of the topic that are followed beside it, at most."""
Find = Callable[..., Found | None]
"""`_found` for one graph and query."""


def dated(query: Query) -> Query | None:
    """The query at the time with which its question ends; None if it ends with none.

    >>> found = dated(Query("Who was the head of Thule in May 1925?"))
    >>> found.text, found.at
    ('Who was the head of Thule?', '1925-05')
    """
    time = _AT_TIME.search(query.text)
    value = parse_value(time[1], "date") if time and not query.at else None
    if time is None or value is None:
        return None
    return replace(query, text=f"{query.text[: time.start()]}?", at=value.lexical)


def factoid(view: GraphView, query: Query, *, is_dated: bool = False) -> Found | None:
    """The answer of the best path that is probable enough.

    A path starts at one name: a question that names several things or none, or asks for several,
    for a manner or a reason, is not looked up. All things of the name answer. What kind of thing is
    asked for need not be said by the path, if the answer is one. "How many" is answered with the
    number that is stated, or else by counting things, and a question for yes or no with yes, or
    not at all: what a graph does not state may be so. With `is_dated` only statements with a time
    count.
    """
    find = partial(_found, view, query, is_dated=is_dated)
    if _NOT_LOOKED_UP.search(query.text):
        return None
    if is_yes_or_no(query.text):
        return _confirmed(view, query, find)
    if having := _HAVING.search(query.text):
        kind, *of_either = having.groups()
        of = "".join(filter(None, of_either))
        number = find(f"what is the number of {kind} of {of}", most_hops=1)
        things = f"what are the {kind} of {of}"
        return number or find(things, is_count=True, most_hops=1)
    found = find(query.text)
    which, many = WHICH.search(query.text), _HOW_MANY.search(query.text)
    if found is None and (asked := which or many) and asked[1] not in packaged_model().not_asked:
        kind = _kind_asked(view, query.text[asked.start(1) :])
        rest = f"{query.text[: asked.start()]}what{query.text[asked.start(1) + len(kind) :]}"
        found = find(rest, kind, is_count=asked is many)
    return found


def _confirmed(view: GraphView, query: Query, find: Find) -> Found | None:
    """Yes, if one of the two things that are named is what is said of the other.

    What would be said of them the other way round as well is not said clearly enough.
    """
    text = query.text
    spans = sorted(named_spans(view.names, text, ProperNames(view)))
    if len(spans) != _TWO or _NOT_CONFIRMED.search(text):
        return None
    ((begin, end), _), ((after, last), _) = spans
    turned = f"{text[:begin]}{text[after:last]}{text[end:after]}{text[begin:end]}{text[last:]}"
    found = _said(view, find, text)
    return None if found and _said(view, find, turned) else found


def _said(view: GraphView, find: Find, text: str) -> Found | None:
    """Yes, if a path of one property from one of two names says it, and ends at the other."""
    for (begin, end), entities in named_spans(view.names, text, ProperNames(view)):
        is_one = frozenset(view.derived(Identities).every(entities))
        rest = f"{text[:begin]} {text[end:]}"
        if found := find(rest, among=is_one, most_hops=1):
            names = "; ".join(found.names)
            return replace(found, names=("yes",), meaning=f"{names}: {found.meaning}")
    return None


def _is_directed(search: PathSearch, asking: Asking, hop: Hop) -> bool:
    """Whether a hop is said by the verb of a question in its direction, or by a noun."""
    said = search.model.words_for(search.index.schema, hop)
    is_noun = _NOUN.search(f"{asking.before} {asking.after}") is not None
    needed = [word for word in asking.words(search.model.content) if word.is_needed]
    return all(not said.isdisjoint(w.forms if is_noun else w.forms[-1:]) for w in needed)


def _kind_asked(view: GraphView, text: str) -> str:
    """The label of a class with which a text begins, also in the plural, or else its first word."""
    first, *others = islice(_WORD.finditer(text), _LABEL)
    classes = view.derived(AskedClasses)
    for end in reversed([word.end() for word in others]):
        label = text[:end]
        if any(len(known.split()) == len(label.split()) for known in classes.named(label.lower())):
            return label
    return first[0]


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


def _without_names(view: GraphView, question: str) -> str:
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
    said = said_words(ontology.properties, common_schema().properties, model.content).values()
    phrases = chain.from_iterable(
        texts for known in (annotated(view.reader), packaged_phrases()) for texts in known.values()
    )
    classes = (class_.label for class_ in ontology.classes.values())
    names = model.content(" ".join((*phrases, *classes, *VALUE_KINDS, THING)))
    return frozenset(names).union(map(stem_of, chain.from_iterable(said)))


def _found(
    view: GraphView,
    query: Query,
    question: str,
    kind: str = "",
    *,
    is_count: bool = False,
    among: frozenset[str] = frozenset(),
    most_hops: int = MOST_HOPS,
    is_dated: bool = False,
) -> Found | None:
    """What answers a question, which is the query or says the same without the kind of thing.

    It is one of the entities `among`, if there are any.
    """
    unnamed = _unnamed(view, question)
    if unnamed is None or _AND.search(unnamed):
        return None
    for search in searches(view, unnamed):
        topics, paths = search.find(question)
        if not paths or not paths[0].answers or len(paths[0].hops) > most_hops:
            continue
        best = paths[0]
        hops = tuple(Hop(*hop) for hop in best.hops)
        others = [topic for topic in topics if topic.seed.node != best.topic][:_HOMONYMS]
        same = (search.follow_hops(topic, hops) for topic in others)
        alike = (replace(p, score=best.score, probability=best.probability) for p in same)
        asked = _without_names(view, query.text)
        is_now = is_present_tense(asked)
        chosen, stated = holding(search, query, [best, *alike], is_now=is_now)
        chosen = as_asked(search, topics[0].question, chosen, stated)
        if is_dated:
            times = stated_times(view.reader, {each.relationship for each in stated.values()})
            known = {t for t, each in stated.items() if each.relationship in times}
            every = chain.from_iterable(chain.from_iterable(map(walks, chosen)))
            chosen = [*_without(chosen, {*every} - known)]
        if is_now and len(hops) == 1:
            chosen = [*_without(chosen, _over(view, stated, asked))]
        if among:
            is_said = any(_is_directed(search, topic.asking, hops[0]) for topic in topics)
            over = {t for t, each in stated.items() if is_now and is_past_tense(each.text)}
            chosen = [*_without(chosen, over, among)] if is_said else []
        if is_count:
            things = {answer.iri for path in chosen for answer in path.answers}
            if things - kinds_of(search, things - {""}).keys():
                return None  # it may be of the kind that is counted, or not
        if chosen := of_kind(search, topics[0].asking.before, kind, chosen):
            found = looked_up(search, query, topics, chosen, stated, paths[1:], "paths")
            return _counted(search, chosen, stated, found) if is_count else found
    return None


def _over(view: GraphView, stated: Mapping[Triple, Stated], question: str) -> set[Triple]:
    """Statements in the past tense, without a time, that a question in the present leaves out.

    It leaves out all of them if it asks with a verb for what goes on, or if some are in the present
    tense, and otherwise those of what may have ended.
    """
    past = {t: each for t, each in stated.items() if is_past_tense(each.text)}
    dated = stated_times(view.reader, {each.relationship for each in past.values()})
    over = {t: each for t, each in past.items() if each.relationship not in dated}
    if asks_what_goes_on(question) or len(past) < len(stated):
        return {*over}
    return {t for t, each in over.items() if is_past_state(each.text)}


def _without(
    paths: Iterable[RelationPath], over: Set[Triple], among: Set[str] = frozenset()
) -> Iterator[RelationPath]:
    """The paths with the answers that need no statement that is over, `among` some if given."""
    for path in paths:
        pairs = zip(path.answers, walks(path), strict=True)
        answers = tuple(a for a, walk in pairs if over.isdisjoint(walk))
        if answers := tuple(a for a in answers if not among or a.iri in among):
            yield replace(path, answers=answers)


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
