"""Reports: means, groups and paired differences of per-question values, as JSON, text and plot.

Retrieval and answers are reported in the same way. A row holds the values of one system for one
question, by the name of their measure; undefined ones are absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from statistics import fmean, median
from textwrap import fill
from typing import Any, Final

from sarag_rdf.cli.output import note
from sarag_rdf.plugins.evaluation.datasets import Question
from sarag_rdf.plugins.evaluation.measures import mean, paired_interval

Row = Mapping[str, float]
Rows = Mapping[str, Sequence[Row]]
"""Rows by system, one per question, in their order."""
WIDTH = 100
_DIGITS: Final = {"dollars": 9}
_GROUPS: Final = {"by_type": "of type {}", "by_hops": "of {} hops"}


# ------------------------------------------------------------------------------------------- JSON


def results(
    kind: str,
    rows: Rows,
    names: Sequence[str],
    compared: Sequence[str],
    groups: Mapping[str, Sequence[Any]],
    setting: Mapping[str, Any],
    costs: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The result of each system: means, difference from the baseline, and means by group.

    `kind` is the key of its label, `compared` the measures with a difference, `costs` those without
    groups. `groups` are keys of groups by question, or None. `setting` has `baseline` and `seed`.
    """
    base = rows[setting["baseline"]]
    return [
        {
            kind: label,
            **group(own, [*names, *costs]),
            "difference": None if own is base else _difference(own, base, compared, setting),
            **{f"by_{name}": _by(keys, own, names) for name, keys in groups.items()},
        }
        for label, own in rows.items()
    ]


def group(rows: Sequence[Row], names: Iterable[str]) -> dict[str, Any]:
    """The number of questions, and the mean of each measure over the rows that have it, or None."""
    means = {name: rounded(mean(rows, name), _DIGITS.get(name, 6)) for name in names}
    return {"questions": len(rows), **means}


def _by(keys: Sequence[Any], rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    members: dict[Any, list[Row]] = {}
    for key, row in zip(keys, rows, strict=True):
        if key is not None:
            members.setdefault(key, []).append(row)
    return {str(key): group(members[key], names) for key in sorted(members)}


def _difference(
    ours: Sequence[Row], base: Sequence[Row], names: Sequence[str], setting: Mapping[str, Any]
) -> dict[str, Any]:
    values: dict[str, Any] = {"baseline": setting["baseline"]}
    for name in names:
        pairs = [(a[name], b[name]) for a, b in zip(ours, base, strict=True) if name in a]
        values[name] = difference(pairs, setting["seed"]) if pairs else None
    return values


def difference(pairs: Iterable[tuple[float, float]], seed: int) -> dict[str, float]:
    """The mean difference of pairs, with its 95% interval."""
    ours, theirs = zip(*pairs, strict=True)
    middle, low, high = (round(value, 6) for value in paired_interval(ours, theirs, seed))
    return {"difference": middle, "low": low, "high": high}


def by_question(
    kind: str,
    questions: Sequence[Question],
    rows: Mapping[str, Sequence[Any]],
    details: Sequence[Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """For each question its id, text and `details`, and the row of each system or method."""
    return [
        {
            "id": question.id,
            "question": question.query.text,
            **(details[place] if details else {}),
            f"{kind}s": {label: own[place] for label, own in rows.items()},
        }
        for place, question in enumerate(questions)
    ]


def spent(tokens_in: float, tokens_out: float, prices: Mapping[str, float]) -> float:
    """US dollars for tokens, by prices of a million."""
    return round((tokens_in * prices["in"] + tokens_out * prices["out"]) / 1_000_000, 9)


def median_and_mean(values: Sequence[float]) -> dict[str, float]:
    return {"median": round(median(values), 3), "mean": round(fmean(values), 3)}


def rounded(value: float | None, digits: int = 6) -> float | None:
    """A value as it is reported; None stays None."""
    return None if value is None else round(value, digits)


# ------------------------------------------------------------------------------------------- Text


def block(
    title: str, kind: str, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]
) -> Iterator[str]:
    """A titled table with a row for each result: its label, and percentages of `columns`.

    A column with a format behind a bar (``docs|.1f``) shows the number itself.
    """
    if title:
        yield from ("", title)
    heads = [kind, *(head.partition("|")[0] for head in columns.values())]
    yield from table(heads, [[row[kind], *cells(row, columns)] for row in rows])


def cells(row: Mapping[str, Any], columns: Mapping[str, str]) -> list[str]:
    """The values of a row as `block` shows them."""
    formats = [(row.get(name), head.partition("|")[2]) for name, head in columns.items()]
    return [
        percent(value) if value is None or not form else f"{value:{form}}"
        for value, form in formats
    ]


def differences(
    what: str, kind: str, results: Sequence[Mapping[str, Any]], columns: Mapping[str, str]
) -> Iterator[str]:
    """The differences from the baseline; nothing for a single system."""
    others = [result for result in results if result["difference"]]
    if others:
        baseline = others[0]["difference"]["baseline"]
        yield from ("", f"{what} from {baseline} with 95% interval")
        rows = [[r[kind], *(interval(r["difference"][name]) for name in columns)] for r in others]
        yield from table([kind, *columns.values()], rows)


def groups(
    kind: str, results: Sequence[Mapping[str, Any]], columns: Mapping[str, str]
) -> Iterator[str]:
    """A table for each type of question, and for each number of hops."""
    for key, words in _GROUPS.items():
        for name, first in results[0].get(key, {}).items():
            title = f"Questions {words.format(name)}: {first['questions']}"
            rows = [{kind: result[kind], **result[key][name]} for result in results]
            yield from block(title, kind, rows, columns)


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


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{(len(heads) - 1) * ' ---: |'}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def percent(value: float | None) -> str:
    """A fraction in percent with one digit; ``-`` for None."""
    return "-" if value is None else f"{100 * value:.1f}"


def interval(values: Mapping[str, float] | None) -> str:
    """A difference with its interval, in percentage points."""
    if values is None:
        return "-"
    middle, low, high = (100 * values[name] for name in ("difference", "low", "high"))
    return f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"


# ------------------------------------------------------------------------------------------- Plot

_MARKS: Final = "osD^vPX*<>"


def write_plot(
    path: Path,
    title: str,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    x: str,
    y: str = "",
    *,
    is_line: bool = True,
    is_percent: bool = True,
) -> None:
    """Plot points by label as PNG, joined by lines or not, with the same bytes in each run.

    `x` and `y` are the labels of the axes; values of y are in [0, 1]. Needs matplotlib. Raises
    `OSError` if the file cannot be written.
    """
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = 1 if max(map(len, curves)) > 40 else 3
    height = 5.0 + 0.2 * ceil(len(curves) / columns)
    with matplotlib.style.context(["default", "tableau-colorblind10"]):
        figure = Figure(figsize=(9.6, height), dpi=150, facecolor="white", layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.set_title(fill(title, 80), loc="left", parse_math=False)
        axes.grid(visible=True, axis="y")
        for number, (label, points) in enumerate(curves.items()):
            mark = _MARKS[(number + number // len(_MARKS)) % len(_MARKS)]
            style = f"{mark}-" if is_line else mark
            axes.plot(*zip(*points, strict=True), style, label=label, clip_on=False, zorder=3)
        axes.set_ylim(0.0, 1.0)
        axes.set_xlim(left=min(0.0, *(at for points in curves.values() for at, _ in points)))
        if is_percent:
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        key = figure.legend(loc="outside lower left", frameon=False, ncols=columns)
        for text in key.get_texts():
            text.set_parse_math(False)
        figure.savefig(path, format="png", metadata={"Software": None})
    note(f"plot written to {path}")
