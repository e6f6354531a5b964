"""What the subjects and objects of a property are like: features for two classifiers.

Each candidate argument has three vectors. Its *path* has the words between it and the verb that
governs it in the dependency tree, without names: "was built in" for a place. Its *window* has the
common words before and after it, and a word for its kind. Its *name* has its own words. All are
compared with the labels of properties and with the examples; no feature is the identity of a name
or of a property.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span, Token

from sarag_rdf.extraction.examples import Example, ExampleStatement
from sarag_rdf.extraction.names import exact_text, soft_text
from sarag_rdf.extraction.statements import RangeKind, range_kind
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.learned.arguments import (
    ENTITY_KINDS,
    KINDS,
    Candidate,
    Kind,
    find_candidates,
)

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Embed = Callable[[Sequence[str]], Floats]
"""The unit vectors of texts, shape (texts, d)."""

_KIND_WORDS: dict[Kind, str] = {
    **{kind: kind for kind in KINDS},
    "group": "nationality", "work": "title", "name": "something", "noun": "something",
    "duration": "time", "quantity": "measure", "money": "amount of money", "identifier": "code",
    "url": "web address",
}  # fmt: skip
"""The word that stands for a candidate of each kind in its window."""
_ADMITTED: dict[RangeKind, frozenset[Kind]] = {
    "date": frozenset({"date"}),
    "duration": frozenset({"duration"}),
    "number": frozenset({"number", "quantity", "money", "duration", "date"}),
    "string": ENTITY_KINDS | frozenset[Kind]({"identifier", "number", "quantity", "date"}),
    "url": frozenset({"url"}),
    "coordinates": frozenset({"coordinates"}),
    "entity": ENTITY_KINDS | frozenset[Kind]({"identifier"}),
    "any": frozenset(KINDS),
    "unsupported": frozenset(),
}
"""Kind of range -> the kinds of candidates that may be objects."""
_VERBS = ("VERB", "AUX")
_OF_VERB = frozenset({"prt", "neg", "acomp", "attr", "oprd", "dobj", "agent", "auxpass"})
_MODIFIERS = frozenset({"amod", "compound", "nmod", "poss", "nummod", "appos"})
_DEPENDENCIES = ("pobj", "dobj", "attr", "appos", "amod", "compound", "conj", "nsubj", "nsubjpass",
                 "poss", "ROOT", "nummod")  # fmt: skip
_WINDOW = 4
_REACH = 8
_MAX_STEPS = 6
_NEIGHBOURS = 7
_NAME = 2
"""The place of the vector of the name among those of a candidate."""


def sentences_of(doc: Doc) -> Iterator[Span]:
    """The sentences of a text; none goes beyond a blank line, as those of the parser may."""
    for sentence in doc.sents:
        begin = sentence.start
        for token in sentence:
            if token.is_space and token.text.count("\n") > 1:
                if token.i > begin:
                    yield doc[begin : token.i]
                begin = token.i + 1
        if begin < sentence.end:
            yield doc[begin : sentence.end]


def path_phrase(doc: Doc, candidate: Candidate) -> str:
    """The path of a candidate, or the word "is" if no words govern it."""
    words: set[int] = set()
    token = doc[candidate.head]
    for _ in range(_MAX_STEPS):
        head = token.head
        if head.i == token.i:
            break
        if token.dep_ != "conj" or (head.pos_ in _VERBS and token.pos_ != "VERB"):
            words.add(head.i)  # a verb with its own object does not depend on the verb before "and"
        if head.pos_ in _VERBS:
            words.update(_words_of_verb(head, token))
            if head.dep_ not in ("aux", "auxpass", "xcomp"):
                break
        if token.dep_ in _MODIFIERS and head.pos_ in ("NOUN", "PROPN"):
            words.update(child.i for child in head.lefts if child.dep_ in ("amod", "compound"))
            if head.pos_ == "PROPN":
                break
        token = head
    before = candidate.begin - 1
    while before >= max(0, candidate.begin - 3) and doc[before].pos_ in ("NOUN", "ADJ"):
        words.add(before)  # the "test pilot" of "test pilot Ann Lee"
        before -= 1
    span = range(candidate.begin, candidate.end)
    common = (doc[i].lower_ for i in sorted(words) if i not in span and _is_common(doc[i]))
    return " ".join(common) or "is"


def _words_of_verb(verb: Token, below: Token) -> Iterator[int]:
    for child in verb.children:
        if child.i != below.i and child.dep_ in _OF_VERB:
            yield child.i
            if child.dep_ in ("dobj", "attr"):
                yield from (c.i for c in child.children if c.dep_ in ("amod", "compound", "prep"))


def _is_common(token: Token) -> bool:
    return token.pos_ not in ("PROPN", "PUNCT", "SPACE", "DET", "NUM") and not token.ent_type_


_Weights = list[tuple[str, float]]
"""Words with their weights."""


def _window(sentence: Span, candidate: Candidate) -> _Weights:
    """The nearest common words around a candidate, and the word for its kind."""
    doc = sentence.doc
    before = doc[max(sentence.start, candidate.begin - _REACH) : candidate.begin]
    after = doc[candidate.end : min(sentence.end, candidate.end + _REACH)]
    words = [(_KIND_WORDS[candidate.kind], 0.5)]
    for tokens in (reversed(list(before)), after):
        near = [token for token in tokens if token.is_alpha and _is_common(token)]
        words += [(t.lower_, 0.3 if t.is_stop else 1.0) for t in near[:_WINDOW]]
    return words


def _name(text: str) -> _Weights:
    """The words of a name, the last one twice: "Cardiff" is near "Swansea"."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return [(word, 1.0) for word in words] + [(word, 1.0) for word in words[-1:]]


@dataclass(frozen=True)
class Arguments:
    """The candidates of one sentence, with vectors of shape (candidates, 3, d).

    The title of the document is the last candidate if there is one. It is no part of the sentence.
    """

    sentence: Span
    candidates: tuple[Candidate, ...]
    vectors: Floats
    has_title: bool = False

    @classmethod
    def of_all(cls, sentences: Sequence[Span], embed: Embed) -> list[Arguments]:
        """The candidates of many sentences, whose words are embedded together."""
        candidates = [tuple(find_candidates(sentence)) for sentence in sentences]
        texts = [
            [([(path_phrase(s.doc, c), 1.0)], _window(s, c), _name(c.text)) for c in own]
            for s, own in zip(sentences, candidates, strict=True)
        ]
        embed(sorted({w for own in texts for views in own for view in views for w, _ in view}))
        return [
            cls(sentence, own, _vectors(views, embed))
            for sentence, own, views in zip(sentences, candidates, texts, strict=True)
        ]

    def titled(self, title: str, embed: Embed) -> Arguments:
        """With the title as the last candidate, unless it is empty."""
        if not title:
            return self
        start = self.sentence.start
        own = _vectors([([], [], _name(title))], embed)
        candidates = (*self.candidates, Candidate(start, start, title, "name", start))
        vectors = np.concatenate([self.vectors, own])
        return Arguments(self.sentence, candidates, vectors, has_title=True)

    @property
    def kinds(self) -> Rows:
        """Shape (candidates,): the place of each kind in `KINDS`."""
        return np.array([KINDS.index(c.kind) for c in self.candidates], np.int64)

    def of_itself(self) -> Floats:
        """Shape (candidates, features): kind, position, and place in the dependency tree."""
        doc, size = self.sentence.doc, len(self.sentence)
        rows = []
        for position, c in enumerate(self.candidates):
            head, following = doc[c.head], doc[min(c.end, len(doc) - 1)]
            is_title = self.has_title and position == len(self.candidates) - 1
            rows.append([
                *(c.kind == kind for kind in KINDS), *(head.dep_ == d for d in _DEPENDENCIES),
                c.is_lead, c.is_entity, is_title, c.end - c.begin,
                (c.begin - self.sentence.start) / size, size, following.text in ("'s", "’s"),
                doc[c.begin].text[:1].isupper(), head.head.pos_ in _VERBS,
                any(c.overlaps(o) and len(o.text) > len(c.text) for o in self.candidates),
            ])  # fmt: skip
        return np.array(rows, np.float32)


def _vectors(views: Sequence[Sequence[_Weights]], embed: Embed) -> Floats:
    """Shape (candidates, views, d): unit weighted means of the vectors of words; else zero."""
    words = sorted({word for own in views for view in own for word, _ in view}) or ["is"]
    table = dict(zip(words, embed(words), strict=True))
    zero = np.zeros_like(table[words[0]])
    sums = [[sum((table[w] * weight for w, weight in view), zero) for view in own] for own in views]
    result = np.array(sums, np.float32).reshape(len(views), 3, len(zero))
    return result / np.maximum(1e-9, np.linalg.norm(result, axis=2, keepdims=True))


@dataclass(frozen=True)
class SchemaVectors:
    """The properties of a schema with their vectors; the rows of all arrays are properties."""

    properties: tuple[OntologyProperty, ...]
    labels: Floats
    typed_labels: Floats
    """Of "domain label range"."""
    domains: Floats
    ranges: Floats
    kinds: Floats
    """A row for each of `KINDS`."""

    @classmethod
    def of(cls, schema: Schema, embed: Embed) -> SchemaVectors:
        properties = tuple(schema.properties.values())
        labels = [p.label for p in properties]
        domains = [schema.label_of(p.domains) for p in properties]
        ranges = [schema.label_of(p.ranges) for p in properties]
        typed = [" ".join(filter(None, t)) for t in zip(domains, labels, ranges, strict=True)]
        return cls(
            properties,
            embed(labels),
            embed(typed),
            embed([domain or "thing" for domain in domains]),
            embed([range_ or "thing" for range_ in ranges]),
            embed([_KIND_WORDS[kind] for kind in KINDS]),
        )

    def admitted(self, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
        """Shape (candidates, properties): whether the kind of the candidate fits the range."""
        kinds = [_ADMITTED[range_kind(property_)] for property_ in self.properties]
        rows = [[candidate.kind in own for own in kinds] for candidate in candidates]
        return np.array(rows, np.bool_).reshape(len(candidates), len(kinds))


@dataclass(frozen=True)
class Samples:
    """Candidates of the examples in one role, such as subjects; rows of arrays are candidates.

    `properties` are rows of the schema, or -1 for a candidate that no statement has in this role.
    `keys` are the names by `soft_text`, and `origins` the places of the examples.
    """

    vectors: Floats
    keys: NDArray[np.str_]
    properties: Rows
    kinds: Rows
    origins: Rows

    @classmethod
    def of(
        cls, rows: Sequence[tuple[Floats, Candidate, int, int]], shape: tuple[int, int]
    ) -> Samples:
        """Of vectors of this shape, candidates, properties and origins."""
        return cls(
            np.array([vectors for vectors, *_ in rows], np.float32).reshape(-1, *shape),
            np.array([soft_text(c.text) for _, c, _, _ in rows], np.str_),
            np.array([row for _, _, row, _ in rows], np.int64),
            np.array([KINDS.index(c.kind) for _, c, _, _ in rows], np.int64),
            np.array([origin for *_, origin in rows], np.int64),
        )

    def without(self, origin: int) -> Samples:
        """Those of all examples but one, to score that one as if it were no example."""
        others = self.origins != origin
        return Samples(
            self.vectors[others], self.keys[others], self.properties[others], self.kinds[others],
            self.origins[others],
        )  # fmt: skip

    def similarities(self, arguments: Arguments) -> Floats:
        """Shape (views, candidates, samples): cosines; -1 of a name with itself.

        Names are not learned by heart, but common nouns are: they are compared with themselves.
        """
        cosines: Floats = np.einsum("cvd,svd->vcs", arguments.vectors, self.vectors)
        for row, c in enumerate(arguments.candidates):
            if c.kind != "noun":
                cosines[_NAME, row, self.keys == soft_text(c.text)] = -1
        return cosines


def role_features(
    arguments: Arguments, schema: SchemaVectors, samples: Samples, types: Floats
) -> Floats:
    """Shape (candidates, properties, features): how well a candidate has a role of a property.

    `types` are the vectors of the domains or ranges of the properties.
    """
    shape = len(arguments.candidates), len(schema.properties)
    path, window, name = arguments.vectors.transpose(1, 0, 2)
    columns = [path @ schema.labels.T, window @ schema.labels.T, window @ schema.typed_labels.T,
               name @ types.T, schema.kinds[arguments.kinds] @ types.T]  # fmt: skip
    columns += [
        matrix - matrix.max(axis=axis, keepdims=True) for matrix in columns[:3] for axis in (0, 1)
    ]
    cosines = samples.similarities(arguments)
    cosines = np.concatenate([cosines, cosines[:_NAME].mean(axis=0, keepdims=True)])
    nearest = np.full((len(cosines), *shape), np.nan, np.float32)
    mean = nearest.copy()
    share = np.full(shape, np.nan, np.float32)
    votes = np.zeros(shape, np.float32)
    same_kind = samples.kinds[None, :] == arguments.kinds[:, None]
    order = np.argsort(-(cosines[-1] + 0.1 * same_kind), axis=1)[:, :_NEIGHBOURS]
    weights = np.take_along_axis(cosines[-1], order, axis=1)
    for row in range(shape[1]):
        own = samples.properties == row
        if own.any():
            best = -np.sort(-cosines[:, :, own], axis=2)[:, :, :3]
            nearest[:, :, row], mean[:, :, row] = best[:, :, 0], best.mean(axis=2)
            share[:, row] = same_kind[:, own].mean(axis=1)
        votes[:, row] = (weights * own[order]).sum(axis=1)
    none = cosines[:, :, samples.properties == -1].max(axis=2, initial=-1)[:, :, None]
    columns += [*nearest, *mean, *(nearest - none), share, votes]
    columns += [
        m - np.nan_to_num(m, nan=-1).max(axis=a, keepdims=True)
        for m in nearest[_NAME:]
        for a in (0, 1)
    ]
    counts = np.array([(samples.properties == row).sum() for row in range(shape[1])])
    columns.append(np.broadcast_to(np.log1p(counts), shape))
    return np.stack(columns, axis=2).astype(np.float32)


def align(candidates: Sequence[Candidate], example: Example) -> dict[int, list[ExampleStatement]]:
    """Index of candidate -> the statements of the example with this object.

    Candidates that are spelled as the object come before those that are equal to it up to accents,
    brackets and points.
    """
    aligned: dict[int, list[ExampleStatement]] = {}
    for statement in example.statements:
        for normalize in (exact_text, soft_text):
            key = normalize(statement.object)
            equal = [
                index
                for index, c in enumerate(candidates)
                if key in {normalize(c.text), normalize(c.value.lexical if c.value else c.text)}
            ]
            for index in equal:
                aligned.setdefault(index, []).append(statement)
            if equal:
                break
    return aligned


def ways(sentence: Arguments, object_: Candidate) -> Floats:
    """Shape (candidates, features): how far each is from an object, and its place in the clause."""
    doc, title = sentence.sentence.doc, len(sentence.candidates) - 1
    way = _ancestors(doc, object_.head)
    clause = _clause_subjects(doc, object_)
    nearest = doc[clause[0]].pos_ if clause else ""
    keys = [soft_text(c.text) for c in sentence.candidates]
    rows = []
    for position, c in enumerate(sentence.candidates):
        is_title = sentence.has_title and position == title
        path = _ancestors(doc, c.head)
        up, common = next(((up, i) for up, i in enumerate(path) if i in way), (20, way[-1]))
        between = doc[min(c.head, object_.head) : max(c.head, object_.head)]
        rows.append([
            c.begin < object_.begin, len(between), sum(t.pos_ in _VERBS for t in between),
            sum(t.text in (",", ";", ".") for t in between), up, way.index(common),
            not is_title and c.overlaps(object_), keys[position] == soft_text(object_.text),
            sentence.has_title and keys[position] == keys[title],
            *(not is_title and c.begin <= i < c.end for i in [*clause, -1, -1][:2]),
            nearest == "PRON", nearest == "NOUN", len(clause),
        ])  # fmt: skip
    return np.array(rows, np.float32)


def _ancestors(doc: Doc, index: int) -> list[int]:
    return [index, *(token.i for token in doc[index].ancestors)]


_RELATIVE = frozenset({"who", "which", "that", "whose", "whom", "where"})


def _clause_subjects(doc: Doc, object_: Candidate) -> list[int]:
    """The subjects of the clauses around an object, innermost first.

    A relative pronoun and the missing subject of a participle are those of the noun before.
    """
    subjects: list[int] = []
    span = range(object_.begin, object_.end)
    for token in (doc[object_.head], *doc[object_.head].ancestors):
        head = token.head
        if token.dep_ in ("poss", "appos") or (token.dep_ == "relcl" and head.pos_ == "NOUN"):
            subjects.append(head.i)
        if head.i != token.i and head.pos_ in _VERBS:
            own = [c for c in head.children if c.dep_ in ("nsubj", "nsubjpass") and c.i not in span]
            if own and own[0].lower_ not in _RELATIVE:
                subjects.append(own[0].i)
            elif own or head.dep_ in ("acl", "relcl"):
                subjects.append(head.head.i)
    return [i for i in dict.fromkeys(subjects) if i not in span]
