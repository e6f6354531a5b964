"""What a retriever reads: one revision of a graph, its vectors, its words, its network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.network import Network, Rows
from sarag_rdf.graph.names import Names
from sarag_rdf.graph.network import load_network
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.texts import full_documents
from sarag_rdf.graph.vectors import GraphVectors
from sarag_rdf.ports import Matrix, Vector, WordIndex
from sarag_rdf.types import Document

KEPT = 10_000
"""Documents whose texts are kept in memory at most."""


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
        self.word_index = word_index
        self.names = Names(reader, vectors.kept)
        self._documents: dict[str, Document] = {}

    @cached_property
    def network(self) -> Network:
        """Documents, entities and relationships as arrays."""
        made = self.vectors.kept("network", lambda: load_network(self.reader).arrays())
        return Network.of_arrays(made)

    @cached_property
    def words(self) -> WordIndex:
        """BM25 over the documents with their titles, in the order of `network.documents`."""
        return self.word_index([text for _, text in self.vectors.texts("document")])

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
        """Cosines of relationships, by their rows in the network."""
        index = self.vectors.index("relationship")
        return index.cosines(question, self._relationship_positions[rows])

    def entity_vectors(self, rows: Rows) -> Matrix:
        """Vectors of the names of entities, by their rows in the network."""
        return self.vectors.index("entity").vectors(self._entity_positions[rows])

    def document_vectors(self, rows: Rows) -> Matrix:
        """Vectors of documents, by their rows in the network."""
        return self.vectors.index("document").vectors(self._document_positions[rows])

    @cached_property
    def _relationship_positions(self) -> Rows:
        return self.vectors.index("relationship").positions(self.network.relationships)

    @cached_property
    def _entity_positions(self) -> Rows:
        return self.vectors.index("entity").positions(self.network.entities)

    @cached_property
    def _document_positions(self) -> Rows:
        return self.vectors.index("document").positions(self.network.documents)
