"""A server under load: throughput, waits and memory, with many clients and a writer beside them.

Serves a copy of an indexed folder, and sends the same mixture of requests with each number of
clients in turn, each of which sends the next request when it has an answer::

    python -m benchmarks.load kg --clients 1,8,32,64 --requests 2000 --writes 20

Prints for each number of clients and kind of request, how many were answered a second, the
percentiles of the milliseconds until the answer, the attempts that were refused (503), and errors.
A refused client waits as ``Retry-After`` says; its waits count. ``--addresses`` is the number of
addresses from which clients connect: one is a reverse proxy. `--writes` is how often a document is
replaced meanwhile, in seconds; 0 for never. Memory is that of all processes of the server, with
shared pages counted once: at the beginning, the most, and the growth over the second half.

With ``--oxigraph``, the SPARQL queries alone are also sent to Oxigraph's server with the same data.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import multiprocessing
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import sarag_rdf
from benchmarks.endpoint import opened
from sarag_rdf.base.errors import SaragError
from tests.server.crowd import Call, Served, crowd, memory, percentile
from tests.server.running import JSON, Running, serving
from tests.servers import oxigraph_server

SHARES = {"sparql": 40, "page": 25, "search": 25, "ask": 10}
"""Kind of request -> how many of a hundred."""
NAMES = 300
"""Entities that requests are about."""
PREFIXES = """PREFIX sarag: <https://w3id.org/sarag/ontology#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX dcterms: <http://purl.org/dc/terms/>
"""
QUERIES = (
    "SELECT ?name WHERE {{ {entity} sarag:relatedTo/skos:prefLabel ?name }}",
    "SELECT ?document ?title WHERE {{ ?document sarag:describes {entity} ; dcterms:title ?title }}",
    "SELECT DISTINCT ?name WHERE {{ {entity} (sarag:relatedTo|^sarag:relatedTo)"
    "/(sarag:relatedTo|^sarag:relatedTo) ?near . ?near skos:prefLabel ?name }} LIMIT 200",
    "SELECT ?p (COUNT(*) AS ?n) WHERE {{ {entity} ?p ?o }} GROUP BY ?p",
    "SELECT ?class (COUNT(?thing) AS ?n) WHERE {{ ?thing a ?class }} GROUP BY ?class",
)
"""All but the last are about one entity."""
COUNTING = 40
"""One query in so many is the last one, which reads much."""
SAMPLES = 0.5
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Entity:
    iri: str
    name: str


@dataclass(frozen=True)
class Load:
    """What is measured with one number of clients."""

    served: Sequence[Served]
    seconds: float
    memory: Sequence[int]
    writes: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kg", type=Path)
    parser.add_argument("--clients", default="1,8,32,64")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--addresses", type=int, default=1)
    parser.add_argument("--writes", type=float, default=0.0)
    parser.add_argument("--kinds", default=",".join(SHARES))
    parser.add_argument("--oxigraph", action="store_true")
    parser.add_argument("--serve", default="", help="further options of sarag serve")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "kg"
            shutil.copytree(options.kg, folder)
            errors = measure(folder, options)
    except SaragError as error:
        parser.exit(1, f"{error}\n")
    return errors > 0


def measure(folder: Path, options: argparse.Namespace) -> int:
    """Print a table for each number of clients; returns the number of errors."""
    entities, errors = named(folder), 0
    counts = [int(count) for count in options.clients.split(",")]
    kinds = options.kinds.split(",")
    with serving(folder, "--quiet", *options.serve.split()) as server:
        warm = list(calls(entities, kinds, 20, seed=0))
        asyncio.run(crowd(server.host, server.port, warm, 4))
        for count in counts:
            todo = list(calls(entities, kinds, options.requests, seed=count))
            load = loaded(server, folder, todo, count, options)
            errors += printed(count, load)
    if options.oxigraph:
        compared(folder, entities, counts, options.requests, options.serve.split())
    return errors


def named(folder: Path) -> list[Entity]:
    """Entities with names, chosen at random but always the same."""
    text = "SELECT ?e ?name WHERE { ?e a sarag:Entity ; skos:prefLabel ?name } ORDER BY ?e"
    with sarag_rdf.open(folder, endpoint=None) as kg:
        table = kg.query(text)
    assert hasattr(table, "rows")
    found = [Entity(str(iri.value), str(name.value)) for iri, name in table.rows]
    return random.Random(1).sample(found, min(NAMES, len(found)))


def calls(
    entities: Sequence[Entity], kinds: Sequence[str], count: int, seed: int
) -> Iterator[Call]:
    """So many requests of some kinds, mixed as in `SHARES`."""
    chance = random.Random(seed)
    for kind in chance.choices(kinds, [SHARES[kind] for kind in kinds], k=count):
        one, other = chance.choice(entities), chance.choice(entities)
        if kind == "sparql":
            is_counting = not chance.randrange(COUNTING)
            text = QUERIES[-1] if is_counting else chance.choice(QUERIES[:-1])
            query = PREFIXES + text.format(entity=f"<{one.iri}>")
            yield Call(kind, f"/sparql?{urlencode({'query': query})}", JSON)
        elif kind == "page":
            yield Call(kind, f"/resource?iri={quote(one.iri, safe='')}", "text/html")
        else:
            question = f"How is {one.name} connected with {other.name}?"
            yield Call(kind, f"/{kind}?{urlencode({'q': question})}")


def loaded(
    server: Running, folder: Path, todo: list[Call], clients: int, options: argparse.Namespace
) -> Load:
    """Send the requests, with a writer beside them."""
    with sampled(server) as samples, writing(folder, options.writes) as written:
        begin = time.monotonic()
        served = asyncio.run(crowd(server.host, server.port, todo, clients, options.addresses))
        seconds = time.monotonic() - begin
    return Load(served, seconds, samples, written[0])


@contextmanager
def sampled(server: Running) -> Iterator[list[int]]:
    """The memory of a server's processes, looked at while the block lasts."""
    samples, ended = list[int](), threading.Event()

    def look() -> None:
        while not ended.wait(SAMPLES):
            samples.append(memory({server.process.pid, *server.children()}))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


@contextmanager
def writing(folder: Path, period: float) -> Iterator[list[int]]:
    """A process that replaces a document again and again, and at the end the number of writes."""
    written = [0]
    if not period:
        yield written
        return
    context = multiprocessing.get_context("spawn")
    ended, count = context.Event(), context.Value("i", 0)
    process = context.Process(target=write, args=(folder, period, ended, count))
    process.start()
    try:
        yield written
    finally:
        ended.set()
        process.join()
        written[0] = count.value


def write(folder: Path, period: float, ended: Event, count: object) -> None:
    """Replace a document in each period until the event is set."""
    with opened(folder) as kg:
        version = 0
        while not ended.wait(period):
            version += 1
            text = f"Ada Holt visited Warsaw in {1900 + version}. Warsaw lies on the Vistula."
            kg.index([sarag_rdf.Source(text, "Ada Holt", "load/ada.txt")])
            count.value = version  # type: ignore[attr-defined]


def printed(clients: int, load: Load) -> int:
    """Print a table; returns the number of errors."""
    rate = len(load.served) / load.seconds
    print(f"\n{clients} clients, {len(load.served)} requests in {load.seconds:.0f} s", end="")
    print(f" ({rate:.1f} a second), {load.writes} writes\n")
    print("| requests | a second | p50 | p95 | p99 | most | refused attempts | errors |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    errors = [each for each in load.served if each.status != 200]
    for kind in dict.fromkeys(["all", *sorted({each.call.kind for each in load.served})]):
        of_kind = [each for each in load.served if kind in ("all", each.call.kind)]
        refused = sum(len(each.refusals) for each in of_kind)
        wrong = sum(each.status != 200 for each in of_kind)
        times = [1000 * each.seconds for each in of_kind]
        marks = " | ".join(f"{percentile(times, share):.0f}" for share in (0.5, 0.95, 0.99, 1))
        speed = len(of_kind) / load.seconds
        print(f"| {kind} | {speed:.1f} | {marks} | {refused} | {wrong} |")
    for status, text in sorted({(each.status, each.body[:200]) for each in errors})[:5]:
        print(status, text)
    if mib := [each >> 20 for each in load.memory]:
        half = mib[len(mib) // 2 :]
        print(f"\nMemory in MiB: {mib[0]} at first, {max(mib)} at most", end="")
        print(f", {half[-1] - half[0]:+d} over the second half")
    sys.stdout.flush()
    return len(errors)


def compared(
    folder: Path, entities: Sequence[Entity], counts: Sequence[int], requests: int, more: list[str]
) -> None:
    """Print how many queries a second `sarag serve` and Oxigraph's server answer, in turn."""
    data = io.BytesIO()
    with sarag_rdf.open(folder, endpoint=None) as kg:
        kg.export("nquads", data)
    print("\n| clients | server | queries a second | p50 | p95 | p99 | refused attempts |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    with oxigraph_server() as oxigraph, serving(folder, "--quiet", *more) as ours:
        oxigraph.load(data.getvalue())
        place = urlsplit(oxigraph.query_url)
        servers = {
            "sarag serve": (ours.host, ours.port, "/sparql?", "/sparql?"),
            "Oxigraph": (
                str(place.hostname), place.port or 0, "/sparql?", "/query?union-default-graph&",
            ),
        }  # fmt: skip
        for count in counts:
            todo = list(calls(entities, ["sparql"], requests, seed=count))
            bodies = []
            for name, (host, port, old, new) in servers.items():
                sent = [Call(c.kind, c.path.replace(old, new, 1), c.accept) for c in todo]
                begin = time.monotonic()
                served = asyncio.run(crowd(host, port, sent, count))
                speed = len(served) / (time.monotonic() - begin)
                if wrong := [each for each in served if each.status != 200]:
                    raise SaragError(f"{name}: {wrong[0]}")
                times = [1000 * each.seconds for each in served]
                marks = " | ".join(f"{percentile(times, share):.1f}" for share in (0.5, 0.95, 0.99))
                refused = sum(len(each.refusals) for each in served)
                print(f"| {count} | {name} | {speed:.0f} | {marks} | {refused} |", flush=True)
                bodies.append(sum(each.body.count(b'"value"') for each in served))
            if bodies[0] != bodies[1]:
                raise SaragError(f"the servers return different numbers of values: {bodies}")


if __name__ == "__main__":
    sys.exit(main())
