"""The relevance of documents to a question without activation: by meaning and by words.

The names in a question are subtracted from it in part: activation finds the documents about what
the question names, similarity those about the rest of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, Rows
from sarag_rdf.base.ports import Vector
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.retrieval.view import GraphView

MASK = 0.4
"""The share of the names' mean vector that is subtracted from the question's."""
WORDS = 0.2
"""The weight of BM25 relative to the cosine, both as z-scores."""
CANDIDATES = 200
"""The number of candidates by cosine, and of candidates by BM25."""

TOLERANCE = 1e-5
"""The error of cosines that are computed in 32 bits."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The mean and standard deviation, over all documents, behind a z-score."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Floats) -> Scale:
        """The scale of some values; 0 without any."""
        return cls(float(values.mean()), float(values.std())) if len(values) else cls(0.0, 0.0)

    @classmethod
    def of_sparse(cls, values: Floats, size: int) -> Scale:
        """The scale of `size` values, which are 0 but for those in `values`."""
        if not size:
            return cls(0.0, 0.0)
        mean = float(values.sum()) / size
        variance = float(((values - mean) ** 2).sum() + (size - len(values)) * mean**2) / size
        return cls(mean, variance**0.5)

    def z(self, values: Floats) -> Floats:
        """The z-scores; 0 if all values are equal."""
        if not self.deviation > 0.0:
            return np.zeros(len(values))
        return (values - self.mean) / self.deviation


class Relevance:
    """Cosines and BM25 scores of documents for one question."""

    def __init__(self, view: GraphView, text: str, question: Vector, named: Sequence[str]) -> None:
        """`named` are the entities that the question names."""
        self._index = view.vectors.index("document")
        self._question = question
        self._names = np.zeros_like(question)
        if named:
            labels = entity_labels(view.reader, named)
            texts = [labels[entity][0] for entity in named]
            self._names = view.vectors.embedder.embed(texts).mean(axis=0)
        self.masked_question: Vector = np.asarray(
            question - np.float32(MASK) * self._names, dtype=np.float32
        )
        self.words = view.words.scores(text).astype(np.float64)
        self.masked_scale = Scale(*self._index.moments(self.masked_question))
        self.words_scale = Scale.of(self.words)

        nearest, cosines = self._index.nearest_rows(self.masked_question, CANDIDATES)
        best = highest(self.words, CANDIDATES)
        self.candidates = np.union1d(nearest, best[self.words[best] > 0.0])
        """Rows of the documents with the highest cosines or BM25 scores, ascending."""
        self.bound = self._bound(cosines[-1:], self.words[best[-1:]])
        """The upper bound of the score of any other document."""

    def _bound(self, cosine: Vector, word: Floats) -> float:
        meaning = self.masked_scale.z(cosine.astype(np.float64) + TOLERANCE)
        return float(meaning.sum() + WORDS * self.words_scale.z(word).sum())

    def cosines(self, rows: Sequence[int] | Rows) -> tuple[Floats, Floats]:
        """The cosines of documents, by row, with the question and with the mean of the names."""
        vectors = self._index.vectors(np.array(rows, dtype=np.int64)).astype(np.float64)
        return vectors @ self._question, vectors @ self._names

    def scores(self, rows: Sequence[int] | Rows) -> Floats:
        """The scores of documents, by row: the sum of both z-scores."""
        similarity, named = self.cosines(rows)
        masked = self.masked_scale.z(similarity - MASK * named)
        return masked + WORDS * self.words_scale.z(self.words[np.array(rows, dtype=np.int64)])


def highest(values: Floats, count: int) -> Rows:
    """Positions of the `count` highest values, best first, ties by position."""
    few = np.arange(len(values))
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        few = np.flatnonzero(values >= least)
    return few[np.argsort(-values[few], kind="stable")][:count]


def promising(relevance: Relevance, documents: Rows, activation: Floats, limit: int | None) -> Rows:
    """Positions in `documents` of those that can be among the `limit` best; all without a limit.

    `activation` is the part of each document's score that activation adds. The relevance of a
    document that is no candidate is bounded by that of the last candidates, so if its score cannot
    reach that of the best candidates, its vector is not read.
    """
    if limit is None or len(documents) <= limit:
        return np.arange(len(documents))
    closest = np.searchsorted(documents, relevance.candidates)
    scores = relevance.scores(documents[closest]) + activation[closest]
    least = scores[highest(scores, limit)[-1]] if len(scores) >= limit else -np.inf
    is_promising = activation + relevance.bound >= least
    is_promising[closest] = True
    return np.flatnonzero(is_promising)


def calibrated(
    similarities: NDArray[np.float32], floor: float, ceiling: float
) -> NDArray[np.float64]:
    """Map `floor` to 0 and `ceiling` to 1, linearly, clipped: shape (n,), in [0, 1].

    If both are a quantile and the maximum of the similarities to one question, an affine change of
    all similarities changes nothing. A ceiling not above the floor gives zeros.
    """
    values = np.asarray(similarities, dtype=np.float64)
    if not ceiling > floor:
        return np.zeros(len(values))
    return np.clip((values - floor) / (ceiling - floor), 0.0, 1.0)
