"""Blank nodes are stored under IRIs of the graph's own, and become blank again on the way out.

RDF 1.1 Concepts, section 3.5: the IRIs stand below ``/.well-known/genid/`` at the root of the
authority of the graph's base. Such IRIs of other authorities are names like any others.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pyoxigraph as ox

_CODE = re.compile(r"b[0-9a-f]{32}")


def _prefix(base: str) -> str:
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}/.well-known/genid/"


class Skolemizer:
    """Gives each blank node of one request an IRI; the same node gets the same."""

    def __init__(self, base: str) -> None:
        """`base` is the graph's base IRI; the IRIs stand at the root of its authority."""
        self._prefix = _prefix(base)
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
                self._nodes[term] = ox.NamedNode(f"{self._prefix}b{uuid.uuid4().hex}")
            return self._nodes[term]
        if isinstance(term, ox.Triple):
            return ox.Triple(self.term(term.subject), term.predicate, self.term(term.object))
        return term


def has_blank_node(quad: ox.Quad) -> bool:
    """Whether a blank node stands in a quad, be it within a triple term."""
    return any(map(_holds_blank, (quad.subject, quad.object, quad.graph_name)))


def _holds_blank(term: Any) -> bool:
    if isinstance(term, ox.Triple):
        return _holds_blank(term.subject) or _holds_blank(term.object)
    return isinstance(term, ox.BlankNode)


class Unskolemizer:
    """Gives back the blank nodes for which a `Skolemizer` of the same base made IRIs."""

    def __init__(self, base: str) -> None:
        """`base` is the graph's base IRI."""
        self._prefix = _prefix(base)

    def triple(self, triple: ox.Triple) -> ox.Triple:
        """The triple with blank nodes for the IRIs that stand for them; triple terms included."""
        return ox.Triple(self._term(triple.subject), triple.predicate, self._term(triple.object))

    def _term(self, term: Any) -> Any:
        if isinstance(term, ox.Triple):
            return self.triple(term)
        if isinstance(term, ox.NamedNode) and term.value.startswith(self._prefix):
            code = term.value.removeprefix(self._prefix)
            return ox.BlankNode(code) if _CODE.fullmatch(code) else term
        return term
