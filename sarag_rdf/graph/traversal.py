"""The reference engine of traversal: every step is a SPARQL query, over any store or endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from sarag_rdf.algo.iri_list import find_all, rows_of
from sarag_rdf.algo.network import Rows
from sarag_rdf.algo.spreading import Iris
from sarag_rdf.algo.traversal import unique_rows
from sarag_rdf.graph.rows import GraphReader


class SparqlTraversal:
    """The traversal of what a reader reads; nothing is kept but the links between same entities.

    Each step over related_to is a property path from a frontier: a path of several steps in one
    query would enumerate every walk.
    """

    def __init__(self, reader: GraphReader, iris: Iris) -> None:
        self._reader = reader
        self._iris = iris

    def entities_of(self, documents: Rows) -> Rows:
        wanted = self._named(self._iris.documents, documents)
        found = ((d.value, e.value) for d, e in self._reader.rows_for("described-by", wanted))
        return self._joined(found)

    def documents_of(self, entities: Rows) -> Rows:
        return self._documents("entity-documents", entities)

    def about(self, entities: Rows) -> Rows:
        return self._documents("entity-topics", entities)

    def relationships_of(self, entities: Rows) -> Rows:
        wanted = list(self._named(self._iris.entities, entities))
        found = {
            row[0].value: (row[1].value, row[2].value)
            for name in ("links", "links-to")
            for row in self._reader.rows_for(name, wanted)
        }
        return self._relationships(found)

    def relationships_from(self, entities: Rows) -> Rows:
        rows = self._reader.rows_for("links", self._named(self._iris.entities, entities))
        return self._relationships({r.value: (s.value, o.value) for r, s, o in rows})

    def neighbours_of(self, entities: Rows) -> Rows:
        rows = self._reader.rows_for("neighbours", self._named(self._iris.entities, entities))
        return rows_of(self._iris.entities, sorted({other.value for _, other in rows}))

    def same_as(self, entities: Rows) -> Rows:
        return self._identical[np.isin(self._identical[:, 0], entities)]

    @cached_property
    def _identical(self) -> Rows:
        pairs = identical_rows(self._reader, self._iris.entities)
        return unique_rows(np.concatenate((pairs, pairs[:, ::-1])))

    def _documents(self, name: str, entities: Rows) -> Rows:
        wanted = self._named(self._iris.entities, entities)
        return self._joined((d.value, e.value) for e, d in self._reader.rows_for(name, wanted))

    def _joined(self, pairs: Iterable[tuple[str, str]]) -> Rows:
        """Rows of pairs (document, entity)."""
        found = sorted(set(pairs))
        documents = rows_of(self._iris.documents, [document for document, _ in found])
        entities = rows_of(self._iris.entities, [entity for _, entity in found])
        return np.column_stack((documents, entities))

    def _relationships(self, found: dict[str, tuple[str, str]]) -> Rows:
        iris = sorted(found)
        columns = [rows_of(self._iris.relationships, iris)]
        columns += [
            rows_of(self._iris.entities, [found[iri][end] for iri in iris]) for end in (0, 1)
        ]
        return np.column_stack(columns)

    def _named(self, iris: Sequence[str], rows: Rows) -> Iterable[str]:
        return (iris[int(row)] for row in rows)


def identical_rows(reader: GraphReader, entities: Sequence[str]) -> Rows:
    """Pairs of entities, the lower row first, that are linked as the same: shape (m, 2)."""
    pairs = {(one.value, other.value) for one, other, _ in reader.rows("identities")}
    wanted = sorted({iri for pair in pairs for iri in pair})
    known = dict(zip(wanted, find_all(entities, wanted).tolist(), strict=True))
    rows = [(known[one], known[other]) for one, other in pairs]
    found = {(min(pair), max(pair)) for pair in rows if min(pair) >= 0 and pair[0] != pair[1]}
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
