"""What a graph costs as it grows: bulk index, open, search by stage, update, memory.

Makes scale-free graphs at random (`generated`) of the numbers of relationships that are given,
each in processes of its own, and takes a movie graph (MetaQA, ``kb.tsv``) as well if it is named.
With ``--linked`` it makes RDF in the manner of Wikidata, and imports it::

    python -m benchmarks.scale --edges 10000 100000 1000000 --metaqa kb.tsv
    python -m benchmarks.scale --edges --linked 100000 1000000 --skip compare

Prints Markdown: medians over the questions, peak memory of each process, the ratio to the engine
that asks the store for every step (whose answers must be the same), and for each stage how its
time compares with that of copying the bytes that it has to touch, on this machine, in this run.
Vectors are made of random directions for words (384 dimensions), so "encode" is not that of a
model. With ``--keep`` graphs are left in a folder and used again.

What a search costs beside the encoding of its question, with the model of a graph::

    python -m benchmarks.scale --explained kg questions.json

All times are processor time, with one thread for linear algebra: other programs on the machine
disturb it less than elapsed time, which is longer by the waits for the disk.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sarag_rdf
from benchmarks.generated import (
    Corpus,
    GeneratedExtractor,
    LinkedGraph,
    WordVectors,
)
from benchmarks.linked_data import ntriples
from benchmarks.stopwatch import Place, Stopwatch
from sarag_rdf.base.ports import embed_queries
from sarag_rdf.base.types import Query
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.datasets import read_questions
from sarag_rdf.retrieval import sarag
from sarag_rdf.retrieval.activation import Spreading
from sarag_rdf.retrieval.sarag import Sarag
from sarag_rdf.retrieval.view import Engine, GraphView
from sarag_rdf.testing.fakes import HashEmbedder

Figures = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edges", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--metaqa", type=Path, help="kb.tsv, beside its questions")
    parser.add_argument("--linked", type=int, nargs="*", default=[], help="statements imported")
    parser.add_argument("--skip", choices=list(PHASES), nargs="*", default=[])
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--sparql", type=int, default=3, help="questions by SPARQL alone")
    parser.add_argument("--keep", type=Path, help="folder that graphs are left in")
    parser.add_argument(
        "--explained",
        type=Path,
        nargs=2,
        metavar=("KG", "QUESTIONS"),
        help="a graph, and questions",
    )
    parser.add_argument("--phase", choices=list(PHASES), help=argparse.SUPPRESS)
    parser.add_argument("--kg", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        print(json.dumps(PHASES[options.phase](options) | memory()))
        return 0
    if options.explained:
        kg, file = options.explained
        print(explained(kg, file, options.questions))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        columns: dict[str, Figures] = {}
        for edges in options.edges:
            given = ["--edges", str(edges)]
            columns[f"{edges:,} edges"] = measured(folder / f"generated-{edges}", given, options)
        if options.metaqa:
            given = ["--edges", "--metaqa", str(options.metaqa)]
            columns["MetaQA"] = measured(folder / "metaqa", given, options)
        for edges in options.linked:
            given = ["--edges", "--linked", str(edges)]
            columns[f"{edges:,} linked"] = measured(folder / f"linked-{edges}", given, options)
    print(report(columns, options.questions, options.sparql))
    return 0


# ------------------------------------------------------------------- One process a phase


def measured(kg: Path, given: Sequence[str], options: argparse.Namespace) -> Figures:
    """All phases on one graph, by phase; `given` are the options that say which."""
    found: Figures = {}
    known = kg / "built.json"
    kg.mkdir(parents=True, exist_ok=True)
    for phase in PHASES:
        if phase == "build" and known.exists():
            found[phase] = json.loads(known.read_text())
            continue
        if phase in options.skip or (phase == "update" and "--metaqa" in given):
            continue
        print(f"{kg.name}: {phase}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "benchmarks.scale", "--phase", phase]
        command += ["--kg", str(kg / "kg"), *given]
        command += ["--questions", str(options.questions), "--sparql", str(options.sparql)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
        found[phase] = json.loads(done.stdout.splitlines()[-1])
        if phase == "build":
            known.write_text(json.dumps(found[phase]))
    return found


def memory() -> Figures:
    """Peak of what lay in memory, with mapped files, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    values = {line.split(":")[0]: line.split()[1] for line in lines if "kB" in line}
    return {"peak": int(values["VmHWM"]) / 1024, "own": int(values["RssAnon"]) / 1024}


def opened(options: argparse.Namespace, engine: Engine = "auto") -> KnowledgeGraph:
    embedder = HashEmbedder() if options.linked else WordVectors()
    return sarag_rdf.open(options.kg, embedder=embedder, endpoint=None, engine=engine)


def build(options: argparse.Namespace) -> Figures:
    """Bulk index, or import."""
    begin, elapsed = time.process_time(), time.perf_counter()
    embedding = 0.0
    with opened(options) as kg:
        make = kg.session.vectors.build

        def timed(*given: Any, **named: Any) -> None:
            nonlocal embedding
            start = time.process_time()
            make(*given, **named)
            embedding = time.process_time() - start

        kg.session.vectors.build = timed  # type: ignore[method-assign]
        if options.edges:
            corpus = Corpus(options.edges[0])
            kg.index(corpus.sources(), extractor=GeneratedExtractor(corpus))
        else:
            with tempfile.TemporaryDirectory(dir=options.kg.parent) as scratch:
                file = Path(scratch) / "graph.nt"
                if options.linked:
                    LinkedGraph(options.linked[0]).write(file)
                else:
                    ntriples(options.metaqa, file, 1)
                begin, elapsed = time.process_time(), time.perf_counter()
                kg.import_graph(file, "rdf")
        seconds, elapsed = time.process_time() - begin, time.perf_counter() - elapsed
        counts = kg.stats()
    size = sum(file.stat().st_size for file in options.kg.rglob("*") if file.is_file())
    times = {"seconds": seconds, "elapsed": elapsed, "vectors": embedding}
    return {**times, "counts": counts, "disk": size / 1e6}


def ask(options: argparse.Namespace) -> Figures:
    """Open, first search, and warm searches by stage."""
    asked = questions(options)
    begin = time.process_time()
    with opened(options, "memory") as kg:
        retriever = kg.retriever("sarag", limit=10)
        opening = time.process_time() - begin
        begin = time.process_time()
        retriever.retrieve(Query(asked[0]))
        first = time.process_time() - begin
        with kg.session.read() as snapshot:
            view = snapshot.view
        counts: Counter[str] = Counter()
        watch = Stopwatch(partial(count_touched, counts))
        rows: list[Figures] = []
        for question in asked:
            retriever.retrieve(Query(question))
        with watch.watching(places(view)):
            for question in asked:
                watch.seconds.clear()
                counts.clear()
                retriever.retrieve(Query(question))
                rows.append({stage: 1000.0 * t for stage, t in watch.seconds.items()} | counts)
        sizes = {"documents": len(view.iris.documents), "entities": len(view.iris.entities)}
        sizes["vector"] = view.vectors.embed_query(asked[0]).nbytes
    return {
        "open": opening,
        "first": first,
        "rows": rows,
        **sizes,
        "copy": copying(),
    }


STAGES = ("encode", "seeds", "subgraph", "weights", "activation", "documents")
_STEPS = ("outgoing", "incoming", "incident")


def places(view: GraphView) -> list[Place]:
    """The functions of a search by `sarag`, with their stages."""
    return [
        (view.vectors, "embed_query", "encode"),
        (sarag, "names_in", "seeds"),
        (sarag, "Relevance", "seeds"),
        (Spreading, "rounds", "activation"),
        (view, "relationship_cosines", "weights"),
        (sarag, "explained", "documents"),
        (Sarag, "result", "documents"),
        (Sarag, "ordered", "documents"),
        *((view.network, step, "subgraph") for step in _STEPS),
    ]


def count_touched(counts: Counter[str], name: str, arguments: tuple[Any, ...], result: Any) -> None:
    """Add what a function of `places` read to the counts."""
    if name == "incident" and arguments[0].has_statements:
        counts["relationships weighed"] += len(result)
    elif name in _STEPS:
        counts["pairs read"] += len(result)
    elif name == "rounds":
        for nodes in ("documents", "entities"):
            active = [getattr(round_, nodes).rows for round_ in result]
            counts[f"{nodes} reached"] += len(np.unique(np.concatenate(active)))


def compare(options: argparse.Namespace) -> Figures:
    """The same questions by both engines, warm, in one process, one after the other."""
    asked = questions(options)[: options.sparql]
    seconds: dict[str, list[float]] = {"memory": [], "sparql": []}
    results: dict[str, list[Any]] = {"memory": [], "sparql": []}
    engines: tuple[Engine, ...] = ("memory", "sparql")
    for engine in engines:
        with opened(options, engine) as kg:
            retriever = kg.retriever("sarag", limit=10)
            retriever.retrieve(Query(asked[0]))
            for question in asked:
                begin = time.process_time()
                found = retriever.retrieve(Query(question))
                seconds[engine].append(time.process_time() - begin)
                results[engine].append(retrieved_to_dict(found))
    return {"seconds": seconds, "equal": results["memory"] == results["sparql"]}


def update(options: argparse.Namespace) -> Figures:
    """One document is replaced, one added, one deleted; then the first search after it."""
    found: Figures = {}
    asked = questions(options)[0]

    def timed(name: str, change: Callable[[KnowledgeGraph], object]) -> None:
        begin = time.process_time()
        with opened(options) as kg:
            change(kg)
        found[name] = time.process_time() - begin
        begin = time.process_time()
        with opened(options) as kg:
            kg.retriever("sarag", limit=10).retrieve(Query(asked))
        found[f"{name}, open and search"] = time.process_time() - begin

    corpus = Corpus(options.edges[0] if options.edges else 1000)
    key, extractor = corpus.source(1).key, GeneratedExtractor(corpus)
    if options.linked:  # few documents beside a large import
        few = list(corpus.sources(last=10))
        timed("add the first documents", lambda kg: kg.index(few, extractor=extractor))
    new = corpus.source(1, version=1)
    timed("add", lambda kg: kg.index(new, extractor=extractor))
    timed("delete", lambda kg: kg.delete([new.key]))
    timed("delete another", lambda kg: kg.delete([key]))
    timed("add it again", lambda kg: kg.index(corpus.source(1), extractor=extractor))
    return found


PHASES: Mapping[str, Callable[[argparse.Namespace], Figures]] = {
    "build": build,
    "ask": ask,
    "compare": compare,
    "update": update,
}


def questions(options: argparse.Namespace) -> list[str]:
    if options.linked:
        return [LinkedGraph(options.linked[0]).question(n) for n in range(options.questions)]
    if options.edges:
        corpus = Corpus(options.edges[0])
        chosen = np.random.default_rng(1).integers(corpus.documents, size=options.questions)
        return [corpus.question(int(number)) for number in chosen]
    lines = options.metaqa.with_name("questions_dev300_2hop.tsv").read_text().splitlines()[1:]
    texts = [line.split("\t")[0].replace("[", "").replace("]", "") for line in lines]
    return [text.strip().capitalize() for text in texts[: options.questions]]


def copying() -> float:
    """Bytes a millisecond that numpy copies, the best of five."""
    block = np.ones(64 << 20, dtype=np.uint8)
    times = []
    for _ in range(5):
        begin = time.process_time()
        block.copy()
        times.append(time.process_time() - begin)
    return len(block) / (1000.0 * min(times))


# ------------------------------------------------------------- Beside the encoding


Searching = Callable[[KnowledgeGraph, str], object]
SEARCHES: Mapping[str, Searching] = {
    "the ranking alone": lambda kg, text: kg.search(text, retriever="sarag:explain=false"),
    "with its explanation": lambda kg, text: kg.search(text),
    "with evidence, as JSON": lambda kg, text: retrieved_to_dict(kg.search(text)),
}
WARM = 10
"""Questions that are asked before those that are measured."""


def explained(folder: Path, file: Path, count: int) -> str:
    """Searches beside the encoding of their questions, each asked once, as Markdown."""
    texts = [question.query.text for question in read_questions(file).questions][: WARM + count]
    first, texts = texts[:WARM], texts[WARM:] or texts
    lines = ["| a search | of its encoding | encoding, ms | SPARQL queries | function calls |"]
    lines.append("|---|---:|---:|---:|---:|")
    for name, search in SEARCHES.items():
        with warm(folder, first, search) as kg:
            times = [beside_encoding(kg, text, search) for text in texts]
        with warm(folder, first, search) as kg, cProfile.Profile() as profile:
            for text in texts:
                search(kg, text)
        calls = sum(row.callcount for row in profile.getstats()) / len(texts)
        query = OxigraphStore.query.__code__
        queries = sum(row.callcount for row in profile.getstats() if row.code is query)
        encoding = 1000 * statistics.median(seconds for seconds, _ in times)
        share = statistics.median(search / encode for encode, search in times)
        numbers = f"{share:.2f} | {encoding:.1f} | {queries / len(texts):.1f} | {calls:,.0f}"
        lines.append(f"| {name} | {numbers} |")
    return "\n".join(lines)


@contextmanager
def warm(folder: Path, texts: Sequence[str], search: Searching) -> Iterator[KnowledgeGraph]:
    """A graph that some questions were asked."""
    with sarag_rdf.open(folder, endpoint=None) as kg:
        for text in texts:
            search(kg, text)
        yield kg


def beside_encoding(kg: KnowledgeGraph, text: str, search: Searching) -> tuple[float, float]:
    """Seconds of encoding a question, and of a search that takes its vector from the cache."""
    with kg.session.read() as snapshot:
        snapshot.view.vectors.embed_query(text)
    begin = time.process_time()
    embed_queries(kg.session.models.embedders("").texts.embedder, [text])
    encoded = time.process_time()
    search(kg, text)
    return encoded - begin, time.process_time() - encoded


# ------------------------------------------------------------------------------ Report


def report(columns: Mapping[str, Figures], count: int, by_sparql: int) -> str:
    """A table of Markdown, a column a graph."""
    lines = [f"Medians of {count} questions; by SPARQL alone {by_sparql}.", ""]
    rows = {name: lines_of(found) for name, found in columns.items()}
    names = list(dict.fromkeys(name for found in rows.values() for name in found))
    lines.append(f"| | {' | '.join(columns)} |")
    lines.append(f"|---|{'---|' * len(columns)}")
    for name in names:
        cells = [found.get(name, "") for found in rows.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def lines_of(found: Figures) -> dict[str, str]:
    """Names and values of one column."""
    built, asked, compared = found["build"], found["ask"], found.get("compare")
    counts = built["counts"]
    medians = {
        name: statistics.median(row.get(name, 0) for row in asked["rows"])
        for name in dict.fromkeys(name for row in asked["rows"] for name in row)
    }
    warm = statistics.median(sum(row[s] for s in STAGES if s != "encode") for row in asked["rows"])
    rows = {
        "quads": f"{counts['quads']:,}",
        "documents, searched": f"{asked['documents']:,}",
        "entities": f"{asked['entities']:,}",
        "bulk index, s": f"{built['seconds']:.0f}",
        "elapsed, s": f"{built.get('elapsed', 0):.0f}",
        "of which vectors and indexes, s": f"{built['vectors']:.0f}",
        "on disk, MB": f"{built['disk']:.0f}",
        "peak memory of bulk index, MB": f"{built['peak']:.0f}",
        "open, s": f"{asked['open']:.2f}",
        "first search, s": f"{asked['first']:.2f}",
        "warm search but encoding, ms": f"{warm:.0f}",
        **{f"– {stage}, ms": f"{medians.get(stage, 0):.1f}" for stage in STAGES},
        "peak memory of searching, MB": f"{asked['peak']:.0f}",
        "of which no mapped file, MB": f"{asked['own']:.0f}",
        **{name: f"{medians.get(name, 0):,.0f}" for name in TOUCHED},
        **bounds(asked, medians),
    }
    if compared:
        by = {engine: statistics.median(times) for engine, times in compared["seconds"].items()}
        rows["SPARQL engine to memory"] = f"{by['sparql'] / by['memory']:.0f} times"
        rows["same answers"] = "yes" if compared["equal"] else "NO"
    for name, seconds in found.get("update", {}).items():
        if name not in ("peak", "own"):
            rows[f"{name}, s"] = f"{seconds:.2f}"
    return rows


KINDS = ("documents", "entities")
TOUCHED = ("documents reached", "entities reached", "relationships weighed", "pairs read")


def bounds(asked: Figures, medians: Mapping[str, float]) -> dict[str, str]:
    """How many times as long a stage takes as copying the bytes that it has to touch."""
    weighed = medians.get("relationships weighed", 0)
    bytes_ = {
        "seeds": asked["documents"] * asked["vector"],
        "subgraph": 12 * weighed + 8 * medians.get("pairs read", 0),
        "weights": asked["vector"] * weighed,
        "activation": 8 * sum(medians.get(f"{kind} reached", 0) for kind in KINDS),
    }
    return {
        f"{stage}: MB to touch, times a copy": f"{size / 1e6:.1f}, "
        f"{medians.get(stage, 0) / max(1e-9, size / asked['copy']):.1f}"
        for stage, size in bytes_.items()
    }


if __name__ == "__main__":
    sys.exit(main())
