"""Plots as PNG with matplotlib (``sarag-rdf[plot]``), byte-identical between runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any

from sarag_rdf.base.errors import MissingDependencyError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
"""Distinguishable with all common kinds of colour vision (Okabe and Ito 2008)."""
MARKS = "osD^vPX"
INK, MUTED, GRID = "#1b2430", "#56606e", "#dde2e8"
Point = tuple[float, float]


def check_matplotlib() -> None:
    """Raise `MissingDependencyError` without matplotlib; it takes milliseconds."""
    if find_spec("matplotlib") is None:
        raise MissingDependencyError("--plot needs matplotlib: pip install 'sarag-rdf[plot]'")


@contextmanager
def png_axes(path: Path, title: str, height: float = 5.6) -> Iterator[Any]:
    """Matplotlib axes for a figure that is written to `path` at the end of the block.

    `height` is that of the figure in inches.

    Raises `MissingDependencyError` without matplotlib, `OSError` if the file cannot be written.
    """
    check_matplotlib()
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.style.context("default"):
        figure = Figure(figsize=(9.6, height), dpi=150, facecolor="white", layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.set_title(
            fill(title, 80), loc="left", color=INK, fontweight="bold", pad=14, parse_math=False
        )
        axes.grid(visible=True, axis="y", color=GRID)
        axes.tick_params(colors=MUTED, length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        yield axes
        figure.savefig(path, format="png", metadata={"Software": None})


def write_plot(
    path: Path,
    title: str,
    curves: Mapping[str, Sequence[Point]],
    x: str,
    y: str = "",
    *,
    is_line: bool = True,
    is_percent: bool = True,
) -> None:
    """Plot points by label, joined by lines or not; see `png_axes` for errors.

    `x` and `y` are the labels of the axes; values of y are in [0, 1].
    """
    columns = 1 if max(map(len, curves)) > 40 else 3
    with png_axes(path, title, 5.0 + 0.2 * ceil(len(curves) / columns)) as axes:
        for number, (label, points) in enumerate(curves.items()):
            axes.plot(
                *zip(*points, strict=True), label=label, color=COLOURS[number % len(COLOURS)],
                marker=MARKS[(number + number // len(COLOURS)) % len(MARKS)],
                linestyle="-" if is_line else "none", linewidth=2, markersize=5 if is_line else 9,
                clip_on=False, zorder=3,
            )  # fmt: skip
        axes.set_ylim(0.0, 1.0)
        axes.set_xlim(left=min(0.0, *(at for points in curves.values() for at, _ in points)))
        if is_percent:
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xlabel(x, color=INK)
        axes.set_ylabel(y, color=INK)
        key = axes.figure.legend(loc="outside lower left", frameon=False, fontsize=9, ncols=columns)
        for text in key.get_texts():
            text.set_parse_math(False)
