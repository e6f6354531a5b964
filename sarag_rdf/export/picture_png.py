"""An activated subgraph as a PNG, for papers and slides. Needs matplotlib (``sarag-rdf[plot]``)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sarag_rdf.errors import MissingDependencyError
from sarag_rdf.export.picture_layout import SQUARE, Node, Picture, lay_out
from sarag_rdf.export.picture_pick import KINDS, Kind
from sarag_rdf.export.picture_text import clean, wrap
from sarag_rdf.types import Retrieved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE, _GUTTER, _LEGEND, _DPI = 330.0, 34.0, 70.0, 150
_INK, _MUTED, _GRID = "#1b2430", "#56606e", "#b4bdc8"
_CARRIED, _DOCUMENT = "#3f5f7f", "#00785a"
_FILL: dict[Kind, str] = {"seed": "#f0a30a", "activated": "#0072b2", "dormant": "#ffffff"}
_EDGE: dict[Kind, str] = {"seed": "#5c3b00", "activated": "#00395a", "dormant": "#6b7482"}
_NAMES: dict[Kind, str] = {
    "seed": "Seed", "activated": "Activated", "dormant": "Not activated",
}  # fmt: skip
_FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Naskh Arabic", "Noto Sans Arabic",
    "Noto Sans Devanagari", "Noto Sans Hebrew", "Noto Sans Thai", "WenQuanYi Zen Hei",
    "Arial Unicode MS", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic",
    "Nirmala UI", "Segoe UI", "Segoe UI Symbol",
)  # fmt: skip


def write_activation_png(retrieved: Retrieved, path: Path) -> None:
    """Write a picture of the activated subgraph; the same retrieval gives the same bytes.

    Characters that no font of this machine has are drawn as boxes. Raises
    `MissingDependencyError` without matplotlib, `OSError` if the file cannot be written.
    """
    try:
        import matplotlib.style
    except ImportError as error:
        raise MissingDependencyError(
            "a PNG picture needs matplotlib: pip install 'sarag-rdf[plot]'"
        ) from error
    picture = lay_out(retrieved)
    with matplotlib.style.context("default"):
        content = _png(picture)
    path.write_bytes(content)


def _png(picture: Picture) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    title = wrap(picture.question or "(no question)", picture.width + _SIDE - 60, 23, 3)
    head = 40.0 + 28.0 * len(title)
    width = picture.width + _SIDE + _GUTTER
    height = head + picture.height + _LEGEND
    figure = Figure(figsize=(width / 100, height / 100), dpi=_DPI, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(picture.height + _LEGEND, -head)
    pen = _Pen(axes, picture)
    for i, line in enumerate(title):
        pen.text(_GUTTER, 44 - head + 28 * i, line, 21, weight="bold")
    if picture.nodes or picture.squares:
        _draw_graph(pen, picture)
        _draw_documents(pen, picture)
        _draw_legend(pen, picture)
    else:
        pen.text(_GUTTER, 20, "Nothing was found: no entity and no document.", 15, color=_MUTED)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()


class _Pen:
    """Draws shapes and texts in the units of the picture."""

    def __init__(self, axes: Axes, picture: Picture) -> None:
        self.axes = axes
        names = [node.name for node in picture.nodes] + [s.title for s in picture.squares]
        self.fonts, self.known = _fonts("".join([picture.question, *names]))

    def text(
        self, x: float, y: float, text: str, size: float, *, color: str = _INK,
        weight: str = "normal", align: str = "left", halo: bool = False, order: float = 6,
    ) -> None:  # fmt: skip
        from matplotlib.patheffects import withStroke

        self.axes.text(
            x, y, "".join(c if c in self.known else "\u25a1" for c in text),
            fontsize=size * 0.72, color=color, fontweight=weight, ha=align, va="baseline",
            zorder=order, family=list(self.fonts), parse_math=False,
            path_effects=[withStroke(linewidth=2.6, foreground="white")] if halo else [],
        )  # fmt: skip

    def line(
        self, ends: Sequence[float], color: str, width: float, *, dashed: bool = False,
        arrow: bool = False, order: float = 1,
    ) -> None:  # fmt: skip
        from matplotlib.patches import FancyArrowPatch

        self.axes.add_patch(
            FancyArrowPatch(
                (ends[0], ends[1]), (ends[2], ends[3]), color=color, linewidth=width,
                arrowstyle="-|>" if arrow else "-", mutation_scale=11, shrinkA=0, shrinkB=0,
                linestyle=(0, (3, 2.5)) if dashed else "solid", zorder=order,
            )
        )  # fmt: skip

    def entity(self, kind: Kind, x: float, y: float, radius: float) -> None:
        from matplotlib.patches import Circle, Polygon

        style: dict[str, Any] = {
            "facecolor": _FILL[kind], "edgecolor": _EDGE[kind], "zorder": 3,
            "linewidth": {"seed": 2.2, "activated": 1.2, "dormant": 1.1}[kind],
            "linestyle": (0, (2.2, 1.6)) if kind == "dormant" else "solid",
        }  # fmt: skip
        if kind == "seed":
            r = radius * 1.2
            corners = [(x, y - r), (x + r, y), (x, y + r), (x - r, y)]
            self.axes.add_patch(Polygon(corners, closed=True, **style))
        else:
            self.axes.add_patch(Circle((x, y), radius, **style))

    def square(self, x: float, y: float, text: str) -> None:
        from matplotlib.patches import Rectangle

        corner, side = (x - SQUARE, y - SQUARE), 2 * SQUARE
        self.axes.add_patch(
            Rectangle(corner, side, side, facecolor=_DOCUMENT, edgecolor="#003d2e", zorder=4)
        )
        self.text(x, y + 4.2, text, 11.5, color="white", weight="bold", align="center", order=5)


def _draw_graph(pen: _Pen, picture: Picture) -> None:
    for line in picture.lines:
        if line.carried:
            pen.line(line.ends, _CARRIED, 1.7, arrow=True, order=2)
        else:
            pen.line(line.ends, _GRID, 0.9)
    for square in picture.squares:
        if square.ends:
            pen.line(square.ends, _DOCUMENT, 1.1, dashed=True, order=1.5)
        pen.square(square.x, square.y, str(square.ranked.rank))
    for node in picture.nodes:
        pen.entity(node.kind, node.x, node.y, node.radius)
        if node.label.shown:
            _draw_label(pen, node)


def _draw_label(pen: _Pen, node: Node) -> None:
    label, align = node.label, {"start": "left", "middle": "center", "end": "right"}
    for i, line in enumerate(label.lines):
        pen.text(
            label.x, label.y + i * label.line_height, line, label.size, halo=True,
            color=_MUTED if node.kind == "dormant" else _INK,
            weight="bold" if node.kind == "seed" else "normal", align=align[label.anchor],
        )  # fmt: skip


def _draw_documents(pen: _Pen, picture: Picture) -> None:
    x, y = picture.width + 20, 26.0
    pen.text(x, y, "Retrieved documents", 15, weight="bold")
    y += 34
    for square in picture.squares:
        pen.square(x + SQUARE, y - 4, str(square.ranked.rank))
        lines = wrap(square.title, _SIDE - 90, 13, 2)
        for i, line in enumerate(lines):
            pen.text(x + 34, y + 17 * i, line, 13)
        pen.text(x + _SIDE - 14, y, f"{square.ranked.score:.2f}", 12, color=_MUTED, align="right")
        y += 17 * (len(lines) - 1)
        if square.nodes:
            path = " → ".join(node.name for node in square.nodes)
            for line in wrap(path, _SIDE - 60, 11, 2):
                y += 15
                pen.text(x + 34, y, line, 11, color=_MUTED)
        y += 30


def _draw_legend(pen: _Pen, picture: Picture) -> None:
    x, y = _GUTTER + 11, picture.height + 22
    for kind in KINDS:
        pen.entity(kind, x, y, 6.0 if kind == "dormant" else 9.0)
        x = _legend_text(pen, x + 16, y, f"{_NAMES[kind]} ({picture.count(kind)})")
    pen.square(x, y, "1")
    x = _legend_text(pen, x + 16, y, f"Document ({len(picture.squares)})")
    pen.line((x - 10, y, x + 26, y), _CARRIED, 1.7, arrow=True)
    x = _legend_text(pen, x + 32, y, "Path of activation")
    pen.line((x - 10, y, x + 20, y), _GRID, 1.2)
    x = _legend_text(pen, x + 26, y, "Other relationship")
    _legend_text(pen, x - 4, y, "Larger: more activation")
    if picture.remark:
        pen.text(_GUTTER, y + 28, picture.remark, 11, color=_MUTED)


def _legend_text(pen: _Pen, x: float, y: float, text: str) -> float:
    pen.text(x, y + 4.5, text, 12.5)
    return x + 7.3 * len(text) + 26


def _fonts(text: str) -> tuple[list[str], frozenset[str]]:
    """Name the installed fonts that this text needs, and the characters that they have."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    installed = set(fontManager.get_font_names())
    ascii_text = "".join(map(chr, range(32, 127))) + "…→\u25a1"
    missing, known, used = set(clean(text) + ascii_text), set[str](), list[str]()
    for name in _FONTS:
        if name in installed and missing:
            glyphs = get_font(findfont(FontProperties(family=[name]))).get_charmap()
            if found := {c for c in missing if ord(c) in glyphs}:
                used.append(name)
                known |= found
                missing -= found
    return used, frozenset(known)
