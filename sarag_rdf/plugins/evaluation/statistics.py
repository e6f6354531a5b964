"""Recall and precision by ir-measures, and paired bootstrap intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from sarag_rdf.base.errors import MissingDependencyError

Passages = Sequence[int | None]
"""The passage that contains each retrieved document, by rank; None for no passage."""


def support_ranks(supporting: Iterable[int], ranking: Passages) -> tuple[int | None, ...]:
    """The best rank, from 1, of each supporting passage; None if it was not retrieved."""
    best: dict[int | None, int] = {}
    for rank, passage in enumerate(ranking, 1):
        best.setdefault(passage, rank)
    return tuple(best.get(passage) for passage in supporting)


def ranking_measures() -> ModuleType:
    """The package ir-measures; raises `MissingDependencyError` without it."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingDependencyError(
            "measuring retrieval needs ir-measures: pip install 'sarag-rdf[evaluation]'"
        ) from error
    return ir_measures


def figures(
    supporting: Sequence[Sequence[int]], rankings: Sequence[Passages], ks: Sequence[int]
) -> list[dict[str, float]]:
    """``R@k``, ``P@k`` and ``all@k`` in [0, 1] for each question; empty without judgments.

    Further documents of the same passage keep their ranks, and count as misses. Raises
    `MissingDependencyError` without ir-measures.
    """
    ir_measures = ranking_measures()
    scores: list[dict[str, float]] = [{} for _ in supporting]
    measures = [measure @ k for k in ks for measure in (ir_measures.R, ir_measures.P)]
    judged = [
        ir_measures.Qrel(str(i), str(p), 1)
        for i, passages in enumerate(supporting)
        for p in passages
    ]
    for i, passages in enumerate(supporting):
        if passages:
            scores[i] |= {str(measure): 0.0 for measure in measures}
            ranks = support_ranks(passages, rankings[i])
            scores[i] |= {f"all@{k}": float(all(r and r <= k for r in ranks)) for k in ks}
    run = [scored for i, ranking in enumerate(rankings) for scored in _run(str(i), ranking)]
    if judged and run:
        for metric in ir_measures.iter_calc(measures, judged, run):
            scores[int(metric.query_id)][str(metric.measure)] = metric.value
    return scores


def _run(question: str, ranking: Passages) -> Iterator[Any]:
    """The ranking as `ScoredDoc` of ir-measures."""
    scored = ranking_measures().ScoredDoc
    seen: set[int] = set()
    for rank, passage in enumerate(ranking, 1):
        first = passage is not None and passage not in seen
        yield scored(question, str(passage) if first else f"place {rank}", float(-rank))
        if passage is not None:
            seen.add(passage)


def mean(rows: Iterable[Mapping[str, float]], name: str) -> float | None:
    """The mean of a measure over the rows that have it; None if there are none."""
    values = [row[name] for row in rows if name in row]
    return sum(values) / len(values) if values else None


RESAMPLES = 10_000
_BLOCK = 500
_CONFIDENCE = (2.5, 97.5)


def paired_interval(
    ours: Sequence[float], theirs: Sequence[float], seed: int
) -> tuple[float, float, float]:
    """The mean of ``ours - theirs``, and its 95% percentile bootstrap interval.

    Each of 10,000 resamples draws questions, so the values of both methods stay paired. Raises
    ValueError without questions, or for different lengths.
    """
    differences = np.subtract(ours, theirs, dtype=np.float64)
    if len(ours) != len(theirs) or not len(ours):
        raise ValueError("both methods need the same number of values, and at least one")
    generator = np.random.default_rng(seed)
    size = len(differences)
    means = np.concatenate(
        [
            differences[generator.integers(0, size, (_BLOCK, size))].mean(axis=1)
            for _ in range(RESAMPLES // _BLOCK)
        ]
    )
    low, high = np.percentile(means, _CONFIDENCE)
    return float(differences.mean()), float(low), float(high)
