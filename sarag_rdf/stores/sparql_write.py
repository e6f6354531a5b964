"""A change of a graph behind an endpoint, in steps: there is no transaction over several requests.

What says that something is whole goes first and comes last: the revision of the graph, and in a
source's graph the source's digest. So a change that was broken off is seen, and made anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pyoxigraph import Quad

from sarag_rdf.errors import UsageError
from sarag_rdf.ports import Change
from sarag_rdf.stores.sparql_client import Client
from sarag_rdf.terms import iri
from sarag_rdf.vocab import SARAG

UPDATE_TRIPLES = 1000
"""Triples an update: Virtuoso refuses more than about 1,200."""
GRAPH_TRIPLES = 5000
"""Triples a request of the Graph Store Protocol."""
BYTES = 1_000_000
"""Bytes a request at most, as far as single triples allow."""


def add(client: Client, quads: Iterable[Quad]) -> None:
    """Add quads in batches, each to its graph."""
    _check(client)
    lines = (f"GRAPH {quad.graph_name} {{ {quad.triple} }}" for quad in quads)
    for batch in _batches(lines, UPDATE_TRIPLES):
        _send(client, "INSERT", batch)


def write(client: Client, change: Change) -> None:
    """Take the revision away, change what is derived, replace graphs, give the new revision."""
    _check(client)
    replaced: defaultdict[str, list[Quad]] = defaultdict(list)
    kept: list[Quad] = []
    for quad in change.insert:
        graph = iri(quad.graph_name)
        (replaced[graph] if graph in change.drop else kept).append(quad)
    _update(client, "DELETE", [quad for quad in change.delete if _is_revision(quad)])
    _update(client, "DELETE", [quad for quad in change.delete if not _is_revision(quad)])
    _update(client, "INSERT", [quad for quad in kept if not _is_revision(quad)])
    for graph in change.drop:
        _replace(client, graph, sorted(replaced[graph], key=_says_whole))
    _update(client, "INSERT", [quad for quad in kept if _is_revision(quad)])


def _is_revision(quad: Quad) -> bool:
    return quad.predicate == SARAG.revision


def _says_whole(quad: Quad) -> bool:
    return quad.predicate == SARAG.sha256


def _replace(client: Client, graph: str, quads: Sequence[Quad]) -> None:
    """Make these the quads of a graph; with none of them it is gone."""
    if not quads or not client.remote.store_url:
        client.update(f"DROP SILENT GRAPH <{graph}>")
        _update(client, "INSERT", quads)
        return
    for number, lines in enumerate(_batches((f"{q.triple} ." for q in quads), GRAPH_TRIPLES)):
        client.store("POST" if number else "PUT", graph, "\n".join(lines).encode())


def _update(client: Client, verb: str, quads: Sequence[Quad]) -> None:
    lines = (f"GRAPH {quad.graph_name} {{ {quad.triple} }}" for quad in quads)
    for batch in _batches(lines, UPDATE_TRIPLES):
        _send(client, verb, batch)


def _send(client: Client, verb: str, lines: list[str]) -> None:
    client.update(f"{verb} DATA {{\n" + "\n".join(lines) + "\n}")


def _check(client: Client) -> None:
    if not client.remote.update_url:
        raise UsageError(
            f"{client.remote.query_url}: how to write to it is not known: name its update "
            "endpoint with --update-url, and its graph store with --store-url if it has one"
        )


def _batches(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for line in lines:
        length = len(line.encode())
        if batch and (len(batch) == most or size + length > BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += length
    if batch:
        yield batch
