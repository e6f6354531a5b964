"""The names of a graph by their character trigrams, to find those that are like some words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sarag_rdf.base.arrays import IriList, Merge, find
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Arrays
from sarag_rdf.graph.graph_reader import Delta, GraphReader
from sarag_rdf.graph.vectors.search_indexes import Bm25Index

CANDIDATES: Final = 50
"""The entities whose names have most trigrams in common with some words."""
POSTINGS: Final = 100_000
"""The most entities by trigram that are looked at for some words, those of rare ones first."""


class NameIndex:
    """The names of entities by row; reads only the trigrams of what is looked up."""

    def __init__(self, arrays: Arrays) -> None:
        """`arrays` are those of `name_arrays`."""
        self.arrays = arrays
        self._names = IriList.of_arrays(arrays, "names")
        self._index = Bm25Index.of_arrays(arrays)

    def candidates(self, text: str) -> Iterator[tuple[int, str]]:
        """Rows of the entities with most in common with a text, and each name of theirs."""
        for row in self._index.sharing(trigrams(text), CANDIDATES, POSTINGS).tolist():
            for name in self._names[row].split("\n"):
                yield row, name


def name_arrays(reader: GraphReader, entities: Iterable[str]) -> Arrays:
    """The arrays of a `NameIndex` of entities, in their order."""
    names = _by_entity(reader.rows("names"))
    return _arrays([names.get(entity, "") for entity in entities])


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
    return index.arrays() | merged.arrays("names")


def trigrams(names: str) -> str:
    """The trigrams of the words of names, one a line: "_lu lud udw dwi wig ig_" for Ludwig.

    Letters are normalised as in `normalize_name`.
    """
    words = {f"_{word}_" for name in names.split("\n") for word in normalize_name(name).split()}
    return " ".join(word[at : at + 3] for word in sorted(words) for at in range(len(word) - 2))


def _arrays(texts: Sequence[str]) -> Arrays:
    return Bm25Index(map(trigrams, texts)).arrays() | IriList.packed(texts).arrays("names")


def _by_entity(rows: Iterable[tuple[Any, ...]]) -> dict[str, str]:
    """Entity -> its names, one a line."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for entity, name in rows:
        names[entity.value].add(" ".join(name.value.split()))
    return {entity: "\n".join(sorted(several)) for entity, several in names.items()}
