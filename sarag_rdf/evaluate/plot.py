"""Recall against the number of documents, as a PNG. Needs matplotlib (``sarag-rdf[plot]``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from sarag_rdf.errors import MissingDependencyError

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
"""Distinct to all common kinds of colour vision (Okabe and Ito 2008)."""
_MARKS = "osD^vPX"
_INK, _MUTED, _GRID = "#1b2430", "#56606e", "#dde2e8"
_LABEL_GAP = 0.045
"""Between two labels, as a part of the height."""


def write_recall_plot(curves: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw a line a method: its recall in [0, 1] at 1, 2, ... documents; the same bytes each time.

    Raises `MissingDependencyError` without matplotlib, `OSError` if the file cannot be written.
    """
    try:
        import matplotlib.style
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            "--plot needs matplotlib: pip install 'sarag-rdf[plot]'"
        ) from error
    with matplotlib.style.context("default"):
        figure = Figure(figsize=(9.6, 5.6), dpi=150, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.08, 0.12, 0.7, 0.76))
        last = max(map(len, curves.values()))
        low = math.floor(10 * min(map(min, curves.values()))) / 10
        high = math.ceil(10 * max(map(max, curves.values()))) / 10
        high = max(high, low + 0.1)
        ends = {name: curve[-1] for name, curve in curves.items()}
        heights = _apart(ends, _LABEL_GAP * (high - low), high)
        for place, (name, curve) in enumerate(curves.items()):
            colour = _COLOURS[place % len(_COLOURS)]
            axes.plot(
                range(1, len(curve) + 1), curve, color=colour, linewidth=2, markersize=4.5,
                marker=_MARKS[place % len(_MARKS)], clip_on=False, zorder=3,
            )  # fmt: skip
            axes.annotate(
                name, (last, curve[-1]), xytext=(last + (last - 1) / 20, heights[name]),
                color=colour, va="center", fontsize=11, fontweight="bold", parse_math=False,
                annotation_clip=False, arrowprops={
                    "arrowstyle": "-", "color": colour, "lw": 0.7, "relpos": (0, 0.5),
                    "shrinkA": 2, "shrinkB": 4,
                },
            )  # fmt: skip
        axes.set_xlim(1, last)
        axes.set_ylim(low, high)
        axes.set_xticks([k for k in range(1, last + 1) if k == 1 or k % max(1, last // 10) == 0])
        axes.set_yticks([tenth / 10 for tenth in range(round(10 * low), round(10 * high) + 1)])
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
        axes.grid(visible=True, axis="y", color=_GRID)
        axes.tick_params(colors=_MUTED, length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel("documents read, by rank", color=_INK)
        axes.set_title(
            "Supporting passages found (recall)", loc="left", color=_INK, fontweight="bold", pad=14
        )
        figure.savefig(path, format="png", metadata={"Software": None})


def _apart(heights: Mapping[str, float], gap: float, ceiling: float) -> dict[str, float]:
    """Heights of labels near those given: first pushed up to stand apart, then down from above."""
    placed: dict[str, float] = {}
    floor = -math.inf
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        placed[name] = max(height, floor)
        floor = placed[name] + gap
    for name in reversed(list(placed)):
        placed[name] = min(placed[name], ceiling)
        ceiling = placed[name] - gap
    return placed
