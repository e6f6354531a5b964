"""Files of all kinds, and PDFs that say what happens to the process that converts them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.command import ROOT

CONVERTER = ROOT / "tests" / "workers" / "converter"
"""The folder of a converter, which takes the place of the real one."""
PAGE = "<title>Oslo {0}</title><p>Ada{0} met Bea in Oslo.</p>" + "<!-- long -->" * 400


def pdf(path: Path, **says: Any) -> Path:
    """A file that the converter reads; its text is its name, unless it says another."""
    says.setdefault("markdown", f"Ada met {path.stem.title()}.")
    path.write_text("%PDF-1.7\n" + json.dumps(says))
    return path


def folder_of_all_kinds(folder: Path) -> Path:
    """Texts, documents and pages in turn, and what cannot be read."""
    folder.mkdir()
    for number in range(6):
        pdf(folder / f"{number}a.pdf", seconds=0.05 * (number % 3))
        (folder / f"{number}b.txt").write_text(f"Bea{number} met Ada in Ulm.")
        (folder / f"{number}c.html").write_text(PAGE.format(number))
        (folder / f"{number}d.html").write_text(f"<p>Cid{number} met Ada.")
    pdf(folder / "3e.pdf", kills=True)
    pdf(folder / "3f.pdf", markdown=" ")
    pdf(folder / "3h.pdf", markdown="word " * 2_000)
    (folder / "3g.pdf").write_text("%PDF-1.7\nnot JSON")
    (folder / "4e.pdf").write_bytes(b"")
    (folder / "4f.pdf").write_text("no signature")
    (folder / "4g.docx").write_bytes(b"PK\x03\x04 text")
    (folder / "4h.html").write_bytes(b"\xff\xfe\x00" * 3_000)
    (folder / "4i.html").write_text("<p>" * 3_000)
    (folder / "4j.xyz").write_text("unknown")
    (folder / "5e.pdf").symlink_to("0a.pdf")
    (folder / "5f.pdf").symlink_to("nowhere.pdf")
    (folder / "6.jsonl").write_text('{"text": "Ada met Bea.", "id": 1}\nno JSON\n{"text": "C."}\n')
    (folder / "7.csv").write_text("text,other\nDora met Ada.,x\n")
    os.truncate(pdf(folder / "9.pdf"), 1 << 40)
    return folder
