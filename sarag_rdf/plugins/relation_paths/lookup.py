"""The lookup ``paths``: what imported graphs and statements of documents say, without a model."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import Query
from sarag_rdf.extraction.names import english, type_of_noun
from sarag_rdf.plugins.relation_paths.described_things import of_described
from sarag_rdf.plugins.relation_paths.factoid import dated, factoid
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.memberships import of_a_kind, with_what_is_below
from sarag_rdf.plugins.relation_paths.path_answers import with_units
from sarag_rdf.plugins.relation_paths.path_comparisons import compared
from sarag_rdf.plugins.relation_paths.path_lookup import LEAST, without_names
from sarag_rdf.plugins.relation_paths.successions import in_succession
from sarag_rdf.plugins.relation_paths.superlatives import extreme
from sarag_rdf.retrieval.seeds import MARKS, NearName, QuestionNames, names_in
from sarag_rdf.retrieval.view import GraphView

_COMPARES: Final = re.compile(
    r"\b(?:or|both|same|between|out of|than|older|younger|earlier|later)\b", re.IGNORECASE
)
"""Words of English questions that no single path answers."""
_LEAST_PART: Final = 0.35
"""The least share of the letters of a name that stands for it."""
_COMPANIES: Final = frozenset(map(str.lower, english("mentions", "companies")))
"""Words that a name of a company ends with."""
_LEAST_LETTERS: Final = 5
"""The letters of the shortest word that may be misspelt."""


def lookup(view: GraphView, query: Query) -> Found | None:
    """What one path leads to, or what decides between several; None where it is not sure.

    A question that is not answered as it stands is read with the names that it nearly has.
    """
    found = _as_written(view, query) or _with_near_names(view, query)
    return found and with_units(view, found)


def _as_written(view: GraphView, query: Query) -> Found | None:
    if found := of_a_kind(view, query) or compared(view, query) or extreme(view, query):
        return found
    if _COMPARES.search(without_names(view, query.text)):
        return None
    at_time = dated(query)
    direct = partial(factoid, view, is_dated=at_time is not None)
    answer = partial(with_what_is_below, view, answer=direct)
    asked = at_time or query
    return of_described(view, asked, answer) or in_succession(view, asked)


def _with_near_names(view: GraphView, query: Query) -> Found | None:
    """The answer for misspelt names and for parts of names, if each can mean one thing only."""
    names = names_in(view, query.text, _LEAST_PART)
    probability, near, readings = 1.0, list[NearName](), list[str]()
    for each in sorted(names.near, key=lambda near: near.span):
        words = query.text[slice(*each.span)].strip(MARKS)
        if (name := _name(view, words, each)) is None:
            continue
        if not {*_words(words)} <= {*_words(name)}:  # a part is as good: it alone is called so
            probability *= each.probability
        near.append(replace(each, name=name))
        readings.append(f'"{words}" is read as "{name}"')
    if probability < LEAST or not near:
        return None
    text = QuestionNames(query.text, names.exact, near).text
    found = _as_written(view, replace(query, text=text))
    if found is None or (probability < 1.0 and found.probability * probability < LEAST):
        return None
    return replace(
        found,
        meaning="; ".join((*readings, found.meaning)),
        probability=round(found.probability * probability, 4),
    )


def _name(view: GraphView, words: str, near: NearName) -> str | None:
    """The name that words nearly are; None if they are no part of it, and no misspelt one.

    A part is what one thing alone ends with, or begins with before words of companies ("Fairlane"
    of "Fairlane GmbH"), and no word for things of a kind. Words are misspelt by a letter, and
    unless another name has them: "Joanna" where somebody else is called so.
    """
    entities = [view.iris.entities[row] for row in near.rows]
    labels = view.labels(entities)
    is_one = len({*map(view.derived(Identities).one, entities)}) == 1
    if not near.name and not is_one and len({own[0] for own in labels.values()}) > 1:
        return None
    name = near.name or labels[entities[0]][0]
    given, own = _words(words), _words(name)
    is_part = own[-len(given) :] == given or (
        own[: len(given)] == given and _COMPANIES.issuperset(own[len(given) :])
    )
    if is_part and len(given) < len(own):
        return None if any(map(type_of_noun, given)) else name
    pairs = zip(given, own, strict=True) if len(given) == len(own) else [("", "?")]
    if not all(one == other or _is_misspelt(one, other) for one, other in pairs):
        return None
    others = {*given} - {*own}
    known = (_words(other) for _, other in view.name_index.candidates(words))
    return None if any(not others.isdisjoint(other) for other in known) else name


def _words(name: str) -> list[str]:
    return normalize_name(name).split()


def _is_misspelt(one: str, other: str) -> bool:
    """Whether a letter within a long word is missing, too many, or in the place of its neighbour.

    Another letter, and one more at the end, make other words: "rubella" and "rubeola", "Martin" and
    "Martina"; but for one that is doubled.

    >>> _is_misspelt("johanes", "johannes"), _is_misspelt("martin", "martina")
    (True, False)
    """
    short, long = sorted((one, other), key=len)
    if len(short) < _LEAST_LETTERS:
        return False
    if len(short) == len(long):
        differing = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
        if len(differing) == 1 and not "".join(differing[0]).isascii():  # "o" for "ø"
            return True
        swaps = (f"{one[:i]}{one[i + 1]}{one[i]}{one[i + 2 :]}" for i in range(1, len(one) - 1))
        return other in swaps and one[0] == other[0]
    inner = (f"{long[:i]}{long[i + 1 :]}" for i in range(1, len(long) - 1))
    return short in inner or (long[:-1] == short and long[-1] == long[-2])
