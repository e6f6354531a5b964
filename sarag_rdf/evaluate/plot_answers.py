"""How good answers are against how much is read for them, as a PNG. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from sarag_rdf.evaluate.figure import COLOURS, INK, MARKS, png_axes

_LINE = 0.042
"""Of the key below the axes, as a part of the picture's height."""
_ROWS = 9
"""Lines of the key at most."""
_WIDTH = 96
"""Letters of labels that fit side by side."""


def write_answer_plot(
    points: Mapping[str, tuple[float, float]], what: str, read: str, path: Path
) -> None:
    """Draw a mark a system: (tokens read a question, figure in [0, 1]); see `png_axes`.

    `what` names the figure, `read` the tokens.
    """
    fitting = max(1, min(3, _WIDTH // max(map(len, points))))
    columns = max(fitting, math.ceil(len(points) / _ROWS))
    below = 0.16 + _LINE * math.ceil(len(points) / columns)
    with png_axes(path, what, (0.08, below, 0.88, 0.9 - below)) as axes:
        for place, (label, (tokens, value)) in enumerate(points.items()):
            axes.plot(
                [tokens], [value], label=label, color=COLOURS[place % len(COLOURS)],
                marker=MARKS[(place + place // len(COLOURS)) % len(MARKS)], markersize=9,
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
