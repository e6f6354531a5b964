"""An activated subgraph as a PNG, for papers and slides. Needs matplotlib (``sarag-rdf[plot]``)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sarag_rdf.errors import MissingDependencyError
from sarag_rdf.picture.geometry import clean, wrap
from sarag_rdf.picture.layout import SQUARE, Node, Picture, Square, lay_out
from sarag_rdf.picture.selection import KINDS, Kind, Role
from sarag_rdf.types import Retrieved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE, _GUTTER, _LEGEND, _DPI = 330.0, 34.0, 96.0, 150
_INK, _MUTED, _GRID = "#1b2430", "#56606e", "#b4bdc8"
_DOCUMENT, _SEED = "#00785a", "#f0a30a"
_FILL: dict[Kind, str] = {"seed": _SEED, "activated": "#0072b2", "dormant": "#ffffff"}
_EDGE: dict[Kind, str] = {"seed": "#5c3b00", "activated": "#00395a", "dormant": "#6b7482"}
_NAMES: dict[Kind, str] = {
    "seed": "Seed", "activated": "Activated", "dormant": "Not activated",
}  # fmt: skip
_ROLES: dict[Role, str] = {
    "path": "Path of activation to a retrieved document",
    "carried": "Brought activation to an entity",
    "plain": "Other relationship",
}
_LINES: dict[Role, dict[str, Any]] = {
    "path": {"color": "#d1370a", "width": 2.4, "arrow": 15.0, "order": 2.5},
    "carried": {"color": "#3f5f7f", "width": 1.3, "arrow": 10.0, "order": 2.0},
    "plain": {"color": _GRID, "width": 0.9, "arrow": 0.0, "order": 1.0},
}
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

    def line(self, ends: Sequence[float], role: Role, *, both: bool = False) -> None:
        from matplotlib.patches import FancyArrowPatch

        style = _LINES[role]
        self.axes.add_patch(
            FancyArrowPatch(
                (ends[0], ends[1]), (ends[2], ends[3]), color=style["color"],
                linewidth=style["width"], mutation_scale=style["arrow"] or 1, shrinkA=0, shrinkB=0,
                arrowstyle="-" if role == "plain" else "<|-|>" if both else "-|>",
                zorder=style["order"],
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

    def square(self, x: float, y: float, text: str, *, is_seed: bool = False) -> None:
        from matplotlib.patches import Rectangle

        outlines = [(SQUARE + 2.5, _EDGE["seed"]), (SQUARE + 1.7, _SEED)] if is_seed else []
        for half, color in [*outlines, (SQUARE - 0.8 if is_seed else SQUARE, _DOCUMENT)]:
            corner, side = (x - half, y - half), 2 * half
            self.axes.add_patch(Rectangle(corner, side, side, color=color, linewidth=0, zorder=4))
        self.text(x, y + 4.2, text, 11.5, color="white", weight="bold", align="center", order=5)


def _draw_graph(pen: _Pen, picture: Picture) -> None:
    if not picture.nodes and not picture.lines:
        said = "No activation is told: the documents alone are drawn."
        pen.text(_GUTTER, 26, said, 13, color=_MUTED)
    for line in picture.lines:
        pen.line(line.ends, line.role, both=line.both)
    for square in picture.squares:
        pen.square(square.x, square.y, square.mark, is_seed=square.is_seed)
    for node in picture.nodes:
        pen.entity(node.kind, node.x, node.y, node.radius)
        if node.label.shown:
            _draw_label(pen, node)


def _draw_label(pen: _Pen, node: Node) -> None:
    label, align = node.label, {"start": "left", "middle": "center", "end": "right"}
    is_bold = node.on_path or node.kind == "seed"
    for i, line in enumerate(label.lines):
        pen.text(
            label.x, label.y + i * label.line_height, line, label.size, halo=True,
            color=_MUTED if node.kind == "dormant" else _INK,
            weight="bold" if is_bold else "normal", align=align[label.anchor],
        )  # fmt: skip


def _draw_documents(pen: _Pen, picture: Picture) -> None:
    ranked = [square for square in picture.squares if square.ranked]
    others = [square for square in picture.squares if not square.ranked]
    y = 26.0
    for heading, squares in (("Retrieved documents", ranked), ("Other documents", others)):
        if squares:
            pen.text(picture.width + 20, y, heading, 15, weight="bold")
            y += 34
        for square in squares:
            y = _draw_entry(pen, square, picture.width + 20, y) + 30


def _draw_entry(pen: _Pen, square: Square, x: float, y: float) -> float:
    """Write one document of the list, and return the last baseline."""
    pen.square(x + SQUARE, y - 4, square.mark, is_seed=square.is_seed)
    if square.ranked:
        score = f"{square.ranked.score:.2f}"
        pen.text(x + _SIDE - 14, y, score, 12, color=_MUTED, align="right")
    lines = wrap(square.title, _SIDE - 90, 13, 2)
    for i, line in enumerate(lines):
        pen.text(x + 34, y + 17 * i, line, 13)
    y += 17 * (len(lines) - 1)
    way = " → ".join(square.way)
    for line in wrap(f"from {way}", _SIDE - 60, 11, 2) if way else ():
        y += 15
        pen.text(x + 34, y, line, 11, color=_MUTED)
    return y


def _draw_legend(pen: _Pen, picture: Picture) -> None:
    x, y = _GUTTER + 11, picture.height + 22
    for kind in KINDS:
        if number := picture.count(kind):
            pen.entity(kind, x, y, 6.0 if kind == "dormant" else 9.0)
            x = _legend_text(pen, x + 16, y, f"{_NAMES[kind]} ({number})")
    for is_seed, name in ((True, "Seed document"), (False, "Document")):
        squares = [square for square in picture.squares if square.is_seed == is_seed]
        if squares:
            pen.square(x, y, "", is_seed=is_seed)
            x = _legend_text(pen, x + 18, y, f"{name} ({len(squares)})")
    if picture.nodes:
        _legend_text(pen, x - 4, y, "Larger: more activation")
    x, y = _GUTTER, y + 26
    for role, name in _ROLES.items():
        if any(line.role == role for line in picture.lines):
            pen.line((x, y, x + 32, y), role)
            x = _legend_text(pen, x + 40, y, name) + 6
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
