"""Vector indexes of a graph's texts, and what else is made of a graph and kept (paper 5.3).

They are made when first needed, or follow what changed since the revision that they were made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from sarag_rdf.arrays import IriList, Merge, packed
from sarag_rdf.graph.delta import KINDS, Delta, Kind
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import Items, texts_for, texts_of
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import Arrays, Embedder, Matrix, Progress, VectorIndex, VectorStore
from sarag_rdf.vectors.bm25 import Bm25Index

__all__ = ["KINDS", "After", "EmbedTexts", "GraphVectors", "Kind", "in_blocks"]

_LAYOUT = "4"
"""Of the arrays that are kept; those of another are made anew."""

ARRAYS = ("names", "words", "network")
"""Names of the arrays that are kept."""
After = Callable[[Arrays, Delta], Arrays | None]
"""Arrays as a change leaves them: the same if it does not concern them, None if none can tell."""
EmbedTexts = Callable[[Sequence[str]], Iterator[Matrix]]
"""Gives the vectors of texts in blocks, at least one."""
BLOCK = 8192
"""Texts that are embedded at a time."""


def in_blocks(texts: Sequence[str], embed: Callable[[Sequence[str]], Matrix]) -> Iterator[Matrix]:
    """The vectors of texts, some at a time; of no texts an empty block."""
    for begin in range(0, max(1, len(texts)), BLOCK):
        yield embed(texts[begin : begin + BLOCK])


def carry_over(store: VectorStore, model: str, delta: Delta) -> None:
    """After a change that touched no text, let what is kept be that of the revision after it."""
    if any(delta.touched.values()):
        return
    before, after = (index_key(revision, model) for revision in (delta.before, delta.after))
    for kind in KINDS:
        store.rekey(kind, before, after)
    before, after = (arrays_key(revision, model) for revision in (delta.before, delta.after))
    for name in ("names", "words") if delta.links or delta.derived else ARRAYS:
        store.rekey(name, before, after)


def index_key(state: str, model: str) -> str:
    """What an index is kept under: a revision, or a digest of the texts, and the model."""
    return sha256_hex(state, model)


def arrays_key(revision: str, model: str) -> str:
    """What arrays are kept under."""
    return sha256_hex(revision, model, _LAYOUT)


class GraphVectors:
    """The indexes of one revision of a graph under one embedding model.

    Of a graph that tells no revision, behind an endpoint say, vectors are kept for the texts that
    were read, and nothing else is kept.
    """

    def __init__(
        self,
        reader: GraphReader,
        embedder: Embedder,
        store: VectorStore,
        revision: str,
        delta: Delta | None = None,
    ) -> None:
        """`delta` is what led to the revision, where that is known."""
        self._reader = reader
        self._embedder = embedder
        self._store = store
        self._revision = revision
        self._delta = delta
        self._indexes: dict[Kind, VectorIndex] = {}
        self._items: dict[Kind, Items] = {}
        self._before: dict[Kind, Sequence[str]] = {}
        self._documents: Items | None = None

    @property
    def embedder(self) -> Embedder:
        """The model that questions must be embedded with."""
        return self._embedder

    def cached_arrays(
        self, name: str, make: Callable[[], Arrays], after: After | None = None
    ) -> Arrays:
        """Arrays made of this revision of the graph, from the store or made anew and stored.

        Those of the revision before are brought to this one by `after`.
        """
        if not self._revision:
            return make()
        key = self._key(self._revision)
        arrays = self._store.load_arrays(name, key)
        if arrays is None and after is not None and self._delta is not None:
            arrays = self._brought(name, key, after, self._delta)
        if arrays is None:
            arrays = make()
            self._store.save_arrays(name, key, arrays)
        return arrays

    def _brought(self, name: str, key: str, after: After, delta: Delta) -> Arrays | None:
        before = self._key(delta.before)
        old = self._store.load_arrays(name, before)
        new = old if old is None or delta.is_empty else after(old, delta)
        if new is not None and new is old:
            self._store.rekey(name, before, key)
        elif new is not None:
            self._store.save_arrays(name, key, new)
        return new

    def keep(self, name: str) -> None:
        """Let arrays that no change of documents concerns be those of this revision."""
        if self._delta is not None:
            self._store.rekey(name, self._key(self._delta.before), self._key(self._revision))

    def prepare(self, progress: Progress) -> None:
        """Do what makes searching large indexes faster."""
        if self._revision:
            for kind in KINDS:
                self._store.prepare(kind, index_key(self._revision, self._embedder.name), progress)

    def _key(self, revision: str) -> str:
        return arrays_key(revision, self._embedder.name)

    def texts(self, kind: Kind) -> Items:
        """IRIs and texts of one kind, by IRI; those of documents are read once for both indexes."""
        if kind != "document":
            return texts_of(self._reader, kind)
        if self._documents is None:
            self._documents = texts_of(self._reader, kind)
        return self._documents

    def words(self) -> Bm25Index:
        """BM25 over the documents with their titles, in the order of their IRIs."""
        made = self.cached_arrays(
            "words", lambda: word_arrays(self.texts("document")), self._words_after
        )
        self._documents = None
        return Bm25Index.of_arrays(made)

    def _words_after(self, old: Arrays, delta: Delta) -> Arrays:
        gone = delta.touched["document"]
        return followed(old, gone, self._changed("document", delta)) if gone else old

    def index(self, kind: Kind, embed: EmbedTexts | None = None) -> VectorIndex:
        """The index of one kind; `embed` may stand for the embedder's own, to show progress."""
        if kind not in self._indexes:
            plain = partial(in_blocks, embed=self._embedder.embed)
            self._indexes[kind] = self._made(kind, embed or plain)
        return self._indexes[kind]

    def _made(self, kind: Kind, embed: EmbedTexts) -> VectorIndex:
        items = None if self._revision else self.texts(kind)
        state = self._revision or sha256_hex(*(part for item in items or () for part in item))
        key = index_key(state, self._embedder.name)
        index = self._store.load(kind, key)
        if index is None and self._delta is not None:
            index = self._followed(kind, key, embed, self._delta)
        if index is None:
            items = self.texts(kind) if items is None else items
            vectors = embed([text for _, text in items])
            index = self._store.save(kind, key, [iri for iri, _ in items], vectors)
        return index

    def _followed(
        self, kind: Kind, key: str, embed: EmbedTexts, delta: Delta
    ) -> VectorIndex | None:
        items = self._changed(kind, delta)
        vectors = embed([text for _, text in items]) if items else ()
        before = index_key(delta.before, self._embedder.name)
        old = self._store.load(kind, before)
        if old is None:
            return None
        self._before[kind] = old.iris
        gone = sorted(delta.touched[kind])
        return self._store.update(kind, before, key, gone, [iri for iri, _ in items], vectors)

    def is_kept(self) -> bool:
        """Whether all indexes are in the store, so that no text has to be embedded."""
        key = index_key(self._revision, self._embedder.name)
        return all(self._store.load(kind, key) is not None for kind in KINDS)

    def before(self, kind: Kind) -> Sequence[str] | None:
        """The IRIs of the revision before, if the index followed from it."""
        index = self.index(kind)
        if self._delta is not None and not self._delta.touched[kind]:
            return index.iris
        return self._before.get(kind)

    def _changed(self, kind: Kind, delta: Delta) -> Items:
        """What is touched and still there, with its texts."""
        if kind not in self._items:
            self._items[kind] = texts_for(self._reader, kind, delta.touched[kind])
        return self._items[kind]


_IRIS = "documents"


def word_arrays(items: Items) -> Arrays:
    """The index of documents, by IRI, with their texts."""
    index = Bm25Index(text for _, text in items)
    return index.arrays() | IriList(*packed([iri for iri, _ in items])).arrays(_IRIS)


def followed(arrays: Arrays, gone: Iterable[str], come: Items) -> Arrays:
    """The same after some documents went and others came."""
    iris = IriList.of_arrays(arrays, _IRIS)
    new = [iri for iri, _ in come]
    merge = Merge.of(iris, sorted(gone), new)
    index = Bm25Index.of_arrays(arrays).changed(merge, [text for _, text in come])
    return index.arrays() | merge.iris(iris, IriList(*packed(new))).arrays(_IRIS)
