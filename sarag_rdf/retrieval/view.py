"""The data that retrievers read: one revision of a graph, its vectors, words, names and network."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import astuple
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, Final, Generic, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Merge, Rows, find, find_all, narrow
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Arrays, Vector
from sarag_rdf.base.types import Document, EntityType, Query
from sarag_rdf.graph.graph_reader import DOCUMENTS, Delta, GraphReader, Kind
from sarag_rdf.graph.ontology.schema import ActivationRule, Rules, rules_of, with_weights
from sarag_rdf.graph.texts import entity_labels, full_documents, relationship_texts
from sarag_rdf.graph.valid_time import moment_of, not_holding, stated_times, timed
from sarag_rdf.graph.vectors.graph_vectors import NODES, GraphVectors
from sarag_rdf.graph.vectors.search_indexes import Bm25Index
from sarag_rdf.retrieval.activation import Steering
from sarag_rdf.retrieval.network import (
    ArrayNetwork,
    Iris,
    Network,
    StoreNetwork,
    network_arrays,
    updated_arrays,
)

Engine = Literal["auto", "memory", "sparql"]
"""Where traversal takes place; ``auto`` is SPARQL for an endpoint, else memory."""
AT_ONCE = 10_000
"""Nodes whose texts are read at a time, when those of all are."""
CACHED = 10_000
"""The most documents, labels and statements that stay in memory if the store is elsewhere."""
_Derived = TypeVar("_Derived")
_Read = TypeVar("_Read")


class GraphView:
    """One revision of a graph; its network, words and vectors are loaded at their first use."""

    def __init__(
        self,
        reader: GraphReader,
        vectors: GraphVectors,
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
        is_remote = engine == "auto" and reader.store.is_shared
        self._in_store = engine == "sparql" or is_remote
        self._derived: dict[Any, tuple[Any, Any]] = {}
        self._read_documents = _NodeCache(partial(full_documents, reader))
        self._read_labels = _NodeCache(partial(entity_labels, reader))
        self._read_statements = _NodeCache(partial(relationship_texts, reader))

    @property
    def facts(self) -> GraphView:
        """The view of the graph whose statements are activated."""
        return self._facts or self

    def derived(self, make: Callable[..., _Derived], *key: Hashable) -> _Derived:
        """What ``make(view, *key)`` computes from this revision; that of the last key is cached."""
        known = self._derived.get(make)
        if known is None or known[0] != key:
            known = self._derived[make] = key, make(self, *key)
        value: _Derived = known[1]
        return value

    @property
    def names(self) -> Names:
        """Entities by their names."""
        return Names(self)

    @cached_property
    def network(self) -> Network:
        """The edges of the graph, by rows of `iris`: in arrays, or in the store."""
        if self._in_store:
            return StoreNetwork(self.reader, self.iris)
        arrays = self.vectors.cached_arrays(
            "network", lambda: network_arrays(self.reader, self.iris), self._network_after
        )
        return ArrayNetwork(self.iris, arrays)

    def _network_after(self, old: Arrays, delta: Delta) -> Arrays | None:
        before = [iris for kind in NODES if (iris := self.vectors.before(kind)) is not None]
        if len(before) < len(NODES):
            return None
        return updated_arrays(self.reader, old, Iris(*before), self.iris, delta)

    @cached_property
    def iris(self) -> Iris:
        """The documents, entities and relationships by row."""
        return Iris(*(self.vectors.nodes(kind) for kind in NODES))

    def _kept(
        self,
        name: str,
        kind: Kind,
        read: Callable[[Sequence[str]], list[str]],
        every: Callable[[], Iterable[str]] | None = None,
    ) -> IriList:
        """A text for each node of a kind, from the cache.

        `read` reads those of some nodes, and `every` those of all, if that is faster.
        """
        nodes = self.vectors.nodes(kind)

        def read_all() -> Iterator[str]:
            for block in _blocks(len(nodes)):
                yield from read(nodes[block])

        def made(texts: Iterable[str]) -> Arrays:
            return IriList.packed(texts).arrays(name)

        def updated(old: Arrays, delta: Delta) -> Arrays | None:
            touched = sorted(delta.touched[kind])
            if (before := self.vectors.before(kind)) is None or not touched:
                return None if before is None else old
            some = [iri for iri in touched if find(nodes, iri) >= 0]
            texts = (IriList.of_arrays(each, name) for each in (old, made(read(some))))
            return Merge.of(before, touched, some).iris(*texts).arrays(name)

        make = every or read_all
        arrays = self.vectors.cached_arrays(name, lambda: made(make()), updated)
        return IriList.of_arrays(arrays, name)

    @cached_property
    def _labels(self) -> IriList:
        """Type, tab and name of each entity; nothing for one without a label."""

        def read(entities: Sequence[str]) -> list[str]:
            known = entity_labels(self.reader, entities)
            return ["\t".join(known.get(entity, ())[::-1]) for entity in entities]

        return self._kept("labels", "entity", read)

    @cached_property
    def _statements(self) -> IriList:
        """The document and, after a tab, the text of each relationship."""

        def read(relationships: Sequence[str]) -> list[str]:
            known = relationship_texts(self.reader, relationships)
            return ["\t".join(known.get(iri, ())[::-1]) for iri in relationships]

        def every() -> Iterable[str]:
            known = self.vectors.last_texts("relationship")
            return map("\t".join, zip(known.documents, known.texts, strict=True))

        return self._kept("statements", "relationship", read, every)

    def labels(self, entities: Iterable[str]) -> dict[str, tuple[str, EntityType]]:
        """Entity -> (name, type), of those that the graph has."""
        if self._in_store:
            return self._read_labels.of(entities)
        found = {}
        for iri, text in _texts_of(self.iris.entities, self._labels, entities):
            type_, _, name = text.partition("\t")
            found[iri] = name, cast("EntityType", type_)
        return found

    def statements(self, relationships: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Relationship -> (text, IRI of its document), of those that the graph has."""
        if self._in_store:
            return self._read_statements.of(relationships)
        found = {}
        for iri, text in _texts_of(self.iris.relationships, self._statements, relationships):
            document, _, sentence = text.partition("\t")
            found[iri] = sentence, document
        return found

    @cached_property
    def _timed(self) -> IriList:
        arrays = self.vectors.cached_arrays(
            "timed",
            lambda: IriList.of(stated_times(self.reader)).arrays("timed"),
            self._timed_after,
        )
        return IriList.of_arrays(arrays, "timed")

    def _timed_after(self, old: Arrays, delta: Delta) -> Arrays:
        before, touched = IriList.of_arrays(old, "timed"), sorted(delta.touched["relationship"])
        now = IriList.of(stated_times(self.reader, touched))
        return Merge.of(before, touched, now).iris(before, now).arrays("timed")

    def times(self, relationships: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Those of the relationships with a time, and the fields of `base.types.Timed`."""
        # what a reader with rights may see is not for all
        is_kept = not self._in_store and self.reader.readable is None
        some = filter(self._timed.__contains__, relationships) if is_kept else relationships
        return timed(self.reader, some)

    @cached_property
    def _annotated(self) -> Rules:
        return rules_of(row[:-1] for row in self.reader.select_provenance("activation-rules"))

    def rules(self, query: Query) -> Rules:
        """The activation weights of annotations and of the query; raises `UsageError`."""
        return with_weights(self._annotated, query.weights)

    def steering(self, query: Query) -> Steering | None:
        """What steers activation; None without activation weights and absent relationships."""
        rules = self.rules(query)
        if not (rules or self.absent(query)):
            return None
        return self.derived(_steering, query.at, *rules.items())

    def absent(self, query: Query) -> frozenset[str]:
        """The relationships that are deprecated, or did not hold at the time of the question.

        Raises `UsageError` for what is no time.
        """
        return self.derived(_absent, query.at)

    @cached_property
    def words(self) -> Bm25Index:
        """BM25 over the documents with their titles, in the order of their IRIs."""
        return self.vectors.words()

    @cached_property
    def name_index(self) -> NameIndex:
        """The names of entities by their trigrams, in the order of their IRIs."""
        reader, entities = self.reader, self.iris.entities

        def update(old: Arrays, delta: Delta) -> Arrays | None:
            before = self.vectors.before("entity")
            if before is None:
                return None
            return updated_name_arrays(reader, old, before, entities, delta)

        make = partial(name_arrays, reader, entities)
        return NameIndex(self.vectors.cached_arrays("name-index", make, update))

    def prepare(self) -> None:
        """Build the arrays that are cached between runs, or update them to this revision."""
        _ = self.words, self.network, self.name_index
        _ = self._in_store or (self._labels, self._pages, self._statements, self._timed)

    @cached_property
    def _pages(self) -> IriList:
        """The fields of each document but its IRI, as JSON."""

        def fields(found: Mapping[str, Document], iri: str) -> str:
            return json.dumps(astuple(found[iri])[1:]) if iri in found else ""

        def read(documents: Sequence[str]) -> list[str]:
            found = full_documents(self.reader, documents)
            return [fields(found, iri) for iri in documents]

        def every() -> Iterator[str]:
            known = self.vectors.last_texts("document")
            for block in _blocks(len(known.iris)):
                iris, texts = known.iris[block], known.texts[block]
                found = full_documents(self.reader, iris, dict(zip(iris, texts, strict=True)))
                yield from (fields(found, iri) for iri in iris)

        return self._kept("pages", "document", read, every)

    def documents(self, iris: Iterable[str]) -> dict[str, Document]:
        """Documents by IRI, without those that the graph does not have."""
        if self._in_store:
            return self._read_documents.of(iris)
        pairs = _texts_of(self.iris.documents, self._pages, iris)
        return {iri: Document(iri, *json.loads(text)) for iri, text in pairs}

    def relationship_cosines(self, question: Vector, rows: Rows) -> NDArray[np.float32]:
        """Cosines of relationships, by row."""
        return self.vectors.index("relationship").cosines(question, rows)


class _NodeCache(Generic[_Read]):
    """What queries read of nodes, which stays in memory for at most `CACHED` of them."""

    def __init__(self, read: Callable[[Iterable[str]], Mapping[str, _Read]]) -> None:
        self._read = read
        self._known: dict[str, _Read | None] = {}

    def of(self, iris: Iterable[str]) -> dict[str, _Read]:
        """Node -> what was read of it, of those that the graph has."""
        requested, known = set(iris), self._known
        if missing := requested - known.keys():
            if len(known) + len(missing) > CACHED:
                known, missing = {}, requested
            found = self._read(missing)
            # another thread may be reading the old ones
            known = self._known = {**known, **{iri: found.get(iri) for iri in missing}}
        return {iri: value for iri in requested if (value := known[iri]) is not None}


def _blocks(size: int) -> Iterator[slice]:
    """The places in a list, `AT_ONCE` of them at a time."""
    return (slice(begin, begin + AT_ONCE) for begin in range(0, size, AT_ONCE))


def _texts_of(
    iris: Sequence[str], texts: IriList, requested: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Each requested IRI with its text, of those that have one."""
    some = [*set(requested)]
    for iri, row in zip(some, find_all(iris, some).tolist(), strict=True):
        if row >= 0 and (text := texts[row]):
            yield iri, text


def _steering(view: GraphView, at: str, *rules: tuple[str, ActivationRule]) -> Steering:
    absent = view.absent(Query("", at=at))
    return Steering(view.reader, view.iris, dict(rules), absent)


def _absent(view: GraphView, at: str) -> frozenset[str]:
    rows = view.reader.select_provenance("deprecated-relationships")
    deprecated = frozenset(relationship.value for (relationship,) in rows)
    return deprecated | not_holding(view.reader, moment_of(at)) if at else deprecated


OWNERS = 4
"""The most entities of one name; a name of more is ignored."""


class Names:
    """Looks up entities by normalised names."""

    def __init__(self, view: GraphView) -> None:
        self._view, self._reader = view, view.reader

    def entities(
        self, names: Iterable[str], among: Container[str] | None = None
    ) -> dict[str, dict[str, float]]:
        """Name -> its entities (of those `among`), with shares in (0, 1], for all known names.

        Several entities of one name (up to `OWNERS`), of the documents or of the imported graphs,
        share it.
        """
        shares: defaultdict[str, dict[str, float]] = defaultdict(dict)
        owners = self._view.name_index.owners(set(names))
        alone = {}
        if not self._reader.imported.parts and self._reader.readable is None:
            every = self._view.iris.entities
            alone = {name: [every[rows[0]]] for name, rows in owners.items() if len(rows) == 1}
        rest = {name: rows for name, rows in owners.items() if name not in alone}
        for part in (alone, self._in_documents(rest), self._in_others(rest)):
            for name, every in part.items():
                entities = [e for e in every if among is None or e in among]
                if entities:
                    shares[name] |= dict.fromkeys(entities, 1.0 / len(entities))
        return dict(shares)

    def _in_documents(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The entities of names, or of what they are aliases of; a split name has several."""
        reader = self._reader
        if all(part.name != DOCUMENTS for part in reader.parts):
            return {}
        mentions = {reader.minter.mention(name): name for name in names}
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for owner, alias, _ in reader.select_provenance_for("alias-owners", mentions):
            owners[alias.value].add(owner.value)
        few = {alias: several for alias, several in owners.items() if len(several) <= OWNERS}
        variants = {mention: {mention} for mention in mentions}
        for mention, variant in reader.select_provenance_for("name-variants", mentions):
            variants[mention.value].add(variant.value)
        requested = set[str]().union(*few.values(), *variants.values())
        rows = reader.select_provenance_for("mention-targets", requested)
        targets = {mention.value: entity.value for mention, entity in rows}
        entities = {}
        for mention, name in mentions.items():
            own = {targets[variant] for variant in variants[mention] if variant in targets}
            if not 0 < len(own) <= OWNERS:
                own = {targets[owner] for owner in few.get(mention, ()) if owner in targets}
            if own:
                entities[name] = sorted(own)
        return entities

    def _in_others(self, owners: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
        """The entities of imported graphs with these names, of `owners` by name."""
        rows = {row for several in owners.values() for row in several}
        entities = map(self._view.iris.entities.__getitem__, sorted(rows))
        named: defaultdict[str, set[str]] = defaultdict(set)
        for entity, name in self._reader.imported.rows_for("entity-names", entities):
            named[normalize_name(name.value)].add(entity.value)
        return {name: sorted(named[name]) for name in owners if 0 < len(named[name]) <= OWNERS}


# -------------------------------------------------------------------------------- Names by trigrams

CANDIDATES: Final = 50
"""The entities whose names have most trigrams in common with some words."""
POSTINGS: Final = 100_000
"""The most entities by trigram that are looked at for some words, those of rare ones first."""
SHARED: Final = 50
"""The most entities of one name that are told."""


class NameIndex:
    """The names of entities by row; reads only what is looked up.

    `keys` are hashes of normalised names, ascending, and `owners` the rows of their entities.
    """

    def __init__(self, arrays: Arrays) -> None:
        """`arrays` are those of `name_arrays`."""
        self.arrays = arrays
        self._names = IriList.of_arrays(arrays, "names")
        self._index = Bm25Index.of_arrays(arrays)

    def owners(self, names: Collection[str]) -> dict[str, list[int]]:
        """Normalised name -> rows of its entities, none if it has more than `SHARED`.

        Names that the graph does not have are absent, except for collisions of hashes.
        """
        keys, owners, own = self.arrays["keys"], self.arrays["owners"], _keys(names)
        ends = (np.searchsorted(keys, own, side).tolist() for side in ("left", "right"))
        return {
            name: owners[begin:end].tolist() if end - begin <= SHARED else []
            for name, begin, end in zip(names, *ends, strict=True)
            if begin < end
        }

    def candidates(self, text: str) -> Iterator[tuple[int, str]]:
        """Rows of the entities with most in common with a text, and each name of theirs."""
        for row in self._index.sharing(trigrams(text), CANDIDATES, POSTINGS).tolist():
            for name in self._names[row].split("\n"):
                yield row, name


def name_arrays(reader: GraphReader, entities: Iterable[str]) -> Arrays:
    """The arrays of a `NameIndex` of entities, in their order."""
    names = _by_entity(reader.rows("names"))
    return arrays_of_names([names.get(entity, "") for entity in entities])


def updated_name_arrays(
    reader: GraphReader, old: Arrays, before: IriList, after: Sequence[str], delta: Delta
) -> Arrays:
    """The arrays after a change, for the entities `before` and `after` it."""
    touched = sorted(delta.derived | delta.touched["entity"])
    names = _by_entity(reader.rows_for("entity-names", touched))
    entities = [iri for iri in touched if find(after, iri) >= 0]
    texts = [names.get(iri, "") for iri in entities]
    merge = Merge.of(before, touched, entities)
    if not merge.size:
        return old
    index = Bm25Index.of_arrays(old).changed(merge, [trigrams(text) for text in texts])
    merged = merge.iris(IriList.of_arrays(old, "names"), IriList.packed(texts))
    moved, (keys, rows) = merge.rows(len(before))[old["owners"]], _owners(texts)
    keys = np.concatenate((old["keys"][moved >= 0], keys))
    owners = _ascending(keys, np.concatenate((moved[moved >= 0], merge.new_rows()[rows])))
    return index.arrays() | merged.arrays("names") | owners


def trigrams(names: str) -> str:
    """The trigrams of the words of names, one a line: "_lu lud udw dwi wig ig_" for Ludwig.

    Letters are normalised as in `normalize_name`.
    """
    words = {f"_{word}_" for name in names.split("\n") for word in normalize_name(name).split()}
    return " ".join(word[at : at + 3] for word in sorted(words) for at in range(len(word) - 2))


def arrays_of_names(texts: Sequence[str]) -> Arrays:
    """The arrays of a `NameIndex` of the names of each entity, one a line."""
    index = Bm25Index(map(trigrams, texts)).arrays()
    return index | IriList.packed(texts).arrays("names") | _ascending(*_owners(texts))


def _owners(texts: Sequence[str]) -> tuple[Rows, Rows]:
    """The keys of the names in each text, one a line, and the positions of the texts."""
    names = [sorted(set(map(normalize_name, text.split("\n")))) if text else [] for text in texts]
    return _keys(name for own in names for name in own), np.repeat(
        np.arange(len(names)), np.array([*map(len, names)], dtype=np.int64)
    )


def _keys(names: Iterable[str]) -> Rows:
    encoded = (name.encode("utf-8", "surrogatepass") for name in names)
    return np.frombuffer(b"".join(blake2b(e, digest_size=8).digest() for e in encoded), "<i8")


def _ascending(keys: Rows, rows: Rows) -> dict[str, NDArray[Any]]:
    order = np.lexsort((rows, keys))
    return {"keys": keys[order], "owners": narrow(rows[order])}


def _by_entity(rows: Iterable[tuple[Any, ...]]) -> dict[str, str]:
    """Entity -> its names, one a line."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for entity, name in rows:
        names[entity.value].add(" ".join(name.value.split()))
    return {entity: "\n".join(sorted(several)) for entity, several in names.items()}
