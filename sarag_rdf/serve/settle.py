"""What a free write leaves undone: no blank nodes, the graph's own description, what is derived."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox

from sarag_rdf.errors import SaragError
from sarag_rdf.graph.meta import read_meta
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.refresh import rebuild
from sarag_rdf.iris import Minter
from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.serve.skolem import Skolemizer
from sarag_rdf.stores.oxigraph import OxigraphStore
from sarag_rdf.vocab import SARAG

MARK = "unfinished-write"
_BLANK = "SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } FILTER(isBlank(?s) || isBlank(?o)) }"


class Settler:
    """Knows what a write may not lose, and brings the graph back to its rules afterwards.

    A file in the graph's folder says that a write has begun; what a killed process left undone is
    done before the next write.
    """

    def __init__(self, store: ox.Store, folder: Path) -> None:
        self._store = store
        self._mark = folder / MARK
        self._port = OxigraphStore(store)
        meta = read_meta(self._port)
        self._minter = Minter(meta.base) if meta else None
        self._own = set(self.quads(self._minter.meta_graph)) if self._minter else set()
        graphs = [quad for quad in self._own if quad.predicate == SARAG.graph]
        self._described = [quad for quad in graphs if self._exists(quad.object)]
        if self._mark.exists():
            self.finish(evidence=True, blanks=True)

    @property
    def base(self) -> str:
        """The base of new IRIs."""
        return (self._minter or Minter()).base

    def is_evidence(self, graph: str) -> bool:
        """Whether the traversed graph follows from a graph."""
        minter = self._minter
        return minter is not None and (
            graph.startswith(minter.source_graphs) or graph == minter.decisions_graph
        )

    def is_own(self, graph: str) -> bool:
        """Whether a graph is the library's to write: derived, its description, or imported."""
        minter = self._minter
        return minter is not None and (
            graph in (minter.kg_graph, minter.meta_graph)
            or graph.startswith(minter.imported_graphs)
        )

    def begin(self) -> None:
        """Say that a write begins; the revision changes first, so that no cache outlives it."""
        self._mark.touch()
        self._describe()

    def finish(self, *, evidence: bool, blanks: bool) -> None:
        """Make the graph whole again; raises `RequestError` if that cannot be.

        `evidence`: the traversed graph may have to change; `blanks`: there may be blank nodes.
        """
        if blanks:
            self._name_blank_nodes()
        if evidence:
            self._derive()
        self._describe()
        self._store.flush()
        self._mark.unlink(missing_ok=True)

    def quads(self, graph: str | None) -> list[ox.Quad]:
        """The quads of a graph; None is the default graph."""
        name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
        return list(self._store.quads_for_pattern(None, None, None, name))

    def put_back(self, quads: set[ox.Quad], graphs: Iterable[str | None]) -> None:
        """Let these graphs hold these quads and no others."""
        present = {quad for graph in graphs for quad in self.quads(graph)}
        self._exchange(present, quads)

    def _exists(self, graph: object) -> bool:
        """Whether a graph holds anything."""
        if not isinstance(graph, ox.NamedNode):
            return False
        return next(self._store.quads_for_pattern(None, None, None, graph), None) is not None

    def _exchange(self, present: set[ox.Quad], wanted: set[ox.Quad]) -> None:
        self._store.extend(list(wanted - present))
        for quad in present - wanted:
            self._store.remove(quad)

    def _name_blank_nodes(self) -> None:
        found = self._store.query(_BLANK)
        assert isinstance(found, ox.QuerySolutions)  # noqa: S101 - it is a SELECT
        quads = {ox.Quad(*row) for row in found}
        quads |= {q for q in self.quads(None) if _is_blank(q.subject) or _is_blank(q.object)}
        self._exchange(quads, set(Skolemizer(self.base).quads(quads)))

    def _derive(self) -> None:
        if self._minter is None:
            return
        reader = GraphReader(self._port, self._minter)
        try:
            wanted = set(rebuild(reader).insert)
        except SaragError as error:
            raise RequestError(
                409, f"nothing was written: the traversed graph cannot be derived then: {error}"
            ) from error
        self._exchange(set(self.quads(self._minter.kg_graph)), wanted)

    def _describe(self) -> None:
        """The graph's own description as it was, but for graphs that are gone, newly revised."""
        if self._minter is None:
            return
        graph = ox.NamedNode(self._minter.meta_graph)
        node = ox.NamedNode(self._minter.knowledge_graph)
        revision = ox.Quad(node, SARAG.revision, ox.Literal(uuid.uuid4().hex), graph)
        lost = {q.subject for q in self._described if not self._exists(q.object)}
        kept = {q for q in self._own if q.predicate != SARAG.revision and q.subject not in lost}
        self._exchange(set(self.quads(graph.value)), kept | {revision})


def _is_blank(term: object) -> bool:
    return isinstance(term, ox.BlankNode)
