"""Text tables of evaluation results, at most `WIDTH` characters wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sarag_rdf.plugins.evaluation.problems import problem_lines
from sarag_rdf.plugins.evaluation.retrieval import Cutoffs

WIDTH = 100
_NOTHING = "-"


def lines(report: Mapping[str, Any], times: Mapping[str, Any], cutoffs: Cutoffs) -> Iterator[str]:
    """The report as text: the main table, differences, measures by hops, times, problems."""
    setting, results = report["setting"], report["results"]
    counts = setting["questions"]
    yield f"Questions: {counts['count']}; with recall: {counts['with_recall']}; figures in percent"
    yield ""
    recalls = [f"{measure}@{k}" for measure in ("R", "all") for k in cutoffs.ks]
    covered = [f"coverage@{tokens}" for tokens in cutoffs.tokens]
    names = [*recalls, f"P@{cutoffs.ks[-1]}", *covered]
    rows = [
        [
            *_row(result["method"], result, names),
            f"{result['returned']:.1f}",
            f"{times['retrieval'][result['method']]['median']:.1f}",
        ]
        for result in results
    ]
    yield from table(["method", *map(head, names), "docs", "ms"], rows)
    if counts["with_recall"]:
        yield from _differences(results, setting["baseline"], cutoffs)
    for hops, first in results[0]["by_hops"].items():
        yield ""
        yield f"Questions of {hops} hops: {first['questions']}"
        rows = [_row(r["method"], r["by_hops"][hops], [*recalls, *covered]) for r in results]
        yield from table(["method", *map(head, [*recalls, *covered])], rows)
    yield ""
    yield from _times(times)
    yield from problem_lines(setting["trouble"])


def _row(method: str, figures: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [method, *(percent(figures[name]) for name in names)]


def head(name: str) -> str:
    """An abbreviated column heading: ``cov@4k`` for ``coverage@4000``."""
    measure, _, cutoff = name.partition("@")
    thousands = measure == "coverage" and cutoff.endswith("000")
    return f"cov@{cutoff[:-3]}k" if thousands else name.replace("coverage", "cov")


def _differences(
    results: Sequence[Mapping[str, Any]], baseline: str, cutoffs: Cutoffs
) -> Iterator[str]:
    others = [result for result in results if result["difference"]]
    for measure in ("R", "all") if others else ():
        names = [f"{measure}@{k}" for k in cutoffs.ks]
        yield ""
        yield f"{measure}@k, difference from {baseline} with 95% interval"
        rows = [[r["method"], *(interval(r["difference"][name]) for name in names)] for r in others]
        yield from table(["method", *names], rows)


def _times(times: Mapping[str, Any]) -> Iterator[str]:
    encoding = times["encoding"]
    yield (
        f"encoding a question: {encoding['median']:.1f} ms (median; mean {encoding['mean']:.1f}), "
        "not included in retrieval times"
    )
    for method, times_of in times["retrieval"].items():
        yield (
            f"retrieval by {method}: {times_of['median']:.1f} ms "
            f"(median; mean {times_of['mean']:.1f}), {times_of['ratio']:.2f} times the encoding"
        )


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Right-aligned columns after the first; columns that do not fit follow in another block."""
    widths = [max(map(len, column)) + 2 for column in zip(heads, *rows, strict=True)]
    begin = 1
    while begin < len(heads):
        end, used = begin + 1, widths[0] + widths[begin]
        while end < len(heads) and used + widths[end] <= WIDTH:
            used += widths[end]
            end += 1
        if begin > 1:
            yield ""
        for row in (heads, *rows):
            cells = (row[i].rjust(widths[i]) for i in range(begin, end))
            yield row[0].ljust(widths[0]) + "".join(cells)
        begin = end


def percent(value: float | None) -> str:
    return _NOTHING if value is None else f"{100 * value:.1f}"


def interval(difference: Mapping[str, float] | None) -> str:
    if difference is None:
        return _NOTHING
    middle, low, high = (100 * difference[name] for name in ("difference", "low", "high"))
    return f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"
