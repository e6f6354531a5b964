"""What a retriever reads: one revision of a graph, its vectors, its words, its network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.network import Network
from sarag_rdf.graph.network import load_network
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.vectors import GraphVectors, texts_of
from sarag_rdf.ports import Matrix, Vector, WordIndex


class GraphView:
    """Reader and vectors at hand; the network and the index of words are made when first needed."""

    def __init__(
        self,
        reader: GraphReader,
        vectors: GraphVectors,
        word_index: Callable[[Sequence[str]], WordIndex],
    ) -> None:
        self.reader = reader
        self.vectors = vectors
        self._word_index = word_index

    @cached_property
    def network(self) -> Network:
        """Documents, entities and relationships as arrays."""
        return load_network(self.reader)

    @cached_property
    def words(self) -> WordIndex:
        """BM25 over the documents with their titles, in the order of `network.documents`."""
        return self._word_index([text for _, text in texts_of(self.reader, "document")])

    @cached_property
    def _relationship_positions(self) -> NDArray[np.int64]:
        return self.vectors.index("relationship").positions(self.network.relationships)

    def relationship_cosines(
        self, question: Vector, rows: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Cosines of relationships, by their rows in the network."""
        index = self.vectors.index("relationship")
        return index.cosines(question, self._relationship_positions[rows])

    def entity_vectors(self, iris: Sequence[str]) -> Matrix:
        """Vectors of the names of entities."""
        index = self.vectors.index("entity")
        return index.vectors(index.positions(iris))

    def document_vectors(self, iris: Sequence[str]) -> Matrix:
        """Vectors of documents."""
        index = self.vectors.index("document")
        return index.vectors(index.positions(iris))
