"""The names of a graph: who has one, and which are like some words, by character trigrams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import IriList, Merge, Rows, find, narrow
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Arrays
from sarag_rdf.graph.graph_reader import Delta, GraphReader
from sarag_rdf.graph.vectors.search_indexes import Bm25Index

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
