"""What running a query of plain-word patterns gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Linked:
    """An entity that a name stands for; `similarity` is 1 for its very name or alias."""

    name: str
    entity: str
    label: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Support:
    """A relationship that a pattern matched, with the document that states it."""

    relationship: str
    text: str
    document: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Binding:
    """One solution: entity and name of each variable, and what supports each pattern.

    `score` is the mean of the similarities of patterns with the texts of their relationships and
    of names with those of their entities.
    """

    value: str
    entity: str
    score: float
    variables: Mapping[str, str]
    support: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class Grounding:
    """How far a query came: linked if every name is an entity, bound if there are bindings.

    `problem` says what failed; `sparql` is what was run.
    """

    linked: tuple[Linked, ...] = ()
    bindings: tuple[Binding, ...] = ()
    problem: str = ""
    sparql: str = ""
    is_linked: bool = False
