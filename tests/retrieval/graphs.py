"""Graphs that retrievers are tested on, made without an extractor."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Embedder, Matrix
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.building.incremental import refresh
from sarag_rdf.building.source_evidence import SourceGraph
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.vectors.graph_vectors import GraphVectors
from sarag_rdf.graph.vectors.vector_store import VectorStore
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder

MINTER = Minter()
METHOD = Method("test", "none")

Content = tuple[str, str, Extraction]
"""Title and text of a document, and what was found in it."""


def put(
    reader: GraphReader, contents: Mapping[int, Content], drop: Iterable[int] = ()
) -> list[str]:
    """Add documents, one a numbered source, and drop sources, in one step; the documents' IRIs."""
    quads, iris = [], []
    for number, (title, text, extraction) in contents.items():
        source = MINTER.source(f"{number}.txt", "", "")
        iri = MINTER.document(source, 0, len(text), text)
        document = Document(iri, source, title, text, 0, len(text))
        found = [(document, extraction)]
        quads += SourceGraph(MINTER, Source(text, title), source, METHOD, found).quads
        iris.append(iri)
    dropped = [MINTER.source_graph(MINTER.source(f"{number}.txt", "", "")) for number in drop]
    reader.store.apply(refresh(reader, dropped, quads))
    return iris


def indexed(contents: Sequence[Content]) -> tuple[GraphReader, list[str]]:
    """A graph of one document a source, by title and text, and the documents' IRIs."""
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    return reader, put(reader, dict(enumerate(contents, start=1)))


def view_of(reader: GraphReader, embedder: Embedder | None = None) -> GraphView:
    """What a retriever takes."""
    return GraphView(reader, GraphVectors(reader, embedder or HashEmbedder(), VectorStore(), "1"))


class AxesEmbedder:
    """Vectors by their coordinates; what is missing to length 1 stands on an axis of its own."""

    name = "axes"

    def __init__(self, axes: str, vectors: Mapping[str, Mapping[str, float]]) -> None:
        """One letter an axis."""
        self._axes = axes
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Matrix:
        matrix = np.zeros((len(texts), len(self._axes) + 1))
        for row, text in zip(matrix, texts, strict=True):
            for axis, value in self._vectors[text].items():
                row[self._axes.index(axis)] = value
            row[-1] = math.sqrt(max(0.0, 1.0 - float(row @ row)))
        return matrix.astype(np.float32)


class SqueezedEmbedder:
    """Another embedder with all cosines x turned into ``factor * x + 1 - factor``."""

    def __init__(self, embedder: Embedder, factor: float) -> None:
        self._embedder = embedder
        self._factor = factor

    @property
    def name(self) -> str:
        return f"{self._embedder.name} squeezed"

    def embed(self, texts: Sequence[str]) -> Matrix:
        vectors = self._embedder.embed(texts)
        constant = np.full((len(texts), 1), math.sqrt(1.0 - self._factor))
        stacked = np.hstack((math.sqrt(self._factor) * vectors, constant))
        return stacked.astype(np.float32)


WORDS = (
    "amber", "brook", "cedar", "delta", "ember", "frost", "grove", "haven", "island", "jade",
    "knoll", "lake", "meadow",
)  # fmt: skip
QUESTIONS = (
    "Amber lake near the brook",
    "jade",
    "which knoll meets the Meadow of frost?",
    "Who built Haven and Grove?",
)
"""Three of them name entities of `larger_graph`."""


def larger_graph(seed: int) -> GraphReader:
    """Forty documents of two to four named things and as many relations, in random words."""
    chance = random.Random(seed)
    contents = []
    for number in range(40):
        names = chance.sample([word.title() for word in WORDS], chance.randint(2, 4))
        found = [
            Mention(name, descriptions=(f"{name} {' '.join(chance.sample(WORDS, 4))}",))
            for name in names
        ]
        relations = [
            Relation(one, " ".join(chance.sample(WORDS, 2)), other)
            for one, other in pairwise(names)
        ]
        title = chance.choice(["", names[0], f"{names[1]} (place)", "Notes"])
        text = f"{number} {' '.join(chance.choices(WORDS, k=12))}"
        contents.append((title, text, Extraction(tuple(found), tuple(relations))))
    reader, _ = indexed(contents)
    return reader
