"""Loads the network from the store by SPARQL, and updates it after a change of documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarag_rdf.arrays import IriList, find_all, rows_of
from sarag_rdf.graph.delta import Delta
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.network.edges import Network, Rows
from sarag_rdf.network.spreading import Iris
from sarag_rdf.network.traversal import unique_rows
from sarag_rdf.ports import Arrays


def load_network(reader: GraphReader, iris: Iris | None = None) -> Network:
    """Read documents, entities, relationships, and what joins them.

    With `iris`, ascending, rows are theirs; else there is a row for all that is read.
    """
    rows = reader.rows("document-entities")
    described = [(document.value, entity.value) for document, entity in rows if entity]
    topics = [(d.value, e.value) for d, e in reader.rows("document-topics")]
    found = {r.value: (s.value, o.value) for r, s, o in reader.rows("relationship-ends")}
    relationships = sorted(found)
    if iris is None:
        ends = {end for pair in found.values() for end in pair}
        entities = ends.union((e for _, e in described), (e for _, e in topics))
        documents = {document.value for document, _ in rows}
        iris = Iris(*map(IriList.of, (documents, entities, relationships)))
    about = np.full(len(iris.documents), -1)
    about[_column(iris.documents, topics, 0)] = _column(iris.entities, topics, 1)
    joined = [_column(iris.documents, described, 0), _column(iris.entities, described, 1)]
    ends_of = np.full((len(iris.relationships), 2), -1)
    at = rows_of(iris.relationships, relationships)
    for end in (0, 1):
        ends_of[at, end] = _column(iris.entities, [found[r] for r in relationships], end)
    return Network(
        iris.documents,
        iris.entities,
        iris.relationships,
        unique_rows(np.stack(joined, axis=1)),
        about,
        ends_of,
        identical_rows(reader, iris.entities),
    )


def _column(iris: Sequence[str], pairs: Iterable[tuple[str, str]], end: int) -> Rows:
    return rows_of(iris, [pair[end] for pair in pairs])


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
    for relationship, *pair in reader.select_provenance_for(
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
