"""Which kinds of things may be what a question asks for: who is a person or an organization."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from sarag_rdf.base.types import EntityType
from sarag_rdf.extraction.names import type_of_noun

_AGENT: Final = re.compile(r"agent|\w{3,}(?:er|or|ist|ian|ee|ant|man|men|woman|women)")
"""A noun for who does something or works somewhere, if no list says otherwise: "manager"."""
_ADMITTED: Final[dict[str, frozenset[EntityType]]] = {
    "person": frozenset(("person", "organization")),
    "place": frozenset(("geopolitical", "organization", "misc")),
    "year": frozenset(),
}
"""What is asked for, in the word of `PathModel.asked` -> types of things that may answer."""
_TIMES: Final = frozenset("year date time day month decade century period era".split())


def type_of_kind(kind: str) -> EntityType | None:
    """The entity type of things of a kind, by the last word before "of"; None if unknown."""
    words = kind.casefold().partition(" of ")[0].split()
    if not words:
        return None
    type_ = type_of_noun(words[-1])
    return "person" if type_ is None and _AGENT.fullmatch(words[-1]) else type_


def may_answer(asked: str, kinds: Collection[str], others: Iterable[str] = ()) -> bool:
    """Whether what is of these kinds, in words, may be asked for; so may be what is of no kind.

    Among `others`, kinds that the graph has, one of persons shows that persons would be of a kind
    that says so.
    """
    if asked not in _ADMITTED or not kinds:
        return True
    if asked == "year":
        return any(kind.split()[-1:][0] in _TIMES for kind in kinds if kind)
    types = {type_of_kind(kind) for kind in kinds} - {None}
    if types or asked != "person":
        return not types or not types.isdisjoint(_ADMITTED[asked])
    return all(type_of_kind(kind) != "person" for kind in others)


def is_other_agent(kind: str, kinds: Iterable[str]) -> bool:
    """Whether a person or organization is asked for, by `kind`, and what is of `kinds` is none."""
    asked = type_of_kind(kind)
    types = {type_of_kind(each) for each in kinds} - {None}
    return asked in _ADMITTED["person"] and bool(types) and asked not in types
