"""Libraries that could stand where this project has code of its own, measured against it.

Install them beside the project, in an environment for this alone, and run a part::

    pip install usearch faiss-cpu pyshacl pyshacl-turbo pyrudof shacl resvg-py cairosvg pebble
    python -m benchmarks.libraries vectors --n 100000
    python -m benchmarks.libraries vectors --n 100000 --embeddings KG/cache/embeddings.sqlite
    python -m benchmarks.libraries vector-faults --n 20000
    python -m benchmarks.libraries shacl --sources 1000
    python -m benchmarks.libraries pictures --svg drawing.svg --folder pictures
    python -m benchmarks.libraries pool

All times are processor time, the best of some runs where a run is short. Only ratios within one
run say something: other programs share the machine. What follows from the figures is in
``benchmarks/libraries.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as PoolTimeout
from functools import cache
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from benchmarks.vector_libraries import ENGINES, PHASES, compare, faults, prepare
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Extraction, Mention, Method, Relation, Source
from sarag_rdf.building.plan import chunk
from sarag_rdf.building.source_evidence import SourceGraph
from sarag_rdf.graph.store.shacl import parse_shapes, validate
from tests.graph.mutations import evidence, mutations, written

ROOT = Path(__file__).parent.parent
SHAPES = [ROOT / "ontology" / name for name in ("shapes.ttl", "evidence-shapes.ttl")]


def seconds(do: Callable[[], object], runs: int = 1) -> float:
    """Processor time of the fastest run, of all threads."""
    times = []
    for _ in range(runs):
        begin = time.process_time()
        do()
        times.append(time.process_time() - begin)
    return min(times)


# --------------------------------------------------------------------------------- SHACL

Finding = tuple[str, str, str]
SH = "http://www.w3.org/ns/shacl#"


def _shacl() -> Callable[[bytes], set[Finding]]:
    shapes = parse_shapes(*(path.read_bytes() for path in SHAPES))

    def ask(text: bytes) -> set[Finding]:
        triples = [quad.triple for quad in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)]
        report = validate(shapes, triples, engine="shacl")
        return {
            (v.focus if ":/" in v.focus else "_:", v.path, SH + v.component)
            for v in report.violations
        }

    return ask


def _rudof() -> Callable[[bytes], set[Finding]]:
    import pyrudof

    rudof = pyrudof.Rudof(pyrudof.RudofConfig())
    rudof.read_shacl(_shapes())

    def ask(text: bytes) -> set[Finding]:
        rudof.read_data(text.decode(), format=pyrudof.RDFFormat.NTriples)
        report = rudof.validate_shacl()
        return {
            (_iri(v.focus_node), _iri(v.path or ""), v.constraint_component)
            for v in report.violations
        }

    return ask


def _turbo() -> Callable[[bytes], set[Finding]]:
    import pyshacl_turbo

    shapes = pyshacl_turbo.compile_shapes(_shapes(), shacl_graph_format="turtle")
    return lambda text: _of_graph(shapes.validate(text.decode(), data_graph_format="nt")[1])


def _pyshacl() -> Callable[[bytes], set[Finding]]:
    import pyshacl
    import rdflib

    shapes = rdflib.Graph().parse(data=_shapes(), format="turtle")

    def ask(text: bytes) -> set[Finding]:
        graph = rdflib.Graph().parse(data=text, format="nt")
        return _of_graph(pyshacl.validate(graph, shacl_graph=shapes)[1])

    return ask


VALIDATORS = {
    "shacl": _shacl,
    "pyshacl-turbo": _turbo,
    "pyrudof": _rudof,
    "pySHACL": _pyshacl,
}


def _of_graph(report: Any) -> set[Finding]:
    from rdflib import RDF
    from rdflib.namespace import SH as NAMES

    return {
        (
            _iri(report.value(r, NAMES.focusNode).n3()),
            str(report.value(r, NAMES.resultPath) or ""),
            str(report.value(r, NAMES.sourceConstraintComponent)),
        )
        for r in report.subjects(RDF.type, NAMES.ValidationResult)
    }


def _iri(term: str) -> str:
    """An IRI without brackets; every blank node is the same."""
    return "_:" if term.startswith("_:") else term.strip("<>")


@cache
def _shapes() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in SHAPES)


def sources(count: int) -> Iterator[bytes]:
    """Evidence of sources made of the example corpus: runs of capitals are related in order."""
    texts = sorted((ROOT / "examples" / "corpus").rglob("*.md"))
    method, minter = Method("benchmark", "none", "0", {}), Minter()
    for number, path in enumerate(islice(cycle(texts), count)):
        text = path.read_text(encoding="utf-8")
        names = list(dict.fromkeys(re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+", text)))
        source = Source(text, path.stem, f"{number}.md", "en")
        relations = [Relation(a, "precedes", b) for a, b in pairwise(names)]
        found = Extraction(tuple(Mention(name, "misc") for name in names), tuple(relations))
        iri = minter.source(source.key, source.title, source.text)
        documents = [(document, found) for document in chunk(source, iri, minter)]
        quads = SourceGraph(minter, source, iri, method, documents).quads
        yield written([quad.triple for quad in quads])


def shacl(count: int, validators: list[str]) -> None:
    sound = evidence()
    shapes = [q.triple for path in SHAPES for q in ox.parse(path=path, format=ox.RdfFormat.TURTLE)]
    spoiled = {name: written(triples) for name, triples in mutations(sound, shapes)}
    each = list(sources(count))
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    whole = b"".join(each)
    print(f"{len(spoiled)} spoiled graphs; {count} sources of {whole.count(b' .')} triples")
    verdicts: dict[str, set[Finding]] = {}
    base: dict[str, float] = {}
    for name in dict.fromkeys(["shacl", *validators]):
        ask = VALIDATORS[name]()
        other, failed = [], []
        slow = name in ("pyshacl-turbo", "pyrudof", "pySHACL")
        for case, text in islice(spoiled.items(), None, None, 20 if slow else 1):
            try:
                findings = ask(text)
            except Exception as error:  # noqa: BLE001
                failed.append(f"{case}: {error!r}"[:150])
                continue
            if name == "shacl":
                verdicts[case] = findings
            elif findings != verdicts[case]:
                other.append(case)
        few = each if name != "pySHACL" else each[:10]
        one = seconds(lambda: [ask(text) for text in few], 1 if slow else 3) * count / len(few)  # noqa: B023
        every = seconds(lambda: ask(whole)) if name != "pySHACL" else float("nan")  # noqa: B023
        base = base or {"each": one, "whole": every}
        print(
            f"{name:14} other verdicts {len(other):4}, failed {len(failed):3}; one by one "
            f"{one:7.2f} s ({one / base['each']:5.2f}), as one graph {every:7.2f} s "
            f"({every / base['whole']:5.2f})",
            flush=True,
        )
        for case in (other[:12] + failed[:3]) * (name != "shacl"):
            print("    ", case)


# ------------------------------------------------------------------------------ Pictures


def pictures(folder: Path, svg: Path) -> None:
    """Render an SVG by each library; compare the files by eye."""
    import resvg_py

    text = svg.read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)

    def resvg() -> bytes:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=2))

    def cairo() -> bytes:
        import cairosvg

        return bytes(cairosvg.svg2png(bytestring=text.encode(), scale=2))

    for name, render in {"resvg": resvg, "cairosvg": cairo}.items():
        try:
            best = seconds(lambda: (folder / f"{name}.png").write_bytes(render()), 3)  # noqa: B023
        except Exception as error:  # noqa: BLE001
            print(f"{name}: {error!r}")
            continue
        same = render() == render()
        print(f"{name}: {1000 * best:.0f} ms, the same bytes again: {same}")


# ---------------------------------------------------------------------------------- Pool


def square(number: int) -> int:
    return number * number


def forever(number: int) -> int:
    while number:
        time.sleep(0.01)
    return number


async def _ask_pebble(pool: Any, count: int) -> None:
    for number in range(count):
        await asyncio.wrap_future(pool.schedule(square, args=[number], timeout=10))


def pool() -> None:
    """Milliseconds of a call of pebble, and what becomes of a call that takes too long."""
    from pebble import ProcessPool

    with ProcessPool(max_workers=2) as workers:
        asyncio.run(_ask_pebble(workers, 20))
        begin = time.perf_counter()
        asyncio.run(_ask_pebble(workers, 200))
        print(f"pebble: {5 * (time.perf_counter() - begin):.2f} ms a call")
        begin = time.perf_counter()
        try:
            workers.schedule(forever, args=[1], timeout=0.5).result()
        except PoolTimeout:
            print(f"pebble: ended {time.perf_counter() - begin - 0.5:.2f} s after its time")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", choices=["vectors", "vector-faults", "shacl", "pictures", "pool"])
    parser.add_argument("--n", type=int, default=100_000, help="number of vectors")
    parser.add_argument("--embeddings", type=Path, help="embeddings.sqlite of a graph")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--runs", type=int, default=3, help="runs of each search, in turns")
    parser.add_argument("--sources", type=int, default=1000)
    parser.add_argument("--validators", default=",".join(VALIDATORS))
    parser.add_argument("--folder", type=Path, help="folder for files, which are not deleted")
    parser.add_argument("--svg", type=Path, help="a drawing without a page around it")
    arguments = parser.parse_args()
    if arguments.part in ("vectors", "vector-faults"):
        with tempfile.TemporaryDirectory() as scratch:
            data = (arguments.folder or Path(scratch)).resolve()
            prepare(data, arguments.n, arguments.embeddings)
            engines = arguments.engines.split(",")
            if arguments.part == "vectors":
                print(compare(engines, data, arguments.phases.split(","), arguments.runs))
            else:
                print(faults(engines, data))
    elif arguments.part == "shacl":
        shacl(arguments.sources, arguments.validators.split(","))
    elif arguments.part == "pictures":
        if arguments.svg is None:
            parser.error("pictures needs --svg")
        pictures(arguments.folder or Path("pictures"), arguments.svg)
    else:
        pool()
    return 0


if __name__ == "__main__":
    sys.exit(main())
