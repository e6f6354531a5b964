"""How near documents are to a question before anything is activated: in meaning and in words.

What the question names is taken out of it in part: the document that it names is found by the
name, the documents after it by the rest of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.graph.view import GraphView
from sarag_rdf.ports import Vector

MASK = 0.4
"""How much of the names' mean vector is taken from the question's."""
WORDS = 0.2
"""Weight of BM25 beside the cosine, both as z-scores."""
CANDIDATES = 200
"""Documents that are looked at for their cosine alone, and as many for their words alone."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """Mean and standard deviation, over all documents, of what is made a z-score."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Floats) -> Scale:
        """The scale of some values; of none it is 0."""
        return cls(float(values.mean()), float(values.std())) if len(values) else cls(0.0, 0.0)

    def z(self, values: Floats) -> Floats:
        """How many deviations above the mean; 0 where all are equal."""
        if not self.deviation > 0.0:
            return np.zeros(len(values))
        return (values - self.mean) / self.deviation


class Relevance:
    """Cosines and BM25 scores of documents with one question."""

    def __init__(self, view: GraphView, text: str, question: Vector, named: Sequence[str]) -> None:
        """`named` are entities that the question names."""
        self._view = view
        self._index = view.vectors.index("document")
        self._network = view.network
        self._question = question
        self._names = np.zeros_like(question)
        if named:
            rows = np.array([view.network.entity_rows[entity] for entity in named])
            self._names = view.entity_vectors(rows).mean(axis=0)
        self.masked_question: Vector = np.asarray(
            question - np.float32(MASK) * self._names, dtype=np.float32
        )
        self.words = view.words.scores(text).astype(np.float64)
        self.masked_scale = Scale(*self._index.moments(self.masked_question))
        self.words_scale = Scale.of(self.words)

    def candidates(self) -> list[int]:
        """Rows of the documents that are nearest in meaning or in words, ascending."""
        nearest = self._index.nearest(self.masked_question, CANDIDATES)
        rows = {self._network.document_rows[iri] for iri, _ in nearest}
        best = np.argsort(-self.words, kind="stable")[:CANDIDATES]
        return sorted(rows | {int(row) for row in best if self.words[row] > 0.0})

    def cosines(self, rows: Sequence[int]) -> tuple[Floats, Floats]:
        """Cosines of the given documents with the question, and with the mean of the names."""
        vectors = self._view.document_vectors(np.array(rows, dtype=np.int64)).astype(np.float64)
        return vectors @ self._question, vectors @ self._names

    def scores(self, rows: Sequence[int]) -> Floats:
        """Nearness of the given documents, as a sum of z-scores."""
        similarity, named = self.cosines(rows)
        masked = self.masked_scale.z(similarity - MASK * named)
        return masked + WORDS * self.words_scale.z(self.words[list(rows)])
