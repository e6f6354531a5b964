"""What a sentence says of its candidates, as vectors.

The *path phrase* has the words between a candidate and the verb that governs it in the dependency
tree, without names: "was built in" for a place. The *window* has the four words before and after
the candidate, which is replaced by a word for its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span, Token

from sarag_rdf.plugins.learned.candidates import Candidate, CandidateKind, find_candidates

Floats = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Floats]
"""The unit vectors of texts, shape (texts, d)."""

KIND_WORDS: dict[CandidateKind, str] = {
    "person": "person",
    "organization": "organization",
    "place": "place",
    "group": "nationality",
    "work": "title",
    "name": "something",
    "noun": "something",
    "date": "date",
    "duration": "time",
    "number": "number",
    "quantity": "measure",
    "money": "amount of money",
    "coordinates": "coordinates",
    "identifier": "code",
    "url": "web address",
}
"""The word that stands for a candidate of each kind in its window."""
_WINDOW = 4
_REACH = 8
_MAX_STEPS = 6
_VERBS = ("VERB", "AUX")
_OF_VERB = frozenset({"prt", "neg", "acomp", "attr", "oprd", "dobj", "agent", "auxpass"})
_MODIFIERS = frozenset({"amod", "compound", "nmod", "poss", "nummod", "appos"})


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
    """The path phrase, or the word "is" if the candidate has no governing words."""
    return " ".join(doc[index].lower_ for index in sorted(_path(doc, candidate))) or "is"


def _path(doc: Doc, candidate: Candidate) -> set[int]:
    words: set[int] = set()
    token = doc[candidate.head]
    for _ in range(_MAX_STEPS):
        head = token.head
        if head.i == token.i:
            break
        if not (token.dep_ == "conj" and head.pos_ not in _VERBS) and not _skip_head_verb(token):
            words.add(head.i)
        if head.pos_ in _VERBS:
            words.update(_words_of_verb(head, token))
            if head.dep_ not in ("aux", "auxpass", "xcomp"):
                break
        if token.dep_ in _MODIFIERS and head.pos_ in ("NOUN", "PROPN"):
            words.update(child.i for child in head.lefts if child.dep_ in ("amod", "compound"))
            if head.pos_ == "PROPN":
                break
        token = head
    words.update(_modifiers_before(doc, candidate))
    span = range(candidate.begin, candidate.end)
    return {i for i in words if i not in span and _is_common(doc[i])}


def _skip_head_verb(token: Token) -> bool:
    """A verb in a coordination that has its own object does not depend on the first verb."""
    return token.dep_ == "conj" and token.pos_ == "VERB"


def _words_of_verb(verb: Token, below: Token) -> Iterator[int]:
    for child in verb.children:
        if child.i != below.i and child.dep_ in _OF_VERB:
            yield child.i
            if child.dep_ in ("dobj", "attr"):
                yield from (c.i for c in child.children if c.dep_ in ("amod", "compound", "prep"))


def _modifiers_before(doc: Doc, candidate: Candidate) -> Iterator[int]:
    """Common nouns directly before the candidate: the "test pilot" of "test pilot Ann Lee"."""
    index = candidate.begin - 1
    while index >= 0 and candidate.begin - index <= 3 and doc[index].pos_ in ("NOUN", "ADJ"):
        yield index
        index -= 1


def _is_common(token: Token) -> bool:
    return token.pos_ not in ("PROPN", "PUNCT", "SPACE", "DET", "NUM") and not token.ent_type_


def window_words(sentence: Span, candidate: Candidate) -> tuple[list[str], list[float]]:
    """The common words around a candidate and the word for its kind, and the weight of each.

    Nearer words weigh more, and function words less.
    """
    doc = sentence.doc
    before = list(doc[max(sentence.start, candidate.begin - _REACH) : candidate.begin])
    after = list(doc[candidate.end : min(sentence.end, candidate.end + _REACH)])
    words, weights = [KIND_WORDS[candidate.kind]], [0.5]
    for tokens in (before[::-1], after):
        for token in [t for t in tokens if t.is_alpha and _is_common(t)][:_WINDOW]:
            words.append(token.lower_)
            weights.append(0.3 if token.is_stop else 1.0)
    return words, weights


@dataclass(frozen=True)
class SentenceVectors:
    """The candidates of one sentence, and vectors of what it says of each, shape (candidates, d).

    `paths` are of path phrases, `windows` of windows, `nouns` of their own common words, and
    `names` of all their words.
    """

    sentence: Span
    candidates: tuple[Candidate, ...]
    phrases: tuple[str, ...]
    paths: Floats
    windows: Floats
    nouns: Floats
    names: Floats

    @classmethod
    def of_all(cls, sentences: Sequence[Span], embed: Embed) -> list[SentenceVectors]:
        """The vectors of many sentences, whose texts are embedded together."""
        found = [(sentence, tuple(find_candidates(sentence))) for sentence in sentences]
        phrases = [tuple(path_phrase(s.doc, c) for c in own) for s, own in found]
        weighted = [
            (
                [window_words(s, c) for c in own],
                [_common_words(s.doc, c) for c in own],
                [_words_of_name(c.text) for c in own],
            )
            for s, own in found
        ]
        words = {w for groups in weighted for group in groups for each, _ in group for w in each}
        embed(sorted(words.union(*phrases)))
        return [
            cls(sentence, own, paths, embed(paths), *(mean_of_words(g, embed) for g in groups))
            for (sentence, own), paths, groups in zip(found, phrases, weighted, strict=True)
        ]


_Weighted = tuple[Sequence[str], Sequence[float]]
"""Words with their weights."""


def _common_words(doc: Doc, candidate: Candidate) -> tuple[list[str], list[float]]:
    """The words of a candidate that are not names; the last one counts twice."""
    tokens = [t for t in doc[candidate.begin : candidate.end] if t.is_alpha and t.pos_ != "PROPN"]
    weights = [1.0] * len(tokens)
    weights[-1:] = [2.0] * bool(tokens)
    return [t.lower_ for t in tokens], weights


def mean_of_words(phrases: Sequence[_Weighted], embed: Embed) -> Floats:
    """Shape (phrases, d): unit weighted means of the vectors of single words; zero for no words."""
    vocabulary = sorted({word for words, _ in phrases for word in words})
    if not vocabulary:
        return np.zeros((len(phrases), embed(["is"]).shape[1]), np.float32)
    table = embed(vocabulary)
    position = {word: row for row, word in enumerate(vocabulary)}
    result = np.zeros((len(phrases), table.shape[1]), np.float32)
    for row, (words, weights) in enumerate(phrases):
        if words:
            vector = np.array(weights, np.float32) @ table[[position[word] for word in words]]
            result[row] = vector / max(1e-9, float(np.linalg.norm(vector)))
    return result


def vectors_of_names(names: Sequence[str], embed: Embed) -> Floats:
    """Shape (names, d): means of the vectors of all words; the last one counts twice.

    What a name is like, without its context: "Cardiff" is near "Swansea".
    """
    return mean_of_words([_words_of_name(name) for name in names], embed)


def _words_of_name(name: str) -> _Weighted:
    words = re.findall(r"[^\W\d_]+", name.lower())
    return words, [1.0] * (len(words) - 1) + [2.0] * bool(words)
