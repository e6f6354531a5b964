"""Candidate arguments of statements, and their features for two classifiers.

Candidates are all spans of a sentence that may be the subject or object of a statement. They
overlap on purpose ("chief test pilot", "test pilot", "pilot"): the classifiers decide. All of them
are text of the sentence.

Each candidate has three vectors. Its *path* has the words between it and the verb that governs it
in the dependency tree, without names: "was built in" for a place. Its *window* has the common words
before and after it, and a word for its kind. Its *name* has its own words. All are compared with
the labels of properties and with the examples; no feature is the identity of a name or a property.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span, Token

from sarag_rdf.base.types import Value
from sarag_rdf.extraction.names import clean_name
from sarag_rdf.extraction.text_values import find_values
from sarag_rdf.extraction.typed_statements import RangeKind, range_kind
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.plugins.statement_models import soft_text

Kind = Literal[
    "person", "organization", "place", "group", "work", "name", "noun",
    "date", "duration", "number", "quantity", "money", "coordinates", "identifier", "url",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
ENTITY_KINDS = frozenset(KINDS[:7])

_LABELS: dict[str, Kind] = {
    "PERSON": "person", "ORG": "organization", "GPE": "place", "LOC": "place", "FAC": "place",
    "NORP": "group", "LANGUAGE": "group", "WORK_OF_ART": "work", "PRODUCT": "name",
    "EVENT": "name", "LAW": "name",
}  # fmt: skip
"""OntoNotes labels -> kinds."""
_WORD = r"(?:[A-Z\u00c0-\u00de0-9][\w'’.&/-]*)"
_WORDS = rf"{_WORD}(?:\s{_WORD})*"
_BRIDGE = (
    r"(?:of the|of|the|and|&|for|de la|de|la|du|dos|das|da|do|del|di|y|von|van|der|"
    r"in|at|on|to|with|from|[-–,])"
)
_RUN = re.compile(
    rf"(?<![\w])(?:[A-Z\u00c0-\u00de][\w'’.&/-]*|\d[\w.]*(?=\s[A-Z]))(?:\s{_WORD})*"
    rf"(?:(?:,|,?\s{_BRIDGE})\s{_WORDS}){{0,2}}(?:\s\((?!born|n\.|c\.)[^\W\d][\w\s.'-]{{1,30}}\))?"
)
_PART_END = re.compile(rf",?\s{_BRIDGE}\s|,\s|\s\(|['’]s\s")
_QUOTED = re.compile(r"[\"“”]([^\"“”]{2,100})[\"“”]|(?<!\w)['‘]([^'‘’]{2,80})['’](?!\w)")
_ARTICLES = frozenset({"the", "a", "an"})
_DROPPED = frozenset({"DET", "PRON", "PUNCT", "SPACE", "CCONJ", "ADP", "AUX", "SCONJ", "PART"})
_INNER = frozenset({"NOUN", "PROPN", "ADJ", "NUM"})
_TRAILING = frozenset(
    "which who that also is was are were has had and or 's ’s , ; : ' \" ( -".split()
)
_MAX_TOKENS = 14
_MAX_INNER = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span of tokens ``begin`` to ``end`` (exclusive), and what is known about it.

    `text` is the name or the text of the value; `head` the index of its syntactic head.
    """

    begin: int
    end: int
    text: str
    kind: Kind
    head: int
    value: Value | None = None
    is_entity: bool = False

    def overlaps(self, other: Candidate) -> bool:
        """Whether they have a token in common."""
        return self.begin < other.end and other.begin < self.end


def find_candidates(sentence: Span) -> list[Candidate]:
    """All candidates of a sentence in the order of their first tokens, without duplicates."""
    doc, offset = sentence.doc, sentence.start_char
    candidates: dict[tuple[int, int, bool], Candidate] = {}
    for own in find_values(sentence.text):
        span = doc.char_span(offset + own.begin, offset + own.end, alignment_mode="expand")
        if span is not None:
            key = span.start, span.end, True
            text, head = own.value.text, span.root.i
            candidates[key] = Candidate(*key[:2], text, own.kind, head, own.value)
    for span, kind in _spans(sentence):
        key = span.start, span.end, False
        if key not in candidates and (text := _text(span, kind)):
            is_entity = any((_trim(e).start, _trim(e).end) == key[:2] for e in sentence.ents)
            own_kind = kind or _kind(span)
            candidates[key] = Candidate(*key[:2], text, own_kind, span.root.i, None, is_entity)
    return sorted(candidates.values(), key=lambda c: (c.begin, c.end, c.value is None))


def _spans(sentence: Span) -> Iterator[tuple[Span, Kind | None]]:
    """Named entities, noun phrases and their parts, runs of capitalised words, quotations."""
    doc, text = sentence.doc, sentence.text
    for ent in sentence.ents:
        if ent.label_ in _LABELS:
            yield _trim(ent), _LABELS[ent.label_]
    for match in _QUOTED.finditer(text):
        if span := _char_span(sentence, *match.span(match.lastindex or 0)):
            yield span, "work"
    for chunk in sentence.noun_chunks if doc.has_annotation("DEP") else ():
        chunk = _trim(chunk)
        yield chunk, None
        for begin in range(chunk.start, chunk.end):
            for end in range(begin + 1, chunk.end + 1):
                inner = doc[begin:end]
                is_short = end == chunk.end or end - begin <= _MAX_INNER
                if is_short and {inner[0].pos_, inner[-1].pos_} <= _INNER and not _is_part(inner):
                    yield inner, None
    for token in sentence:
        if token.pos_ == "ADJ" and token.text[:1].isupper() and token.i > sentence.start:
            yield doc[token.i : token.i + 1], "group"
        elif token.pos_ in ("NOUN", "ADJ"):
            yield doc[token.i : token.i + 1], None
    for match in _RUN.finditer(text):
        run, start = match[0], match.start()
        parts = [(0, len(run)), *((0, end.start()) for end in _PART_END.finditer(run))]
        parts += [(end.end(), len(run)) for end in re.finditer(r"['’]s?\s", run)]
        for begin, end in parts:
            if span := _char_span(sentence, start + begin, start + end):
                yield _trim(span), None


def _char_span(sentence: Span, begin: int, end: int) -> Span | None:
    """The tokens of a part of a sentence without punctuation at its end."""
    end = begin + len(sentence.text[begin:end].rstrip(".,'’ "))
    return sentence.doc.char_span(sentence.start_char + begin, sentence.start_char + end)


def _is_part(span: Span) -> bool:
    """Whether a span is a single word of a longer proper name, such as its first name."""
    doc = span.doc
    around = [doc[i] for i in (span.start - 1, span.end) if 0 <= i < len(doc)]
    return len(span) == 1 and span[0].pos_ == "PROPN" and any(t.pos_ == "PROPN" for t in around)


def _text(span: Span, kind: Kind | None) -> str:
    """The name of a candidate; empty for a pronoun, and for a part of a hyphenated word."""
    text = " ".join(span.text.split()) if kind == "work" else clean_name(span.text)
    before = span.doc[span.start - 1] if span.start else None
    if before is not None and before.text == "The" and not before.is_sent_start:
        text = f"The {text}"
    is_name = 0 < len(span) <= _MAX_TOKENS and len(text) > 1 and any(map(str.isalnum, text))
    is_pronoun = len(span) == 1 and span[0].pos_ in ("PRON", "DET")
    is_whole = not any(_is_joint(span.doc, place) for place in (span.start, span.end))
    return text if is_name and not is_pronoun and is_whole else ""


def _is_joint(doc: Doc, place: int) -> bool:
    """Whether the tokens before and after a place are parts of one hyphenated word."""
    if not 0 < place < len(doc):
        return False
    is_hyphen = not {doc[place - 1].text, doc[place].text}.isdisjoint("-–")
    return is_hyphen and not doc[place - 1].whitespace_


def _kind(span: Span) -> Kind:
    """The kind of the named entity with the same last word, else a name or a noun."""
    if span[-1].ent_type_ in _LABELS:
        return _LABELS[span[-1].ent_type_]
    is_name = any(token.pos_ == "PROPN" or token.text[:1].isupper() for token in span)
    return "name" if is_name else "noun"


def _trim(span: Span) -> Span:
    """Without articles, pronouns and punctuation at its edges; brackets and initials stay."""
    begin, end, doc = span.start, span.end, span.doc
    while begin < end - 1 and doc[begin].whitespace_:
        first = doc[begin]
        is_capital = first.text[:1].isupper() and first.lower_ != "its"
        if first.lower_ not in _ARTICLES and (is_capital or first.pos_ not in _DROPPED):
            break
        begin += 1
    while begin < end - 1 and (
        doc[end - 1].lower_ in _TRAILING
        or (doc[end - 1].text == ")" and "(" not in doc[begin:end].text)
    ):
        end -= 1
    return doc[begin:end]


# Features


def exact_text(text: str) -> str:
    """Text without spaces, underscores and quotes, in lower case."""
    return re.sub(r'[_\s"]+', "", text).lower()


Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
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
_PATH_WORDS = frozenset("prt neg acomp attr oprd dobj auxpass amod compound".split())
_DEPENDENCIES = ("pobj", "dobj", "attr", "appos", "amod", "compound", "conj", "nsubj", "nsubjpass",
                 "poss", "ROOT", "nummod")  # fmt: skip
_WINDOW = 4
_REACH = 8
_VIEWS = 3
_NAME = 2
"""The place of the vector of the name among the views of a candidate."""


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
    for token in doc[candidate.head].ancestors:
        words.add(token.i)
        words.update(child.i for child in token.children if child.dep_ in _PATH_WORDS)
        if token.pos_ in _VERBS:
            break
    span = range(candidate.begin, candidate.end)
    common = (doc[i].lower_ for i in sorted(words) if i not in span and _is_common(doc[i]))
    return " ".join(common) or "is"


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
    return [(word, 1.0) for word in words + words[-1:]]


def _vectors(candidates: Sequence[Sequence[_Weights]], embed: Embed) -> Floats:
    """Shape (candidates, views, d): unit weighted means of the vectors of words; else zero."""
    words = sorted({word for views in candidates for view in views for word, _ in view}) or ["is"]
    table = dict(zip(words, embed(words), strict=True))
    zero = np.zeros_like(table[words[0]])
    sums = [
        [sum((table[word] * weight for word, weight in view), zero) for view in views]
        for views in candidates
    ]
    result: Floats = np.array(sums, np.float32).reshape(len(sums), _VIEWS, len(zero))
    result /= np.maximum(1e-9, np.linalg.norm(result, axis=2, keepdims=True))
    return result


@dataclass(frozen=True)
class Arguments:
    """The candidates of one sentence, with vectors of shape (candidates, views, d).

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
        words = [
            [([(path_phrase(s.doc, c), 1.0)], _window(s, c), _name(c.text)) for c in own]
            for s, own in zip(sentences, candidates, strict=True)
        ]
        embed(sorted({w for own in words for views in own for view in views for w, _ in view}))
        vectors = (_vectors(own, embed) for own in words)
        return list(map(cls, sentences, candidates, vectors))

    def titled(self, title: str, embed: Embed) -> Arguments:
        """With the title as the last candidate, unless it is empty."""
        if not title:
            return self
        start = self.sentence.start
        candidates = (*self.candidates, Candidate(start, start, title, "name", start))
        own = _vectors([([], [], _name(title))], embed)
        return Arguments(self.sentence, candidates, np.concatenate([self.vectors, own]), True)

    @property
    def kinds(self) -> Integers:
        """Shape (candidates,): the place of each kind in `KINDS`."""
        return np.array([KINDS.index(c.kind) for c in self.candidates], np.int64)

    def spelled(self, text: str) -> list[int]:
        """The places of the candidates that are spelled as a text, else of those like it.

        Names are like each other that differ in accents, brackets and points.
        """
        places: list[int] = []
        for normalize in (exact_text, soft_text):
            texts = [(c.text, c.value.lexical if c.value else c.text) for c in self.candidates]
            keys = [set(map(normalize, own)) for own in texts]
            places = places or [place for place, own in enumerate(keys) if normalize(text) in own]
        return places

    def is_title(self, place: int) -> bool:
        """Whether the candidate at a place is the title of the document."""
        return self.has_title and place == len(self.candidates) - 1

    def features(self) -> Floats:
        """Shape (candidates, features): kind, position, and place in the dependency tree."""
        doc, size = self.sentence.doc, len(self.sentence)
        title = soft_text(self.candidates[-1].text) if self.has_title else None
        rows = [
            [
                *(c.kind == kind for kind in KINDS),
                *(doc[c.head].dep_ == name for name in _DEPENDENCIES),
                c.is_entity, self.is_title(place), soft_text(c.text) == title,
                c.end - c.begin, (c.begin - self.sentence.start) / size, size,
                doc[c.begin].text[:1].isupper(),
                doc[min(c.end, len(doc) - 1)].text in ("'s", "’s"),
                any(c.overlaps(o) and len(o.text) > len(c.text) for o in self.candidates),
            ]
            for place, c in enumerate(self.candidates)
        ]  # fmt: skip
        return np.array(rows, np.float32)

    def distances(self, object_: Candidate) -> Floats:
        """Shape (candidates, features): how far each is from an object, in words and in the tree.

        The way up to the first common ancestor and the way down from it tell the subject of the
        clause from other names.
        """
        doc = self.sentence.doc
        way = [object_.head, *(token.i for token in doc[object_.head].ancestors)]
        rows = []
        for place, c in enumerate(self.candidates):
            path = [c.head, *(token.i for token in doc[c.head].ancestors)]
            up, common = next(((up, i) for up, i in enumerate(path) if i in way), (20, way[-1]))
            rows.append([
                c.begin < object_.begin, abs(c.head - object_.head), up, way.index(common),
                not self.is_title(place) and c.overlaps(object_),
                soft_text(c.text) == soft_text(object_.text),
            ])  # fmt: skip
        return np.array(rows, np.float32)


class SchemaVectors:
    """The properties of a schema with the vectors of their labels, domains and ranges.

    The rows of these arrays are properties; those of `kinds` are `KINDS`.
    """

    def __init__(self, schema: Schema, embed: Embed) -> None:
        self.properties = tuple(schema.properties.values())
        self.labels = embed([p.label for p in self.properties])
        self.domains = embed([schema.label_of(p.domains) or "thing" for p in self.properties])
        self.ranges = embed([schema.label_of(p.ranges) or "thing" for p in self.properties])
        self.kinds = embed([_KIND_WORDS[kind] for kind in KINDS])

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
    properties: Integers
    kinds: Integers
    origins: Integers

    @classmethod
    def of(cls, rows: Sequence[tuple[Arguments, int, int, int]], width: int) -> Samples:
        """Of sentences and places in them, with property and origin; vectors have a width."""
        candidates = [sentence.candidates[place] for sentence, place, *_ in rows]
        vectors = [sentence.vectors[place] for sentence, place, *_ in rows]
        return cls(
            np.array(vectors, np.float32).reshape(-1, _VIEWS, width),
            np.array([soft_text(c.text) for c in candidates], np.str_),
            np.array([row for *_, row, _ in rows], np.int64),
            np.array([KINDS.index(c.kind) for c in candidates], np.int64),
            np.array([origin for *_, origin in rows], np.int64),
        )

    def without(self, origin: int) -> Samples:
        """Those of all examples but one, to score that one as if it were no example."""
        others = self.origins != origin
        arrays = (self.vectors, self.keys, self.properties, self.kinds, self.origins)
        return Samples(*(array[others] for array in arrays))

    def similarities(self, arguments: Arguments) -> Floats:
        """Shape (views, candidates, samples): cosines; -1 of a name with itself.

        Names are not learned by heart, but common nouns are: they are compared with themselves.
        """
        cosines: Floats = np.einsum("cvd,svd->vcs", arguments.vectors, self.vectors)
        for place, c in enumerate(arguments.candidates):
            if c.kind != "noun":
                cosines[_NAME, place, self.keys == soft_text(c.text)] = -1
        return cosines


def role_features(
    arguments: Arguments, schema: SchemaVectors, samples: Samples, types: Floats
) -> Floats:
    """Shape (candidates, properties, features): how well a candidate has a role of a property.

    `types` are the vectors of the domains or ranges of the properties. Without examples of a
    property the features that compare with them are -1.
    """
    shape = len(arguments.candidates), len(schema.properties)
    path, window, name = arguments.vectors.transpose(1, 0, 2)
    labels = [path @ schema.labels.T, window @ schema.labels.T]
    cosines = samples.similarities(arguments)
    cosines = np.concatenate([cosines, cosines[:_NAME].mean(axis=0, keepdims=True)])
    nearest = np.full((len(cosines), *shape), -1, np.float32)
    share = np.full(shape, -1, np.float32)
    same_kind = samples.kinds[None, :] == arguments.kinds[:, None]
    for row in np.unique(samples.properties[samples.properties >= 0]):
        own = samples.properties == row
        nearest[:, :, row] = cosines[:, :, own].max(axis=2)
        share[:, row] = same_kind[:, own].mean(axis=1)
    none = cosines[:, :, samples.properties == -1].max(axis=2, initial=-1)[:, :, None]
    columns = [*labels, name @ types.T, schema.kinds[arguments.kinds] @ types.T]
    columns += [*nearest, *(nearest - none), share]
    for matrix in (*labels, *nearest[_NAME:]):  # compared with other properties and candidates
        columns += [matrix - matrix.max(axis=axis, keepdims=True) for axis in (0, 1)]
    return np.stack(columns, axis=2).astype(np.float32)
