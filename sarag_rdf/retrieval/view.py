"""The data that retrievers read: one revision of a graph, its vectors, words, names and network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Rows, packed
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Arrays, Matrix, Vector, WordIndex
from sarag_rdf.base.types import Document, Query
from sarag_rdf.graph.delta import Delta
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.ontology.schema import Rules, weights_text, with_weights
from sarag_rdf.graph.texts import entity_labels, full_documents
from sarag_rdf.graph.vectors.graph_vectors import NODES, GraphVectors
from sarag_rdf.retrieval.network.load import StoreNetwork, network_arrays, updated_arrays
from sarag_rdf.retrieval.network.network import ArrayNetwork, Iris, Network
from sarag_rdf.retrieval.network.steering import Steering, read_rules

Engine = Literal["auto", "memory", "sparql"]
"""Where traversal takes place; ``auto`` is SPARQL for an endpoint, else memory."""
CACHED = 10_000
"""The most documents whose texts stay in memory."""
_Derived = TypeVar("_Derived")


class GraphView:
    """One revision of a graph; its network, words and vectors are loaded at their first use."""

    def __init__(
        self,
        reader: GraphReader,
        vectors: GraphVectors,
        word_index: Callable[[Sequence[str]], WordIndex],
        *,
        engine: Engine = "auto",
        facts: GraphView | None = None,
    ) -> None:
        """`engine` is where traversal takes place.

        `facts` is the view of another graph whose statements are activated (KG-Infused RAG), if
        it is not this one.
        """
        self._facts = facts
        self.reader = reader
        self.vectors = vectors
        self.word_index = word_index
        self.names = Names(reader, vectors.cached_arrays)
        self._engine = engine
        self._documents: dict[str, Document] = {}
        self._steering: dict[str, Steering] = {}
        self._derived: dict[Any, Any] = {}

    @property
    def facts(self) -> GraphView:
        """The view of the graph whose statements are activated."""
        return self._facts or self

    def derived(self, make: Callable[[GraphView], _Derived]) -> _Derived:
        """What `make` computes from this revision; it is called once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        known: _Derived = self._derived[make]
        return known

    @cached_property
    def network(self) -> Network:
        """The edges of the graph, by rows of `iris`: in arrays, or in the store."""
        if self._engine == "sparql" or (self._engine == "auto" and self.reader.store.is_shared):
            return StoreNetwork(self.reader, self.iris)
        arrays = self.vectors.cached_arrays(
            "network", lambda: network_arrays(self.reader, self.iris), self._network_after
        )
        return ArrayNetwork(self.iris, arrays)

    def _network_after(self, old: Arrays, delta: Delta) -> Arrays | None:
        before = [self.vectors.before(kind) for kind in NODES]
        known = [iris for iris in before if iris is not None]
        if len(known) < len(before):
            return None
        return updated_arrays(self.reader, old, Iris(*known), self.iris, delta)

    @cached_property
    def iris(self) -> Iris:
        """The documents, entities and relationships by row."""
        return Iris(*(self.vectors.nodes(kind) for kind in NODES))

    @cached_property
    def _annotated(self) -> Rules:
        return read_rules(self.reader)

    def rules(self, query: Query) -> Rules:
        """The activation weights of properties and classes: annotations, and those of the query.

        Raises `UsageError` for a weight that is not allowed.
        """
        return with_weights(self._annotated, query.weights)

    def steering(self, query: Query) -> Steering | None:
        """What steers activation; None without activation weights."""
        rules = self.rules(query)
        if not rules:
            return None
        key = weights_text(rules)
        if key not in self._steering:
            self._steering = {key: Steering(self.reader, self.iris, rules)}
        return self._steering[key]

    @cached_property
    def words(self) -> WordIndex:
        """BM25 over the documents with their titles, in the order of their IRIs."""
        return self.vectors.words()

    def prepare(self) -> None:
        """Build the arrays that are cached between runs, or update them to this revision."""
        self.vectors.keep("names")
        _ = self.words, self.network

    def documents(self, iris: Iterable[str]) -> dict[str, Document]:
        """Documents by IRI, without those that the graph does not have."""
        requested = set(iris)
        missing = requested - self._documents.keys()
        read = full_documents(self.reader, missing)
        if len(self._documents) + len(read) > CACHED:
            self._documents.clear()
            read = full_documents(self.reader, requested)
        self._documents |= read
        return {iri: self._documents[iri] for iri in requested if iri in self._documents}

    def relationship_cosines(self, question: Vector, rows: Rows) -> NDArray[np.float32]:
        """Cosines of relationships, by row."""
        return self.vectors.index("relationship").cosines(question, rows)

    def name_vectors(self, entities: Sequence[str]) -> Matrix:
        """Vectors of the names of a few entities, which are embedded like a question."""
        names = entity_labels(self.reader, entities)
        return self.vectors.embedder.embed([names[entity][0] for entity in entities])

    def entity_vectors(self, rows: Rows) -> Matrix:
        """Vectors of the names of entities, by row; those of all entities are needed."""
        return self.vectors.index("entity").vectors(rows)

    def document_vectors(self, rows: Rows) -> Matrix:
        """Vectors of documents, by row."""
        return self.vectors.index("document").vectors(rows)


OWNERS = 4
"""The most entities of one name; a name of more is ignored."""


class Names:
    """Looks up entities by normalised names."""

    def __init__(
        self,
        reader: GraphReader,
        cached: Callable[[str, Callable[[], Arrays]], Arrays] = lambda _, make: make(),
    ) -> None:
        """`cached` may store arrays, by name, between runs."""
        self._reader = reader
        self._cached = cached

    def entities(
        self, names: Iterable[str], among: Container[str] | None = None
    ) -> dict[str, dict[str, float]]:
        """Name -> its entities (of those `among`), with shares in (0, 1], for all known names.

        Several entities of one name (up to `OWNERS`), of the documents or of the imported graphs,
        share it.
        """
        shares: defaultdict[str, dict[str, float]] = defaultdict(dict)
        requested = set(names)
        for part in (self._in_documents(requested), self._in_others(requested)):
            for name, every in part.items():
                entities = [e for e in every if among is None or e in among]
                if entities:
                    shares[name] |= dict.fromkeys(entities, 1.0 / len(entities))
        return dict(shares)

    def _in_documents(self, names: set[str]) -> dict[str, list[str]]:
        """An alias that no document uses by itself names the entities that it is an alias of.

        A name that a decision splits among several entities names each of them.
        """
        reader = self._reader
        if all(part.name != DOCUMENTS for part in reader.parts):
            return {}
        mentions = {reader.minter.mention(name): name for name in names}
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for owner, alias, _ in reader.select_provenance_for("alias-owners", mentions):
            owners[alias.value].add(owner.value)
        few = {
            alias: alias_owners
            for alias, alias_owners in owners.items()
            if len(alias_owners) <= OWNERS
        }
        variants: defaultdict[str, set[str]] = defaultdict(set)
        for mention, variant in reader.select_provenance_for("name-variants", mentions):
            variants[mention.value].add(variant.value)
        requested = mentions.keys() | set().union(*few.values(), *variants.values())
        rows = reader.select_provenance_for("mention-targets", requested)
        targets = {mention.value: entity.value for mention, entity in rows}
        named = {
            alias: sorted({targets[owner] for owner in alias_owners if owner in targets})
            for alias, alias_owners in few.items()
        }
        for mention in mentions:
            own = {targets[name] for name in (mention, *variants[mention]) if name in targets}
            if own and len(own) <= OWNERS:
                named[mention] = sorted(own)
        return {mentions[m]: entities for m, entities in named.items() if entities}

    def _in_others(self, names: set[str]) -> dict[str, list[str]]:
        return {name: sorted(self._known[name]) for name in names if name in self._known}

    @cached_property
    def _known(self) -> Mapping[str, set[str]]:
        if not self._reader.imported.parts:
            return {}
        arrays = self._cached("names", self._pairs)
        known: defaultdict[str, set[str]] = defaultdict(set)
        columns = (IriList.of_arrays(arrays, column) for column in ("names", "entities"))
        for name, entity in zip(*columns, strict=True):
            known[name].add(entity)
        return {name: entities for name, entities in known.items() if len(entities) <= OWNERS}

    def _pairs(self) -> Arrays:
        rows = self._reader.imported.rows("names")
        pairs = sorted({(normalize_name(name.value), entity.value) for entity, name in rows})
        names, entities = (IriList(*packed([pair[end] for pair in pairs])) for end in (0, 1))
        return names.arrays("names") | entities.arrays("entities")
