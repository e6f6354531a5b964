"""Exact vector indexes, kept in a folder between runs and valid for one key (a revision)."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from sarag_rdf.ports import Arrays, Matrix, Vector

log = logging.getLogger(__name__)


SAMPLE = 4096
"""Vectors that quantiles and moments are taken from, where there are more."""


class ExactIndex:
    """All cosines by one product with the matrix; the last one is remembered."""

    def __init__(self, iris: Sequence[str], matrix: Matrix) -> None:
        """`iris` in ascending order, `matrix` of shape (len(iris), d) with unit rows."""
        self._iris = list(iris)
        self._matrix = matrix
        self._rows = {iri: row for row, iri in enumerate(self._iris)}
        self._last: tuple[Vector, NDArray[np.float32]] | None = None
        self._sample: Matrix | None = None

    @property
    def iris(self) -> Sequence[str]:
        return self._iris

    def __len__(self) -> int:
        return len(self._iris)

    def _cosines(self, vector: Vector) -> NDArray[np.float32]:
        if self._last is None or self._last[0] is not vector:
            self._last = vector, np.asarray(self._matrix @ vector, dtype=np.float32)
        return self._last[1]

    def nearest(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        if not self._iris or k < 1:
            return []
        cosines = self._cosines(vector)
        order = np.argsort(-cosines, kind="stable")[:k]
        return [(self._iris[i], float(cosines[i])) for i in order]

    def similarities(self, vector: Vector, iris: Sequence[str]) -> NDArray[np.float32]:
        if not iris:
            return np.zeros(0, dtype=np.float32)
        rows = np.fromiter((self._rows[iri] for iri in iris), dtype=np.int64, count=len(iris))
        return self._cosines(vector)[rows]

    def positions(self, iris: Sequence[str]) -> NDArray[np.int64]:
        if len(iris) == len(self._iris) and list(iris) == self._iris:
            return np.arange(len(iris))
        return np.fromiter((self._rows[iri] for iri in iris), dtype=np.int64, count=len(iris))

    def vectors(self, positions: NDArray[np.int64]) -> Matrix:
        return np.asarray(self._matrix[positions], dtype=np.float32)

    def cosines(self, vector: Vector, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        if not len(positions):
            return np.zeros(0, dtype=np.float32)
        return np.asarray(self.vectors(positions) @ vector, dtype=np.float32)

    def _sampled(self, vector: Vector) -> NDArray[np.float64]:
        """Cosines with a sample that is the same for every question and every run."""
        if self._sample is None:
            count = len(self._iris)
            if count <= SAMPLE:
                self._sample = np.asarray(self._matrix)
            else:
                chosen = np.random.default_rng(0).choice(count, SAMPLE, replace=False)
                self._sample = np.asarray(self._matrix[np.sort(chosen)])
        return np.asarray(self._sample @ vector, dtype=np.float64)

    def quantile(self, vector: Vector, q: float) -> tuple[float, float]:
        if not self._iris:
            return 0.0, 0.0
        cosines = self._sampled(vector)
        return float(np.quantile(cosines, q)), float(cosines.max())

    def moments(self, vector: Vector) -> tuple[float, float]:
        if not self._iris:
            return 0.0, 0.0
        cosines = self._sampled(vector)
        return float(cosines.mean()), float(cosines.std())


class MemoryVectors:
    """A VectorStore that keeps nothing."""

    def load_arrays(self, name: str, key: str) -> Arrays | None:  # noqa: ARG002
        return None

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        pass

    def load(self, kind: str, key: str) -> ExactIndex | None:  # noqa: ARG002
        return None

    def save(self, kind: str, key: str, iris: Sequence[str], matrix: Matrix) -> ExactIndex:  # noqa: ARG002
        return ExactIndex(iris, matrix)


class FolderVectors:
    """A VectorStore of two files a kind: ``<kind>.npy`` (the matrix) and ``<kind>.iris``.

    The first line of the second is the key. Arrays have a file ``<name>.npz``. Another key, or a
    damaged file, counts as absent.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        try:
            with np.load(self._folder / f"{name}.npz", allow_pickle=False) as file:
                arrays = dict(file)
            if str(arrays.pop("key")) != key:
                return None
        except (OSError, ValueError, EOFError, KeyError, BadZipFile, zlib.error):
            return None
        return arrays

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        part = self._folder / f"{name}.{os.getpid()}.part.npz"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            np.savez(part, **{**arrays, "key": np.array(key)})  # type: ignore[arg-type]
            part.replace(self._folder / f"{name}.npz")
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            log.warning("what was made of the graph could not be kept: %s", error.strerror)

    def load(self, kind: str, key: str) -> ExactIndex | None:
        try:
            lines = (self._folder / f"{kind}.iris").read_text(encoding="utf-8").split("\n")
            if lines[0] != key:
                return None
            matrix = open_memmap(self._folder / f"{kind}.npy", mode="r")
        except (OSError, ValueError, EOFError, SyntaxError, TokenError):
            return None
        iris = lines[1:]
        if matrix.ndim != 2 or matrix.shape[0] != len(iris) or matrix.dtype != np.float32:
            return None
        return ExactIndex(iris, matrix)

    def save(self, kind: str, key: str, iris: Sequence[str], matrix: Matrix) -> ExactIndex:
        table = self._folder / f"{kind}.npy"
        names = self._folder / f"{kind}.iris"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            names.unlink(missing_ok=True)
            part = self._folder / f"{kind}.{os.getpid()}.part.npy"
            np.save(part, matrix)
            part.replace(table)
            part = self._folder / f"{kind}.{os.getpid()}.part.iris"
            part.write_text("\n".join([key, *iris]), encoding="utf-8")
            part.replace(names)
        except OSError as error:
            log.warning("the vector index could not be kept: %s", error.strerror)
        return ExactIndex(iris, matrix)
