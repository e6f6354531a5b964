"""Results of a retrieval evaluation as JSON values, which depend only on the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from sarag_rdf.plugins.evaluation.corpus import Corpus
from sarag_rdf.plugins.evaluation.problems import JudgedQuestion
from sarag_rdf.plugins.evaluation.questions import QuestionFile
from sarag_rdf.plugins.evaluation.retrieval import Cutoffs, MethodResults, RetrievalResult
from sarag_rdf.plugins.evaluation.statistics import mean, paired_interval

_DIGITS = 6


def measure_names(cutoffs: Cutoffs) -> list[str]:
    """The names of the reported measures."""
    by_k = [f"{measure}@{k}" for measure in ("R", "all", "P") for k in cutoffs.ks]
    return by_k + [f"coverage@{tokens}" for tokens in cutoffs.tokens]


def compared_measures(cutoffs: Cutoffs) -> list[str]:
    """The names of the measures whose difference from the baseline is reported."""
    return [f"{measure}@{k}" for measure in ("R", "all") for k in cutoffs.ks]


def setting(
    corpus: Corpus,
    file: QuestionFile,
    questions: Sequence[JudgedQuestion],
    cutoffs: Cutoffs,
    **others: Any,
) -> dict[str, Any]:
    """The settings of an evaluation; `others` are appended."""
    return {
        "corpus": corpus.summary,
        "questions": {
            "file": file.file,
            "sha256": file.sha256,
            "count": len(questions),
            "with_recall": sum(bool(question.supporting) for question in questions),
        },
        "k": list(cutoffs.ks),
        "tokens": list(cutoffs.tokens),
        "documents_asked_for": cutoffs.limit,
        **others,
    }


def report(
    corpus: Corpus,
    questions: Sequence[JudgedQuestion],
    outcomes: Sequence[MethodResults],
    cutoffs: Cutoffs,
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings, a result for each method, a row for each question; fractions in [0, 1] or None.

    `setting` has the `baseline` and the `seed`. The values contain no times, dates or paths.
    """
    baseline, seed = setting["baseline"], setting["seed"]
    base = next(outcome for outcome in outcomes if outcome.method == baseline)
    return {
        "setting": dict(setting),
        "results": [
            {
                "method": outcome.method,
                **_means(outcome.rows, cutoffs),
                "returned": round(fmean(row.returned for row in outcome.rows), _DIGITS),
                "difference": None
                if outcome is base
                else _difference(outcome, base, cutoffs, seed),
                "by_hops": _by_hops(questions, outcome, cutoffs),
            }
            for outcome in outcomes
        ],
        "questions": [
            {
                "id": judged.question.id,
                "question": judged.question.query.text,
                "hops": len(judged.supporting) or None,
                "supporting": [
                    {"id": corpus.passages[p].id, "title": corpus.passages[p].title}
                    for p in judged.supporting
                ],
                "methods": {o.method: _row(o.rows[position], cutoffs) for o in outcomes},
            }
            for position, judged in enumerate(questions)
        ],
    }


def timings(encoding: Sequence[float], outcomes: Sequence[MethodResults]) -> dict[str, Any]:
    """Milliseconds per question, median and mean: for encoding, and for each retrieval without it.

    `ratio` is the median retrieval time divided by the median encoding time.
    """
    seconds: dict[str, Any] = {"encoding": _times(encoding), "retrieval": {}}
    for outcome in outcomes:
        times = _times([row.milliseconds for row in outcome.rows])
        ratio = round(times["median"] / max(seconds["encoding"]["median"], 0.001), 3)
        seconds["retrieval"][outcome.method] = {**times, "ratio": ratio}
    return seconds


def _times(values: Sequence[float]) -> dict[str, float]:
    return {"median": round(median(values), 3), "mean": round(fmean(values), 3)}


def _means(rows: Sequence[RetrievalResult], cutoffs: Cutoffs) -> dict[str, float | None]:
    every = [row.figures for row in rows]
    return {name: _rounded(mean(every, name)) for name in measure_names(cutoffs)}


def _difference(
    ours: MethodResults, base: MethodResults, cutoffs: Cutoffs, seed: int
) -> dict[str, Any]:
    differences: dict[str, Any] = {"baseline": base.method}
    for name in compared_measures(cutoffs):
        pairs = [
            (a.figures[name], b.figures[name])
            for a, b in zip(ours.rows, base.rows, strict=True)
            if name in a.figures
        ]
        if not pairs:
            differences[name] = None
            continue
        left, right = zip(*pairs, strict=True)
        middle, low, high = map(_rounded, paired_interval(left, right, seed))
        differences[name] = {"difference": middle, "low": low, "high": high}
    return differences


def _by_hops(
    questions: Sequence[JudgedQuestion], outcome: MethodResults, cutoffs: Cutoffs
) -> dict[str, dict[str, float | None]]:
    rows: dict[int, list[RetrievalResult]] = {}
    for judged, row in zip(questions, outcome.rows, strict=True):
        if judged.supporting:
            rows.setdefault(len(judged.supporting), []).append(row)
    return {
        str(hops): {"questions": len(rows[hops]), **_means(rows[hops], cutoffs)}
        for hops in sorted(rows)
    }


def _row(row: RetrievalResult, cutoffs: Cutoffs) -> dict[str, Any]:
    covered = {str(t): row.figures.get(f"coverage@{t}") for t in cutoffs.tokens}
    return {
        "ranks": list(row.ranks),
        **{f"R@{k}": _rounded(row.figures.get(f"R@{k}")) for k in cutoffs.ks},
        "covered": {tokens: None if c is None else bool(c) for tokens, c in covered.items()},
        "returned": row.returned,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
