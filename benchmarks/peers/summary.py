"""The figures of all peers on one set of questions: as JSON, and as a table of Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers.environments import PEERS
from benchmarks.peers.exchange import RESULT
from sarag_rdf.plugins.evaluation.datasets import Corpus, Question
from sarag_rdf.plugins.evaluation.measures import figures, mean, paired_interval

FILE = "summary.json"
KS = (2, 5, 10)
NAMES = ("R@2", "R@5", "R@10", "all@5")
COMPARED = ("R@5", "all@5")
"""Measures whose difference to `sarag` is told."""
SEED = 0
"""Of the resamples."""


def write(output: Path, corpus: Corpus, questions: Sequence[Question]) -> None:
    """Write the summary of all results in a folder."""
    supporting = [corpus.support_of(question) for question in questions]
    results = {
        name: json.loads((output / name / RESULT).read_text("utf-8"))
        for name in PEERS
        if (output / name / RESULT).exists()
    }
    scores = {
        name: figures(supporting, result["rankings"], KS)
        for name, result in results.items()
        if "rankings" in result
    }
    summary = {
        "corpus": {"passages": len(corpus.passages)},
        "questions": {"count": len(questions), "with_recall": sum(map(bool, supporting))},
        "date": date.today().isoformat(),
        "peers": {
            name: {"given": PEERS[name].given, **_row(result, scores.get(name), scores["sarag"])}
            for name, result in results.items()
        },
    }
    (output / FILE).write_text(f"{json.dumps(summary, indent=1)}\n", "utf-8")


def _row(
    result: Mapping[str, Any],
    scores: Sequence[Mapping[str, float]] | None,
    ours: Sequence[Mapping[str, float]],
) -> dict[str, Any]:
    if scores is None:
        return {"problem": result["problem"]}
    values = {name: round(mean(scores, name) or 0.0, 6) for name in NAMES}
    row = {
        "packages": result["packages"],
        "index_seconds": result["index_seconds"],
        "milliseconds": round(median(result["milliseconds"]), 3),
        "returned": round(sum(map(len, result["rankings"])) / len(result["rankings"]), 2),
        **values,
    }
    if scores is not ours:
        row["difference"] = {name: _difference(scores, ours, name) for name in COMPARED}
    return row


def _difference(
    theirs: Sequence[Mapping[str, float]], ours: Sequence[Mapping[str, float]], name: str
) -> list[float]:
    """The mean difference to `sarag`, and its 95% interval."""
    pairs = [(a[name], b[name]) for a, b in zip(theirs, ours, strict=True) if name in a]
    first, second = zip(*pairs, strict=True)
    return [round(value, 6) for value in paired_interval(first, second, SEED)]


def read(path: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return summary


# ------------------------------------------------------------------------------------------ Table

HEADS = ("", "indexes", "index, s", "ms", *NAMES, *(f"{name} − `sarag`" for name in COMPARED))


def table(summary: Mapping[str, Any]) -> str:
    """Peers by R@5, in percent; those that could not run come last, with the reason."""
    rows = summary["peers"].items()
    ran = sorted((row for row in rows if "problem" not in row[1]), key=lambda row: -row[1]["R@5"])
    lines = [_line(HEADS), _line(("---", "---", *["---:"] * (len(HEADS) - 2)))]
    lines += [_line([*_cells(name, row)]) for name, row in ran]
    lines += [f"- `{name}` did not run: {row['problem']}" for name, row in rows if "problem" in row]
    first = next((i for i, line in enumerate(lines) if line.startswith("-")), len(lines))
    return "\n".join([*lines[:first], *([""] if first < len(lines) else []), *lines[first:]])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(name: str, row: Mapping[str, Any]) -> Iterator[str]:
    packages = ", ".join(f"{package} {version}" for package, version in row["packages"].items())
    yield f"`{name}` ({packages})"
    yield row["given"]
    seconds = row["index_seconds"]
    yield "" if seconds is None else f"{seconds:.{0 if seconds >= 10 else 1}f}"
    yield f"{row['milliseconds']:.1f}"
    yield from (f"{100 * row[measure]:.1f}" for measure in NAMES)
    for measure in COMPARED:
        if "difference" not in row:
            yield ""
            continue
        middle, low, high = (100 * value for value in row["difference"][measure])
        yield f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"
