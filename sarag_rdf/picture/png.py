"""An activated subgraph as a PNG, for papers and slides: the SVG, rendered by resvg.

DejaVu Sans is part of the package. Characters that it does not have are taken from the fonts of
the machine.
"""

from __future__ import annotations

from pathlib import Path

from sarag_rdf.picture.svg import activation_svg
from sarag_rdf.resources import font_files
from sarag_rdf.types import Retrieved

_ZOOM = 1.5
"""Pixels of the PNG per pixel of the SVG."""


def write_activation_png(retrieved: Retrieved, path: Path) -> None:
    """Write a picture of the activated subgraph; the same retrieval gives the same bytes.

    The bytes depend on the version of resvg, and on the fonts of the machine where DejaVu Sans
    lacks a character. Raises `OSError` if the file cannot be written.
    """
    import resvg_py

    fonts = [str(file) for file in font_files()]
    svg = activation_svg(retrieved)
    path.write_bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=_ZOOM,
            font_files=fonts,
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
        )
    )
