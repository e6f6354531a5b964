"""Imports a file into a named graph of its own, in batches that an interrupted run goes on from.

``file -> triples -> named graph -> how it is read``

The graph can be read once it is complete. A file that turns out to be broken leaves nothing; what
was imported under the same name before stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from sarag_rdf.errors import InputError, UsageError
from sarag_rdf.graph.parts import COMPLETE
from sarag_rdf.graph.revision import revised
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.ingest.apart import BLOCK, triples_apart
from sarag_rdf.ingest.files import InputFile, Told, input_file
from sarag_rdf.ingest.kinds import KINDS, asked_for, broader_cycle, seen_as, used_in
from sarag_rdf.ingest.lines import is_plain, load_lines
from sarag_rdf.ingest.order import Order
from sarag_rdf.ingest.registry import Entry, entry_of, import_name, stored
from sarag_rdf.ports import Change, GraphStore, Progress, silent
from sarag_rdf.resources import query_file

BATCH = 500_000
"""Triples between two points from which an interrupted import goes on."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported: `already` if the same file stood there under the same name."""

    name: str
    kind: str
    graph: str
    triples: int
    already: bool = False
    warnings: tuple[str, ...] = ()


def run_import(
    reader: GraphReader, where: str, order: Order, progress: Progress = silent
) -> ImportReport:
    """Import a file or what a URL gives. Raises `InputError`, `UsageError`, `StoreError`."""
    if order.kind not in KINDS:
        raise UsageError(f"unknown kind '{order.kind}': choose one of {', '.join(KINDS)}, sarag")
    with input_file(where, order.max_expansion) as file:
        name = import_name(order.name, file.name)
        entry = Entry(name, order.kind, file.origin, file.sha256, order.settings)
        before = entry_of(stored(reader, name), name)
        graph = reader.minter.imported_graph(name)
        if before is not None and before.state == COMPLETE:
            if before.same_as(entry):
                return ImportReport(name, before.kind, graph, before.triples, already=True)
            if not order.replace:
                what = (
                    "this file, in another way,"
                    if before.sha256 == file.sha256
                    else "another graph"
                )
                raise UsageError(
                    f"{what} is imported as '{name}' already: give --name another name, "
                    "or --replace it"
                )
            _read_through(reader, file, order, progress)
            before = None
        done = _resumed(reader, before, entry)
        try:
            return _loaded(reader, file, order, replace(entry, state=str(done)), progress)
        except (InputError, UsageError):
            _write(reader, name, None, drop=graph)
            raise


def forget_import(reader: GraphReader, name: str) -> None:
    """Drop an imported graph and what is said of it; raises `UsageError` for an unknown name."""
    if not stored(reader, name):
        raise UsageError(f"there is no imported graph '{name}' here")
    _write(reader, name, None, drop=reader.minter.imported_graph(name))


def _resumed(reader: GraphReader, before: Entry | None, entry: Entry) -> int:
    """How many triples of this very import are there; what another left behind goes."""
    if before is not None and before.state != COMPLETE and before.same_as(entry):
        return int(before.state)
    _write(reader, entry.name, entry, drop=reader.minter.imported_graph(entry.name))
    return 0


def _read_through(reader: GraphReader, file: InputFile, order: Order, progress: Progress) -> None:
    """Read a file to its end, so that one that is broken or of no use replaces nothing."""
    told = Told(progress("checking bytes", file.path.stat().st_size))
    used: set[str] = set()
    for block in triples_apart(file, order, _genid(reader)):
        used |= block.predicates
        told(block.position)
    if not used:
        raise InputError(_empty(file, order))
    seen_as(order.kind, used, order.paths)


def _loaded(
    reader: GraphReader, file: InputFile, order: Order, entry: Entry, progress: Progress
) -> ImportReport:
    graph = NamedNode(reader.minter.imported_graph(entry.name))
    before, genid = int(entry.state), _genid(reader)
    load = load_lines if is_plain(file, order) else _load_triples
    for done in load(reader.store, file, order, graph.value, genid, before, progress):
        _write(reader, entry.name, replace(entry, state=str(done)))
    size = _size(reader, entry.name)
    if not size:
        raise InputError(_empty(file, order))
    used = used_in(reader, graph.value, asked_for(order.paths))
    seen = seen_as(order.kind, used, order.paths)
    complete = replace(entry, kind=seen.kind, state=COMPLETE, triples=size, paths=seen.paths)
    _write(reader, entry.name, complete)
    warnings = [] if seen.is_named else [_nameless(entry.name)]
    circle = broader_cycle(reader, graph.value) if seen.kind == "skos" else []
    if circle:
        shown = " -> ".join(f"<{node}>" for node in [*circle, circle[0]])
        warnings.append(f"skos:broader leads in a circle: {shown}")
    return ImportReport(
        entry.name, seen.kind, graph.value, complete.triples, warnings=tuple(warnings)
    )


def _load_triples(
    store: GraphStore,
    file: InputFile,
    order: Order,
    graph: str,
    genid: str,
    done: int,
    progress: Progress,
) -> Iterator[int]:
    """Load a file behind its first `done` triples; yields how many have been loaded."""
    told = Told(progress("importing bytes", file.path.stat().st_size))
    held: list[bytes] = []
    read = loaded = 0
    for block in triples_apart(file, order, genid, min(BLOCK, BATCH)):
        told(block.position)
        read += block.count
        if read <= done:
            continue
        held.append(block.data)
        if read - max(done, loaded) >= BATCH:
            store.load_ntriples(b"".join(held), graph)
            held.clear()
            loaded = read
            yield read
    if held:
        store.load_ntriples(b"".join(held), graph)
        yield read


def _nameless(name: str) -> str:
    return (
        "nothing in it has a name (rdfs:label): SPARQL can ask it (sarag query --over "
        f"{name}), but a search finds nothing in it by name"
    )


def _empty(file: InputFile, order: Order) -> str:
    if order.is_filtered:
        return f"{file.name} holds no triples that are kept: see --language, --type, --property"
    return f"{file.name} holds no triples"


def _genid(reader: GraphReader) -> str:
    return f"{reader.minter.base}genid/"


def _size(reader: GraphReader, name: str) -> int:
    text = query_file("index", "graph-size").fill(None, {"kg": reader.minter.imported_graph(name)})
    ((count,),) = reader.store.select(text, "triples").rows
    return int(count.value)


def _write(reader: GraphReader, name: str, entry: Entry | None, *, drop: str = "") -> None:
    """Replace what is said of an imported graph, and change the revision."""
    change = Change(
        (drop,) if drop else (),
        tuple(stored(reader, name)),
        tuple(entry.quads(reader)) if entry else (),
    )
    reader.store.apply(revised(reader, change))
