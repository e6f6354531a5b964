"""Recall against the number of documents, as a PNG. Needs matplotlib (``sarag-rdf[plot]``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from sarag_rdf.evaluate.figure import COLOURS, INK, MARKS, png_axes

_LABEL_GAP = 0.045
"""Between two labels, as a part of the height."""


def write_recall_plot(curves: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw a line a method: its recall in [0, 1] at 1, 2, ... documents; see `png_axes`."""
    with png_axes(path, "Supporting passages found (recall)") as axes:
        last = max(map(len, curves.values()))
        low = math.floor(10 * min(map(min, curves.values()))) / 10
        high = math.ceil(10 * max(map(max, curves.values()))) / 10
        high = max(high, low + 0.1)
        ends = {name: curve[-1] for name, curve in curves.items()}
        heights = _apart(ends, _LABEL_GAP * (high - low), high)
        for place, (name, curve) in enumerate(curves.items()):
            colour = COLOURS[place % len(COLOURS)]
            axes.plot(
                range(1, len(curve) + 1), curve, color=colour, linewidth=2, markersize=4.5,
                marker=MARKS[place % len(MARKS)], clip_on=False, zorder=3,
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
        axes.set_xlabel("documents read, by rank", color=INK)


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
