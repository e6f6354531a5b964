"""Factoid questions by their forms: what, how many, when, how long, yes or no."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.questions import is_yes_or_no
from sarag_rdf.base.types import Query
from sarag_rdf.extraction.text_values import parse_value
from sarag_rdf.plugins.relation_paths.asked_answers import WHICH, kind_asked
from sarag_rdf.plugins.relation_paths.compared_attributes import measured_by
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_answers import hops_of
from sarag_rdf.plugins.relation_paths.path_index import all_in_use
from sarag_rdf.plugins.relation_paths.path_lookup import TimeAsked, followed, without_names
from sarag_rdf.plugins.relation_paths.path_model import packaged_model
from sarag_rdf.plugins.relation_paths.tense import is_present_tense
from sarag_rdf.plugins.relation_paths.thesauri import chained
from sarag_rdf.retrieval.seeds import ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

_HOW_MANY: Final = re.compile(r"\bhow many (\w+)", re.IGNORECASE)
_HAVING: Final = re.compile(
    r"\b[Hh]ow many (\w+(?: \w+)?) "
    r"(?:(?:has|have|had) ((?:the |an? )?[\[\"]?[A-Z\d].*?)|(?:do|does|did) (.+?) have)"
    r"\W*$"
)
"""A question that a property such as "number of seats" may answer."""
_HOW: Final = re.compile(
    r"\W*how (?:(\w+) (?:is|are|was|were) ([^,]+?)|much (?:do|does|did) ([^,]+) (weigh|cost))\W*$",
    re.IGNORECASE,
)
_ATTRIBUTES: Final = (
    re.compile(
        r"\W*(?:which|what|how much) ([a-z][a-z -]*?) (?:does|do|did) (.+?) (?:have|use)\W*$",
        re.IGNORECASE,
    ),
    re.compile(r"\W*when did ()(.+?) (?:happen|occur|take place)\W*$", re.IGNORECASE),
)
"""Questions for a property that they name: "which protocol does X use", or for a date."""
_UNIT: Final = re.compile(r" ?\(.*\)$| in \w+$")
_FORMER: Final = re.compile(r"\b(?:former|previous) (?=[a-z]|[A-Z]{2,}\b)")
"""Who asks so asks for what has ended, unless a label says it: "previous employer"."""
_WHEN: Final = re.compile(
    r"\W*(?:(since |until )?when|in (?:which|what) year) ((?:is|are|was|were|did|has|have) .*)",
    re.IGNORECASE,
)
_BECAME: Final = re.compile(r"^did (.+?) (?:become|start as|begin as)\b")
"""Who asks when that was asks for the start of what it led to."""
_NOT_CONFIRMED: Final = re.compile(
    r"\b(?:not|never|no|only|or|both|either|neither|always|first|last|former)\b|n['\u2019]t\b"
    r"|\b(?:can|could|may|might|must|shall|should|will|would)\b",
    re.IGNORECASE,
)
_CONCEPT: Final = re.compile(r" (?:an?|any) ((?:[a-z-]+ ){0,3}[a-z-]+)\W*$")
"""Ends a question for yes or no with a word that is no name."""
_TWO: Final = 2
"""Things that a question for yes or no names."""
_NOT_LOOKED_UP: Final = re.compile(
    r"\bwhy\b|\b(?:could|should|would|might)\b|"
    r"\bhow\b(?! (?:long|far|large|tall|big|high|deep|wide|old|many|much|heavy|fast)\b)",
    re.IGNORECASE,
)
_TIME: Final = r"(?:in|on|during|as of) ((?:the )?(?:\w+ ){0,2}\d{4}(?:-\d\d){0,2})"
_AT_TIME: Final = re.compile(rf" {_TIME}\W*$", re.IGNORECASE)
_FIRST_TIME: Final = re.compile(rf"\W*{_TIME},? (?=(?:who|whom|what|which|where)\b)", re.IGNORECASE)
_CURRENT: Final = re.compile(r"(?<=\bthe )(?:current|present) (?=[a-z]|[A-Z]{2,}\b)")
"""Who asks so asks for what holds now, unless a label says it: "current capacity"."""
Find = Callable[..., Found | None]
"""`followed` for one graph and query."""


def dated(query: Query) -> Query | None:
    """The query at the time with which its question ends, or begins; None without one.

    >>> found = dated(Query("Who was the head of Thule in May 1925?"))
    >>> found.text, found.at
    ('Who was the head of Thule?', '1925-05')
    """
    time = _AT_TIME.search(query.text) or _FIRST_TIME.match(query.text)
    value = parse_value(time[1], "date") if time and not query.at else None
    if time is None or value is None:
        return None
    rest = query.text[time.end() :] if time.start() == 0 else f"{query.text[: time.start()]}?"
    return replace(query, text=rest, at=value.lexical)


def factoid(view: GraphView, query: Query, *, is_dated: bool = False) -> Found | None:
    """The answer of the best path that is probable enough.

    A path starts at one name: a question that names several things or none, or asks for several,
    for a manner or a reason, is not looked up. All things of the name answer. What kind of thing is
    asked for need not be said by the path, if the answer is one. "How many" is answered with the
    number that is stated, or else by counting things, and a question for yes or no with yes, or
    not at all: what a graph does not state may be so. With `is_dated` only statements with a time
    count.
    """
    find = partial(followed, view, query, time="known" if is_dated else "")
    unnamed = without_names(view, query.text)
    if _NOT_LOOKED_UP.search(unnamed):
        return None
    if is_yes_or_no(query.text):
        return _confirmed(view, query, find)
    if former := _FORMER.search(query.text):
        found = find(_FORMER.sub("", query.text), time="former", most_hops=1)
        labelled = None if found else find(query.text)
        return labelled if labelled and former[0].strip() in labelled.meaning else found
    is_current = _CURRENT.search(unnamed) is not None and is_present_tense(unnamed)
    if is_current and (found := find(_CURRENT.sub("", query.text))):
        return found
    is_role = " as " in unnamed
    if (having := _HAVING.search(query.text)) and not is_role:
        kind, *of_either = having.groups()
        of = "".join(filter(None, of_either))
        number = find(f"what is the number of {kind} of {of}", most_hops=1)
        things = f"what are the {kind} of {of}"
        return number or find(things, is_count=True, most_hops=1)
    found = find(query.text) or _measured(find, query.text) or _dating(view, find, query.text)
    which, many = WHICH.search(query.text), _HOW_MANY.search(query.text)
    if found is None and (asked := which or many) and asked[1] not in packaged_model().not_asked:
        kind = kind_asked(view, query.text[asked.start(1) :])
        rest = f"{query.text[: asked.start()]}what{query.text[asked.start(1) + len(kind) :]}"
        found = find(rest, kind, is_count=asked is many)
    return found or _attribute(view, find, query.text)


def _attribute(view: GraphView, find: Find, question: str) -> Found | None:
    """What a question names with a verb that says no more than that somebody has it."""
    said = (form.match(question) for form in _ATTRIBUTES)
    names = ((match[1] or "date", match[2]) for match in said if match)
    content = packaged_model().content
    for noun, of in names:
        found = find(f"what is the {noun} of {of}", most_hops=1)
        if found and _is_called(view, found, {*content(noun), *content(question)}):
            return found
    return None


def _is_called(view: GraphView, found: Found, words: Set[str]) -> bool:
    """Whether the label of the property that was followed has no words but these.

    But for a unit, and the class of the things that have it: "memory (GB)", "date of incident".
    """
    (property_, _), *_ = hops_of(found)
    ontology, content = view.derived(all_in_use).ontology, packaged_model().content
    declared = ontology.properties.get(property_)
    if declared is None:
        return False
    classes = (ontology.classes[iri].label for iri in declared.domains if iri in ontology.classes)
    return {*content(_UNIT.sub("", declared.label))} <= words | {*content(" ".join(classes))}


def _measured(find: Find, question: str) -> Found | None:
    """What an adjective asks for, if it is one thing: the length of what is long."""
    match = _HOW.match(question)
    if match is None or not (attributes := measured_by((match[1] or match[4]).lower())):
        return None
    of = match[2] or match[3]
    several = [f for noun in attributes if (f := find(f"what is the {noun} of {of}", most_hops=1))]
    return several[0] if len(several) == 1 else None


def _dating(view: GraphView, find: Find, question: str) -> Found | None:
    """When it was so what a statement says: "when was X restored"."""
    if (match := _WHEN.match(question)) is None:
        return None
    times: dict[str, TimeAsked] = {"since": "start", "until": "end"}
    text, is_start = _BECAME.subn(r"was \1", match[2])
    word = "since" if is_start else (match[1] or "").strip().lower()
    find = partial(find, time=times.get(word, "asked"))
    spans = named_spans(view.names, text, ProperNames(view))
    if len(spans) == _TWO:
        return _said(view, find, text)
    said = [f"by whom {text}", f"what {text}", f"what {text.rstrip(' ?')} of"]
    if is_start:  # somebody became it, and did not get one
        said = said[-1:]
    return next(filter(None, (find(text, most_hops=1) for text in said)), None)


def _confirmed(view: GraphView, query: Query, find: Find) -> Found | None:
    """Yes, if one of the two things that are named is what is said of the other.

    What would be said of them the other way round as well is not said clearly enough.
    """
    text = query.text
    spans = sorted(named_spans(view.names, text, ProperNames(view)))
    if _NOT_CONFIRMED.search(text):
        return None
    if len(spans) == 1 and (concept := _CONCEPT.search(text, spans[0][0][1])):
        return _confirmed_below(view, find, text[: concept.start()], concept[1])
    if len(spans) != _TWO:
        return None
    ((begin, end), _), ((after, last), _) = spans
    turned = f"{text[:begin]}{text[after:last]}{text[end:after]}{text[begin:end]}{text[last:]}"
    found = _said(view, find, text)
    if found is None or _said(view, find, turned):
        return None
    return replace(found, names=("yes",), meaning=f"{found.text}: {found.meaning}")


def _confirmed_below(view: GraphView, find: Find, said: str, name: str) -> Found | None:
    """Yes, if a property leads to a concept or to one below: what uses Oracle uses a database."""
    named = view.names.entities({normalize_name(name)}).values()
    concepts = {*chain.from_iterable(named)}
    concepts |= {*chain.from_iterable(chained(view, each, up=False) for each in concepts)}
    among = frozenset(view.derived(Identities).every(concepts))
    found = find(said, among=among, most_hops=1) if among else None
    if found is None or hops_of(found)[0][1]:
        return None
    return replace(found, names=("yes",), meaning=f"{found.text}: {found.meaning}")


def _said(view: GraphView, find: Find, text: str) -> Found | None:
    """What a path of one property from one of two names says, if it ends at the other."""
    for (begin, end), entities in named_spans(view.names, text, ProperNames(view)):
        is_one = frozenset(view.derived(Identities).every(entities))
        rest = f"{text[:begin]} {text[end:]}"
        if found := find(rest, among=is_one, most_hops=1):
            return found
    return None
