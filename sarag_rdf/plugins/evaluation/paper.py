"""Table 1 of SA-RAG (arXiv 2512.15922, section 4): its systems, and the figures that it prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sarag_rdf.plugins.evaluation.tables import percent, table

Dataset = Literal["musique", "2wiki"]
"""The benchmarks of the table; ``sarag-paper`` has a preset of each name (section 5.7)."""
MODELS: Final = ("phi4", "gemma3")
"""The language models of the published figures."""
Figures = tuple[float, float, float]
"""Exact match and token F1, in [0, 1], and answers judged correct, in percent."""

_NAIVE, _WHOLE = "dense:limit=5", "whole:preset=paper"
_DEEPER = "dense:limit=10"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A system of the table: its parts here, and the published figures with phi4 and gemma3.

    An empty `system` is one that this library does not contain; `problem` says so.
    """

    name: str
    system: str
    published: Mapping[Dataset, tuple[Figures, Figures]]
    most_calls: str = ""
    problem: str = ""

    def label(self, dataset: Dataset, thresholds: str) -> str:
        """The system as ``RETRIEVER+CONTEXT+REASONER``."""
        options = f"preset={dataset}{f':{thresholds}' if thresholds else ''}"
        return self.system.replace("sarag-paper", f"sarag-paper:{options}")


TABLE_1: Final = (
    TableRow(
        "Naive RAG",
        f"{_NAIVE}+{_WHOLE}+single",
        {
            "musique": ((0.25, 0.36, 46), (0.26, 0.36, 45)),
            "2wiki": ((0.36, 0.42, 48), (0.36, 0.44, 48)),
        },
        "1 call",
    ),
    TableRow(
        "Naive RAG (k=10)",
        f"{_DEEPER}+{_WHOLE}+single",
        {
            "musique": ((0.23, 0.38, 49), (0.32, 0.41, 54)),
            "2wiki": ((0.46, 0.52, 58), (0.49, 0.57, 62)),
        },
        "1 call",
    ),
    TableRow(
        "CoT RAG",
        f"{_NAIVE}+{_WHOLE}+cot:preset=paper",
        {
            "musique": ((0.33, 0.44, 56), (0.39, 0.50, 58)),
            "2wiki": ((0.53, 0.62, 68), (0.52, 0.62, 72)),
        },
        "4 calls",
    ),
    TableRow(
        "CoT RAG (k=10)",
        f"{_DEEPER}+{_WHOLE}+cot:preset=paper",
        {
            "musique": ((0.33, 0.46, 56), (0.34, 0.45, 56)),
            "2wiki": ((0.45, 0.51, 55), (0.56, 0.65, 72)),
        },
        "4 calls",
    ),
    TableRow(
        "Query-decomposition",
        f"{_NAIVE}+{_WHOLE}+decompose:preset=paper",
        {
            "musique": ((0.34, 0.48, 56), (0.40, 0.51, 61)),
            "2wiki": ((0.60, 0.68, 75), (0.47, 0.57, 64)),
        },
        "2 calls, and 1 for each part",
    ),
    TableRow(
        "HippoRAG 2",
        "",
        {
            "musique": ((0.32, 0.52, 70), (0.31, 0.47, 59)),
            "2wiki": ((0.50, 0.62, 76), (0.58, 0.69, 75)),
        },
        problem="not run: a system of its own, which this library does not contain",
    ),
    TableRow(
        "SA-RAG",
        f"sarag-paper+{_WHOLE}+single",
        {
            "musique": ((0.40, 0.54, 67), (0.35, 0.48, 56)),
            "2wiki": ((0.57, 0.66, 76), (0.50, 0.59, 66)),
        },
        "1 call",
    ),
    TableRow(
        "SA-RAG + CoT",
        f"sarag-paper+{_WHOLE}+cot:preset=paper",
        {
            "musique": ((0.44, 0.61, 75), (0.43, 0.57, 69)),
            "2wiki": ((0.72, 0.78, 87), (0.58, 0.69, 77)),
        },
        "4 calls",
    ),
    TableRow(
        "SA-RAG + decomposition",
        f"sarag-paper+{_WHOLE}+decompose:preset=paper",
        {
            "musique": ((0.39, 0.51, 66), (0.34, 0.54, 63)),
            "2wiki": ((0.60, 0.72, 83), (0.46, 0.60, 69)),
        },
        "2 calls, and 1 for each part",
    ),
)
"""The rows in the order of the table. The number of passages of the decomposition is not printed
in the paper; it is 5 here."""


def plan_lines(rows: Sequence[TableRow], dataset: Dataset, thresholds: str) -> Iterator[str]:
    """What would be run: each row with its system, and the most calls for a question."""
    for row in rows:
        if row.system:
            yield f"{row.name}: {row.label(dataset, thresholds)}; at most {row.most_calls}"
    yield from _problems(rows)


def published_figures(
    rows: Sequence[TableRow], dataset: Dataset, thresholds: str
) -> list[dict[str, Any]]:
    """For a JSON report: each row's name, its system's label or null, and the paper's figures.

    `exact_match`, `f1` and `correct` are in [0, 1].
    """
    return [
        {
            "name": row.name,
            "system": row.label(dataset, thresholds) if row.system else None,
            "published": {
                model: {"exact_match": em, "f1": f1, "correct": correct / 100}
                for model, (em, f1, correct) in zip(MODELS, row.published[dataset], strict=True)
            },
        }
        for row in rows
    ]


def table_lines(
    rows: Sequence[TableRow],
    dataset: Dataset,
    thresholds: str,
    report: Mapping[str, Any],
    *,
    markdown: bool = False,
) -> Iterator[str]:
    """The table as text or Markdown: figures measured, then those published, in percent."""
    results = {result["system"]: result for result in report["results"]}
    measures = ["EM", "F1", "correct", "covered", "failed", "calls", "tokens"]
    heads = ["row", *measures, *MODELS]
    cells = []
    for row in rows:
        measured = results.get(row.label(dataset, thresholds))
        figures = _figures(measured) if measured else len(measures) * ["-"]
        published = [f"{100 * em:.0f} {100 * f1:.0f} {c}" for em, f1, c in row.published[dataset]]
        cells.append([row.name, *figures, *published])
    setting = report["setting"]
    yield (
        f"{setting['questions']['count']} questions; model: {setting['model']}; embedder: "
        f"{setting['embedder']}; in percent"
    )
    yield f"sarag-paper: preset={dataset}{f':{thresholds}' if thresholds else ''}"
    yield ""
    if markdown:
        yield f"| {' | '.join(heads)} |"
        yield f"| --- |{(len(heads) - 1) * ' ---: |'}"
        yield from (f"| {' | '.join(line)} |" for line in cells)
    else:
        yield from table(heads, cells)
    yield ""
    yield f"{' and '.join(MODELS)}: EM, F1 and correctness as published, on other questions"
    if report["judge"] is None:
        yield "correct: a known answer, word for word; the paper's answers were judged by hand"
    yield from _problems(rows)


def _figures(result: Mapping[str, Any]) -> list[str]:
    names = ("exact_match", "f1", "accuracy", "coverage", "failed")
    return [
        *(percent(result[name]) for name in names),
        f"{result['calls']:.1f}",
        f"{result['tokens_in']:,.0f}",
    ]


def _problems(rows: Sequence[TableRow]) -> Iterator[str]:
    yield from (f"{row.name}: {row.problem}" for row in rows if row.problem)
