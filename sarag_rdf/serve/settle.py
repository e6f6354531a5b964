"""Makes of what a write changes one atomic change that keeps what must hold of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyoxigraph as ox

from sarag_rdf.errors import SaragError
from sarag_rdf.graph.meta import read_meta
from sarag_rdf.graph.revision import revised
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.skolem import Skolemizer, has_blank_node
from sarag_rdf.index.decisions import Decided, decisions_of
from sarag_rdf.index.gate import inspect_evidence
from sarag_rdf.index.refresh import refresh, refresh_anew
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Change
from sarag_rdf.serve.difference import Difference, quads_in
from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.shacl.data import Data
from sarag_rdf.shacl.engine import validate
from sarag_rdf.shacl.shapes import read_shapes
from sarag_rdf.stores.oxigraph import OxigraphStore
from sarag_rdf.vocab import RDF, SARAG


class Settler:
    """Decides on writes to one graph, and makes them."""

    def __init__(self, reader: GraphReader, store: OxigraphStore) -> None:
        """`reader` reads `store`, which is open for writing."""
        self._reader = reader
        self._store = store
        meta = read_meta(store)
        self._minter = Minter(meta.base) if meta else None
        self._skolemizer = Skolemizer(reader.minter.base)

    def refuse_own(self, graphs: Iterable[str]) -> None:
        """Raise `RequestError` (403) if one of the graphs is the library's to write."""
        for graph in graphs:
            if self._is_own(graph):
                raise RequestError(
                    403,
                    f"{graph} is derived, described or imported by sarag: write to the graph of a "
                    "source or to a graph of your own, or import it again",
                )

    def write(self, difference: Difference) -> None:
        """Change what differs, and all that follows from it, in one step of the store.

        Raises `RequestError` for a change after which sarag could not read the graph, and
        `StoreError`; nothing was written then.
        """
        own = {graph for graph in difference.graphs if graph and self._is_own(graph)}
        is_reset = bool(own) and self._is_reset(difference)
        if not is_reset:
            self.refuse_own(sorted(own))
        self._refuse_other_base(difference)
        lasting = {self._reader.minter.kg_graph, self._reader.minter.meta_graph} & own
        drop = (difference.removed | own) - lasting
        delete: list[ox.Quad] = []
        insert: list[ox.Quad] = []
        sources: dict[str, Sequence[ox.Quad]] = {}
        for graph in difference.graphs:
            if graph in own:
                continue
            gone = difference.gone.get(graph, set())
            is_blank = any(map(has_blank_node, gone))
            if graph is not None and self._is_source(graph):
                sources[graph] = self._checked_source(graph, self._content(difference, graph))
                continue
            if graph is None and is_blank:
                raise RequestError(
                    409, "the default graph holds blank nodes, which cannot be deleted one by one"
                )
            if graph is not None:
                self._check_shapes(graph, difference)
            if graph in difference.emptied:
                drop.add(graph)
            elif graph is not None and is_blank:
                drop.add(graph)
                insert += self._content(difference, graph)
            else:
                delete += gone
                insert += self._come(difference, graph)
        change = Change(tuple(sorted(drop)), tuple(delete), tuple(insert))
        if self._minter is not None:
            change = self._with_derived(change, sources, difference, is_reset=is_reset)
        create = (difference.created | difference.emptied) - difference.removed - own
        self._store.apply(change, create=sorted(create))

    def _with_derived(
        self,
        change: Change,
        sources: Mapping[str, Sequence[ox.Quad]],
        difference: Difference,
        *,
        is_reset: bool,
    ) -> Change:
        """The change with what it means for the traversed graph, and with a new revision."""
        minter = self._reader.minter
        evidence = [quad for content in sources.values() for quad in content]
        delete = (*change.delete, *self._of_lost_imports()) if is_reset else change.delete
        try:
            if is_reset or minter.decisions_graph in difference.graphs:
                decisions = decisions_of(self._content(difference, minter.decisions_graph))
                decided = Decided.of(decisions, minter)
                derived = refresh_anew(self._reader, tuple(sources), evidence, decided)
            elif sources:
                derived = self._refreshed(tuple(sources), evidence)
            else:
                derived = Change()
        except SaragError as error:
            raise RequestError(
                409, f"nothing was written: the traversed graph cannot be derived then: {error}"
            ) from error
        change = Change(
            (*dict.fromkeys((*change.drop, *derived.drop)),),
            (*delete, *derived.delete),
            (*change.insert, *derived.insert),
        )
        return revised(self._reader, change)

    def _refreshed(self, drop: Sequence[str], evidence: Sequence[ox.Quad]) -> Change:
        """By what differs; by all evidence where what was there before cannot be read."""
        try:
            return refresh(self._reader, drop, evidence)
        except SaragError:
            return refresh_anew(self._reader, drop, evidence)

    def _come(self, difference: Difference, graph: str | None) -> list[ox.Quad]:
        """What comes into a graph; blank nodes have IRIs."""
        return list(self._skolemizer.quads(difference.come.get(graph, set())))

    def _content(self, difference: Difference, graph: str) -> list[ox.Quad]:
        """All that a graph will hold; blank nodes have IRIs."""
        if graph in difference.emptied:
            return []
        stay = set(quads_in(self._store.engine, graph)) - difference.gone.get(graph, set())
        return [*self._skolemizer.quads(stay), *self._come(difference, graph)]

    def _is_own(self, graph: str) -> bool:
        """Whether a graph is the library's to write: derived, its description, or imported."""
        minter = self._minter
        return minter is not None and (
            graph in (minter.kg_graph, minter.meta_graph)
            or graph.startswith(minter.imported_graphs)
        )

    def _is_source(self, graph: str) -> bool:
        return self._minter is not None and graph.startswith(self._minter.source_graphs)

    def _is_reset(self, difference: Difference) -> bool:
        """Whether a write clears all that is the library's at once, as ``CLEAR ALL`` does.

        Then the description stays, without what it says of imported graphs, and the traversed
        graph is what follows from the evidence that is left.
        """
        there = {g.value for g in self._store.engine.named_graphs() if isinstance(g, ox.NamedNode)}
        own = (graph for graph in there if self._is_own(graph))
        return all(g in difference.emptied or not self._holds(g) for g in own)

    def _holds(self, graph: str) -> bool:
        return next(quads_in(self._store.engine, graph), None) is not None

    def _of_lost_imports(self) -> list[ox.Quad]:
        """What the description says of imported graphs."""
        described = list(quads_in(self._store.engine, self._reader.minter.meta_graph))
        lost = {quad.subject for quad in described if quad.predicate == SARAG.graph}
        return [quad for quad in described if quad.subject in lost]

    def _checked_source(self, graph: str, content: Sequence[ox.Quad]) -> Sequence[ox.Quad]:
        """The content of a source graph; raises `RequestError` (409) for what is not evidence."""
        report = inspect_evidence(content)
        if not report.conforms:
            raise _not_conforming(graph, str(report.violations[0]))
        described = {
            q.subject for q in content if (q.predicate, q.object) == (RDF.type, SARAG.Source)
        }
        named = [self._reader.minter.source_graph(str(getattr(s, "value", ""))) for s in described]
        if content and named != [graph]:
            raise _not_conforming(graph, "it has to describe one source, that of its name")
        return content

    def _check_shapes(self, graph: str, difference: Difference) -> None:
        """Raise `RequestError` (409) for what may not stand beside the traversed graph."""
        if self._minter is None or not graph.startswith(self._minter.graphs):
            return
        report = validate(read_shapes("shapes.ttl"), Data(self._content(difference, graph)))
        if not report.conforms:
            raise _not_conforming(graph, str(report.violations[0]))

    def _refuse_other_base(self, difference: Difference) -> None:
        """Raise `RequestError` (409) for the description of another graph of documents."""
        bases = {self._minter.base} if self._minter else set()
        for graph, quads in difference.come.items():
            said = (
                q.object.value
                for q in quads
                if q.predicate == SARAG.baseIRI and isinstance(q.object, ox.Literal)
            )
            bases.update(base for base in said if graph == Minter(base).meta_graph)
        if len(bases) > 1:
            raise RequestError(
                409,
                f"nothing was written: a store holds one graph of documents, and not those of "
                f"{' and '.join(sorted(bases))}",
            )


def _not_conforming(graph: str, what: str) -> RequestError:
    return RequestError(409, f"nothing was written: {graph} does not conform then: {what}")
