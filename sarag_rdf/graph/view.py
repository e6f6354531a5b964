"""What a retriever reads: one revision of a graph, its vectors, its words, its network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.network import Network, Rows
from sarag_rdf.algo.spreading import Iris
from sarag_rdf.algo.traversal import NetworkTraversal, Traversal
from sarag_rdf.graph.delta import Delta
from sarag_rdf.graph.names import Names
from sarag_rdf.graph.network import load_network
from sarag_rdf.graph.network_change import network_after
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.texts import full_documents
from sarag_rdf.graph.traversal import SparqlTraversal
from sarag_rdf.graph.vectors import GraphVectors, Kind
from sarag_rdf.ports import Arrays, Matrix, Vector, WordIndex
from sarag_rdf.types import Document

Engine = Literal["auto", "memory", "sparql"]
"""What takes the steps of traversal; ``auto`` is SPARQL behind an endpoint, else memory."""
_ROWS: tuple[Kind, ...] = ("document", "entity", "relationship")
KEPT = 10_000
"""Documents whose texts are kept in memory at most."""


class GraphView:
    """Reader and vectors at hand; the network and the index of words are made when first needed."""

    def __init__(
        self,
        reader: GraphReader,
        vectors: GraphVectors,
        word_index: Callable[[Sequence[str]], WordIndex],
        *,
        engine: Engine = "auto",
    ) -> None:
        """`engine` takes the steps of traversal."""
        self.reader = reader
        self.vectors = vectors
        self.word_index = word_index
        self.names = Names(reader, vectors.kept)
        self._engine = engine
        self._documents: dict[str, Document] = {}

    @cached_property
    def network(self) -> Network:
        """Documents, entities and relationships as arrays."""
        iris = self.iris
        made = self.vectors.kept(
            "network", lambda: load_network(self.reader, iris).arrays(), self._network_after
        )
        return Network.of_arrays(iris.documents, iris.entities, iris.relationships, made)

    def _network_after(self, old: Arrays, delta: Delta) -> Arrays | None:
        before = [self.vectors.before(kind) for kind in _ROWS]
        known = [iris for iris in before if iris is not None]
        if len(known) < len(before):
            return None
        return network_after(self.reader, old, Iris(*known), self.iris, delta)

    @cached_property
    def iris(self) -> Iris:
        """What rows stand for: all documents, entities and relationships."""
        return Iris(*(self.vectors.index(kind).iris for kind in _ROWS))

    @cached_property
    def traversal(self) -> Traversal:
        """Takes the steps of activation and expansion, by rows of `iris`."""
        if self._engine == "sparql" or (self._engine == "auto" and self.reader.store.is_shared):
            return SparqlTraversal(self.reader, self.iris)
        return NetworkTraversal(self.network)

    @cached_property
    def words(self) -> WordIndex:
        """BM25 over the documents with their titles, in the order of their IRIs."""
        return self.vectors.words()

    def prepare(self) -> None:
        """Make what is kept between runs, or bring it to this revision."""
        self.vectors.keep("names")
        _ = self.words, self.traversal

    def documents(self, iris: Iterable[str]) -> dict[str, Document]:
        """Documents by IRI; what was read before is not read again."""
        wanted = set(iris)
        missing = wanted - self._documents.keys()
        read = full_documents(self.reader, missing)
        if len(self._documents) + len(read) > KEPT:
            self._documents.clear()
            read = full_documents(self.reader, wanted)
        self._documents |= read
        return {iri: self._documents[iri] for iri in wanted}

    def relationship_cosines(self, question: Vector, rows: Rows) -> NDArray[np.float32]:
        """Cosines of relationships, by row."""
        return self.vectors.index("relationship").cosines(question, rows)

    def entity_vectors(self, rows: Rows) -> Matrix:
        """Vectors of the names of entities, by row."""
        return self.vectors.index("entity").vectors(rows)

    def document_vectors(self, rows: Rows) -> Matrix:
        """Vectors of documents, by row."""
        return self.vectors.index("document").vectors(rows)
