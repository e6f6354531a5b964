"""What objects and subjects of a property are like: features of pairs, for two classifiers.

All are comparisons with labels and with examples by the embedder, or kinds and positions; none is
the identity of a name or of a property.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from sarag_rdf.extraction.examples import Example, ExampleStatement
from sarag_rdf.extraction.names import exact_text, soft_text
from sarag_rdf.extraction.statements import RangeKind, range_kind
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.learned.candidates import ENTITY_KINDS, KINDS, Candidate, CandidateKind
from sarag_rdf.plugins.learned.contexts import (
    KIND_WORDS,
    Embed,
    Floats,
    SentenceVectors,
    vectors_of_names,
)

_NEIGHBOURS = 7
_DEPENDENCIES = ("pobj", "dobj", "attr", "appos", "amod", "compound", "conj", "nsubj", "nsubjpass",
                 "poss", "ROOT", "nummod")  # fmt: skip
_IDENTIFIER = frozenset[CandidateKind]({"identifier"})
_ADMITTED: dict[RangeKind, frozenset[CandidateKind]] = {
    "date": frozenset({"date"}),
    "duration": frozenset({"duration"}),
    "number": frozenset({"number", "quantity", "money", "duration", "date"}),
    "string": ENTITY_KINDS | frozenset[CandidateKind]({"identifier", "number", "quantity", "date"}),
    "url": frozenset({"url"}),
    "coordinates": frozenset({"coordinates"}),
    "entity": ENTITY_KINDS | _IDENTIFIER,
    "any": frozenset(KINDS),
    "unsupported": frozenset(),
}
"""Kind of range -> the kinds of candidates that may be objects."""


@dataclass(frozen=True)
class SchemaVectors:
    """The properties of a schema with their vectors; the rows of all arrays are properties."""

    properties: tuple[OntologyProperty, ...]
    labels: Floats
    typed_labels: Floats
    """Of "domain label range"."""
    ranges: Floats
    domains: Floats
    domain_shares: Floats
    """The share of the properties that have the same domain."""
    kinds: Floats
    """A row for each of `KINDS`."""

    @classmethod
    def of(cls, schema: Schema, embed: Embed) -> SchemaVectors:
        properties = tuple(schema.properties.values())
        labels = [p.label for p in properties]
        domains = [schema.label_of(p.domains) for p in properties]
        ranges = [schema.label_of(p.ranges) for p in properties]
        typed = [
            " ".join(filter(None, parts)) for parts in zip(domains, labels, ranges, strict=True)
        ]
        return cls(
            properties,
            embed(labels),
            embed(typed),
            embed([range_ or "thing" for range_ in ranges]),
            embed([domain or "thing" for domain in domains]),
            np.array([domains.count(d) / len(domains) for d in domains], np.float32),
            embed([KIND_WORDS[kind] for kind in KINDS]),
        )

    def admitted(self, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
        """Shape (candidates, properties): whether the kind of the candidate fits the range."""
        kinds = [_ADMITTED[range_kind(property_)] for property_ in self.properties]
        rows = [[candidate.kind in own for own in kinds] for candidate in candidates]
        return np.array(rows, np.bool_).reshape(len(candidates), len(kinds))


@dataclass(frozen=True)
class ExampleNames:
    """Names in the examples; `properties` are rows of the schema, or -1 for none.

    `keys` are the names by `soft_text`, and `origins` the places of the examples.
    """

    vectors: Floats
    keys: tuple[str, ...]
    properties: NDArray[np.int64]
    origins: NDArray[np.int64]

    def without(self, origin: int) -> ExampleNames:
        """The names of all examples but one."""
        positions = np.flatnonzero(self.origins != origin)
        return ExampleNames(
            self.vectors[positions],
            tuple(self.keys[position] for position in positions),
            self.properties[positions],
            self.origins[positions],
        )

    def similarities(self, vectors: Floats, candidates: Sequence[Candidate]) -> Floats:
        """Shape (candidates, names): cosines; -1 for the candidate's own name.

        Names are not learned by heart, but common nouns are: they are compared with themselves.
        """
        result = vectors @ self.vectors.T
        own = ["" if c.kind == "noun" else soft_text(c.text) for c in candidates]
        positions: dict[str, list[int]] = {}
        for position, key in enumerate(self.keys):
            positions.setdefault(key, []).append(position)
        for row, key in enumerate(own):
            if key:
                result[row, positions.get(key, [])] = -1
        return result


@dataclass(frozen=True)
class ExampleVectors:
    """The candidates of all examples; `properties` are rows of the schema, or -1 for none.

    `origins` are the places of the examples. `objects` has the objects of the statements and the
    candidates that are none, `subjects` the subjects. Arrays whose names begin with ``subject_``
    have a row for each property, as `counts`, the number of objects in the examples.
    """

    paths: Floats
    windows: Floats
    properties: NDArray[np.int64]
    kinds: NDArray[np.int64]
    origins: NDArray[np.int64]
    objects: ExampleNames
    subjects: ExampleNames
    subject_leads: Floats
    subject_kinds: Floats
    subject_first: Floats
    counts: Floats

    @classmethod
    def of(
        cls,
        schema: SchemaVectors,
        examples: Sequence[Example],
        sentences: Sequence[Sequence[SentenceVectors]],
        embed: Embed,
    ) -> ExampleVectors:
        """Align the statements of examples with the candidates of their sentences."""
        rows = {p.iri: row for row, p in enumerate(schema.properties)}
        size = len(rows)
        paths: list[Floats] = []
        windows: list[Floats] = []
        labels: list[int] = []
        kinds: list[int] = []
        origins: list[int] = []
        objects: list[tuple[str, int, int]] = []
        subjects: list[tuple[str, int, int]] = []
        leads = np.zeros((size, 2), np.float32)
        subject_kinds = np.zeros((size, len(KINDS)), np.float32)
        first = np.zeros((size, 2), np.float32)
        for origin, (example, group) in enumerate(zip(examples, sentences, strict=True)):
            for known in example.statements:
                objects.append((known.object, rows[known.property], origin))
                subjects.append((known.subject, rows[known.property], origin))
            for vectors in group:
                gold = align(vectors.candidates, example)
                used = [vectors.candidates[i] for i in gold]
                for index, candidate in enumerate(vectors.candidates):
                    own = gold.get(index, ())
                    if not own and any(candidate.overlaps(other) for other in used):
                        continue
                    if not own:
                        objects.append((candidate.text, -1, origin))
                    for statement in own or (None,):
                        row = rows[statement.property] if statement else -1
                        paths.append(vectors.paths[index])
                        windows.append(vectors.windows[index])
                        labels.append(row)
                        origins.append(origin)
                        kinds.append(KINDS.index(candidate.kind))
                        if statement is None:
                            continue
                        key = soft_text(statement.subject)
                        subject = next(
                            (
                                c
                                for c in vectors.candidates
                                if c.value is None and soft_text(c.text) == key
                            ),
                            None,
                        )
                        if subject is not None:
                            leads[row] += (subject.is_lead, 1)
                            subject_kinds[row, KINDS.index(subject.kind)] += 1
                            first[row] += (subject.begin < candidate.begin, 1)
        width = schema.labels.shape[1]
        label_array = np.array(labels, np.int64)
        counts = np.array([(label_array == row).sum() for row in range(size)], np.float32)
        return cls(
            np.array(paths, np.float32).reshape(-1, width),
            np.array(windows, np.float32).reshape(-1, width),
            label_array,
            np.array(kinds, np.int64),
            np.array(origins, np.int64),
            _example_names(objects, embed),
            _example_names(subjects, embed),
            _share(leads),
            subject_kinds / np.maximum(1, subject_kinds.sum(axis=1, keepdims=True)),
            _share(first),
            counts,
        )

    def without(self, origin: int) -> ExampleVectors:
        """All examples but one, to score that one as if it were no example."""
        others = self.origins != origin
        properties = self.properties[others]
        size = len(self.counts)
        return replace(
            self,
            paths=self.paths[others],
            windows=self.windows[others],
            properties=properties,
            kinds=self.kinds[others],
            origins=self.origins[others],
            objects=self.objects.without(origin),
            subjects=self.subjects.without(origin),
            counts=np.array([(properties == row).sum() for row in range(size)], np.float32),
        )


def _example_names(names: Sequence[tuple[str, int, int]], embed: Embed) -> ExampleNames:
    return ExampleNames(
        vectors_of_names([name for name, _, _ in names], embed),
        tuple(soft_text(name) for name, _, _ in names),
        np.array([row for _, row, _ in names], np.int64),
        np.array([origin for _, _, origin in names], np.int64),
    )


def _share(pairs: Floats) -> Floats:
    share: Floats = np.where(pairs[:, 1] > 0, pairs[:, 0] / np.maximum(1, pairs[:, 1]), np.nan)
    return share.astype(np.float32)


def align(candidates: Sequence[Candidate], example: Example) -> dict[int, list[ExampleStatement]]:
    """Index of candidate -> the statements of the example with this object.

    Candidates that are spelled as the object come before those that are equal to it up to accents,
    brackets and points.
    """
    aligned: dict[int, list[ExampleStatement]] = {}
    for normalize in (exact_text, soft_text):
        known = {id(statement) for own in aligned.values() for statement in own}
        keys = [
            {normalize(text) for text in (c.text, c.value.lexical if c.value else c.text)}
            for c in candidates
        ]
        for statement in example.statements:
            if id(statement) not in known:
                key = normalize(statement.object)
                for index, own_keys in enumerate(keys):
                    if key in own_keys:
                        aligned.setdefault(index, []).append(statement)
    return aligned


def object_features(
    sentence: SentenceVectors, schema: SchemaVectors, examples: ExampleVectors
) -> Floats:
    """Shape (candidates, properties, features)."""
    size, width = len(sentence.candidates), len(schema.properties)
    mask = schema.admitted(sentence.candidates)
    doc, span = sentence.sentence.doc, sentence.sentence
    own = np.array(
        [
            [
                *(c.kind == kind for kind in KINDS),
                c.is_lead, c.is_entity, c.is_chunk, c.is_quoted, c.dropped, c.end - c.begin,
                (c.begin - span.start) / max(1, len(span)),
                *(doc[c.head].dep_ == name for name in _DEPENDENCIES),
                len(phrase.split()), len(span), size,
            ]
            for c, phrase in zip(sentence.candidates, sentence.phrases, strict=True)
        ],
        np.float32,
    )  # fmt: skip
    path = sentence.paths @ schema.labels.T
    window, typed = (sentence.windows @ v.T for v in (schema.labels, schema.typed_labels))
    kinds = schema.kinds[[KINDS.index(c.kind) for c in sentence.candidates]]
    pairs = [
        path, sentence.paths @ schema.typed_labels.T, window, typed,
        sentence.nouns @ schema.ranges.T, sentence.nouns @ schema.labels.T,
        kinds @ schema.ranges.T,
    ]  # fmt: skip
    for matrix in (path, window, typed):
        pairs += _relative(matrix, mask)
    pairs += _example_features(sentence, examples, width, mask)
    tiled = np.broadcast_to(own[:, None], (size, width, own.shape[1]))
    return np.concatenate([tiled, np.stack(pairs, axis=2)], axis=2, dtype=np.float32)


def _relative(matrix: Floats, mask: NDArray[np.bool_]) -> list[Floats]:
    """Differences to the best admitted property of the candidate, and candidate of the property."""
    shown = np.where(mask, matrix, -1)
    return [matrix - shown.max(axis=1, keepdims=True), matrix - shown.max(axis=0, keepdims=True)]


_EXAMPLE_FEATURES = 20


def _example_features(
    sentence: SentenceVectors, examples: ExampleVectors, width: int, mask: NDArray[np.bool_]
) -> list[Floats]:
    shape = len(sentence.candidates), width
    if not len(examples.properties):
        return [np.full(shape, np.nan, np.float32)] * _EXAMPLE_FEATURES
    path = sentence.paths @ examples.paths.T
    window = sentence.windows @ examples.windows.T
    both: Floats = (path + window) * np.float32(0.5)
    result = []
    columns = {}
    for name, matrix in (("path", path), ("window", window), ("both", both)):
        nearest, mean = _nearest(matrix, examples.properties, shape[1])
        columns[name] = nearest
        result += [nearest, mean]
    none = both[:, examples.properties == -1]
    without = none.max(axis=1, keepdims=True) if none.shape[1] else np.full((shape[0], 1), np.nan)
    result.append((columns["both"] - without).astype(np.float32))
    filled = np.nan_to_num(columns["both"], nan=-1)
    result += _relative(filled, mask)
    kinds = np.array([KINDS.index(c.kind) for c in sentence.candidates])
    same_kind = examples.kinds[None, :] == kinds[:, None]
    order = np.argsort(-(both + 0.1 * same_kind), axis=1)[:, :_NEIGHBOURS]
    closest = examples.properties[order]
    weights = np.take_along_axis(both, order, axis=1)
    votes = np.stack([((closest == row) * weights).sum(axis=1) for row in range(shape[1])], axis=1)
    result.append((votes / np.maximum(1e-6, weights.sum(axis=1, keepdims=True))).astype(np.float32))
    none_vote = ((closest == -1) * weights).sum(axis=1, keepdims=True) / np.maximum(
        1e-6, weights.sum(axis=1, keepdims=True)
    )
    result.append(np.broadcast_to(none_vote, shape).astype(np.float32))
    share = np.full((len(KINDS), shape[1]), np.nan, np.float32)
    prior = np.zeros((len(KINDS), shape[1]), np.float32)
    for row in range(shape[1]):
        own_kinds = examples.kinds[examples.properties == row]
        for kind in range(len(KINDS)):
            same = (own_kinds == kind).sum()
            if len(own_kinds):
                share[kind, row] = same / len(own_kinds)
            prior[kind, row] = same / max(1, (examples.kinds == kind).sum())
    result += [share[kinds], prior[kinds]]
    result.append(np.broadcast_to(np.log1p(examples.counts), shape).astype(np.float32))
    names = examples.objects.similarities(sentence.names, sentence.candidates)
    nearest, mean = _nearest(names, examples.objects.properties, shape[1])
    none = names[:, examples.objects.properties == -1].max(axis=1, initial=-1.0)[:, None]
    result += [nearest, mean, (nearest - none).astype(np.float32)]
    result += _relative(np.nan_to_num(nearest, nan=-1), mask)
    result.append(np.broadcast_to(none, shape).astype(np.float32))
    return result


def _nearest(matrix: Floats, properties: NDArray[np.int64], size: int) -> tuple[Floats, Floats]:
    """Shape (rows of the matrix, size), twice: the best of each property, the mean of three."""
    nearest = np.full((len(matrix), size), np.nan, np.float32)
    mean = np.full((len(matrix), size), np.nan, np.float32)
    for row in range(size):
        own = matrix[:, properties == row]
        if own.shape[1]:
            top = -np.sort(-own, axis=1)[:, :3]
            nearest[:, row], mean[:, row] = top[:, 0], top.mean(axis=1)
    return nearest, mean


SUBJECT_KINDS = ENTITY_KINDS | {"identifier"}
_NO_SUBJECTS = frozenset({"date", "duration", "number", "quantity", "money", "coordinates"})


@dataclass(frozen=True)
class Subjects:
    """The candidates for the subject of a sentence; the last is the title if there is one.

    What does not depend on the property is computed once for a sentence or for an object of it.
    """

    sentence: Span
    candidates: tuple[Candidate, ...]
    has_title: bool
    name_vectors: Floats
    _blocks: dict[Candidate, tuple[Floats, Floats]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(cls, sentence: SentenceVectors, title: str, embed: Embed) -> Subjects:
        """All candidates that are names or nouns and no part of a value, and the title."""
        values = [c for c in sentence.candidates if c.kind in _NO_SUBJECTS]
        own = [
            index
            for index, c in enumerate(sentence.candidates)
            if c.kind in SUBJECT_KINDS
            and not any(v.begin <= c.begin and c.end <= v.end for v in values)
        ]
        candidates = tuple(sentence.candidates[index] for index in own)
        vectors = sentence.names[own]
        if not title:
            return cls(sentence.sentence, candidates, False, vectors)
        start = sentence.sentence.start
        return cls(
            sentence.sentence,
            (*candidates, Candidate(start, start, title, "name", start)),
            True,
            np.concatenate([vectors, vectors_of_names([title], embed)]),
        )

    @cached_property
    def kinds(self) -> list[int]:
        return [KINDS.index(c.kind) for c in self.candidates]

    @cached_property
    def fixed(self) -> tuple[Floats, Floats, Floats]:
        """Shape (subjects, features), three times: kind and place, clause and name, capitals."""
        doc, start = self.sentence.doc, self.sentence.start
        length = max(1, len(self.sentence))
        names = [c for c in self.candidates if c.kind != "noun"]
        first_name = min((c.begin for c in names), default=0)
        title = self._keys[-1] if self.has_title else ""
        places, clauses, capitals = [], [], []
        for c, key, is_title in zip(self.candidates, self._keys, self._is_title, strict=True):
            places.append([
                is_title, self.has_title, c.is_lead, c.is_entity, c.is_chunk, c.is_quoted,
                c.dropped, c.end - c.begin, *(c.kind == kind for kind in KINDS[:7]),
                (c.begin - start) / length, c.begin == first_name,
            ])  # fmt: skip
            role = doc[c.head].dep_
            clauses.append([
                role in ("nsubj", "nsubjpass"), role == "pobj", role == "dobj",
                role in ("compound", "amod", "poss"), role == "appos",
                doc[min(c.end, len(doc) - 1)].text in ("'s", "’s"),
                self.has_title and key == title,
                any(c.overlaps(o) and len(o.text) > len(c.text) for o in names),
            ])  # fmt: skip
            capitals.append([doc[c.begin].text[:1].isupper() and doc[c.end - 1].text.islower()])
        return _floats(places), _floats(clauses), _floats(capitals)

    def of_object(self, object_: Candidate) -> tuple[Floats, Floats]:
        """Shape (subjects, features), twice: the way to the object, and the clauses around it."""
        if object_ not in self._blocks:
            self._blocks[object_] = _floats(self._ways(object_)), _floats(self._around(object_))
        return self._blocks[object_]

    def _ways(self, object_: Candidate) -> Iterator[list[float]]:
        way = _ancestors(self.sentence.doc, object_.head)
        verbs, marks = self._counts
        start = self.sentence.start
        for c, path in zip(self.candidates, self._paths, strict=True):
            up, common = next(
                ((up, token) for up, token in enumerate(path) if token in way), (0, -1)
            )
            down = way.index(common) if common >= 0 else len(way) - 1
            low, high = sorted((c.head - start, object_.head - start))
            yield [
                c.begin < object_.begin, high - low, verbs[high] - verbs[low],
                marks[high] - marks[low], up + down if common >= 0 else 20, down,
            ]  # fmt: skip

    def _around(self, object_: Candidate) -> Iterator[list[float]]:
        doc = self.sentence.doc
        clause = _clause_subjects(doc, object_)
        nearest = doc[clause[0]].pos_ if clause else ""
        key = soft_text(object_.text)
        for c, own, is_title in zip(self.candidates, self._keys, self._is_title, strict=True):
            yield [
                not is_title and c.overlaps(object_), own == key,
                *(
                    not is_title and len(clause) > level and c.begin <= clause[level] < c.end
                    for level in range(2)
                ),
                nearest == "PRON", nearest == "NOUN", len(clause),
            ]  # fmt: skip

    @cached_property
    def _is_title(self) -> list[bool]:
        last = len(self.candidates) - 1
        return [self.has_title and index == last for index in range(last + 1)]

    @cached_property
    def _keys(self) -> list[str]:
        return [soft_text(c.text) for c in self.candidates]

    @cached_property
    def _paths(self) -> list[list[int]]:
        return [_ancestors(self.sentence.doc, c.head) for c in self.candidates]

    @cached_property
    def _counts(self) -> tuple[list[int], list[int]]:
        """The numbers of verbs and of punctuation marks before each token of the sentence."""
        verbs = (token.pos_ in ("VERB", "AUX") for token in self.sentence)
        marks = (token.text in (",", ";", ".") for token in self.sentence)
        return list(accumulate(verbs, initial=0)), list(accumulate(marks, initial=0))


def _floats(rows: Iterable[Sequence[float]]) -> Floats:
    return np.array(list(rows), np.float32)


def subject_features(
    subjects: Subjects,
    object_: Candidate,
    row: int,
    schema: SchemaVectors,
    examples: ExampleVectors,
) -> Floats:
    """Shape (subjects, features), for one object and one property."""
    domain = schema.domains[row]
    kind_domain = schema.kinds[subjects.kinds] @ domain
    shares = schema.domain_shares
    size = len(subjects.candidates)
    of_property = [size, shares[row], shares[row] >= shares.max()]
    places, clauses, capitals = subjects.fixed
    ways, around = subjects.of_object(object_)
    of_examples = [
        _of_examples(examples, row, c, c.begin < object_.begin) for c in subjects.candidates
    ]
    return np.concatenate(
        [
            places,
            ways,
            clauses,
            around,
            np.stack([kind_domain, kind_domain - kind_domain.max()], axis=1),
            np.broadcast_to(np.array(of_property, np.float32), (size, len(of_property))),
            _floats(of_examples),
            capitals,
            _like_example_subjects(examples, row, subjects),
        ],
        axis=1,
        dtype=np.float32,
    )


_RELATIVE = frozenset({"who", "which", "that", "whose", "whom", "where"})


def _clause_subjects(doc: Doc, object_: Candidate) -> list[int]:
    """The subjects of the clauses around an object, innermost first.

    A relative pronoun and the missing subject of a participle are those of the noun before.
    """
    subjects: list[int] = []
    span = range(object_.begin, object_.end)
    token = doc[object_.head]
    for _ in range(12):
        if token.dep_ in ("poss", "appos") or (token.dep_ == "relcl" and token.head.pos_ == "NOUN"):
            subjects.append(token.head.i)
        head = token.head
        if head.i == token.i:
            break
        if head.pos_ in ("VERB", "AUX"):
            own = [c for c in head.children if c.dep_ in ("nsubj", "nsubjpass") and c.i not in span]
            if own and own[0].lower_ in _RELATIVE:
                subjects.append(head.head.i)
            elif own:
                subjects.append(own[0].i)
            elif head.dep_ in ("acl", "relcl"):
                subjects.append(head.head.i)
        token = head
    return [i for i in dict.fromkeys(subjects) if i not in span]


def _of_examples(examples: ExampleVectors, row: int, c: Candidate, is_before: bool) -> list[float]:
    """How often the subjects of the examples of a property are like this one."""
    if not len(examples.properties):
        return [np.nan] * 6
    lead, first = float(examples.subject_leads[row]), float(examples.subject_first[row])
    return [
        lead,
        lead if c.is_lead else 1 - lead,
        first,
        first if is_before else 1 - first,
        float(examples.subject_kinds[row, KINDS.index(c.kind)]),
        float(examples.counts[row]),
    ]


def _like_example_subjects(examples: ExampleVectors, row: int, subjects: Subjects) -> Floats:
    """Shape (subjects, 3): how much a name is like the subjects of the examples of a property."""
    size = len(subjects.candidates)
    if not (examples.subjects.properties == row).any():
        return np.full((size, 3), np.nan, np.float32)
    names = examples.subjects.similarities(subjects.name_vectors, subjects.candidates)
    own = -np.sort(-names[:, examples.subjects.properties == row], axis=1)[:, :3]
    nearest, mean = own[:, 0], own.mean(axis=1)
    return np.stack([nearest, mean, mean - mean.max()], axis=1).astype(np.float32)


def _ancestors(doc: Doc, index: int) -> list[int]:
    path, token = [index], doc[index]
    while token.head.i != token.i and len(path) < 20:
        token = token.head
        path.append(token.i)
    return path
