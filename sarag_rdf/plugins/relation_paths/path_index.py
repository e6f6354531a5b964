"""The relation paths that a graph admits, as arrays: which there are, and how they score.

The schema of one revision of the graph, the vectors of the phrases of its hops, and the words in
which questions say them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats, IriList
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import Arrays, Matrix, embed_queries
from sarag_rdf.base.words import family_of
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.parts import imported_graphs, stored_ontologies
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.plugins.relation_paths.asked_kinds import may_end
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_model import (
    FEATURES,
    FORM,
    GAPS,
    MOST_HOPS,
    VALUE_KINDS,
    HopSequence,
    PathModel,
    PathSchema,
    read_schema,
)
from sarag_rdf.plugins.relation_paths.path_words import DOER, Asking, kind_words, stem_of
from sarag_rdf.retrieval.view import GraphView


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
        is_closed = self._gaps(paths[single], asking, asked)[:, 1] == 0
        best = np.append(best, np.setdiff1d(single[is_closed], best))
        every, paths, features = self.schema.hops, paths[best], features[best]
        sequences = tuple(tuple(every[at] for at in row if at >= 0) for row in paths.tolist())
        phrases = TextGroups.of([model.texts(self.schema, p) for p in sequences], embedder.embed)
        features[:, :1], features[:, 1:2] = phrases.nearest(vectors[:1]), phrases.mean(vectors[:1])
        return ComparedPaths(sequences, features, self._gaps(paths, asking, asked))

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

    def _gaps(self, paths: NDArray[np.int64], asking: Asking, asked: str) -> Floats:
        """The `GAPS` of paths, shape (paths, 2).

        A word that occurs twice is said by two hops, as are "mother" and "father", or "taught" and
        "teacher". The topic itself says what kind of thing it is. The kind that is asked for is
        that at the end, or not said.
        """
        model = self._model
        kind_asked, of_topic = model.content(asked), {*model.content(asking.kind)}
        words = list(asking.words(model.content))
        alike: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
        for _, stem, forms, is_needed in words:
            if is_needed and stem not in of_topic.difference(kind_asked):
                alike[DOER.sub("", family_of(stem))].append(forms)
        count, gaps = sum(map(len, alike.values())), []
        for row in paths.tolist():
            numbers = [at for at in row if at >= 0]
            hops, names = ([of[at] for at in numbers] for of in (self._said, self._words))
            every = frozenset[str]().union(*hops)
            unsaid = count
            for own in alike.values():
                saying = sum(not said.isdisjoint(chain.from_iterable(own)) for said in hops)
                unsaid -= min(saying, sum(not every.isdisjoint(forms) for forms in own))
            options = [
                [word.place for word in words if not own.isdisjoint(word.forms)]
                or [word.place for word in words if not said.isdisjoint(word.forms)]
                for own, said in zip(names, hops, strict=True)
            ]
            unsaid += sum(not own for own in options)
            is_asked = every.intersection(kind_asked) <= hops[-1]
            is_open = unsaid > 0 or not is_asked or asking.is_turned or not are_in_order(options)
            gaps.append((unsaid / (count + len(hops)), float(is_open)))
        return np.array(gaps).reshape(len(gaps), len(GAPS))

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


def are_in_order(options: Sequence[Sequence[int]], left: int = 0, right: int = 0) -> bool:
    """Whether each hop has a word of its own, the next one farther from the topic on its side.

    Words have their places before the topic (negative) or after it; a hop may be said in several.
    The hops before these have words up to `left` and `right`.
    """
    if not options:
        return True
    own, *others = options
    before = min((-at for at in own if -at > left), default=0)
    after = min((at for at in own if at > right), default=0)
    return bool(before and are_in_order(others, before, right)) or bool(
        after and are_in_order(others, left, after)
    )


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
