"""How long a table of a million rows takes to become a graph, and how much memory.

    python -m benchmarks.tables [--rows 1000000] [--folder FOLDER]

Writes a table of museum objects, imports it with `sarag import --as table` without vectors, and
prints the triples, the seconds, and the greatest sum of the resident memory of the command and of
the child process that reads the table, sampled ten times a second.
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAPPING = """
prefixes: {ex: "https://museum.example.org/", rdfs: "http://www.w3.org/2000/01/rdf-schema#"}
mappings:
  object:
    sources: [[objects.csv~csv]]
    s: ex:object/$(number)
    po:
      - [a, ex:MuseumObject]
      - [rdfs:label, $(title)]
      - [ex:maker, ex:agent/$(maker)~iri]
      - [ex:made, $(made), xsd:gYear]
      - [ex:height, $(height_cm), xsd:decimal]
      - [ex:onDisplay, $(on_display), xsd:boolean]
      - [rdfs:comment, $(description)]
  agent:
    sources: [[objects.csv~csv]]
    s: ex:agent/$(maker)
    po: [[rdfs:label, $(maker)]]
"""
COLUMNS = ("number", "title", "maker", "made", "height_cm", "on_display", "description")
KINDS = ("astrolabe", "globe", "table", "hourglass", "bell", "quadrant", "chart", "lantern")


def write_rows(path: Path, rows: int) -> None:
    chance = random.Random(0)
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(COLUMNS)
        for number in range(rows):
            kind = chance.choice(KINDS)
            table.writerow(
                (
                    number,
                    f"{kind} {number}",
                    f"Maker {chance.randrange(rows // 20 + 1)}",
                    chance.randrange(1500, 1950),
                    f"{chance.uniform(1, 200):.1f}",
                    chance.choice(("yes", "no")),
                    f"A {kind} from a house by the harbour, of which {number} are known.",
                )
            )


def resident(process: int) -> int:
    """Bytes of resident memory of a process and its children."""
    total = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "status").read_text()
            except OSError:
                continue
            values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            if process in (int(folder.name), int(values["PPid"])):
                total += int(values.get("VmRSS", "0 kB").split()[0]) << 10
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tables-", dir=options.folder))
    try:
        (folder / "m.yml").write_text(MAPPING, encoding="utf-8")
        words = "import objects.csv --as table --mapping m.yml --no-vectors --kg kg"
        command = [sys.executable, "-m", "sarag_rdf", *words.split()]
        write_rows(folder / "objects.csv", options.rows)
        begin, most = time.perf_counter(), 0
        running = subprocess.Popen(command, cwd=folder)
        while running.poll() is None:
            most = max(most, resident(running.pid))
            time.sleep(0.1)
        taken = time.perf_counter() - begin
        size = (folder / "objects.csv").stat().st_size
        print(f"{options.rows} rows, {size >> 20} MiB: {taken:.0f} s, {most >> 20} MiB of memory")
        if running.returncode:
            sys.exit(running.returncode)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
