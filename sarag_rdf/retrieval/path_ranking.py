"""Ranks the relation paths that can start at an entity by how they say what a question asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, IriList
from sarag_rdf.base.ports import Arrays, Matrix, Vector, embed_queries
from sarag_rdf.retrieval.path_model import (
    FEATURES,
    Hop,
    HopSequence,
    PathModel,
    PathSchema,
    read_schema,
)
from sarag_rdf.retrieval.view import GraphView

MOST_HOPS: Final = 3
"""Hops of the longest paths."""
_MOST_VECTORS: Final = 20_000
"""Maximum number of vectors of texts in memory."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Paths with the vectors of their phrases: those of path i end before row `ends[i]`.

    `hops` are the distinct hops of all paths, with the vectors of the words of their phrases, and
    of what stands at their ends; `positions`, shape (paths, `MOST_HOPS`), has those of each path by
    their place in it, and -1 after the last.
    """

    paths: tuple[HopSequence, ...]
    vectors: Matrix
    ends: NDArray[np.int64]
    hops: tuple[Hop, ...]
    words: tuple[Matrix, ...]
    kinds: tuple[Matrix, ...]
    positions: NDArray[np.int64]

    @property
    def begins(self) -> NDArray[np.int64]:
        """The first rows of paths."""
        return np.concatenate(([0], self.ends[:-1])).astype(np.int64)


class Vectors:
    """The vectors of texts, each embedded once, as long as there are few."""

    def __init__(self, embed: Callable[[Sequence[str]], Matrix]) -> None:
        self._embed = embed
        self.known: dict[str, Vector] = {}

    def __call__(self, texts: Sequence[str]) -> Matrix:
        """Shape (texts, dimensions)."""
        missing = [text for text in dict.fromkeys(texts) if text not in self.known]
        if len(self.known) + len(missing) > _MOST_VECTORS:
            self.known.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            self.known |= dict(zip(missing, self._embed(missing), strict=True))
        return np.array([self.known[text] for text in texts], dtype=np.float32)


class PathIndex:
    """The schema of one revision of a graph, and the vectors of the phrases of its paths.

    Those of single hops are embedded at once, those of longer paths when a topic has them.
    `vectors` has those of phrases, `queries` those of the texts of a question.
    """

    def __init__(self, view: GraphView, model: PathModel) -> None:
        self._view, self._model = view, model
        self.vectors = Vectors(view.vectors.embedder.embed)
        self.queries = Vectors(partial(embed_queries, view.vectors.embedder))
        self._candidates: dict[tuple[frozenset[str], int, int], Candidates] = {}
        if view.reader.readable is None:
            arrays = view.vectors.cached_arrays("path-phrases", self._arrays)
        else:  # the phrases of readable graphs are not those of all
            arrays = self._arrays()
        [schema] = IriList.of_arrays(arrays, "schema")
        self.schema = PathSchema(**json.loads(schema))
        texts = IriList.of_arrays(arrays, "texts")
        self.vectors.known |= dict(zip(texts, np.asarray(arrays["vectors"]), strict=True))

    def _arrays(self) -> Arrays:
        schema = read_schema(self._view.reader)
        texts = list(
            dict.fromkeys(text for hop in schema.hops for text in self._model.texts(schema, (hop,)))
        )
        vectors = self._view.vectors.embedder.embed(texts) if texts else np.zeros((0, 1))
        lists = IriList.packed([schema.to_json()]).arrays("schema")
        lists |= IriList.packed(texts).arrays("texts")
        return {**lists, "vectors": np.asarray(vectors, dtype=np.float32)}

    def text(self, path: HopSequence) -> str:
        """A path in words, from the kind of thing at its start."""
        return self._model.texts(self.schema, path)[0]

    def start(self, kind: str) -> str:
        """What stands for a topic of that kind."""
        return self._model.templates["start"].format(kind=kind)

    def candidates(
        self, ends: frozenset[str], question: Vector, hops: int, most: int, beam: int
    ) -> Candidates:
        """The paths that start at these ends; of more than `most`, a beam of the nearest hops."""
        key = ends, hops, most
        if key in self._candidates:
            return self._candidates[key]
        paths, is_whole = self._enumerated(ends, question, hops, most, beam)
        texts = [self._model.texts(self.schema, path) for path in paths]
        flat = [text for several in texts for text in several]
        hops_used = tuple(sorted({hop for path in paths for hop in path}))
        position = {hop: at for at, hop in enumerate(hops_used)}
        positions = np.full((len(paths), MOST_HOPS), -1, dtype=np.int64)
        for row, path in enumerate(paths):
            positions[row, : len(path)] = [position[hop] for hop in path]
        candidates = Candidates(
            tuple(paths),
            self.vectors(flat) if flat else np.zeros((0, len(question)), dtype=np.float32),
            np.cumsum([len(several) for several in texts], dtype=np.int64),
            hops_used,
            tuple(map(self._words, hops_used)),
            tuple(map(self._end_words, hops_used)),
            positions,
        )
        if is_whole:
            rows = sum(len(known.vectors) for known in self._candidates.values())
            if rows > _MOST_VECTORS:
                self._candidates.clear()
            self._candidates[key] = candidates
        return candidates

    def _enumerated(
        self, ends: frozenset[str], question: Vector, hops: int, most: int, beam: int
    ) -> tuple[list[HopSequence], bool]:
        """Paths, and whether they are all; of too many, a beam of the nearest is extended."""
        last: list[HopSequence] = [(hop,) for hop in self.schema.starting(ends)]
        every: list[HopSequence] = []
        is_whole = True
        for length in range(1, hops + 1):
            if len(last) > (most - len(every) if is_whole else beam):
                is_whole = False
                closest = self._nearness({hop for path in last for hop in path}, question)
                scores = [sum(closest[hop] for hop in path) / len(path) for path in last]
                best = sorted(range(len(last)), key=lambda at: (-scores[at], at))[:beam]
                last = [last[at] for at in sorted(best)]
            every += last
            if length < hops:
                last = [(*path, hop) for path in last for hop in self.schema.after(path[-1])]
        return every, is_whole

    def _nearness(self, hops: Iterable[Hop], question: Vector) -> dict[Hop, float]:
        """The cosine of each hop with the question, by its nearest phrase."""
        texts = {hop: self._model.texts(self.schema, (hop,)) for hop in hops}
        cosines = self.vectors([t for several in texts.values() for t in several]) @ question
        values = iter(cosines.tolist())
        return {hop: max(next(values) for _ in several) for hop, several in texts.items()}

    def _words(self, hop: Hop) -> Matrix:
        """The vectors of the words of a hop's phrases."""
        texts = " ".join(self._model.phrases(self.schema, hop))
        return self.vectors(self._model.words(texts) or (texts,))

    def _end_words(self, hop: Hop) -> Matrix:
        """The vectors of what stands at the end of a hop: its kind, and its role."""
        phrase = self._model.phrases(self.schema, hop)[0].split()
        role = phrase[:-1] if phrase[-1] in self._model.prepositions else phrase[:1]
        kind = self.schema.kinds.get(hop.end, "")
        return self.vectors([text for text in (kind, " ".join(role), phrase[0]) if text])

    def features(self, question: str, paths: Candidates) -> Floats:
        """Shape (paths, features), in the order of `FEATURES`; see there.

        The topic must be masked in the question.
        """
        model = self._model
        if not paths.paths:
            return np.zeros((0, len(FEATURES)))
        asked = model.asked(question)
        words = model.words(question) or (question,)
        vectors = self.queries([question, *words, *([asked] if asked else [])])
        cosines = paths.vectors @ vectors[0]
        nearest = np.maximum.reduceat(cosines, paths.begins)
        counts = np.diff(np.concatenate(([0], paths.ends)))
        mean = np.add.reduceat(cosines, paths.begins) / counts
        hops, positions = paths.hops, paths.positions
        is_hop = positions >= 0
        length = is_hop.sum(axis=1)
        asked_words = vectors[1 : 1 + len(words)].T
        closest = np.array([(own @ asked_words).max(axis=0) for own in paths.words])
        fits = np.array([float((kinds @ vectors[-1]).max()) for kinds in paths.kinds])
        fan_out = np.log([self.schema.fan_out[hop.start] for hop in hops])
        number = {hop: at for at, hop in enumerate(hops)}
        reverse = np.array([number.get(hop.reverse, -1) for hop in hops])
        follows = (reverse[positions[:, :-1]] == positions[:, 1:]) & is_hop[:, 1:]
        matrix = np.where(is_hop[:, :, None], closest[positions], -2.0)
        aligned = _aligned(matrix.copy(), length)
        covered = matrix.max(axis=1)
        is_last = (np.arange(len(positions)), length - 1)
        return np.column_stack(
            (
                nearest,
                mean,
                length == 2,
                length == 3,
                fits[positions[is_last]] if asked else np.zeros(len(positions)),
                np.where(is_hop, fan_out[positions], 0.0).sum(axis=1),
                aligned.sum(axis=1) / length,
                np.where(is_hop, aligned, 2.0).min(axis=1),
                covered.mean(axis=1),
                covered.min(axis=1),
                follows.sum(axis=1),
            )
        ).astype(np.float64)


def _aligned(matrix: Floats, length: NDArray[np.int64]) -> Floats:
    """The cosine of each hop with a word of its own, the nearest pairs first: (paths, hops).

    A path's cosines stand in falling order; a hop that no word is left for has 0, as have those
    below 0.
    """
    paths, hops, words = matrix.shape
    rows = np.arange(paths)
    aligned = np.zeros((paths, hops))
    for number in range(min(hops, words)):
        hop, word = np.divmod(matrix.reshape(paths, -1).argmax(axis=1), words)
        best = matrix[rows, hop, word]
        aligned[:, number] = np.where(number < length, np.maximum(best, 0.0), 0.0)
        matrix[rows, hop, :] = -2.0
        matrix[rows, :, word] = -2.0
    return aligned
