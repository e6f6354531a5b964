"""Screenshots of the pages for the documentation, of a running server with the example corpus:

make demo
.venv/bin/sarag serve --kg demo/kg --port 7878 &
.venv/bin/python -m tools.explorer.screenshots http://127.0.0.1:7878 docs/images
kill %1

They have 256 colours, and less than 150 kB each. The script fails if a response has an error
status, or if a page is not HTML or shows an error. It needs Chromium.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from tests.server.chromium import Page, open_browser

BASE = "https://example.org/kg/"
QUESTION = quote(
    "Who was the brother of the physicist whose pupil taught Georges Charpak's doctoral supervisor?"
)
ENTITY = f"{BASE}entity/marie_curie"
CLASS = "https://w3id.org/sarag/common#Physicist"
CALM = {"name": "prefers-reduced-motion", "value": "reduce"}
COLOURS = 256
LARGEST = 150_000
"""Bytes of a picture."""
SHOWN_ERROR = (
    "(e => document.contentType !== 'text/html' ? document.body.innerText "
    ": e && !e.hidden ? e.textContent : '')(document.getElementById('error'))"
)
"""JavaScript: the error that a page shows, or an empty text; errors of the server are no HTML."""


def main(url: str, folder: str) -> None:
    """Save a picture of each page."""
    os.environ["SARAG_SCREENSHOTS"] = folder
    kept = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # the browser may still write
    with kept as scratch, open_browser(Path(scratch)) as page:
        page.call("Emulation.setEmulatedMedia", features=[CALM])
        page.visit(f"{url}/?q={QUESTION}")
        page.until("document.querySelectorAll('#rows tr').length")
        save(page, "explorer-search")
        page.run(
            "(r => { r.value = r.max; r.dispatchEvent(new Event('input')); })"
            "(document.getElementById('round'))"
        )
        page.run("document.querySelector('#passages .why button.step:not(.document)').click()")
        save(page, "explorer-activation")
        page.visit(f"{url}/?entity={quote(ENTITY, safe='')}")
        page.until("window.explorer?.graph.order > 5")
        save(page, "explorer-neighbours")
        page.visit(f"{url}/sparql-editor")
        page.until("Boolean(document.getElementById('query').editor)")
        page.run("document.getElementById('run').click()")
        page.until("Boolean(document.querySelector('#table small.name'))")
        save(page, "explorer-sparql")
        relationship = f"?x <https://w3id.org/sarag/ontology#subject> <{ENTITY}>"
        document = f"?x <https://w3id.org/sarag/ontology#about> <{ENTITY}>"
        for name, iri in (
            ("entity", ENTITY),
            ("document", first(page, document)),
            ("relationship", first(page, relationship)),
            ("class", CLASS),
        ):
            page.visit(f"{url}/resource?format=html&iri={quote(iri, safe='')}")
            save(page, f"page-{name}")


def first(page: Page, pattern: str) -> str:
    """The first ?x of a pattern in the order of IRIs, by a query in the page."""
    query = quote(f"SELECT ?x {{ {pattern} }} ORDER BY ?x LIMIT 1")
    page.run(
        "window.found = ''; fetch('/sparql?query=" + query + "', { headers: "
        "{ Accept: 'application/sparql-results+json' } }).then(r => r.json())"
        ".then(r => { window.found = r.results.bindings[0]?.x.value ?? 'none'; }); 0"
    )
    return str(page.until("window.found"))


def save(page: Page, name: str) -> None:
    """Save what the tab shows with few colours; exits if that is an error."""
    time.sleep(0.5)  # the graph is drawn in the next frame
    if error := ", ".join(page.failures) or page.run(SHOWN_ERROR):
        sys.exit(f"{name} shows an error: {error}")
    path = page.screenshot(name)
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path}: {size // 1000} kB")
    if size > LARGEST:
        sys.exit(f"{path} has more than {LARGEST // 1000} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
