"""Names that are nearly the same: by what characters they share, or by their embeddings.

Both compare many names with many by products of matrices, some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sarag_rdf.ports import Embedder

Near = Iterator[tuple[int, int, float]]
"""Places of a name and of a name of the other side, and their cosine."""
FindNear = Callable[[Sequence[str], Sequence[str], int], Near]

CHARACTERS, EMBEDDING = 0.6, 0.75
"""Cosines from which names count as near."""
_GRAM = 3
_ROWS = 256


def by_characters(names: Sequence[str], others: Sequence[str], k: int) -> Near:
    """At most `k` others for each name: cosine of TF-IDF over runs of three characters."""
    if not names or not others:
        return
    grams: dict[str, int] = {}
    known, _ = _counts(others, grams, grow=True)
    own, strange = _counts(names, grams, grow=False)
    seen = np.asarray((known > 0).sum(axis=0)).ravel()
    rarest = np.log(1 + len(others)) + 1
    weights = sparse.diags(np.log((1 + len(others)) / (1 + seen)) + 1)
    right = _unit(known @ weights, np.zeros(len(others))).T.tocsc()
    left = _unit(own @ weights, strange * rarest**2)
    for start in range(0, len(names), _ROWS):
        block = (left[start : start + _ROWS] @ right).tocsr()
        for row in range(block.shape[0]):
            begin, end = block.indptr[row], block.indptr[row + 1]
            places, values = block.indices[begin:end], block.data[begin:end]
            yield from _best(start + row, places, values, k, CHARACTERS)


def by_embedding(embedder: Embedder) -> FindNear:
    """At most k others for each name: cosine of the names' embeddings."""

    def find(names: Sequence[str], others: Sequence[str], k: int) -> Near:
        if not names or not others:
            return
        left, right = embedder.embed(names), embedder.embed(others)
        every = np.arange(len(others))
        for start in range(0, len(names), _ROWS):
            block = left[start : start + _ROWS] @ right.T
            for row, values in enumerate(block):
                yield from _best(start + row, every, values, k, EMBEDDING)

    return find


def _counts(
    names: Sequence[str], grams: dict[str, int], *, grow: bool
) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """Names by runs of characters, which are numbered in `grams`; how many runs are not there."""
    places: list[int] = []
    ends = [0]
    strange = np.zeros(len(names))
    for row, name in enumerate(names):
        padded = f" {name} "
        for start in range(max(1, len(padded) - _GRAM + 1)):
            gram = padded[start : start + _GRAM]
            place = grams.setdefault(gram, len(grams)) if grow else grams.get(gram, -1)
            if place >= 0:
                places.append(place)
            else:
                strange[row] += 1
        ends.append(len(places))
    data = np.ones(len(places), dtype=np.float32)
    made = sparse.csr_matrix((data, places, ends), shape=(len(names), len(grams)))
    made.sum_duplicates()
    return made, strange


def _unit(matrix: sparse.csr_matrix, more: NDArray[np.float64]) -> sparse.csr_matrix:
    """Rows divided by their lengths, to whose squares `more` is added."""
    squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel() + more
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    return (sparse.diags(1 / lengths) @ matrix).tocsr()


def _best(
    row: int, places: NDArray[np.int64], values: NDArray[np.float32], k: int, floor: float
) -> Near:
    """The k highest of one name that reach the floor; ties by place."""
    kept = np.flatnonzero(values >= floor)
    order = kept[np.lexsort((places[kept], -np.round(values[kept], 6)))][:k]
    for place in order:
        yield row, int(places[place]), min(1.0, float(values[place]))
