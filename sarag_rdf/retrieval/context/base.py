"""What builds a context, and how much of it is used up, in tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import Options
from sarag_rdf.base.ports import CountTokens
from sarag_rdf.base.types import Context, Retrieved, Section
from sarag_rdf.retrieval.view import GraphView


@dataclass(frozen=True, kw_only=True)
class ContextStrategy(Options, ABC):
    """Selects the part of what was retrieved that a model reads; its fields are its options.

    Subclasses are found by the entry points ``sarag_rdf.contexts``.
    """

    @abstractmethod
    def build(self, view: GraphView, retrieved: Retrieved, count: CountTokens) -> Context:
        """The context; `count` counts the tokens of a text."""


def approximate_tokens(text: str) -> int:
    """A word between white space as 4/3 tokens, rounded up: for English with common tokenizers.

    >>> approximate_tokens("Ulm lies on the Danube.")
    7
    """
    return -(-4 * len(text.split()) // 3)


def measured(sections: Sequence[Section], builder: str) -> Context:
    """The context of sections that no budget limits, with its approximate size."""
    context = Context(tuple(sections), 0, builder)
    return replace(context, tokens=sum(map(approximate_tokens, context.texts)))


class Budget:
    """Counts what is taken; `limit` of None is no limit."""

    def __init__(self, count: CountTokens, limit: int | None, *, used: int = 0) -> None:
        if limit is not None and limit < 1:
            raise UsageError("a budget is at least 1 token")
        self._count, self._limit = count, limit
        self.used = used

    def take(self, text: str, *, instead_of: str = "") -> bool:
        """Take a text if it fits, in the place of one taken before; say whether it does."""
        size = self._count(text) - (self._count(instead_of) if instead_of else 0)
        if self._limit is not None and self.used + size > self._limit:
            return False
        self.used += size
        return True
