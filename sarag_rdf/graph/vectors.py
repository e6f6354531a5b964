"""Vector indexes of a graph's texts, made from the graph when first needed (paper 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import Embedder, Matrix, VectorIndex, VectorStore

Kind = Literal["description", "relationship", "document", "entity"]
KINDS: tuple[Kind, ...] = ("description", "relationship", "document", "entity")

EmbedTexts = Callable[[list[str]], Matrix]


def texts_of(reader: GraphReader, kind: Kind) -> list[tuple[str, str]]:
    """IRIs and texts of one kind, by IRI.

    A document's title stands before its text, or else the name of what it is about.
    """
    texts: dict[str, str] = {}
    for iri, text, *titles in reader.rows(f"{kind}-texts"):
        title = next((title.value for title in titles if title), "")
        titled = f"{title}\n{text.value}" if title else text.value
        texts[iri.value] = min(texts.get(iri.value, titled), titled)
    return sorted(texts.items())


class GraphVectors:
    """The indexes of one revision of a graph under one embedding model."""

    def __init__(
        self, reader: GraphReader, embedder: Embedder, store: VectorStore, revision: str
    ) -> None:
        self._reader = reader
        self._embedder = embedder
        self._store = store
        self._key = sha256_hex(revision, embedder.name)
        self._indexes: dict[Kind, VectorIndex] = {}

    @property
    def embedder(self) -> Embedder:
        """The model that questions must be embedded with."""
        return self._embedder

    def index(self, kind: Kind, embed: EmbedTexts | None = None) -> VectorIndex:
        """The index of one kind; `embed` may stand for the embedder's own, to show progress."""
        if kind not in self._indexes:
            index = self._store.load(kind, self._key)
            if index is None:
                items = texts_of(self._reader, kind)
                matrix = (embed or self._embedder.embed)([text for _, text in items])
                index = self._store.save(kind, self._key, [iri for iri, _ in items], matrix)
            self._indexes[kind] = index
        return self._indexes[kind]
