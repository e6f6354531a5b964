"""Documents and linked data made up at random, as much as wanted: scale-free graphs with texts.

Names follow a power law: the entity of rank r is drawn with a probability proportional to
``r ** -EXPONENT``, which gives degrees an exponent of 1 + 1 / EXPONENT, hubs included. Every
document tells of one topic and of a few other entities, in sentences, each of which is a
relationship. The same size and seed give the same documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source

EXPONENT = 0.65
RELATIONSHIPS, ENTITIES, DESCRIBED = 10, 7, 3
"""In a document: relationships, entities that they join, and those that have a description."""
DIMENSIONS = 384
_WORD = re.compile(r"\w+")
_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "ai", "or")]
_VERBS = [
    f"{verb}{ending}"
    for verb in "found join sing build guard lead own teach climb paint".split()
    for ending in ("s", "s near", "s with", "s against", "s under", "s beyond", "s for", "s like")
]


@dataclass(frozen=True)
class Corpus:
    """`edges` relationships in as many documents as it takes; entities are a quarter of them."""

    edges: int
    seed: int = 0

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return self.edges // RELATIONSHIPS

    @property
    def entities(self) -> int:
        """How many entities names are drawn from; the rarest may never come up."""
        return self.edges // 4

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        return cumulative(self.entities)

    def sources(self, first: int = 0, last: int | None = None) -> Iterator[Source]:
        """Documents by number, each a source of its own."""
        for number in range(first, self.documents if last is None else last):
            yield self.source(number)

    def source(self, number: int, version: int = 0) -> Source:
        """One document; another `version` tells of other things."""
        names, relations = self.contents(number, version)
        text = " ".join(f"{s} {verb} {o}." for s, verb, o in relations)
        return Source(text, names[0], f"{number:07d}.{version}.txt".replace(".0.", "."), "en")

    def extraction(self, source: str) -> Extraction:
        """What stands in a document, by its key."""
        number, *version = source.removesuffix(".txt").split(".")
        names, relations = self.contents(int(number), int(version[0]) if version else 0)
        sentences = [f"{s} {verb} {o}." for s, verb, o in relations]
        mentions = tuple(
            Mention(
                name,
                descriptions=(f"{name}: {sentences[place]}",) if place < DESCRIBED else (),
            )
            for place, name in enumerate(names)
        )
        return Extraction(mentions, tuple(Relation(*relation) for relation in relations))

    def question(self, number: int) -> str:
        """A question about what a document tells: of a named thing, in two steps."""
        _, relations = self.contents(number, 0)
        (subject, verb, _), (_, then, _) = relations[0], relations[1]
        return f"What does the one that {subject} {verb} have to do with what {then} it?"

    def contents(
        self, number: int, version: int = 0
    ) -> tuple[list[str], list[tuple[str, str, str]]]:
        """The names in a document, its topic first, and its relationships."""
        chance = np.random.default_rng((self.seed, number, version))
        drawn = np.searchsorted(self._shares, chance.random(3 * ENTITIES)).tolist()
        topic = int(chance.integers(self.entities))
        entities = list(islice(dict.fromkeys([topic, *drawn]), ENTITIES))
        names = [name_of(entity) for entity in entities]
        ends = chance.integers(0, len(names), (RELATIONSHIPS, 2)).tolist()
        ends = [(0 if place < 4 else s, o) for place, (s, o) in enumerate(ends)]
        verbs = chance.integers(0, len(_VERBS), RELATIONSHIPS).tolist()
        return names, [
            (names[s], _VERBS[verb], names[o if o != s else (s + 1) % len(names)])
            for (s, o), verb in zip(ends, verbs, strict=True)
        ]


@dataclass(frozen=True)
class LinkedGraph:
    """RDF in the manner of Wikidata: `edges` statements about a fifth as many things.

    All things have a name, every tenth a description. What statements are about is drawn evenly,
    their objects and properties by the power law of names: thing number 0 is the largest hub.
    """

    edges: int
    seed: int = 0

    @property
    def entities(self) -> int:
        """How many things there are."""
        return self.edges // 5

    def write(self, file: Path) -> int:
        """Write the graph as N-Triples; how many there are."""
        names, count = [name_of(entity) for entity in range(self.entities)], self.edges
        with file.open("w", encoding="utf-8") as out:
            for number, verb in enumerate(_VERBS):
                out.write(f'{_property(number)} {_LABEL} "{verb}"@en .\n')
            for entity, name in enumerate(names):
                out.write(f'{_thing(entity)} {_LABEL} "{name}"@en .\n')
                if entity % 10 == 0:
                    other, verb = names[entity * 31 % len(names)], _VERBS[entity % len(_VERBS)]
                    text = f"{name} is known to those that {verb} {other}."
                    out.write(f'{_thing(entity)} {_DESCRIPTION} "{text}"@en .\n')
                    count += 1
            for begin in range(0, self.edges, _SLICE):
                drawn = self._drawn(begin, min(_SLICE, self.edges - begin))
                out.writelines(f"{_thing(s)} {_property(p)} {_thing(o)} .\n" for s, p, o in drawn)
        return count + len(_VERBS) + len(names)

    def _drawn(self, begin: int, size: int) -> Iterator[tuple[int, int, int]]:
        """Some statements: the numbers of subject, property and object."""
        chance = np.random.default_rng((self.seed, begin))
        subjects = chance.integers(self.entities, size=size)
        properties = np.searchsorted(cumulative(len(_VERBS)), chance.random(size))
        objects = np.searchsorted(self._shares, chance.random(size))
        return zip(subjects.tolist(), properties.tolist(), objects.tolist(), strict=True)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        return cumulative(self.entities)

    def question(self, number: int) -> str:
        """A question about two things, one of them often named by others."""
        chance = np.random.default_rng((self.seed, number, 2))
        one, other = int(chance.integers(self.entities)), self._shares.searchsorted(chance.random())
        return f"What has {name_of(one)} to do with {name_of(int(other))}?"


_SLICE = 100_000
_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_DESCRIPTION = "<http://schema.org/description>"


def _thing(number: int) -> str:
    return f"<https://linked.example.org/Q{number}>"


def _property(number: int) -> str:
    return f"<https://linked.example.org/P{number}>"


def cumulative(count: int) -> NDArray[np.float64]:
    """Up to each rank, the probability that it or one above is drawn: shape (count,)."""
    shares = np.cumsum(np.arange(1, count + 1) ** -EXPONENT)
    return np.asarray(shares / shares[-1])


def name_of(entity: int) -> str:
    """A name of two words, another for every number."""
    size = len(_SYLLABLES)
    parts = [_SYLLABLES[entity * 7919 // size**power % size] for power in range(4)]
    return f"{(parts[0] + parts[1]).title()} {(parts[2] + parts[3]).title()}{_tail(entity)}"


def _tail(entity: int) -> str:
    """What tells names apart that would otherwise be equal."""
    times = entity * 7919 // len(_SYLLABLES) ** 4
    return f" {times}" if times else ""


class GeneratedExtractor:
    """An Extractor that knows what it will read."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    @property
    def method(self) -> Method:
        """Describes the corpus."""
        return Method("generated", "none", settings={"seed": str(self.corpus.seed)})

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """What was made up for each document."""
        for document in documents:
            yield self.corpus.extraction(document.source_iri.rpartition("/")[2])


class WordVectors:
    """An Embedder of random directions, one for each word: texts with common words are near."""

    name = f"random-words-{DIMENSIONS}"

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._table = np.zeros((0, DIMENSIONS), dtype=np.float32)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 384): the normalised sum of the words' directions."""
        words = [_WORD.findall(text.casefold()) or [""] for text in texts]
        rows = [self._row(word) for found in words for word in found]
        if len(self._known) > len(self._table):
            self._grow()
        starts = np.cumsum([0, *map(len, words)])[:-1]
        sums = np.add.reduceat(self._table[rows], starts, axis=0) if texts else self._table[:0]
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.maximum(norms, 1e-9), dtype=np.float32)

    def _row(self, word: str) -> int:
        return self._known.setdefault(word, len(self._known))

    def _grow(self) -> None:
        more = [
            np.random.default_rng([*word.encode(), 1]).standard_normal(DIMENSIONS)
            for word in list(self._known)[len(self._table) :]
        ]
        self._table = np.concatenate((self._table, np.array(more, dtype=np.float32)))
