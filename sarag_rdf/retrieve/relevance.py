"""How near documents are to a question before anything is activated: in meaning and in words.

What the question names is taken out of it in part: the document that it names is found by the
name, the documents after it by the rest of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.arrays import rows_of
from sarag_rdf.network.edges import Rows
from sarag_rdf.ports import Vector
from sarag_rdf.retrieve.view import GraphView

MASK = 0.4
"""How much of the names' mean vector is taken from the question's."""
WORDS = 0.2
"""Weight of BM25 beside the cosine, both as z-scores."""
CANDIDATES = 200
"""Documents that are looked at for their cosine alone, and as many for their words alone."""

TOLERANCE = 1e-5
"""Of cosines that are computed in 32 bits."""

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

    @classmethod
    def of_few(cls, values: Floats, size: int) -> Scale:
        """The scale of `size` values, of which all that are not given are 0."""
        if not size:
            return cls(0.0, 0.0)
        mean = float(values.sum()) / size
        variance = float(((values - mean) ** 2).sum() + (size - len(values)) * mean**2) / size
        return cls(mean, variance**0.5)

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
        self._question = question
        self._names = np.zeros_like(question)
        if named:
            rows = rows_of(view.iris.entities, named)
            self._names = view.entity_vectors(rows).mean(axis=0)
        self.masked_question: Vector = np.asarray(
            question - np.float32(MASK) * self._names, dtype=np.float32
        )
        self.words = view.words.scores(text).astype(np.float64)
        self.masked_scale = Scale(*self._index.moments(self.masked_question))
        self.words_scale = Scale.of(self.words)

        found, cosines = self._index.nearest_rows(self.masked_question, CANDIDATES)
        worded = highest(self.words, CANDIDATES)
        self.candidates = np.union1d(found, worded[self.words[worded] > 0.0]).tolist()
        """Rows of the documents that are nearest in meaning or in words, ascending."""
        self.bound = self._bound(cosines[-1:], self.words[worded[-1:]])
        """What no other document's nearness is above."""

    def _bound(self, cosine: Vector, word: Floats) -> float:
        meaning = self.masked_scale.z(cosine.astype(np.float64) + TOLERANCE)
        return float(meaning.sum() + WORDS * self.words_scale.z(word).sum())

    def cosines(self, rows: Sequence[int] | Rows) -> tuple[Floats, Floats]:
        """Cosines of the given documents with the question, and with the mean of the names."""
        vectors = self._view.document_vectors(np.array(rows, dtype=np.int64)).astype(np.float64)
        return vectors @ self._question, vectors @ self._names

    def scores(self, rows: Sequence[int] | Rows) -> Floats:
        """Nearness of the given documents, as a sum of z-scores."""
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


def promising(relevance: Relevance, documents: Rows, gained: Floats, limit: int | None) -> Rows:
    """Places in `documents` of those that can be among the `limit` best: all, without a limit.

    `gained` is what each document's score holds beside its nearness. A document that is no
    candidate is no nearer than the last candidate in meaning and the last in words, so where the
    most that it can score is less than what the best are known to have, its vector is not read.
    """
    if limit is None or len(documents) <= limit:
        return np.arange(len(documents))
    near = np.searchsorted(documents, relevance.candidates)
    scores = relevance.scores(documents[near]) + gained[near]
    least = scores[highest(scores, limit)[-1]] if len(scores) >= limit else -np.inf
    hopeful = gained + relevance.bound >= least
    hopeful[near] = True
    return np.flatnonzero(hopeful)


def calibrated(
    similarities: NDArray[np.float32], floor: float, ceiling: float
) -> NDArray[np.float64]:
    """Map `floor` to 0 and `ceiling` to 1, linearly, clipped: shape (n,), in [0, 1].

    With both taken from the similarities to one question (a quantile and the maximum), an
    affine change of all similarities changes nothing. A ceiling not above the floor gives zeros.
    """
    values = np.asarray(similarities, dtype=np.float64)
    if not ceiling > floor:
        return np.zeros(len(values))
    return np.clip((values - floor) / (ceiling - floor), 0.0, 1.0)


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile with linear interpolation, 0 for no values; `q` in [0, 1]."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), q)) if len(values) else 0.0
