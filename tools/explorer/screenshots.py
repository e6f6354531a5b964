"""Screenshots of the pages for the documentation, of a server that runs:

sarag serve --kg demo/kg --port 7878
python -m tools.explorer.screenshots http://127.0.0.1:7878 docs/images
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.picture.chromium import open_browser

QUESTION = "Who+built+the+separate+condenser"
CALM = {"name": "prefers-reduced-motion", "value": "reduce"}


def main(url: str, folder: str) -> None:
    """Save a search and a query."""
    os.environ["SARAG_SCREENSHOTS"] = folder
    kept = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # the browser may still write
    with kept as scratch, open_browser(Path(scratch)) as page:
        page.call("Emulation.setEmulatedMedia", features=[CALM])
        page.visit(f"{url}/?q={QUESTION}")
        page.until("document.querySelectorAll('#rows tr').length")
        page.screenshot("explorer-search")
        page.visit(f"{url}/sparql-editor")
        page.until("Boolean(document.getElementById('query').editor)")
        page.run("document.getElementById('run').click()")
        page.until("Boolean(document.querySelector('#table small.name'))")
        page.screenshot("explorer-sparql")


if __name__ == "__main__":
    main(*sys.argv[1:])
