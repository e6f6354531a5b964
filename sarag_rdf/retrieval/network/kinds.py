"""The kinds of edges that activation spreads over: one row of `EDGE_KINDS` for each.

A row names the nodes that an edge joins, its RDF property and the query files that read it
(``queries/<graph kind>/<name>.rq``). Loading, caching, traversal and spreading work from this
table: another kind of edge between entities is another row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sarag_rdf.base.types import EdgeKindName, NodeType
from sarag_rdf.base.vocab import SARAG, SKOS

Column = Literal["source", "target", "statement"]
"""What a variable of a query result is to an edge."""
Reload = Literal["source", "statement", "all"]
"""Which edges are read again after a change of documents: those of sources that changed, those
of statements that changed, or all."""


@dataclass(frozen=True, slots=True)
class EdgeQuery:
    """A query file by its name, with the meaning of its result columns, in order."""

    name: str
    columns: tuple[Column, ...] = ("source", "target")


@dataclass(frozen=True, slots=True, eq=False)
class EdgeKind:
    """One kind of edge, directed from `source` to `target`; equal only to itself.

    predicate: IRI of the RDF property of an edge, unless its statement stands for a triple.
    query: reads all edges. by_source, by_target: read the edges of given nodes; a kind without
    them is read with `query` and searched in memory, which suits kinds with few edges.
    subkind_of: the kind that has an edge between the same nodes wherever this one does
    (rdfs:subPropertyOf).
    is_identity: whether an edge joins two nodes for one thing. Activation then passes whole, in
    both directions, and edges that leave the graph are ignored.
    has_statements: whether an edge has a statement of its own, with a text that is compared with
    the question.
    reload: the edges that are read again after a change of documents.
    weight: the default weight of an edge, in [0, 1].
    """

    name: EdgeKindName
    source: NodeType
    target: NodeType
    predicate: str
    query: EdgeQuery
    by_source: EdgeQuery | None = None
    by_target: EdgeQuery | None = None
    subkind_of: EdgeKind | None = None
    is_identity: bool = False
    has_statements: bool = False
    reload: Reload = "all"
    weight: float = 1.0

    @property
    def is_association(self) -> bool:
        """Whether an edge joins two different entities, so that activation decays over it."""
        return self.source == self.target == "entity" and not self.is_identity


DESCRIBES = EdgeKind(
    "describes",
    "document",
    "entity",
    SARAG.describes.value,
    EdgeQuery("document-entities"),
    by_source=EdgeQuery("described-by"),
    by_target=EdgeQuery("entity-documents", ("target", "source")),
    reload="source",
)
"""A document describes an entity."""

ABOUT = EdgeKind(
    "about",
    "document",
    "entity",
    SARAG.about.value,
    EdgeQuery("document-topics"),
    by_target=EdgeQuery("entity-topics", ("target", "source")),
    subkind_of=DESCRIBES,
    reload="source",
)
"""An entity is the topic of a document."""

RELATED_TO = EdgeKind(
    "related_to",
    "entity",
    "entity",
    SARAG.relatedTo.value,
    EdgeQuery("relationship-ends", ("statement", "source", "target")),
    by_source=EdgeQuery("links", ("statement", "source", "target")),
    by_target=EdgeQuery("links-to", ("statement", "source", "target")),
    has_statements=True,
    reload="statement",
)
"""A relationship between two entities; its statement is the relationship."""

SAME_AS = EdgeKind(
    "same_as",
    "entity",
    "entity",
    SKOS.exactMatch.value,
    EdgeQuery("identities"),
    is_identity=True,
)
"""Two entities, of different graphs mostly, are the same thing."""

EDGE_KINDS = (DESCRIBES, ABOUT, RELATED_TO, SAME_AS)
