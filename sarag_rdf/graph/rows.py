"""A store with its base IRI and kind of graph: runs query files, over many values in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyoxigraph import NamedNode

from sarag_rdf.errors import StoreError
from sarag_rdf.iris import Minter
from sarag_rdf.ports import GraphStore, Table
from sarag_rdf.resources import query_file

BATCH = 500
"""Values a request: what public endpoints take without complaint."""


@dataclass(frozen=True, slots=True)
class GraphReader:
    """Reads one knowledge graph through the query files of its kind (``queries/<kind>/``)."""

    store: GraphStore
    minter: Minter
    kind: str = "sarag"

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """All rows of a query file that takes no values."""
        return self._select(query_file(self.kind, name).fill(None, self._graphs()))

    def rows_for(self, name: str, iris: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a query file for the given IRIs (sorted, each once), `BATCH` a request."""
        query = query_file(self.kind, name)
        pending = iter(sorted(set(iris)))
        while batch := [NamedNode(iri) for iri in islice(pending, BATCH)]:
            yield from self._select(query.fill(batch, self._graphs()))

    def _graphs(self) -> dict[str, str]:
        return {
            "kg": self.minter.kg_graph,
            "meta": self.minter.meta_graph,
            "runs": self.minter.runs_graph,
        }

    def _select(self, text: str) -> list[tuple[Any, ...]]:
        result = self.store.query(text)
        if not isinstance(result, Table):
            raise StoreError("a SELECT query was expected")
        return result.rows
