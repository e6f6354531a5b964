"""The relation paths that a graph admits, as arrays: which there are, and how they score.

The schema of one revision of the graph, the vectors of the phrases of its hops, and the words in
which questions say them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, permutations
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, IriList
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import Arrays, Matrix, embed_queries
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.parts import imported_graphs, stored_ontologies
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.plugins.relation_paths.asked_kinds import may_end, type_of_kind
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_gaps import HopWords, Numbers, gaps_of, words_in
from sarag_rdf.plugins.relation_paths.path_model import (
    FEATURES,
    FORM,
    GAPS,
    MOST_HOPS,
    VALUE_KINDS,
    Hop,
    HopSequence,
    PathModel,
    PathSchema,
    read_schema,
)
from sarag_rdf.plugins.relation_paths.path_words import Asking, is_doer, kind_words, stem_of
from sarag_rdf.retrieval.view import GraphView

_NARROWING: Final = frozenset(
    "former previous ex old past retired vice deputy assistant acting interim co honorary shadow "
    "substitute foster step half planned proposed estimated expected minimum maximum least average "
    "failed rejected refused terminated cancelled blocked banned deprecated excluded discharged "
    "free idle spare backup test female male rural urban record rival competitor".split()
)
"""Words of labels by which a property says something else than without them."""
_MERE: Final = "located situated based member part belongs contains has includes"
"""Words of labels that say no more than that one thing belongs to another."""


def all_in_use(view: GraphView) -> SchemaInUse:
    """The terms of all that is read."""
    return SchemaInUse(view.reader)


def imported_in_use(view: GraphView) -> SchemaInUse:
    """The terms of the imported graphs among it."""
    return SchemaInUse(view.reader.imported)


def reader_of(view: GraphView, *, is_imported: bool) -> GraphReader:
    """What paths lead through: all that is read, or the imported graphs among it."""
    return view.reader.imported if is_imported else view.reader


@dataclass(frozen=True, slots=True)
class TextGroups:
    """The vectors of texts, shape (texts, dimensions), of which group i begins at `begins[i]`."""

    vectors: Matrix
    begins: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Sequence[Sequence[str]], embed: Callable[[Sequence[str]], Matrix]) -> Self:
        """Groups of at least one text each."""
        sizes = np.array([0, *map(len, groups)], dtype=np.int64)
        return cls(embed([text for group in groups for text in group]), sizes.cumsum()[:-1])

    def nearest(self, vectors: Matrix) -> Floats:
        """The cosine of each vector with the nearest text of each group: (groups, vectors)."""
        return np.asarray(np.maximum.reduceat(self.vectors @ vectors.T, self.begins))

    def mean(self, vectors: Matrix) -> Floats:
        """The mean cosine of each vector with the texts of each group: (groups, vectors)."""
        sizes = np.diff(np.append(self.begins, len(self.vectors)))
        return np.asarray(
            np.add.reduceat(self.vectors @ vectors.T, self.begins) / sizes[:, np.newaxis]
        )


class ComparedPaths(NamedTuple):
    """Paths with their `FEATURES`, shape (paths, features), and `GAPS`, shape (paths, gaps)."""

    paths: tuple[HopSequence, ...]
    features: Floats
    gaps: Floats


class PathIndex:
    """The schema of one revision of a graph, and the vectors of the phrases of its hops."""

    def __init__(self, view: GraphView, model: PathModel, *, is_imported: bool = False) -> None:
        self._view, self._model = view, model
        self._reader = reader_of(view, is_imported=is_imported)
        if view.reader.readable is None:
            has_documents = bool(self._reader.extracted.parts)
            name = "relation-paths" if has_documents else "imported-paths"
            state = "" if has_documents else self._state
            arrays = view.vectors.cached_arrays(name, self._arrays, state=f"{FORM}{state}")
        else:  # the phrases of readable graphs are not those of all
            arrays = self._arrays()
        self.schema = PathSchema(**json.loads(IriList.of_arrays(arrays, "schema")[0]))
        self._number = {hop: at for at, hop in enumerate(self.schema.hops)}

    def _arrays(self) -> Arrays:
        linked = self._view.derived(Identities).several()
        schema = read_schema(self._reader, linked).to_json()
        return IriList.packed([schema]).arrays("schema")

    @property
    def _state(self) -> str:
        """A digest of imported graphs, their links and ontologies: reading them takes seconds."""
        linked = self._view.derived(Identities).several()
        read = [part.name for part in self._reader.parts]
        graphs = [graph for graph in imported_graphs(self._reader) if graph.name in read]
        return sha256_hex(repr((read, graphs, linked, stored_ontologies(self._reader))))

    @cached_property
    def _groups(self) -> tuple[TextGroups, TextGroups, TextGroups]:
        """For each hop its phrases, the words of these, and what stands at its end."""
        phrases, words, ends = [], [], []
        for hop in self.schema.hops:
            own = self._model.phrases(self.schema, hop)
            phrases.append(self._model.texts(self.schema, (hop,)))
            words.append(self._model.words(" ".join(own)) or (" ".join(own),))
            first = own[0].split()
            role = first[:-1] if first[-1] in self._model.prepositions else first[:1]
            kind = self.schema.kinds.get(hop.end, "")
            ends.append(tuple(text for text in (kind, " ".join(role), first[0]) if text))
        every = list(dict.fromkeys(chain.from_iterable((*phrases, *words, *ends))))
        vectors = dict(zip(every, self._view.vectors.embedder.embed(every), strict=True))

        def known(texts: Sequence[str]) -> Matrix:
            return np.array([vectors[text] for text in texts])

        return (
            TextGroups.of(phrases, known),
            TextGroups.of(words, known),
            TextGroups.of(ends, known),
        )

    @cached_property
    def _said(self) -> list[frozenset[str]]:
        """For each hop the forms of the words in which a question may say it."""
        kinds = (self.schema.kinds.get(hop.end, "") for hop in self.schema.hops)
        return [
            own.union(kind_words(kind, self._model.content))
            for own, kind in zip(self._words, kinds, strict=True)
        ]

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        """The same without the kind of thing at the end, which many hops share."""
        return [self._model.words_for(self.schema, hop) for hop in self.schema.hops]

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of the words in which a question may say hops, and what is at their ends."""
        names = " ".join((*self.schema.names.values(), *self.schema.kinds.values()))
        stems = map(stem_of, chain.from_iterable(self._said))
        return frozenset(self._model.content(names)).union(stems)

    def start(self, kind: str) -> str:
        """What stands for a topic of that kind."""
        return self._model.templates["start"].format(kind=kind)

    def compared(
        self, ends: Collection[str], asking: Asking, *, hops: int, beam: int, candidates: int
    ) -> ComparedPaths:
        """The `candidates` best paths from these ends, of up to `hops` properties.

        All of one property that leave nothing open are among them, however they score.

        Of more than `beam` paths of one length, those with the nearest hops are extended. All paths
        are first scored with the mean cosine of their hops in place of that of their whole phrases,
        which depends on no other path; the phrases of the best ones are embedded.
        """
        none = ComparedPaths((), np.zeros((0, len(FEATURES))), np.zeros((0, len(GAPS))))
        starting = [self._number[hop] for hop in self.schema.starting(ends)]
        if not starting:
            return none
        model, embedder, question = self._model, self._view.vectors.embedder, asking.question
        asked, words = model.asked(question), model.words(question) or (question,)
        vectors = embed_queries(embedder, [question, *words, *([asked] if asked else [])])
        phrases = self._groups[0]
        cosines = np.column_stack((phrases.nearest(vectors[:1]), phrases.mean(vectors[:1])))
        paths = self._enumerated(starting, cosines[:, 0], hops, beam)
        paths = paths[self._may_answer(asked, is_done=asking.is_done)[_last(paths)]]
        if not len(paths):
            return none
        features = self._features(paths, cosines, vectors[1:], len(words))
        best = np.argsort(-(features @ model.vector), kind="stable")[:candidates]
        single = np.flatnonzero(paths[:, 1] < 0)
        is_closed = self._gaps(paths[single], asking, asked, starting)[:, 1] == 0
        best = np.append(best, np.setdiff1d(single[is_closed], best))
        every, paths, features = self.schema.hops, paths[best], features[best]
        sequences = tuple(tuple(every[at] for at in row if at >= 0) for row in paths.tolist())
        phrases = TextGroups.of([model.texts(self.schema, p) for p in sequences], embedder.embed)
        features[:, :1], features[:, 1:2] = phrases.nearest(vectors[:1]), phrases.mean(vectors[:1])
        return ComparedPaths(sequences, features, self._gaps(paths, asking, asked, starting))

    def _may_answer(self, asked: str, *, is_done: bool) -> NDArray[np.bool_]:
        """For each hop, whether a path may end with it if that kind of thing is asked for.

        Who asks for a person wants no place, date or number; who asks for a height does. What
        somebody "did" something to is no date or number, either.
        """
        kinds, schema = VALUE_KINDS.union(self._model.question_words.values()), self.schema
        if asked in kinds:
            ends = [schema.kinds.get(hop.end, asked) for hop in schema.hops]
            fits = {
                kind: kind == asked or (kind not in kinds and may_end(asked, kind))
                for kind in {*ends}
            }
            return np.array([fits[kind] for kind in ends], bool)
        stems = self._model.content(asked)
        return np.array(
            [
                (not asked and not is_done) or hop.end in schema.joins or not own.isdisjoint(stems)
                for hop, own in zip(schema.hops, self._said, strict=True)
            ],
            bool,
        )

    def _gaps(
        self, paths: NDArray[np.int64], asking: Asking, asked: str, starting: Collection[int]
    ) -> Floats:
        """The `GAPS` of paths, shape (paths, 2)."""
        may = self._may_answer(asked, is_done=asking.is_done)

        def is_path(numbers: Numbers) -> bool:
            follows = all(other in self._after[one] for one, other in pairwise(numbers))
            return follows and numbers[0] in starting and bool(may[numbers[-1]])

        gaps = gaps_of(
            [tuple(at for at in row if at >= 0) for row in paths.tolist()],
            asking,
            asked,
            content=self._model.content,
            hops=self._hop_words,
            is_path=is_path,
        )
        return np.array(gaps).reshape(len(gaps), len(GAPS))

    @cached_property
    def _hop_words(self) -> list[HopWords]:
        """How questions say each hop."""
        schema = self.schema
        labels = {iri: frozenset(self._model.content(name)) for iri, name in schema.names.items()}
        plainer = {hop: list[tuple[int, frozenset[str]]]() for hop in schema.hops}
        for hop, other in permutations(schema.hops, 2):
            further, own = labels[hop.predicate], labels[other.predicate]
            if own and own < further and self._are_alike(hop, other):
                plainer[hop].append((self._number[other], further - own))
        return [
            HopWords(
                own,
                with_kind,
                self._is_mere(hop, labels[hop.predicate]),
                _NARROWING.intersection(words_in(schema.names[hop.predicate])),
                self._number.get(hop.reverse, -1),
                plainer[hop],
            )
            for hop, own, with_kind in zip(schema.hops, self._words, self._said, strict=True)
        ]

    def _is_mere(self, hop: Hop, label: frozenset[str]) -> bool:
        """Whether the kind of thing at its end says a hop: that of a "vendor", or of a contract.

        People, places and organizations are so much to each other that a label has to say no more
        than that they belong together; of other kinds it has to be the only hop that leads there.
        """
        kinds, kind = self.schema.kinds, self.schema.kinds.get(hop.end, "")
        own = self._model.content(" ".join((kinds.get(hop.start, ""), kind, _MERE)))
        if label <= {*own}:
            return True
        if not kind or kind in VALUE_KINDS or not (is_doer(kind) or type_of_kind(kind) is None):
            return False
        return not any(
            kinds.get(other.end) == kind and other.start in self.schema.joins.get(hop.start, ())
            for other in self.schema.hops
            if other != hop
        )

    def _are_alike(self, hop: Hop, other: Hop) -> bool:
        """Whether both lead from things of one kind, in one direction, and to things or values."""
        schema, kinds = self.schema, self.schema.kinds
        is_from_same = other.start in schema.joins.get(hop.start, ()) or (
            kinds.get(hop.start, "") == kinds.get(other.start)
        )
        are_things = (hop.end in schema.joins) == (other.end in schema.joins)
        return is_from_same and are_things and hop.is_inverse == other.is_inverse

    def _enumerated(
        self, starting: Sequence[int], cosines: Floats, hops: int, beam: int
    ) -> NDArray[np.int64]:
        """Paths as the numbers of their hops, shape (paths, `MOST_HOPS`), with -1 after the last.

        Of more than `beam` of one length, those with the nearest hops are extended.
        """
        last = np.array(starting, dtype=np.int64)[:, np.newaxis]
        every = []
        for length in range(1, hops + 1):
            if not len(last):  # all ended at values
                break
            if len(last) > beam:
                order = np.argsort(-cosines[last].mean(axis=1), kind="stable")
                last = last[np.sort(order[:beam])]
            every.append(np.pad(last, ((0, 0), (0, MOST_HOPS - length)), constant_values=-1))
            after = [self._after[at] for at in last[:, -1].tolist()]
            before = np.repeat(last, list(map(len, after)), axis=0)
            last = np.column_stack((before, np.concatenate(after)))
        return np.concatenate(every)

    @cached_property
    def _after(self) -> list[NDArray[np.int64]]:
        """The numbers of the hops that can follow each hop."""
        return [
            np.array([self._number[following] for following in self.schema.after(hop)], np.int64)
            for hop in self.schema.hops
        ]

    def _features(
        self, paths: NDArray[np.int64], cosines: Floats, vectors: Matrix, words: int
    ) -> Floats:
        """Shape (paths, features) in the order of `FEATURES`, with the mean `cosines` of hops.

        `vectors` are those of the words of the question, and then of what it asks for, if it does.
        """
        is_hop = paths >= 0
        length = is_hop.sum(axis=1)
        means = np.where(is_hop[:, :, np.newaxis], cosines[paths], 0.0).sum(axis=1)
        nearest, mean = (means / length[:, np.newaxis]).T
        fan_out = np.log([self.schema.fan_out[hop.start] for hop in self.schema.hops])
        reverse = np.array([self._number.get(hop.reverse, -1) for hop in self.schema.hops])
        follows = (reverse[paths[:, :-1]] == paths[:, 1:]) & is_hop[:, 1:]
        _, hop_words, hop_ends = self._groups
        closest = hop_words.nearest(vectors[:words])
        matrix = np.where(is_hop[:, :, np.newaxis], closest[paths], -2.0)
        aligned = _aligned(matrix.copy(), length)
        covered = matrix.max(axis=1)
        asked = np.zeros(len(paths))
        if len(vectors) > words:
            asked = hop_ends.nearest(vectors[words:])[_last(paths), 0]
        return np.column_stack(
            (
                nearest,
                mean,
                length == 2,
                length == 3,
                asked,
                np.where(is_hop, fan_out[paths], 0.0).sum(axis=1),
                aligned.sum(axis=1) / length,
                np.where(is_hop, aligned, 2.0).min(axis=1),
                covered.mean(axis=1),
                covered.min(axis=1),
                follows.sum(axis=1),
            )
        ).astype(np.float64)


def _last(paths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the last hop of each path."""
    last: NDArray[np.int64] = paths[np.arange(len(paths)), (paths >= 0).sum(axis=1) - 1]
    return last


def _aligned(matrix: Floats, length: NDArray[np.int64]) -> Floats:
    """The cosine of each hop with a word of its own, or 0, in falling order: (paths, hops)."""
    paths, hops, words = matrix.shape
    rows = np.arange(paths)
    aligned = np.zeros((paths, hops))
    for number in range(min(hops, words)):
        hop, word = np.divmod(matrix.reshape(paths, -1).argmax(axis=1), words)
        best = matrix[rows, hop, word]
        aligned[:, number] = np.where(number < length, np.maximum(best, 0.0), 0.0)
        matrix[rows, hop, :] = -2.0
        matrix[rows, :, word] = -2.0
    return aligned
