"""Change tracking: which nodes were added, deleted or changed between two revisions of a graph.

A `Journal` belongs to the reader of a writer, and records every change that gives the graph a new
revision. Cached indexes and arrays are updated from its `Delta`; without one they are rebuilt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pyoxigraph import Quad

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, GraphStore
from sarag_rdf.base.vocab import RDF, SARAG, SKOS, iri

Kind = Literal["description", "relationship", "document", "entity"]
KINDS: tuple[Kind, ...] = ("description", "relationship", "document", "entity")

MAX_TOUCHED = 200_000
"""Nodes; if a change touches more, everything is rebuilt."""
_CLASSES: Mapping[str, Kind] = {
    SARAG.Description.value: "description",
    SARAG.Relationship.value: "relationship",
    SARAG.Document.value: "document",
}


@dataclass(frozen=True, slots=True)
class Delta:
    """The possible differences between two revisions of the graph of documents.

    `touched` are the IRIs of each kind that were added, deleted or may have another text.
    `derived` are the subjects of added and deleted triples of the traversed graph. `links` is true
    if links between graphs changed.
    """

    before: str
    after: str
    touched: Mapping[Kind, frozenset[str]]
    derived: frozenset[str] = frozenset()
    links: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing that is searched differs."""
        return not (self.derived or self.links or any(self.touched.values()))


class Journal:
    """Accumulates the changes of one writer."""

    def __init__(self) -> None:
        self._touched: defaultdict[Kind, set[str]] = defaultdict(set)
        self._derived: set[str] = set()
        self._links = False
        self._before: str | None = None
        self._after = ""
        self._is_usable = True

    def note(
        self, store: GraphStore, minter: Minter, change: Change, before: str, after: str
    ) -> None:
        """Record a change before it is made, with the revisions before and after it.

        A change that cannot be described by nodes, such as an import, invalidates the journal.
        """
        if self._before is None:
            self._before = before
        self._is_usable &= bool(before) and self._after in ("", before)
        self._after = after
        for graph in change.drop:
            if not self._is_usable:
                return
            kind = minter.kind_of(graph)
            if kind == "sources":
                self._add_quads(minter, store.quads(graph))
            elif kind not in ("quarantine", "ontologies"):
                self._is_usable = False
        self._add_quads(minter, change.delete)
        self._add_quads(minter, change.insert)
        touched = sum(map(len, self._touched.values())) + len(self._derived)
        self._is_usable &= touched <= MAX_TOUCHED

    def _add_quads(self, minter: Minter, quads: Iterable[Quad]) -> None:
        if not self._is_usable:
            return
        own, links, meta = minter.kg_graph, minter.links_graph, minter.meta_graph
        imports = f"{minter.base}import/"
        for quad in quads:
            graph = iri(quad.graph_name)
            if graph == own:
                self._derived.add(iri(quad.subject))
                if quad.predicate in (RDF.type, SKOS.prefLabel):
                    self._touched["entity"].add(iri(quad.subject))
            elif graph == links:
                self._links = True
            elif graph == meta:
                self._is_usable &= not iri(quad.subject).startswith(imports)
            elif quad.predicate == RDF.type and minter.kind_of(graph) == "sources":
                kind = _CLASSES.get(str(getattr(quad.object, "value", "")))
                if kind:
                    self._touched[kind].add(iri(quad.subject))

    def delta(self, revision: str) -> Delta | None:
        """The accumulated changes up to this revision; None if they are not known."""
        if not self._is_usable or not self._before or self._after != revision:
            return None
        touched = {kind: frozenset(self._touched[kind]) for kind in KINDS}
        return Delta(self._before, revision, touched, frozenset(self._derived), self._links)
