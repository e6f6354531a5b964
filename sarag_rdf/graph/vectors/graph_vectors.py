"""Vector indexes of the texts of a graph, and cached arrays (SA-RAG paper, section 5.3).

They are built on first use, or updated from those of an earlier revision and the changes since.
A kind of text is embedded when its index is first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sarag_rdf.base.arrays import IriList, Merge
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import (
    Arrays,
    Embedder,
    Matrix,
    Vector,
    embed_queries,
)
from sarag_rdf.graph.graph_reader import KINDS, Delta, GraphReader, Kind
from sarag_rdf.graph.texts import Texts, texts_for, texts_of
from sarag_rdf.graph.vectors.search_indexes import Bm25Index, VectorIndex
from sarag_rdf.graph.vectors.vector_store import VectorStore

_LAYOUT = "7"
"""Version of the cached arrays; arrays of another version are rebuilt."""

READ_BY_DEFAULT: tuple[Kind, ...] = ("document", "relationship")
"""Kinds of texts whose vectors the default retriever reads."""
NODES: tuple[Kind, ...] = ("document", "entity", "relationship")
"""Kinds that have rows in the network."""
ARRAYS = (
    *("words", "pages", "labels", "statements", "timed"),
    *(f"{kind}-nodes" for kind in NODES),
    *("name-index", "network"),
)
"""Names of the cached arrays, last those of names and edges, which depend on more than texts."""
_NODES, _IRIS = "nodes", "documents"
UpdateArrays = Callable[[Arrays, Delta], Arrays | None]
"""Arrays after a change: the same object if unaffected, None if they have to be rebuilt."""
EmbedTexts = Callable[[Kind, Sequence[str]], Iterator[Matrix]]
"""Embeds texts of a kind and yields their vectors in blocks, at least one."""
BLOCK = 8192
"""Texts per block."""


def in_blocks(texts: Sequence[str], embed: Callable[[Sequence[str]], Matrix]) -> Iterator[Matrix]:
    """Yield the vectors of texts in blocks; for no texts, one empty block."""
    for begin in range(0, max(1, len(texts)), BLOCK):
        yield embed(texts[begin : begin + BLOCK])


def carry_over(store: VectorStore, model: str, delta: Delta) -> None:
    """After a change that touched no texts, assign the cached indexes to the new revision."""
    if any(delta.touched.values()):
        return
    before, after = (index_key(revision, model) for revision in (delta.before, delta.after))
    for kind in KINDS:
        store.rekey(kind, before, after)
    before, after = (arrays_key(revision, model) for revision in (delta.before, delta.after))
    for name in ARRAYS[:-2] if delta.links or delta.derived else ARRAYS:
        store.rekey(name, before, after)


def index_key(state: str, model: str) -> str:
    """The cache key of an index: from a revision, or a digest of the texts, and the model."""
    return sha256_hex(state, model)


def arrays_key(revision: str, model: str) -> str:
    """The cache key of arrays."""
    return sha256_hex(revision, model, _LAYOUT)


class GraphVectors:
    """The indexes of one revision; without one, vectors are cached by a digest of the texts."""

    def __init__(
        self,
        reader: GraphReader,
        embedder: Embedder,
        store: VectorStore,
        revision: str,
        delta: Delta | None = None,
        questions: Embedder | None = None,
        embed: EmbedTexts | None = None,
    ) -> None:
        """`delta` led to the revision; `questions` embeds questions, `embed` the graph's texts."""
        self._reader = reader
        self._embedder = embedder
        self._questions = questions or embedder
        self._store = store
        self._revision = revision
        self._delta = delta
        self._embed = embed or (lambda _, texts: in_blocks(texts, embedder.embed))
        self._indexes: dict[Kind, VectorIndex] = {}
        self._touched: dict[Kind, Texts] = {}
        self._nodes: dict[Kind, IriList] = {}
        self._before: dict[Kind, IriList] = {}
        self._texts: dict[Kind, Texts] = {}
        self._lock = threading.RLock()

    @property
    def embedder(self) -> Embedder:
        """The model for texts that come with a question; `embed_query` for the question itself."""
        return self._questions

    def embed_query(self, text: str) -> Vector:
        """The vector of what is searched for: a question, a part of one, or a name in it."""
        vector: Vector = embed_queries(self._questions, [text])[0]
        return vector

    def cached_arrays(
        self,
        name: str,
        make: Callable[[], Arrays],
        update: UpdateArrays | None = None,
        state: str = "",
    ) -> Arrays:
        """Arrays of this revision: from the cache, updated from the last revision, or built.

        With a `state`, a digest of what they depend on, they hold for all revisions of that state.
        """
        if not self._revision:
            return make()
        key = self._key(state or self._revision)
        arrays = self._store.load_arrays(name, key)
        if arrays is None and update is not None and self._delta is not None:
            arrays = self._updated_arrays(name, key, update, self._delta)
        if arrays is None:
            arrays = make()
            self._store.save_arrays(name, key, arrays)
        return arrays

    def _updated_arrays(
        self, name: str, key: str, update: UpdateArrays, delta: Delta
    ) -> Arrays | None:
        before = self._key(delta.before)
        old = self._store.load_arrays(name, before)
        new = old if old is None or delta.is_empty else update(old, delta)
        if new is not None and new is old:
            self._store.rekey(name, before, key)
        elif new is not None:
            self._store.save_arrays(name, key, new)
        return new

    def _key(self, revision: str) -> str:
        return arrays_key(revision, self._embedder.name)

    def texts(self, kind: Kind) -> Texts:
        """The texts of one kind; those that are needed again are read once."""
        texts = self._texts.get(kind)
        if texts is None:
            texts = texts_of(self._reader, kind, self._texts.get("relationship"))
        if kind in READ_BY_DEFAULT or not self._revision:
            self._texts[kind] = texts
        return texts

    def nodes(self, kind: Kind) -> IriList:
        """The IRIs of documents, entities or relationships, ascending; nothing is embedded."""
        with self._lock:
            if kind not in self._nodes:
                make, update = partial(self._read_nodes, kind), partial(self._update_nodes, kind)
                arrays = self.cached_arrays(f"{kind}-nodes", make, update)
                self._nodes[kind] = IriList.of_arrays(arrays, _NODES)
            return self._nodes[kind]

    def _read_nodes(self, kind: Kind) -> Arrays:
        index = self._indexes.get(kind)
        iris = self.texts(kind).iris if index is None else index.iris
        return IriList.packed(iris).arrays(_NODES)

    def _update_nodes(self, kind: Kind, old: Arrays, delta: Delta) -> Arrays:
        self._before[kind] = before = IriList.of_arrays(old, _NODES)
        if not delta.touched[kind]:
            return old
        inserted = self._changed(kind, delta).iris
        merge = Merge.of(before, sorted(delta.touched[kind]), inserted)
        return merge.iris(before, inserted).arrays(_NODES)

    def words(self) -> Bm25Index:
        """BM25 over the documents with their titles, in the order of their IRIs."""

        def make() -> Arrays:
            texts = self.texts("document")
            return Bm25Index(texts.texts).arrays() | texts.iris.arrays(_IRIS)

        arrays = self.cached_arrays("words", make, self._update_words)
        if self._revision and self._reader.store.is_shared:  # its searches keep no other arrays
            self._texts.clear()
        return Bm25Index.of_arrays(arrays)

    def _update_words(self, old: Arrays, delta: Delta) -> Arrays:
        touched = delta.touched["document"]
        if not touched:
            return old
        changed, iris = self._changed("document", delta), IriList.of_arrays(old, _IRIS)
        merge = Merge.of(iris, sorted(touched), changed.iris)
        index = Bm25Index.of_arrays(old).changed(merge, changed.texts)
        return index.arrays() | merge.iris(iris, changed.iris).arrays(_IRIS)

    def last_texts(self, kind: Kind) -> Texts:
        """The texts of one kind, which are then no longer kept."""
        texts = self.texts(kind)
        if self._revision:
            self._texts.pop(kind, None)
        return texts

    def index(self, kind: Kind) -> VectorIndex:
        """The index of one kind, whose texts are embedded if it is not in the store."""
        with self._lock:
            if kind not in self._indexes:
                self._indexes[kind] = self._load_or_build(kind)
            return self._indexes[kind]

    def _load_or_build(self, kind: Kind) -> VectorIndex:
        texts = None if self._revision else self.texts(kind)
        state = sha256_hex(*texts.iris, *texts.texts) if texts else self._revision
        key = index_key(state, self._embedder.name)
        index = self._store.load(kind, key)
        if index is None and self._delta is not None:
            index = self._updated_index(kind, key, self._delta)
        if index is None:
            texts = texts or self.texts(kind)
            index = self._store.save(kind, key, texts.iris, self._embed(kind, texts.texts))
        return index

    def _updated_index(self, kind: Kind, key: str, delta: Delta) -> VectorIndex | None:
        before = index_key(delta.before, self._embedder.name)
        if self._store.load(kind, before) is None:
            return None
        new, touched = self._changed(kind, delta), sorted(delta.touched[kind])
        vectors = self._embed(kind, new.texts) if len(new.iris) else ()
        return self._store.update(kind, before, key, touched, new.iris, vectors)

    def follow(self) -> None:
        """Embed what the default retriever reads, and the kinds that the store has already."""
        for kind in KINDS:
            if kind in READ_BY_DEFAULT or self._store.key_of(kind):
                self.index(kind)

    def is_cached(self) -> bool:
        """Whether the nodes are in the store, so that they need not be read from the graph."""
        key = self._key(self._revision)
        return all(self._store.load_arrays(f"{kind}-nodes", key) is not None for kind in NODES)

    def before(self, kind: Kind) -> IriList | None:
        """The nodes in the previous revision, if they were updated from it."""
        nodes = self.nodes(kind)
        if self._delta is not None and not self._delta.touched[kind]:
            return nodes
        return self._before.get(kind)

    def _changed(self, kind: Kind, delta: Delta) -> Texts:
        """The touched nodes that still exist, with their texts."""
        if kind not in self._touched:
            self._touched[kind] = texts_for(self._reader, kind, delta.touched[kind])
        return self._touched[kind]
