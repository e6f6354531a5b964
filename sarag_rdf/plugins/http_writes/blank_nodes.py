"""Blank nodes of requests: they are stored as IRIs, and exported as blank nodes again.

Skolem IRIs (RDF 1.1 Concepts, section 3.5) are below ``/.well-known/genid/`` at the root of the
authority of the graph's base; those of other authorities are ordinary IRIs.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pyoxigraph as ox

_CODE = re.compile(r"b[0-9a-f]{32}")


class Skolemizer:
    """Replaces the blank nodes of one request by Skolem IRIs, equal nodes by the same IRI."""

    def __init__(self, base: str) -> None:
        """`base` is the base IRI of the graph."""
        parts = urlsplit(base)
        self._prefix = f"{parts.scheme}://{parts.netloc}/.well-known/genid/"
        self._nodes: dict[ox.BlankNode, ox.NamedNode] = {}

    def quads(self, quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
        """The quads without blank nodes."""
        for quad in quads:
            subject, predicate, object_ = _replaced(quad.triple, self._skolem)
            yield ox.Quad(subject, predicate, object_, self._skolem(quad.graph_name))

    def restored(self, triple: ox.Triple) -> ox.Triple:
        """The triple with blank nodes for Skolem IRIs of this base."""
        restored: ox.Triple = _replaced(triple, self._blank)
        return restored

    def _skolem(self, term: Any) -> Any:
        if not isinstance(term, ox.BlankNode):
            return term
        if term not in self._nodes:
            self._nodes[term] = ox.NamedNode(f"{self._prefix}b{uuid.uuid4().hex}")
        return self._nodes[term]

    def _blank(self, term: Any) -> Any:
        code = term.value.removeprefix(self._prefix) if isinstance(term, ox.NamedNode) else ""
        is_skolem = _CODE.fullmatch(code) and term.value != code
        return ox.BlankNode(code) if is_skolem else term


def _replaced(term: Any, replace_node: Callable[[Any], Any]) -> Any:
    """A term with its node replaced, or with the nodes in a triple term replaced."""
    if isinstance(term, ox.Triple):
        subject, predicate, object_ = term
        return ox.Triple(
            _replaced(subject, replace_node), predicate, _replaced(object_, replace_node)
        )
    return replace_node(term)


def has_blank_node(statement: Any) -> bool:
    """Whether a quad or triple contains a blank node, including those in triple terms."""
    return any(
        has_blank_node(term) if isinstance(term, ox.Triple) else isinstance(term, ox.BlankNode)
        for term in statement
    )
