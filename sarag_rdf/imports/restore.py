"""Makes a graph anew from an export of it: everything that stood in its named graphs."""

from __future__ import annotations

from collections.abc import Iterator

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat

from sarag_rdf.compression import MAX_EXPANSION
from sarag_rdf.errors import InputError, UsageError
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.imports.child_parser import quads_apart
from sarag_rdf.imports.files import InputFile, Told, input_file
from sarag_rdf.imports.options import MAX_SECONDS
from sarag_rdf.imports.rdf_files import Reading, rdf_format
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Change, GraphStore, Progress, silent
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import SARAG

_DATASETS = (RdfFormat.TRIG, RdfFormat.N_QUADS)


def exported_base(
    where: str,
    format_: str | None = None,
    max_expansion: int = MAX_EXPANSION,
    max_seconds: float = MAX_SECONDS,
) -> str:
    """The base IRI of the graph that a file is an export of; raises `InputError`, `UsageError`."""
    with input_file(where, max_expansion) as file:
        if rdf_format(file, format_) not in _DATASETS:
            raise UsageError(
                f"{file.name} cannot hold named graphs: restore from TriG or N-Quads, "
                "as  sarag export --format trig  writes them"
            )
        bases = {
            str(getattr(quad.object, "value", ""))
            for quad in _checked(file, quads_apart(file, Reading(format_), max_seconds))
            if quad.predicate == SARAG.baseIRI
        }
    if len(bases) != 1:
        raise InputError(
            f"{file.name} is no export of sarag: it holds {len(bases)} descriptions of a graph "
            "with its base IRI (sarag:baseIRI)"
        )
    return next(iter(bases))


def restore(
    store: GraphStore,
    where: str,
    base: str,
    format_: str | None = None,
    progress: Progress = silent,
    max_expansion: int = MAX_EXPANSION,
    max_seconds: float = MAX_SECONDS,
) -> int:
    """Load an export, which was read to its end before, into an empty store; how many quads.

    The graph's description comes last: what a run left behind that was interrupted has none, and is
    cleared away by the next. A store that holds this very export is left as it is. Raises
    `UsageError` for a store that holds another graph.
    """
    before = read_meta(store)
    if before is not None:
        if before.revision and (before.base, before.revision) == (
            base,
            _revision(where, format_, max_expansion, max_seconds),
        ):
            return sum(1 for _ in store.quads())
        raise UsageError("the graph holds something already: restore into another folder")
    _clear(store)
    meta = NamedNode(Minter(base).meta_graph)
    last: list[Quad] = []
    count = 0
    with input_file(where, max_expansion) as file:
        told = Told(progress("restoring bytes", file.path.stat().st_size))

        def others() -> Iterator[Quad]:
            nonlocal count
            quads = quads_apart(file, Reading(format_), max_seconds)
            for quad, position in quads:
                count += 1
                told(position)
                if quad.graph_name == meta:
                    last.append(quad)
                else:
                    yield quad

        store.load(others())
    kept = _without_missing(store, last)
    store.apply(Change(insert=tuple(kept)))
    return count - len(last) + len(kept)


def _revision(where: str, format_: str | None, max_expansion: int, max_seconds: float) -> str:
    """The revision of the graph that a file is an export of."""
    with input_file(where, max_expansion) as file:
        quads = quads_apart(file, Reading(format_), max_seconds)
        return next((text_of(q.object) for q, _ in quads if q.predicate == SARAG.revision), "")


def _clear(store: GraphStore) -> None:
    """Drop what an interrupted run left; a store that others write to as well is left alone."""
    if not store.is_shared:
        graphs = {getattr(quad.graph_name, "value", "") for quad in store.quads()}
        store.apply(Change(drop=tuple(sorted(graphs))))


def _without_missing(store: GraphStore, meta: list[Quad]) -> list[Quad]:
    """The description without imported graphs that the export left out."""
    missing = {
        quad.subject
        for quad in meta
        if quad.predicate == SARAG.graph
        and next(iter(store.quads(str(getattr(quad.object, "value", "")))), None) is None
    }
    return [quad for quad in meta if quad.subject not in missing]


def _checked(file: InputFile, quads: Iterator[tuple[Quad, int]]) -> Iterator[Quad]:
    for quad, _ in quads:
        if isinstance(quad.graph_name, DefaultGraph):
            raise InputError(f"{file.name} holds triples outside of named graphs: it is no export")
        for term in (quad.subject, quad.object, quad.graph_name):
            if isinstance(term, BlankNode):
                raise InputError(f"{file.name} holds blank nodes: it is no export of sarag")
        yield quad
