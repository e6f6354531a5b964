"""Blank nodes are stored under IRIs of their own, and become blank again on the way out."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pyoxigraph as ox

_PATH = "/.well-known/genid/"


class Skolemizer:
    """Gives each blank node of one request an IRI; the same node gets the same."""

    def __init__(self, base: str) -> None:
        """`base` is the graph's base IRI; the IRIs stand at the root of its authority."""
        parts = urlsplit(base)
        self._prefix = f"{parts.scheme}://{parts.netloc}{_PATH}"
        self._nodes: dict[ox.BlankNode, ox.NamedNode] = {}

    def quads(self, quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
        """The quads without blank nodes."""
        for quad in quads:
            yield ox.Quad(
                self.term(quad.subject),
                quad.predicate,
                self.term(quad.object),
                self.term(quad.graph_name),
            )

    def term(self, term: Any) -> Any:
        """The term itself, or the IRI for a blank node; inside triple terms too."""
        if isinstance(term, ox.BlankNode):
            if term not in self._nodes:
                self._nodes[term] = ox.NamedNode(self._prefix + "b" + uuid.uuid4().hex)
            return self._nodes[term]
        if isinstance(term, ox.Triple):
            return ox.Triple(self.term(term.subject), term.predicate, self.term(term.object))
        return term


def blank_again(triple: ox.Triple) -> ox.Triple:
    """The triple with blank nodes for the IRIs that stand for them."""
    return ox.Triple(_blank(triple.subject), triple.predicate, _blank(triple.object))


def _blank(term: Any) -> Any:
    if isinstance(term, ox.NamedNode):
        _, mark, code = term.value.partition(_PATH)
        if mark and code.isalnum() and code.isascii():
            return ox.BlankNode(code)
    return term
