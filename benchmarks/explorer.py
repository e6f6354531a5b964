"""How fast the explorer is: expansions and completions on a large graph, and frames a second.

Makes a scale-free graph (`generated`) with so many relationships, each with its sentence, and the
names of its entities, as an index writes them; starts `sarag serve` on it, and asks as the page
does: the neighbours of entities (`/graph/neighbours`) of which a half are drawn by their degree,
as who walks from node to node meets them, and completions of two to six letters::

    python -m benchmarks.explorer --edges 1000000

With Chromium (``--chromium``) it also opens the page, adds 1,000 nodes with 3,000 lines, and counts
the frames that are drawn in five seconds while the camera moves. Without a graphics card Chromium
draws with its processor (SwiftShader), which the report says.

Prints Markdown. Times are elapsed times of requests to the server, one after another.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox

import sarag_rdf
from benchmarks.generated import RELATIONSHIPS, Corpus, GeneratedExtractor, name_of
from sarag_rdf.base.iris import Minter, normalize_name
from sarag_rdf.base.vocab import RDF, RDFS, SARAG, SKOS
from sarag_rdf.testing.fakes import HashEmbedder

PAGE_NODES, PAGE_EDGES = 1000, 3000
WARM_UP = 20
"""Requests before those that are measured."""
FRAMES = """
(async () => {
  const view = window.explorer, graph = view.graph;
  view.clear();
  const place = () => Math.random() * 100;
  for (let n = 0; n < NODES; n += 1) {
    graph.addNode(`n${n}`, { label: `Node ${n}`, kind: "entity", size: 4 + 8 * Math.random(),
      x: place(), y: place(), color: "#1d8a6b", seed: false, rank: null, cls: "", placed: true });
  }
  while (graph.size < EDGES) {
    const ends = [0, 0].map(() => `n${Math.floor(Math.random() ** 2 * NODES)}`);
    if (ends[0] !== ends[1] && !graph.hasEdge(...ends)) {
      graph.addEdge(...ends, { statements: [], weight: 0.2, size: 1.5, color: "#b4bec9" });
    }
  }
  view.sigma.refresh();
  view.sigma.setSetting("hideEdgesOnMove", graph.size > 700); // as GraphView.add does
  const camera = view.sigma.getCamera();
  camera.setState({ x: 0.4, y: 0.5, ratio: 0.6 });
  const times = [];
  const begin = performance.now();
  camera.animate({ x: 0.6, ratio: 1.2 }, { duration: 5200, easing: "linear" });
  await new Promise((done) => {
    const step = (now) => {
      times.push(now);
      if (now - begin > 5000) done(); else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  const gaps = times.slice(1).map((t, n) => t - times[n]).sort((a, b) => a - b);
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  window.frames_found = { frames: 1000 * gaps.length / (times.at(-1) - times[0]),
    p95: gaps[Math.floor(gaps.length * 0.95)], nodes: graph.order, edges: graph.size,
    renderer: info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "unknown" };
})(); 0
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument(
        "--keep", type=Path, help="folder in which the graph is left, or used again"
    )
    parser.add_argument("--chromium", action="store_true", help="also measure frames a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch) / "kg"
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            build(folder, options.edges)
        with serving(folder) as url:
            rows = requests(url, options)
            if options.chromium:
                rows += frames(url)
    print(f"{options.edges:,} relationships\n")
    print("| | median | p95 | largest |\n| --- | ---: | ---: | ---: |")
    for name, *cells in rows:
        print(f"| {name} | {' | '.join(cells)} |")
    return 0


def build(folder: Path, edges: int) -> None:
    """A graph with what an index writes for relationships, entities and documents.

    Evidence of mentions and descriptions, of which the explorer shows nothing, is left out.
    """
    corpus = Corpus(RELATIONSHIPS)  # one document, so that the folder is that of a graph
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(corpus.sources(), extractor=GeneratedExtractor(corpus))
        base = kg.meta().base
    store = ox.Store(str(folder / "store"))
    store.bulk_extend(quads(Corpus(edges), Minter(base)))
    store.flush()
    (folder / "complete").touch()


def quads(corpus: Corpus, minter: Minter) -> Iterator[ox.Quad]:
    """The statements of all documents."""
    own = ox.NamedNode(minter.kg_graph)
    type_ = RDF.type
    known: dict[str, ox.NamedNode] = {}
    for number in range(corpus.documents):
        names, relations = corpus.contents(number)
        document = ox.NamedNode(f"{minter.base}doc/{number:08d}")
        source = ox.NamedNode(f"{minter.base}graph/source/{number:08d}")
        yield ox.Quad(document, type_, SARAG.Document, source)
        yield ox.Quad(document, SARAG.text, ox.Literal(names[0]), source)
        for name in names:
            if name not in known:
                known[name] = entity = ox.NamedNode(minter.entity(normalize_name(name)))
                label = ox.Literal(name, language="en")
                yield ox.Quad(entity, type_, SARAG.Entity, own)
                yield ox.Quad(entity, type_, SARAG.MiscEntity, own)
                yield ox.Quad(entity, SKOS.prefLabel, label, own)
                yield ox.Quad(entity, RDFS.label, label, own)
            yield ox.Quad(document, SARAG.describes, known[name], own)
        for place, (subject, verb, object_) in enumerate(relations):
            node = ox.NamedNode(f"{minter.base}relationship/{number:08d}{place:02d}")
            text = ox.Literal(f"{subject} {verb} {object_}.", language="en")
            yield ox.Quad(node, type_, SARAG.Relationship, source)
            yield ox.Quad(node, SARAG.subject, known[subject], own)
            yield ox.Quad(node, SARAG.object, known[object_], own)
            yield ox.Quad(node, SARAG.phrase, ox.Literal(verb, language="en"), source)
            yield ox.Quad(node, SARAG.text, text, source)
            yield ox.Quad(node, RDFS.label, text, source)
            yield ox.Quad(known[subject], SARAG.relatedTo, known[object_], own)


class serving:  # noqa: N801 - a context manager, like a function
    """``sarag serve`` on a free port; gives its URL."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "sarag_rdf", "serve", "--kg", str(folder)]
        command += ["--port", "0"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        line = next(line for line in self._process.stdout if line.startswith("Explorer"))
        return line.split()[-1].rstrip("/")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def get(url: str) -> tuple[float, Any]:
    begin = time.perf_counter()
    with urllib.request.urlopen(url) as response:
        data = response.read()
    return time.perf_counter() - begin, json.loads(data)


def requests(url: str, options: argparse.Namespace) -> list[tuple[str, ...]]:
    """Names and times of requests."""
    corpus, chance = Corpus(options.edges), random.Random(0)
    minter = Minter("https://example.org/kg/")

    def drawn(by_degree: bool) -> str:
        names, relations = corpus.contents(chance.randrange(corpus.documents))
        name = relations[0][2] if by_degree else names[0]
        return minter.entity(normalize_name(name))

    degrees = Counter(
        name for n in range(min(corpus.documents, 20_000)) for name in corpus.contents(n)[0]
    )
    hub = minter.entity(normalize_name(degrees.most_common(1)[0][0]))

    def neighbours(iri: str) -> str:
        return f"{url}/graph/neighbours?" + urlencode({"iri": iri, "limit": 30})

    def timed(name: str, urls: list[str]) -> tuple[str, ...]:
        for warm in urls[:WARM_UP]:
            get(warm)
        times = sorted(get(each)[0] * 1000 for each in urls[WARM_UP:])
        p95 = times[int(len(times) * 0.95)]
        return name, *(f"{ms:.0f} ms" for ms in (statistics.median(times), p95, times[-1]))

    def completion(prefix: str) -> str:
        return f"{url}/graph/complete?" + urlencode({"prefix": prefix, "kind": "entity"})

    wanted = options.requests + WARM_UP
    first, _ = get(completion("be"))
    prefixes = [
        name_of(chance.randrange(corpus.entities))[: chance.randint(2, 6)] for _ in range(wanted)
    ]
    _, found = get(neighbours(hub))
    left = found["left_out"]
    least = "at least " if left["at_least"] else ""
    size = f"{least}{left['nodes'] + len(found['nodes']) - 1:,} neighbours"
    return [
        timed("expansion, things by degree", [neighbours(drawn(True)) for _ in range(wanted)]),
        timed("expansion, things drawn evenly", [neighbours(drawn(False)) for _ in range(wanted)]),
        timed(f"expansion of the largest hub ({size})", [neighbours(hub)] * (WARM_UP + 20)),
        ("first completion (names are sorted)", f"{first * 1000:.0f} ms", "", ""),
        timed(
            "completion of a name",
            [
                f"{url}/graph/complete?" + urlencode({"prefix": p, "kind": "entity"})
                for p in prefixes
            ],
        ),
    ]


def frames(url: str) -> list[tuple[str, ...]]:
    """Frames a second while the camera moves over a graph on the page."""
    from tests.server.chromium import open_browser

    script = FRAMES.replace("NODES", str(PAGE_NODES)).replace("EDGES", str(PAGE_EDGES))
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # the browser may still write
    with folder as scratch, open_browser(Path(scratch)) as page:
        page.visit(f"{url}/?entity=https://w3id.org/sarag/ontology%23MiscEntity")
        page.until("window.explorer?.graph.order > 1")
        page.run(script)
        time.sleep(5)
        page.until("Boolean(window.frames_found)")
        found = page.run("window.frames_found")
    name = f"page, {found['nodes']:,} nodes, {found['edges']:,} lines ({found['renderer']})"
    return [(name, f"{found['frames']:.0f} frames/s", f"{found['p95']:.0f} ms a frame", "")]


if __name__ == "__main__":
    sys.exit(main())
