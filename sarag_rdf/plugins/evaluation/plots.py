"""Plots as PNG with matplotlib (``sarag-rdf[plot]``), byte-identical between runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any

from sarag_rdf.base.errors import MissingDependencyError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
"""Distinguishable with all common kinds of colour vision (Okabe and Ito 2008)."""
MARKS = "osD^vPX"
INK, MUTED, GRID = "#1b2430", "#56606e", "#dde2e8"


def check_matplotlib() -> None:
    """Raise `MissingDependencyError` without matplotlib; it takes milliseconds."""
    if find_spec("matplotlib") is None:
        raise MissingDependencyError("--plot needs matplotlib: pip install 'sarag-rdf[plot]'")


@contextmanager
def png_axes(
    path: Path, title: str, box: tuple[float, float, float, float] = (0.08, 0.12, 0.7, 0.76)
) -> Iterator[Any]:
    """Matplotlib axes for a figure that is written to `path` at the end of the block.

    Raises `MissingDependencyError` without matplotlib, `OSError` if the file cannot be written.
    """
    check_matplotlib()
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.style.context("default"):
        figure = Figure(figsize=(9.6, 5.6), dpi=150, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes(box)
        axes.set_title(title, loc="left", color=INK, fontweight="bold", pad=14, parse_math=False)
        axes.grid(visible=True, axis="y", color=GRID)
        axes.tick_params(colors=MUTED, length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        yield axes
        figure.savefig(path, format="png", metadata={"Software": None})


_RANKS = 40


def write_activation_plot(curves: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """Plot a line per label: activations in [0, 1], descending; see `png_axes` for errors."""
    with png_axes(path, fill(title, 80), (0.08, 0.12, 0.88, 0.74)) as axes:
        active = max(sum(height > 0.0 for height in heights) for heights in curves.values())
        last = min(_RANKS, max(10, active + 1))
        for position, (label, heights) in enumerate(curves.items()):
            shown = [*heights, *_RANKS * [0.0]][:last]
            axes.plot(
                range(1, last + 1), shown, label=label, color=COLOURS[position % len(COLOURS)],
                linewidth=2, markersize=4.5, marker=MARKS[position % len(MARKS)], clip_on=False,
                zorder=3,
            )  # fmt: skip
        axes.set_xlim(1, last)
        axes.set_ylim(0.0, 1.0)
        axes.set_xlabel("entities by rank", color=INK)
        axes.set_ylabel("activation", color=INK)
        axes.legend(frameon=False, fontsize=11)


_LINE = 0.042
"""The height of a line of the legend, as a fraction of the figure."""
_ROWS = 9
"""The maximum number of lines of the legend."""
_WIDTH = 96
"""The number of characters that fit into a line of the legend."""


def write_answer_plot(
    points: Mapping[str, tuple[float, float]], what: str, read: str, path: Path
) -> None:
    """Plot a marker per system: (tokens per question, score in [0, 1]); see `png_axes`.

    `what` is the title, `read` the label of the token axis.
    """
    fitting = max(1, min(3, _WIDTH // max(map(len, points))))
    columns = max(fitting, math.ceil(len(points) / _ROWS))
    below = 0.16 + _LINE * math.ceil(len(points) / columns)
    with png_axes(path, what, (0.08, below, 0.88, 0.9 - below)) as axes:
        for position, (label, (tokens, value)) in enumerate(points.items()):
            axes.plot(
                [tokens], [value], label=label, color=COLOURS[position % len(COLOURS)],
                marker=MARKS[(position + position // len(COLOURS)) % len(MARKS)], markersize=9,
                linestyle="none", clip_on=False, zorder=3,
            )  # fmt: skip
        axes.set_xlim(0, 1.08 * max(tokens for tokens, _ in points.values()) or 1.0)
        top = max(value for _, value in points.values())
        axes.set_ylim(0.0, min(1.0, math.ceil(10 * top + 0.5) / 10))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
        axes.set_xlabel(read, color=INK)
        key = axes.legend(
            frameon=False, fontsize=9.5 if columns == fitting else 6.5, loc="upper left",
            ncols=columns, borderaxespad=0.0, bbox_to_anchor=(0.0, -0.11 / (0.9 - below)),
            handletextpad=0.3, markerscale=1.0 if columns == fitting else 0.7,
        )  # fmt: skip
        for text in key.get_texts():
            text.set_parse_math(False)


def write_sweep_plot(
    option: str, curves: Mapping[str, Sequence[tuple[float, float]]], path: Path
) -> None:
    """Plot a line per label: (value of an option, measure in [0, 1]); see `png_axes`."""
    with png_axes(path, "Recall of supporting passages", (0.08, 0.12, 0.88, 0.76)) as axes:
        for position, (label, points) in enumerate(curves.items()):
            axes.plot(
                *zip(*points, strict=True), label=label, color=COLOURS[position % len(COLOURS)],
                linewidth=2, markersize=5, marker=MARKS[position % len(MARKS)], clip_on=False,
                zorder=3,
            )  # fmt: skip
        axes.set_ylim(0.0, 1.0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
        axes.set_xlabel(option, color=INK)
        axes.legend(frameon=False, fontsize=11, ncols=3)


_LABEL_GAP = 0.045
"""The minimum distance between two labels, as a fraction of the height."""


def write_recall_plot(curves: Mapping[str, Sequence[float]], path: Path) -> None:
    """Plot a line per method: its recall in [0, 1] at 1, 2, ... documents; see `png_axes`."""
    with png_axes(path, "Recall of supporting passages") as axes:
        last = max(map(len, curves.values()))
        low = math.floor(10 * min(map(min, curves.values()))) / 10
        high = math.ceil(10 * max(map(max, curves.values()))) / 10
        high = max(high, low + 0.1)
        ends = {name: curve[-1] for name, curve in curves.items()}
        heights = _spread(ends, _LABEL_GAP * (high - low), high)
        for position, (name, curve) in enumerate(curves.items()):
            colour = COLOURS[position % len(COLOURS)]
            axes.plot(
                range(1, len(curve) + 1), curve, color=colour, linewidth=2, markersize=4.5,
                marker=MARKS[position % len(MARKS)], clip_on=False, zorder=3,
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
        axes.set_xlabel("rank", color=INK)


def _spread(heights: Mapping[str, float], gap: float, ceiling: float) -> dict[str, float]:
    """Label heights that keep a minimum distance: pushed up first, then down from the ceiling."""
    placed: dict[str, float] = {}
    floor = -math.inf
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        placed[name] = max(height, floor)
        floor = placed[name] + gap
    for name in reversed(list(placed)):
        placed[name] = min(placed[name], ceiling)
        ceiling = placed[name] - gap
    return placed
