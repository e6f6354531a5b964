"""Skolemization: blank nodes are stored as IRIs, and exported as blank nodes again.

RDF 1.1 Concepts, section 3.5: Skolem IRIs are below ``/.well-known/genid/`` at the root of the
authority of the graph's base. Skolem IRIs of other authorities are treated as ordinary IRIs.
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
    """Replaces the blank nodes of one request by Skolem IRIs, equal nodes by the same IRI."""

    def __init__(self, base: str) -> None:
        """`base` is the base IRI of the graph."""
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
        """The term with Skolem IRIs for blank nodes, including those in triple terms."""
        if isinstance(term, ox.BlankNode):
            if term not in self._nodes:
                self._nodes[term] = ox.NamedNode(f"{self._prefix}b{uuid.uuid4().hex}")
            return self._nodes[term]
        if isinstance(term, ox.Triple):
            return ox.Triple(self.term(term.subject), term.predicate, self.term(term.object))
        return term


def has_blank_node(quad: ox.Quad) -> bool:
    """Whether a quad contains a blank node, including those in triple terms."""
    return any(map(_contains_blank_node, (quad.subject, quad.object, quad.graph_name)))


def _contains_blank_node(term: Any) -> bool:
    if isinstance(term, ox.Triple):
        return _contains_blank_node(term.subject) or _contains_blank_node(term.object)
    return isinstance(term, ox.BlankNode)


class Unskolemizer:
    """Replaces the Skolem IRIs of a `Skolemizer` with the same base by blank nodes."""

    def __init__(self, base: str) -> None:
        """`base` is the base IRI of the graph."""
        self._prefix = _prefix(base)

    def triple(self, triple: ox.Triple) -> ox.Triple:
        """The triple with blank nodes for Skolem IRIs, including those in triple terms."""
        return ox.Triple(self._term(triple.subject), triple.predicate, self._term(triple.object))

    def _term(self, term: Any) -> Any:
        if isinstance(term, ox.Triple):
            return self.triple(term)
        if isinstance(term, ox.NamedNode) and term.value.startswith(self._prefix):
            code = term.value.removeprefix(self._prefix)
            return ox.BlankNode(code) if _CODE.fullmatch(code) else term
        return term
