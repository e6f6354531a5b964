"""The network of a graph, read from the store with four queries.

It is a cache: whatever it holds stands in the graph, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sarag_rdf.algo.iri_list import IriList, rows_of
from sarag_rdf.algo.network import Network, Rows
from sarag_rdf.algo.spreading import Iris
from sarag_rdf.algo.traversal import unique_rows
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.traversal import identical_rows


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
