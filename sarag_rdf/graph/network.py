"""The network of a graph, read from the store with four queries.

It is a cache: whatever it holds stands in the graph, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sarag_rdf.algo.network import Network, Rows
from sarag_rdf.graph.rows import GraphReader


def load_network(reader: GraphReader) -> Network:
    """Read documents, entities, relationships, and what joins them."""
    rows = reader.rows("document-entities")
    described = [(document.value, entity.value) for document, entity in rows if entity]
    topics = {d.value: e.value for d, e in reader.rows("document-topics")}
    relationships = dict(
        sorted((r.value, (s.value, o.value)) for r, s, o in reader.rows("relationship-ends"))
    )
    documents = sorted({document.value for document, _ in rows})
    document_rows = {iri: row for row, iri in enumerate(documents)}
    ends = {end for pair in relationships.values() for end in pair}
    entities = sorted({e for _, e in described} | set(topics.values()) | ends)
    entity_rows = {iri: row for row, iri in enumerate(entities)}
    return Network(
        documents,
        entities,
        list(relationships),
        _rows(sorted((document_rows[d], entity_rows[e]) for d, e in described), 2),
        _rows(entity_rows[topics[d]] if d in topics else -1 for d in documents),
        _rows(((entity_rows[s], entity_rows[o]) for s, o in relationships.values()), 2),
        _rows(sorted(_identical(reader, entity_rows)), 2),
    )


def _identical(reader: GraphReader, rows: Mapping[str, int]) -> set[tuple[int, int]]:
    """Pairs of entities, by row, that are linked as the same."""
    pairs = ((one.value, other.value) for one, other, _ in reader.rows("identities"))
    known = ((rows[a], rows[b]) for a, b in pairs if a in rows and b in rows)
    return {(min(pair), max(pair)) for pair in known if pair[0] != pair[1]}


def _rows(values: Iterable[int] | Iterable[tuple[int, int]], width: int = 1) -> Rows:
    array = np.array(list(values), dtype=np.int64)
    return array if width == 1 else array.reshape(-1, width)
