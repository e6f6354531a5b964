"""Vector indexes of a graph's texts, made from the graph when first needed (paper 5.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from sarag_rdf.algo.packed import packed_lists, unpacked_list
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.texts import by_language, page_text
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import Arrays, Embedder, Matrix, VectorIndex, VectorStore

Kind = Literal["description", "relationship", "document", "entity"]
KINDS: tuple[Kind, ...] = ("description", "relationship", "document", "entity")

_LAYOUT = "2"
"""Of the arrays that are kept; those of another are made anew."""

EmbedTexts = Callable[[Sequence[str]], Iterator[Matrix]]
"""Gives the vectors of texts in blocks, at least one."""
BLOCK = 8192
"""Texts that are embedded at a time."""


def in_blocks(texts: Sequence[str], embed: Callable[[Sequence[str]], Matrix]) -> Iterator[Matrix]:
    """The vectors of texts, some at a time; of no texts an empty block."""
    for begin in range(0, max(1, len(texts)), BLOCK):
        yield embed(texts[begin : begin + BLOCK])


def texts_of(reader: GraphReader, kind: Kind) -> list[tuple[str, str]]:
    """IRIs and texts of one kind, by IRI; of several languages as `by_language` chooses.

    A document's title stands before its text, or else the name of what it is about.
    """
    if kind == "document":
        return _titled(reader)
    texts: defaultdict[str, list[Any]] = defaultdict(list)
    for iri, text in reader.rows(f"{kind}-texts"):
        texts[iri.value].append(text)
    return sorted((iri, min(found, key=by_language).value) for iri, found in texts.items())


def _titled(reader: GraphReader) -> list[tuple[str, str]]:
    texts: defaultdict[str, list[Any]] = defaultdict(list)
    titles: defaultdict[str, list[Any]] = defaultdict(list)
    for iri, text, *named in reader.rows("document-texts"):
        texts[iri.value] += [text] if text is not None else []
        titles[iri.value] += [title for title in named if title is not None][:1]
    stated = _stated(reader.imported)
    found = []
    for iri in sorted(titles):
        parts = [min(titles[iri], key=by_language).value] if titles[iri] else []
        parts += [page_text(texts[iri], stated.get(iri, ()))]
        found.append((iri, "\n".join(part for part in parts if part)))
    return found


def _stated(reader: GraphReader) -> dict[str, list[str]]:
    """Page -> texts of the relationships that start at its entity."""
    texts = dict(texts_of(reader, "relationship"))
    found: defaultdict[str, list[str]] = defaultdict(list)
    for relationship, subject, _ in reader.rows("relationship-ends"):
        found[subject.value].append(texts[relationship.value])
    return found


class GraphVectors:
    """The indexes of one revision of a graph under one embedding model.

    Of a graph that tells no revision, behind an endpoint say, vectors are kept for the texts that
    were read, and nothing else is kept.
    """

    def __init__(
        self, reader: GraphReader, embedder: Embedder, store: VectorStore, revision: str
    ) -> None:
        self._reader = reader
        self._embedder = embedder
        self._store = store
        self._revision = revision
        self._indexes: dict[Kind, VectorIndex] = {}

    @property
    def embedder(self) -> Embedder:
        """The model that questions must be embedded with."""
        return self._embedder

    def kept(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Arrays made of this revision of the graph, from the store or made anew and stored."""
        if not self._revision:
            return make()
        key = sha256_hex(self._revision, self._embedder.name, _LAYOUT)
        arrays = self._store.load_arrays(name, key)
        if arrays is None:
            arrays = make()
            self._store.save_arrays(name, key, arrays)
        return arrays

    def texts(self, kind: Kind) -> list[tuple[str, str]]:
        """IRIs and texts of one kind, by IRI; those of documents are put together once and kept."""
        if kind != "document":
            return texts_of(self._reader, kind)
        kept = self.kept("texts", self._document_texts)
        return list(zip(unpacked_list(kept, "iris"), unpacked_list(kept, "texts"), strict=True))

    def _document_texts(self) -> Arrays:
        items = texts_of(self._reader, "document")
        return packed_lists({"iris": [iri for iri, _ in items], "texts": [t for _, t in items]})

    def index(self, kind: Kind, embed: EmbedTexts | None = None) -> VectorIndex:
        """The index of one kind; `embed` may stand for the embedder's own, to show progress."""
        if kind not in self._indexes:
            plain = partial(in_blocks, embed=self._embedder.embed)
            self._indexes[kind] = self._made(kind, embed or plain)
        return self._indexes[kind]

    def _made(self, kind: Kind, embed: EmbedTexts) -> VectorIndex:
        items = None if self._revision else self.texts(kind)
        state = self._revision or sha256_hex(*(part for item in items or () for part in item))
        key = sha256_hex(state, self._embedder.name)
        index = self._store.load(kind, key)
        if index is None:
            items = self.texts(kind) if items is None else items
            vectors = embed([text for _, text in items])
            index = self._store.save(kind, key, [iri for iri, _ in items], vectors)
        return index
