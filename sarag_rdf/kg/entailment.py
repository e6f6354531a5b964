"""Entailment on and off: what follows from the typed statements, in a named graph of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Change
from sarag_rdf.building.derive.entailed_graph import (
    axioms_of,
    entailment_metadata,
    new_metadata,
    recorded_graphs,
)
from sarag_rdf.graph.metadata import with_revision
from sarag_rdf.graph.parts import imported_graphs
from sarag_rdf.graph.reader import DOCUMENTS, GraphReader
from sarag_rdf.kg.session import Session


@dataclass(frozen=True, slots=True)
class EntailmentStatus:
    """Whether entailment is on, for which parts, and the number of entailed triples."""

    over: tuple[str, ...] = ()
    triples: int = 0

    @property
    def is_on(self) -> bool:
        return bool(self.over)


class Entailment:
    """Turns entailment on and off."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def status(self) -> EntailmentStatus:
        """The entailments as they are now."""
        with self._session.read() as snapshot:
            return _status(snapshot.own)

    def enable(self, over: Sequence[str] = ()) -> EntailmentStatus:
        """Materialise what follows from some parts now and after each write.

        `over` names ``documents`` (the default) and imported graphs. Raises `UsageError` for an
        unknown name and for a graph without an ontology, `MissingDependencyError` without the
        extra ``entailment``, and `EntailmentError` beyond a limit.
        """
        with self._session.write(create=False) as reader:
            graphs = _graphs_of(reader, over or (DOCUMENTS,))
            if not axioms_of(reader, graphs).triples:
                raise UsageError(
                    "nothing follows from the ontologies of this graph: add one with subclasses, "
                    "subproperties, domains or inverses, such as  sarag ontology add common"
                )
            self._record(reader, graphs)
            return _status(reader)

    def disable(self) -> None:
        """Delete the entailed triples, and materialise none after further writes."""
        with self._session.write(create=False) as reader:
            self._record(reader, [])

    def _record(self, reader: GraphReader, graphs: Sequence[str]) -> None:
        """Record the graphs for which entailment is on; the entailed graph follows."""
        before = entailment_metadata(reader)
        after = new_metadata(reader.minter, graphs) if graphs else ()
        if {*before} != {*after}:
            reader.store.apply(with_revision(reader, Change((), before, after)))
            self._session.vectors.carry_over(reader)


def _graphs_of(reader: GraphReader, over: Sequence[str]) -> list[str]:
    known = {imported.name: imported.graph for imported in imported_graphs(reader)}
    known[DOCUMENTS] = reader.minter.kg_graph
    unknown = [name for name in over if name not in known]
    if unknown:
        raise UsageError(f"no such part: '{unknown[0]}': use {', '.join(sorted(known))}")
    return sorted({known[name] for name in over})


def _status(reader: GraphReader) -> EntailmentStatus:
    graphs = recorded_graphs(reader.minter, entailment_metadata(reader))
    if not graphs:
        return EntailmentStatus()
    names = {imported.graph: imported.name for imported in imported_graphs(reader)}
    names[reader.minter.kg_graph] = DOCUMENTS
    triples = sum(1 for _ in reader.store.quads(reader.minter.entailed_graph))
    return EntailmentStatus(tuple(sorted(names.get(graph, graph) for graph in graphs)), triples)
