"""An activated subgraph as one HTML page: no network, no other file, one small script.

All that comes from a graph or a question is put into the page as escaped text by the template;
the script holds no data. Should an escape ever be missed, the page's content security policy
allows only the script and the style that were hashed here, and no request at all.
"""

from __future__ import annotations

from sarag_rdf.picture.drawing import render
from sarag_rdf.picture.layout import lay_out
from sarag_rdf.types import Retrieved


def activation_html(retrieved: Retrieved) -> str:
    """Draw a retrieval as a page; the same retrieval gives the same text."""
    return render("activation.html.j2", retrieved, lay_out(retrieved))
