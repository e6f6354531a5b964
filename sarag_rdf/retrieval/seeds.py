"""Entities that a question names: exactly, with typing errors, or in part.

Of the names that have many trigrams in common with words of the question, the similarity of their
letters decides: twice the letters in common blocks, divided by all letters (Ratcliff and Metzener,
Pattern Matching: The Gestalt Approach, Dr. Dobb's Journal 13(7), 1988).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final

import numpy as np

from sarag_rdf.base.arrays import Rows, find
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Vector
from sarag_rdf.base.types import VALUE_TYPES, Seed
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES
from sarag_rdf.retrieval.view import GraphView, Names

MARKED: Final = re.compile(r"\[([^\[\]]+)\]")
"""The topic of a question, in brackets."""


class ProperNames:
    """The entities that a name without capitals stands for, each looked up when it is tested.

    Such a name is rarely a common word: documents write it as several words with capitals, or those
    that describe the entity are not few among all that contain the rarest word of its name.
    """

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def __contains__(self, entity: object) -> bool:
        row = np.array([find(self._view.iris.entities, str(entity))])
        label, _ = self._view.labels([str(entity)]).get(str(entity), ("", ""))
        if row[0] < 0 or not label:
            return False
        words = label.split()
        if len(words) > 1 and all(word[0].isupper() or len(word) <= _SHORT for word in words):
            return True
        described = len(self._view.network.incoming(DESCRIBES, row))
        is_topic = len(self._view.network.incoming(ABOUT, row)) > 0
        rarest = min(
            map(self._view.words.frequency, re.findall(r"\w+", label.casefold())), default=0
        )
        return described >= rarest * (_OF_TOPIC if is_topic else _OF_OTHER) > 0.0


_OF_TOPIC, _OF_OTHER = 0.05, 0.5
"""The least share of the documents with a word that describe what the word is a name of."""
_SHORT = 3
"""The letters of the longest words without a capital within a name, such as "of"."""
_WORD = re.compile(r"\S+")
LONGEST = 12
"""The number of words of the longest name."""
NO_NAMES = frozenset(
    "who whom whose what which when where why how is are was were do does did has have had can "
    "could in on at of to for from by with the a an".split()
)
"""Words at the beginning of questions, which are not names by themselves."""


Span = tuple[int, int]
"""The offsets of the begin and end of words in a question."""
NamedSpan = tuple[Span, dict[str, float]]
"""A name in a question, and its entities with their shares in (0, 1]."""


def named_spans(
    names: Names, question: str, topics: Container[str] = frozenset()
) -> list[NamedSpan]:
    """Where the question names entities, as offsets, the names of most words first.

    The longest names count, not those within another name ('York' in 'New York'). A name needs a
    capital letter or a digit in the question, so that common words do not count; in a question
    without capitals, it must be that of one of the `topics` instead ('coffee', if a document is
    about it). Several entities of one name share its activation.
    """
    words = [match.span() for match in _WORD.finditer(question)]
    spans: dict[tuple[int, int], str] = {}
    is_plain = not any(c.isupper() for c in question[1:])
    marked = [any(c.isupper() or c.isdigit() for c in question[b:e]) for b, e in words]
    common: set[str] = set()
    for length in range(min(LONGEST, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            is_common = not any(marked[first : first + length])
            if is_common and not is_plain:
                continue
            name = normalize_name(question[words[first][0] : words[first + length - 1][1]])
            if name and name not in NO_NAMES:
                spans[first, first + length] = name
                if is_common:
                    common.add(name)
    entities = names.entities(common, topics) | names.entities(set(spans.values()) - common)
    matches: list[NamedSpan] = []
    covered: set[int] = set()
    for (begin, end), name in spans.items():
        if name in entities and covered.isdisjoint(range(begin, end)):
            covered |= set(range(begin, end))
            matches.append(((words[begin][0], words[end - 1][1]), entities[name]))
    return matches


# --------------------------------------------------------------------------------------- Near names

LEAST_SIMILAR: Final = 0.8
"""The least similarity of words and a name."""
LAST_NAME: Final = 0.9
"""The least share of a person's name that its last word counts for."""
NEAREST: Final = 6
"""The most entities of one near name."""
LETTERS: Final = range(4, 81)
"""The numbers of letters of words that may be near to a name."""
GAP: Final = 2
"""The most words without capitals between two of a name."""
_LETTERS = re.compile(r"\w+")
_DIGITS = re.compile(r"\d")
MARKS: Final = "\"'?!.,;: "
"""What may stand before and after a name."""
_APPOSITION = re.compile(r"\s*[,(].*")


@dataclass(frozen=True, slots=True)
class NearName:
    """The entities, by ascending row, one of which words of a question nearly name.

    probability: that it is one of them, in (0, 1]: the similarity of the letters times the share
    of the name that the question has. name: what to read in place of the words; empty for a part
    of a name, and for several names. saved: the letters less four for each error.
    """

    span: Span
    rows: tuple[int, ...]
    probability: float
    name: str
    saved: float

    def entities(self, view: GraphView, question: Vector) -> dict[str, float]:
        """Entity -> probability, of several those whose documents are nearest to the question.

        That of each is proportional to exp(z), z the standardised cosine of its nearest document.
        """
        rows, index = np.array(self.rows), view.vectors.index("document")
        z = np.zeros(len(rows))
        if len(rows) > 1:
            mean, deviation = index.moments(question)
            edges = view.network.incoming(DESCRIBES, rows)
            cosines = index.cosines(question, edges.source) - mean
            np.maximum.at(z, np.searchsorted(rows, edges.target), cosines / (deviation or 1.0))
        best = np.argsort(-z, kind="stable")[:NEAREST]
        weights = np.exp(z[best]) * self.probability / np.exp(z[best]).sum()
        names = [view.iris.entities[row] for row in rows[best].tolist()]
        return dict(zip(names, weights.tolist(), strict=True))


class NearNames:
    """Finds the names of a graph that a question nearly has."""

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def find(self, question: str, named: Sequence[NamedSpan], least: float) -> list[NearName]:
        """What words of a question nearly name, in spans that do not overlap.

        Near names have at least the probability `least`.
        `named` are the names that it has exactly. A near name takes the place of shorter ones, and
        of a name of one word that no document is about, which may be the last name of persons.
        """
        surnames = {s for s, entities in named if self._is_surname(question[slice(*s)], entities)}
        known = {s: len(normalize_name(question[slice(*s)])) for s, _ in named if s not in surnames}
        runs = self._runs(question)
        found = [near for run in runs for near in self._in_run(question, run, known, surnames)]
        chosen: list[NearName] = []
        found = [near for near in found if near.probability >= least]
        for near in sorted(found, key=lambda near: (-near.saved, near.span)):
            is_free = not any(overlap(other.span, near.span) for other in chosen)
            if is_free and near.saved > _rivals(near.span, known):
                chosen.append(near)
        return chosen

    def _is_surname(self, name: str, entities: Iterable[str]) -> bool:
        """Whether a name has one word, and no document is about what has it."""
        if " " in normalize_name(name):
            return False
        rows = np.array([find(self._view.iris.entities, entity) for entity in sorted(entities)])
        types = {type_ for _, type_ in self._view.labels(entities).values()}
        has_name = bool(types) and types.isdisjoint(VALUE_TYPES)
        return has_name and not len(self._view.network.incoming(ABOUT, rows))

    def _runs(self, question: str) -> Iterator[list[tuple[Span, bool]]]:
        """Words at which names may begin and end, those near to each other together.

        Names have one of those that are true: words with a capital or a digit, and words that no
        document contains. The others are beside a word of the latter kind.
        """
        words = [(match.span(), match[0]) for match in _WORD.finditer(question)]
        frequency = self._view.words.frequency
        unknown = [not all(map(frequency, _LETTERS.findall(word.casefold()))) for _, word in words]
        run: list[tuple[Span, bool]] = []
        begin = last = 0
        for at, (span, word) in enumerate(words):
            is_marked = any(c.isupper() or c.isdigit() for c in word)
            is_name = unknown[at] or (is_marked and normalize_name(word) not in NO_NAMES)
            if is_name or any(unknown[max(0, at - 1) : at + 2]):
                if run and (at - last > GAP + 1 or at - begin >= LONGEST):
                    yield run
                    run = []
                begin, last = begin if run else at, at
                run.append((span, is_name))
        if run:
            yield run

    def _in_run(
        self,
        question: str,
        run: Sequence[tuple[Span, bool]],
        known: Mapping[Span, int],
        surnames: Container[Span],
    ) -> Iterator[NearName]:
        """The nearest names of the words from one to another of a run."""
        spans = {
            (run[first][0][0], run[last][0][1])
            for first in range(len(run))
            for last in range(first, len(run))
            if any(is_name for _, is_name in run[first : last + 1])
        }
        texts = {span: normalize_name(question[slice(*span)]) for span in sorted(spans)}
        texts = {
            span: text
            for span, text in texts.items()
            if len(text) in LETTERS and len(text) > _rivals(span, known)
        }
        if not texts:
            return
        parts: defaultdict[str, list[tuple[float, int, str]]] = defaultdict(list)
        words = question[run[0][0][0] : run[-1][0][1]]
        for row, name in self._view.name_index.candidates(words):
            for part, share in _parts(name):
                parts[part].append((share, row, name))
        similar = Similar([*parts])
        for span, text in texts.items():
            ratio, best = similar.to(text)
            every = self._with_last_names(best, [each for part in best for each in parts[part]])
            likely = [each for each in every if each[0] >= (LAST_NAME if span in surnames else 1.0)]
            is_plain = question[slice(*span)].islower()
            several = likely or every[: 0 if is_plain else None]
            if several:
                share, _, name = several[0]
                is_one = share == 1.0 and len({normalize_name(n) for _, _, n in several}) == 1
                yield NearName(
                    span,
                    tuple(sorted({row for _, row, _ in several})),
                    ratio * share,
                    name if is_one else "",
                    len(text) * (4 * ratio - 3) + (share - 1.0) / 2,
                )

    def _with_last_names(
        self, words: Sequence[str], found: Sequence[tuple[float, int, str]]
    ) -> list[tuple[float, int, str]]:
        """What was found by these words, those of the largest share first.

        Last names of persons count for at least `LAST_NAME` of the whole.
        """
        names = {row: self._view.iris.entities[row] for _, row, _ in found}
        labels = self._view.labels(names.values())
        persons = {r for r, iri in names.items() if iri in labels and labels[iri][1] == "person"}
        return sorted(
            (
                (max(share, LAST_NAME), row, name)
                if row in persons and not _last_words(name).isdisjoint(words)
                else (share, row, name)
                for share, row, name in found
            ),
            reverse=True,
        )


def _rivals(span: Span, known: Mapping[Span, int]) -> int:
    """The number of letters of the names that a near name would take the place of."""
    return sum(letters for other, letters in known.items() if overlap(other, span))


class Similar:
    """Finds the texts most similar to another; `SequenceMatcher` compares only few of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts, self._letters = texts, _letters(texts)
        self._sizes = self._letters.sum(axis=1)
        self._digits = ["".join(_DIGITS.findall(text)) for text in texts]

    def to(self, text: str) -> tuple[float, list[str]]:
        """The similarity of the most similar texts with the same digits, and these.

        None of less than `LEAST_SIMILAR`.
        """
        most, best = LEAST_SIMILAR, list[str]()
        common = 2.0 * np.minimum(self._letters, _letters([text])).sum(axis=1)
        bounds = common / (self._sizes + len(text))
        matcher, digits = SequenceMatcher(None, "", text), "".join(_DIGITS.findall(text))
        for place in np.argsort(-bounds).tolist():
            if bounds[place] < most:
                break
            if self._digits[place] == digits:
                matcher.set_seq1(self._texts[place])
                if (ratio := matcher.ratio()) >= most:
                    best = [*best, self._texts[place]] if ratio == most else [self._texts[place]]
                    most = ratio
        return most, best


def _letters(texts: Sequence[str]) -> Rows:
    """How often each text has the letters of a remainder of code points: shape (n, 64)."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4") % 64
    places = np.repeat(64 * np.arange(len(texts)), [*map(len, texts)]) + codes
    return np.bincount(places, minlength=64 * len(texts)).reshape(-1, 64)


@dataclass(frozen=True, slots=True)
class QuestionNames:
    """The names of a question, `exact` or `near`."""

    question: str
    exact: Sequence[NamedSpan]
    near: Sequence[NearName]

    @property
    def text(self) -> str:
        """The question with its near names as the graph writes them."""
        text = self.question
        for near in sorted(self.near, key=lambda near: near.span, reverse=True):
            begin, end = near.span
            end = begin + len(text[begin:end].rstrip(MARKS))
            text = text[:begin] + (near.name or text[begin:end]) + text[end:]
        return text

    def entities(self, view: GraphView, question: Vector) -> dict[str, float]:
        """Entities with their activation in (0, 1], for the vector of the question."""
        named: dict[str, float] = {}
        for near in self.near:
            named = near.entities(view, question) | named
        for _, entities in self.exact:
            named = entities | named
        return named

    def described(self, view: GraphView, seeds: Iterable[Seed]) -> list[Seed]:
        """The seeds; the reason of those of near names is the words that name them."""
        reasons: dict[str, str] = {}
        for near in self.near:
            words = self.question[slice(*near.span)].strip(MARKS)
            if normalize_name(words) != normalize_name(near.name):
                rows = map(view.iris.entities.__getitem__, near.rows)
                reasons |= dict.fromkeys(rows, f'named in the question as "{words}"')
        return [
            replace(seed, reason=reasons[seed.node]) if seed.node in reasons else seed
            for seed in seeds
        ]


def names_in(view: GraphView, question: str, least: float) -> QuestionNames:
    """The names of a question, near ones of at least a probability."""
    exact = named_spans(view.names, question, ProperNames(view))
    near = NearNames(view).find(question, exact, least) if least < 1.0 else []
    spans = [each.span for each in near]
    kept = [each for each in exact if not any(overlap(each[0], span) for span in spans)]
    return QuestionNames(question, kept, near)


def overlap(one: Span, other: Span) -> bool:
    """Whether two spans have a character in common."""
    return one[0] < other[1] and other[0] < one[1]


def _parts(name: str) -> Iterator[tuple[str, float]]:
    """A name, its last words, and its first ones if longer; each with its share of the letters.

    Also the last word before a comma or a parenthesis: "Baring" of "Alexander Baring, 4th Baron".
    """
    whole = normalize_name(name)
    words = whole.split()
    yield whole, 1.0
    for at in range(1, len(words)):
        first, last = " ".join(words[:at]), " ".join(words[at:])
        yield last, len(last) / len(whole)
        if 2 * len(first) >= len(whole):
            yield first, len(first) / len(whole)
    for last in _last_words(name) - {*words[-1:]}:
        yield last, len(last) / len(whole)


def _last_words(name: str) -> set[str]:
    """The last word of a name, and that before a comma or a parenthesis, of several words."""
    every = (normalize_name(part).split() for part in (name, _APPOSITION.sub("", name)))
    return {words[-1] for words in every if len(words) > 1}
