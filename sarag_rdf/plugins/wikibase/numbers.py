"""The Q and P numbers of IRIs: a table in the graph to which rows are only added.

The table is in a named graph of its own, which no search reads. Additions do not change the
revision of the graph, so that caches remain valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import SARAG, iri, iri_or_literal
from sarag_rdf.graph.graph_reader import GraphReader

Letter = Choice["Q", "P"]
_ID = re.compile(r"([QP])([1-9]\d*)")
_BATCH = 5000


class WikibaseIds:
    """The table of ids by IRI, with ids that have been added but not stored."""

    def __init__(self, ids: Iterable[tuple[str, str]] = ()) -> None:
        """`ids` are (IRI, id) pairs. Raises `StoreError` for an invalid or duplicate id."""
        self._ids = dict(ids)
        self._last = {"Q": 0, "P": 0}
        for name, id_ in self._ids.items():
            match = _ID.fullmatch(id_)
            if match is None:
                raise StoreError(f"'{id_}' of {name} is not a Wikibase id: restore the graph")
            self._last[match[1]] = max(self._last[match[1]], int(match[2]))
        if len(set(self._ids.values())) < len(self._ids):
            raise StoreError("two IRIs have the same Wikibase id: restore the graph")

    @classmethod
    def read(cls, reader: GraphReader) -> WikibaseIds:
        """The table of a graph; empty before the first export."""
        quads = reader.store.quads(reader.minter.numbers_graph)
        return cls(
            (iri(q.subject), iri_or_literal(q.object).value)
            for q in quads
            if q.predicate == SARAG.wikibaseId
        )

    def __getitem__(self, name: str) -> str:
        return self._ids[name]

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    def add(self, letter: Letter, names: Iterable[str]) -> list[tuple[str, str]]:
        """Assign the next ids to IRIs without one, in the order given; returns (IRI, id) pairs."""
        added = []
        for name in names:
            if name not in self._ids:
                self._last[letter] += 1
                self._ids[name] = f"{letter}{self._last[letter]}"
                added.append((name, self._ids[name]))
        return added

    def is_contiguous(self, names: Iterable[str]) -> bool:
        """Whether the numbers of these items are all numbers from 1, without gaps."""
        return len({self._ids[name] for name in names}) == self._last["Q"]


def write_numbers(reader: GraphReader, added: Iterable[tuple[str, str]]) -> None:
    """Append rows to the table of a graph that is open for writing."""
    graph = NamedNode(reader.minter.numbers_graph)
    quads = (Quad(NamedNode(name), SARAG.wikibaseId, Literal(id_), graph) for name, id_ in added)
    for batch in batches(quads, _BATCH):
        reader.store.apply(Change(insert=tuple(batch)))


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def number(id_: str) -> int:
    return int(id_[1:])
