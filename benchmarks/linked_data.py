"""How fast graphs come in and go out, against the bare engine; and a graph both ways.

    python -m benchmarks.linked_data --metaqa kb.tsv [--copies 6]

Makes N-Triples of a graph of movies (`head<TAB>relation<TAB>tail`), `copies` times under other
IRIs, and prints in one run, as medians of `--repeat`: triples a second of a bare `bulk_load`, of
`sarag import`, and their ratio; of exports; and of the Wikibase export that is imported again, with
how many of the best documents of a question are the same both ways (hashed words instead of an
embedding model, which has no part in it).
"""

from __future__ import annotations

import argparse
import io
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox

import sarag_rdf
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder

LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
QUESTION = "Who directed Kismet?"


def ntriples(kb: Path, target: Path, copies: int) -> int:
    """Write the graph, and count its triples."""
    lines = [line.split("\t") for line in kb.read_text(encoding="utf-8").splitlines()]
    count = 0
    with target.open("w", encoding="utf-8") as output:
        for copy in range(copies):
            base = f"https://movies{copy}.example.org/"
            named: set[str] = set()
            for head, relation, tail in lines:
                nodes = []
                for kind, name in (("entity", head), ("property", relation), ("entity", tail)):
                    node = f"<{base}{kind}/{quote(name, safe='')}>"
                    nodes.append(node)
                    if node not in named:
                        named.add(node)
                        output.write(f"{node} {LABEL} {ox.Literal(name, language='en')} .\n")
                        count += 1
                output.write(" ".join(nodes) + " .\n")
                count += 1
    return count


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def opened(folder: Path, *over: str) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, over=over)


def bare(file: Path, folder: Path) -> None:
    store = ox.Store(str(folder))
    graph = ox.NamedNode("https://example.org/graph")
    store.bulk_load(path=str(file), format=ox.RdfFormat.N_TRIPLES, to_graph=graph)
    store.flush()


def imported(file: Path, folder: Path) -> None:
    with opened(folder) as kg:
        kg.import_graph(file, "rdf", name="movies", embed=False)


def tell(what: str, count: int, taken: float) -> None:
    print(f"{what:22} {taken:7.2f} s  {count / taken / 1e3:7.1f} thousand triples a second")


def in_and_out(file: Path, count: int, repeat: int, work: Path) -> None:
    times: dict[str, list[float]] = {"bare bulk_load": [], "sarag import": []}
    for number in range(repeat):
        for name, run in (("bare bulk_load", bare), ("sarag import", imported)):
            folder = work / f"{name.split()[0]}{number}"
            times[name].append(seconds(partial(run, file, folder)))
            if number < repeat - 1:
                shutil.rmtree(folder)
    medians = {name: statistics.median(found) for name, found in times.items()}
    print(f"{count} triples, {file.stat().st_size / 1e6:.0f} MB of N-Triples, {repeat} runs each")
    for name, median in medians.items():
        tell(name, count, median)
    ratio = medians["bare bulk_load"] / medians["sarag import"]
    print(f"rate of sarag import as a share of bulk_load: {ratio:.2f}")
    with opened(work / f"sarag{repeat - 1}") as kg:
        for format_ in ("ntriples", "turtle", "trig", "nquads"):
            taken = seconds(partial(kg.export, format_, io.BytesIO(), imported=True))
            tell(f"export {format_}", count, taken)


def searched(folder: Path, name: str) -> tuple[set[str], float, float]:
    """Titles of the best ten; seconds of the first search of a process, and of the next."""
    with opened(folder, name) as kg:
        search = partial(kg.search, QUESTION, limit=10)
        first, warm = seconds(search), seconds(search)
        return {found.document.title for found in search().documents}, first, warm


def both_ways(kb: Path, work: Path) -> None:
    file = work / "one.nt"
    ntriples(kb, file, 1)
    folder = work / "both"
    with opened(folder) as kg:
        kg.import_graph(file, "rdf", name="movies")
    export = work / "export.nt"
    with opened(folder) as kg, export.open("wb") as output:
        taken = seconds(partial(kg.export, "wikibase", output, over=["movies"]))
    with export.open("rb") as lines:
        triples = sum(1 for _ in lines)
    tell("Wikibase export", triples, taken)
    with opened(folder) as kg:
        again = partial(kg.import_graph, export, "wikibase", name="again", embed=False)
        tell("and in again", triples, seconds(again))
    one, other = (searched(folder, name) for name in ("movies", "again"))
    same = len(one[0] & other[0])
    times = f"{one[1]:.1f} s and {one[2]:.2f} s, {other[1]:.1f} s and {other[2]:.2f} s"
    print(f"{same} of 10 the same, first search and next: {times}; {QUESTION}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--metaqa", type=Path, required=True)
    parser.add_argument("--copies", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        count = ntriples(options.metaqa, work / "movies.nt", options.copies)
        in_and_out(work / "movies.nt", count, options.repeat, work)
        both_ways(options.metaqa, work)


if __name__ == "__main__":
    main()
