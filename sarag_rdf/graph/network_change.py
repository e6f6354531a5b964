"""The network of a graph after a change of documents: what changed is read, all else is moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sarag_rdf.algo.iri_list import find_all, rows_of
from sarag_rdf.algo.network import Network, Rows
from sarag_rdf.algo.spreading import Iris
from sarag_rdf.algo.traversal import unique_rows
from sarag_rdf.graph.delta import Delta
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.traversal import SparqlTraversal, identical_rows
from sarag_rdf.ports import Arrays


@dataclass(frozen=True, slots=True)
class Moved:
    """How rows of one list of IRIs become rows of another: `to` of each old row, -1 if it went."""

    to: Rows
    size: int

    @classmethod
    def between(cls, old: Sequence[str], new: Sequence[str], touched: Iterable[str]) -> Moved:
        """Lists that differ in nothing but what was touched."""
        some = sorted(touched)
        before, after = find_all(old, some), find_all(new, some)
        gone, come = before[(before >= 0) & (after < 0)], after[(before < 0) & (after >= 0)]
        to = np.full(len(old), -1)
        to[_without(len(old), gone)] = _without(len(new), come)
        return cls(to, len(new))


def _without(size: int, rows: Rows) -> Rows:
    return np.delete(np.arange(size), rows)


def network_after(
    reader: GraphReader, kept: Arrays, before: Iris, now: Iris, delta: Delta
) -> Arrays:
    """What `load_network` would read of the graph as it is now, from the network before.

    `kept` are the network's arrays by rows of `before`; `now` has the IRIs of the graph.
    """
    old = Network.of_arrays(before.documents, before.entities, before.relationships, kept)
    touched = delta.touched
    documents = Moved.between(before.documents, now.documents, touched["document"])
    entities = Moved.between(before.entities, now.entities, touched["entity"])
    relationships = Moved.between(before.relationships, now.relationships, touched["relationship"])
    changed = _rows_in(now.documents, touched["document"] | delta.derived)
    step = SparqlTraversal(reader, now)
    found = step.entities_of(changed)
    described = _moved_pairs(old.described, documents, entities, changed)
    topics = np.full(documents.size, -1)
    stays = documents.to >= 0
    topics[documents.to[stays]] = _moved(entities, old.topics[stays])
    topics[changed] = -1
    about = step.about(np.unique(found[:, 1]))
    about = about[np.isin(about[:, 0], changed)]
    topics[about[:, 0]] = about[:, 1]
    ends = np.full((relationships.size, 2), -1)
    stays = relationships.to >= 0
    ends[relationships.to[stays]] = _moved(entities, old.ends[stays])
    some = _rows_in(now.relationships, touched["relationship"] | delta.derived)
    for relationship, *pair in reader.kept_for(
        "relationship-ends", (now.relationships[int(row)] for row in some)
    ):
        row = rows_of(now.relationships, [relationship.value])
        ends[row] = rows_of(now.entities, [end.value for end in pair])
    return Network(
        now.documents,
        now.entities,
        now.relationships,
        unique_rows(np.concatenate((described, found))),
        topics,
        ends,
        identical_rows(reader, now.entities),
    ).arrays()


def _rows_in(iris: Sequence[str], some: Iterable[str]) -> Rows:
    """Rows of those that the list has, ascending."""
    found = find_all(iris, sorted(some))
    return found[found >= 0]


def _moved(entities: Moved, rows: Rows) -> Rows:
    """Rows of entities, where -1 stays -1."""
    return np.where(rows >= 0, entities.to[rows], -1)


def _moved_pairs(described: Rows, documents: Moved, entities: Moved, changed: Rows) -> Rows:
    """What the documents describe that did not change."""
    pairs = np.column_stack((documents.to[described[:, 0]], entities.to[described[:, 1]]))
    is_changed = np.zeros(documents.size + 1, dtype=bool)
    is_changed[changed] = is_changed[-1] = True
    return pairs[~is_changed[pairs[:, 0]]]
