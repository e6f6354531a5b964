"""The index of words of a graph's documents, as arrays that follow what changes."""

from __future__ import annotations

from collections.abc import Iterable

from sarag_rdf.algo.bm25 import Bm25Index
from sarag_rdf.algo.iri_list import IriList
from sarag_rdf.algo.merge import Merge
from sarag_rdf.algo.packed import packed
from sarag_rdf.graph.kind_texts import Items
from sarag_rdf.ports import Arrays

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
