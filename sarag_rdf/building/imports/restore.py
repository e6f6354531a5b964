"""Restores a graph from an export of all its named graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import Minter, sha256_hex
from sarag_rdf.base.ports import Change, GraphStore, Progress, silent
from sarag_rdf.base.vocab import SARAG, text_of
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.store.input_files import (
    PositionProgress,
    RdfReadOptions,
    input_file,
    parse_quads,
    rdf_format,
)

_DATASETS = (RdfFormat.TRIG, RdfFormat.N_QUADS)


def exported_meta(location: str, options: RdfReadOptions) -> Meta:
    """The base IRI and revision of an exported graph; raises `InputError`, `UsageError`."""
    with input_file(location, options.max_expansion) as file:
        if rdf_format(file, options.format) not in _DATASETS:
            raise UsageError(
                f"{file.name} is not in a format with named graphs: restore from TriG or N-Quads, "
                "such as the output of  sarag export --format trig"
            )
        bases, with_blank_nodes, revision = set(), set(), ""
        for quad, _ in parse_quads(file, options):
            if isinstance(quad.graph_name, DefaultGraph):
                raise InputError(
                    f"{file.name} is not an export of sarag: it has triples outside named graphs"
                )
            if quad.predicate == SARAG.baseIRI:
                bases.add(text_of(quad.object))
            elif quad.predicate == SARAG.revision:
                revision = revision or text_of(quad.object)
            if isinstance(quad.subject, BlankNode) or isinstance(quad.object, BlankNode):
                with_blank_nodes.add(text_of(quad.graph_name))
    if len(bases) != 1:
        raise InputError(
            f"{file.name} is not an export of sarag: expected one base IRI (sarag:baseIRI), found "
            f"{len(bases)}"
        )
    (base,) = bases
    if not all(name.startswith(Minter(base).graph("ontologies")) for name in with_blank_nodes):
        raise InputError(
            f"{file.name} is not an export of sarag: it has blank nodes outside ontologies"
        )
    return Meta(base, revision)


def restore(
    store: GraphStore,
    location: str,
    exported: Meta,
    options: RdfReadOptions,
    progress: Progress = silent,
) -> int:
    """Load an export that has been validated into an empty store; returns the number of quads.

    The metadata is loaded last, so that the result of an interrupted restore has none, and is
    deleted by the next one. A store with the same export is not changed. Raises `UsageError` for a
    store with another graph.
    """
    base, before = exported.base, read_meta(store)
    if before is not None:
        if before.revision and (before.base, before.revision) == (base, exported.revision):
            return sum(1 for _ in store.quads())
        raise UsageError("the graph is not empty: restore into another folder")
    _clear(store)
    meta_graph, genid = NamedNode(Minter(base).meta_graph), f"{base}genid/"
    metadata: list[Quad] = []
    count = 0
    with input_file(location, options.max_expansion) as file:
        report_position = PositionProgress(progress("restoring bytes", file.path.stat().st_size))

        def data() -> Iterator[Quad]:
            nonlocal count
            for quad, position in parse_quads(file, options):
                count += 1
                report_position(position)
                if quad.graph_name == meta_graph:
                    metadata.append(quad)
                else:
                    yield _skolemized(quad, genid)

        store.load(data())
    restored = _without_missing(store, metadata, Minter(base).graph("ontologies"))
    store.apply(Change(insert=tuple(restored)))
    return count - len(metadata) + len(restored)


def _clear(store: GraphStore) -> None:
    """Delete the result of an interrupted restore, except in a store shared with others."""
    if not store.is_shared:
        graphs = {getattr(quad.graph_name, "value", "") for quad in store.quads()}
        store.apply(Change(drop=tuple(sorted(graphs))))


def _is_empty(store: GraphStore, graph: str) -> bool:
    return next(iter(store.quads(graph)), None) is None


def _without_missing(store: GraphStore, meta: list[Quad], ontologies: str) -> list[Quad]:
    """The metadata without imported graphs and ontologies that are not in the export."""
    missing = {
        quad.subject
        for quad in meta
        if quad.predicate == SARAG.graph and _is_empty(store, text_of(quad.object))
    }
    missing |= {
        quad.subject
        for quad in meta
        if text_of(quad.subject).startswith(ontologies) and quad.predicate == SARAG.sha256
        if _is_empty(store, text_of(quad.subject))
    }
    return [quad for quad in meta if quad.subject not in missing]


_EXPORTED = re.compile("b([0-9a-f]{32})")
"""Labels of the blank nodes that exports have for Skolem IRIs."""


def _skolemized(quad: Quad, genid: str) -> Quad:
    """The quad as it was stored: with the Skolem IRIs of the blank nodes of ontologies."""
    subject, object_ = quad.subject, quad.object
    if isinstance(subject, BlankNode):
        subject = _skolem_iri(subject, quad, genid)
    if isinstance(object_, BlankNode):
        object_ = _skolem_iri(object_, quad, genid)
    return Quad(subject, quad.predicate, object_, quad.graph_name)


def _skolem_iri(node: BlankNode, quad: Quad, genid: str) -> NamedNode:
    exported = _EXPORTED.fullmatch(node.value)
    digest = exported[1] if exported else sha256_hex(text_of(quad.graph_name), node.value)[:32]
    return NamedNode(genid + digest)
