"""The lookup ``paths``: what imported graphs and statements of documents say, without a model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import Query
from sarag_rdf.plugins.relation_paths.factoid import dated, factoid
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_answers import with_units
from sarag_rdf.plugins.relation_paths.path_comparisons import compared
from sarag_rdf.plugins.relation_paths.path_lookup import LEAST, without_names
from sarag_rdf.plugins.relation_paths.superlatives import extreme
from sarag_rdf.retrieval.near_names import NearName, QuestionNames, names_in
from sarag_rdf.retrieval.view import GraphView

_COMPARES: Final = re.compile(
    r"\b(?:or|both|same|between|out of|than|older|younger|earlier|later)\b", re.IGNORECASE
)
"""Words of English questions that no single path answers."""
_LEAST_PART: Final = 0.5
"""The least share of the letters of a name that stands for it."""
_MARKS: Final = "\"'?!.,;: "
"""What may stand before and after a name."""


def lookup(view: GraphView, query: Query) -> Found | None:
    """What one path leads to, or what decides between several; None where it is not sure.

    A question that is not answered as it stands is read with the names that it nearly has.
    """
    found = _as_written(view, query) or _with_near_names(view, query)
    return found and with_units(view, found)


def _as_written(view: GraphView, query: Query) -> Found | None:
    if found := compared(view, query) or extreme(view, query):
        return found
    if _COMPARES.search(without_names(view, query.text)):
        return None
    at_time = dated(query)
    return factoid(view, at_time, is_dated=True) if at_time else factoid(view, query)


def _with_near_names(view: GraphView, query: Query) -> Found | None:
    """The answer for misspelt names and for parts of names, if each can mean one thing only."""
    names = names_in(view, query.text, _LEAST_PART)
    probability, near, readings = 1.0, list[NearName](), list[str]()
    for each in names.near:
        words = query.text[slice(*each.span)].strip(_MARKS)
        if (name := _name(view, words, each)) is None:
            continue
        if not _words(words) <= _words(name):  # a part is as good: it is the only one so called
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
    """The name that words nearly are, of one thing if they are a part of it; None if of several.

    So it is if another name has one of the words that this one has not: "Jana" is no misspelt
    "Jan" where somebody else is called so.
    """
    entities = [view.iris.entities[row] for row in near.rows]
    if not near.name and len({*map(view.derived(Identities).one, entities)}) > 1:
        return None
    name = near.name or view.labels(entities)[entities[0]][0]
    others = _words(words) - _words(name)
    known = (_words(other) for _, other in view.name_index.candidates(words))
    return None if any(not others.isdisjoint(other) for other in known) else name


def _words(name: str) -> set[str]:
    return {*normalize_name(name).split()}
