"""What plots share: a figure that is the same bytes each time, colours that all tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sarag_rdf.errors import MissingDependencyError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
"""Distinct to all common kinds of colour vision (Okabe and Ito 2008)."""
MARKS = "osD^vPX"
INK, MUTED, GRID = "#1b2430", "#56606e", "#dde2e8"


@contextmanager
def png_axes(
    path: Path, title: str, box: tuple[float, float, float, float] = (0.08, 0.12, 0.7, 0.76)
) -> Iterator[Any]:
    """Axes of matplotlib to draw on; written to `path` at the end.

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
        axes = figure.add_axes(box)
        axes.set_title(title, loc="left", color=INK, fontweight="bold", pad=14, parse_math=False)
        axes.grid(visible=True, axis="y", color=GRID)
        axes.tick_params(colors=MUTED, length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        yield axes
        figure.savefig(path, format="png", metadata={"Software": None})
