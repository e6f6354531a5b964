"""Which kinds of things may be what a question asks for: who is a person or an organization."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sarag_rdf.base.types import EntityType
from sarag_rdf.extraction.names import type_of_noun

_AGENTS: Final[frozenset[EntityType]] = frozenset(("person", "organization"))
_TIMES: Final = frozenset("year date time day month decade century period era".split())


def type_of_kind(kind: str) -> EntityType | None:
    """The entity type of things of a kind, by the last word before "of"; None if unknown."""
    words = kind.casefold().partition(" of ")[0].split()
    return type_of_noun(words[-1]) if words else None


def types_of(kinds: Iterable[str]) -> set[EntityType | None]:
    """The known entity types of things of several kinds."""
    return {*map(type_of_kind, kinds)} - {None}


def may_end(asked: str, kind: str) -> bool:
    """Whether a path to things of a kind may say what is asked for, a place or a year."""
    if asked == "year":
        return kind.split()[-1] in _TIMES
    return asked != "place" or type_of_kind(kind) != "person"


def is_no_agent(kinds: Iterable[str]) -> bool:
    """Whether what is of these kinds is known to be no person and no organization."""
    types = types_of(kinds)
    return bool(types) and types.isdisjoint(_AGENTS)


def is_other_agent(kind: str, kinds: Iterable[str]) -> bool:
    """Whether a person or organization is asked for, by `kind`, and what is of `kinds` is none."""
    asked, types = type_of_kind(kind), types_of(kinds)
    return asked in _AGENTS and bool(types) and asked not in types
