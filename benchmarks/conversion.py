"""What `--workers` gain where files are converted: PDF, Word and HTML, against plain text.

Writes files of its own, and reads them with each number of workers in turn::

    python -m benchmarks.conversion --files 60 --words 1500 --workers 0,2,4 --runs 2

0 is reading without workers. Prints the least of all runs: seconds by the clock, and processor
seconds of this process and of those that convert files, with their start. Where other programs use
the cores, seconds say little; processor seconds do not depend on that. PDF and Word need the extra
`documents`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import textwrap
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from sarag_rdf.base import sandbox
from sarag_rdf.base.types import Source
from sarag_rdf.documents.reading import ReadOptions, read

PEOPLE = "Ada Bruno Clara Dimitri Elena Felix Greta Hugo Irene Jakob Karla Leon Maria Nils".split()
PLACES = "Warsaw Oslo Vienna Lisbon Prague Ghent Turin Basel Bergen Porto Bremen Lyon".split()
LINES = 55
"""Lines on a page."""


def paragraphs(number: int, words: int) -> list[str]:
    """Prose of so many words, another one for each number."""
    random, found = Random(number), list[str]()
    while sum(len(text.split()) for text in found) < words:
        found.append(
            " ".join(
                f"{random.choice(PEOPLE)} moved to {random.choice(PLACES)} in "
                f"{random.randint(1800, 2020)} and worked there with {random.choice(PEOPLE)}."
                for _ in range(8)
            )
        )
    return found


def write_text(path: Path, texts: list[str]) -> None:
    path.write_text("\n\n".join(texts))


def write_html(path: Path, texts: list[str]) -> None:
    body = "".join(f"<div class='c'><p><b>{text[:20]}</b>{text[20:]}</p></div>" for text in texts)
    path.write_text(f"<html><head><title>{path.stem}</title></head><body>{body}</body></html>")


def write_docx(path: Path, texts: list[str]) -> None:
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')


def write_pdf(path: Path, texts: list[str]) -> None:
    lines = [line for text in texts for line in [*textwrap.wrap(text, 95), ""]]
    pages = [lines[start : start + LINES] for start in range(0, len(lines), LINES)]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for page in pages:
        shown = "".join(f"({line}) Tj T*\n" for line in page)
        stream = f"BT /F1 10 Tf 13 TL 50 790 Td\n{shown}ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R "
            f">> >> /Contents {len(objects) + 2} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    data, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n"
    start = len(data)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n"
    path.write_text(f"{data}%%EOF\n", "latin-1")


WRITERS: Mapping[str, Callable[[Path, list[str]], None]] = {
    "txt": write_text,
    "html": write_html,
    "docx": write_docx,
    "pdf": write_pdf,
}


def reading(folder: Path, workers: int, count: int) -> tuple[float, float, float]:
    """Seconds by the clock, processor seconds of this process, and of its children."""
    begin, before = time.perf_counter(), os.times()
    items = read([folder], ReadOptions(workers=str(workers) if workers else None))
    found = [item.outcome for item in items]
    wall = time.perf_counter() - begin
    sandbox._end_idle()  # the processor seconds of children are known when they have ended
    after = os.times()
    assert [type(outcome) for outcome in found] == [Source] * count, found[:1]
    return wall, sum(after[:2]) - sum(before[:2]), sum(after[2:4]) - sum(before[2:4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kinds", default=",".join(WRITERS))
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--words", type=int, default=1500)
    parser.add_argument("--workers", default="0,2,4")
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(f"{options.files} files of {options.words} words; {cores} cores, load {load:.1f} before")
    numbers = [int(number) for number in options.workers.split(",")]
    for kind in options.kinds.split(","):
        with tempfile.TemporaryDirectory() as name:
            for number in range(options.files):
                texts = paragraphs(number, options.words)
                WRITERS[kind](Path(name, f"{number:04}.{kind}"), texts)
            reading(Path(name), 1, options.files)  # loads the detector of languages
            runs = [
                {n: reading(Path(name), n, options.files) for n in numbers}
                for _ in range(options.runs)
            ]
        for number in numbers:
            wall, own, others = (min(run[number][part] for run in runs) for part in range(3))
            print(f"{kind:<5} {number} workers: {wall:7.2f} s; processor seconds: ", end="")
            print(f"this process {own:.2f}, others {others:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
