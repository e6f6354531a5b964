"""Activation of entities by rank, a line a setting, as a PNG (idea: SA-RAG paper, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

from sarag_rdf.evaluate.figure import COLOURS, INK, MARKS, png_axes

_RANKS = 40


def write_activation_plot(curves: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """Draw a line a label: activations in [0, 1], highest first; see `png_axes` for errors."""
    with png_axes(path, fill(title, 80), (0.08, 0.12, 0.88, 0.74)) as axes:
        active = max(sum(height > 0.0 for height in heights) for heights in curves.values())
        last = min(_RANKS, max(10, active + 1))
        for place, (label, heights) in enumerate(curves.items()):
            shown = [*heights, *_RANKS * [0.0]][:last]
            axes.plot(
                range(1, last + 1), shown, label=label, color=COLOURS[place % len(COLOURS)],
                linewidth=2, markersize=4.5, marker=MARKS[place % len(MARKS)], clip_on=False,
                zorder=3,
            )  # fmt: skip
        axes.set_xlim(1, last)
        axes.set_ylim(0.0, 1.0)
        axes.set_xlabel("entities, the most active first", color=INK)
        axes.set_ylabel("activation", color=INK)
        axes.legend(frameon=False, fontsize=11)
