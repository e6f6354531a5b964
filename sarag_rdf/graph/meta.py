"""What a graph says of itself: base IRI, revision, embedding model."""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.errors import StoreError
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.ports import GraphStore


@dataclass(frozen=True, slots=True)
class Meta:
    """`revision` changes with every write; caches are valid for one."""

    base: str
    revision: str = ""
    embedding_model: str = ""


def read_meta(store: GraphStore) -> Meta | None:
    """The graph's own description, or None for a store that holds none.

    What other graphs say of this or any other graph of documents is no description.
    """
    found = set()
    for _, base, revision, model, graph in GraphReader(store, Minter()).kept("meta"):
        if graph.value == Minter(base.value).meta_graph:
            found.add(
                Meta(base.value, revision.value if revision else "", model.value if model else "")
            )
    if len({meta.base for meta in found}) > 1:
        raise StoreError(
            "the store holds graphs of several bases: " + ", ".join(sorted(m.base for m in found))
        )
    return min(found, key=lambda m: (m.revision, m.embedding_model)) if found else None
