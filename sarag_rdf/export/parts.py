"""Which named graphs an export holds: evidence, the traversed graph, single ones, imported ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.iris import Minter
from sarag_rdf.ports import GraphStore
from sarag_rdf.terms import iri
from sarag_rdf.vocab import RDF, SARAG

_GRAPHS = "SELECT ?g WHERE { GRAPH ?g { } FILTER EXISTS { GRAPH ?g { ?s ?p ?o } } }"
_GRAPHS_UNDER = """SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } FILTER(STRSTARTS(STR(?g), %s)) }
GROUP BY ?g"""
"""Slower, and understood by more servers."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What is asked for; where nothing is, all graphs that are not imported.

    `documents` are the graphs of the sources, `entities` what the traversed graph says of
    entities, `graphs` the IRIs of single graphs; `imported` adds all imported graphs.
    """

    documents: bool = False
    entities: bool = False
    graphs: Sequence[str] = ()
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The graphs to export, by IRI; of the one called `narrowed` only what is said of entities."""

    graphs: tuple[str, ...]
    narrowed: str = ""
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(self.graphs))


def graph_names(store: GraphStore, under: str = "") -> list[str]:
    """The IRIs of all named graphs that hold something, in order.

    In a store that is shared with others, those that begin with `under`.
    """
    text = _GRAPHS_UNDER % ox.Literal(under) if store.is_shared else _GRAPHS
    return sorted(iri(row[0]) for row in store.select(text, "g").rows)


def choose(store: GraphStore, minter: Minter, parts: Parts) -> Chosen:
    """The graphs that are meant; raises `UsageError` for a graph that there is not.

    What was put into quarantine is never exported.
    """
    names = graph_names(store, minter.graphs)
    names = [n for n in names if not n.startswith(minter.quarantine_graphs)]
    imported = [name for name in names if name.startswith(minter.imported_graphs)]
    wanted = set(_known(parts.graphs, names))
    if parts.documents:
        wanted.update(name for name in names if name.startswith(minter.source_graphs))
    if not (parts.documents or parts.entities or parts.graphs):
        wanted.update(set(names).difference(imported))
    if parts.imported:
        wanted.update(imported)
    narrowed = minter.kg_graph if parts.entities and minter.kg_graph not in wanted else ""
    if narrowed in names:
        wanted.add(narrowed)
    return Chosen(tuple(sorted(wanted)), narrowed)


def _known(wanted: Iterable[str], names: Sequence[str]) -> Iterable[str]:
    for name in wanted:
        if name not in names:
            near = get_close_matches(name, names, cutoff=0.0)
            raise UsageError(
                f"there is no graph <{name}>; "
                + (f"near to it: {', '.join(f'<{n}>' for n in near)}" if near else "it is empty")
            )
        yield name


def of_entities(triples: Sequence[ox.Triple]) -> list[ox.Triple]:
    """Those whose subject is an entity; `triples` are all that is said of some subjects."""
    entities = {
        triple.subject
        for triple in triples
        if triple.predicate == RDF.type and triple.object == SARAG.Entity
    }
    return [triple for triple in triples if triple.subject in entities]
