"""Measures: rankings by ir-measures, answers as SQuAD 1.1 scores them, sets, and intervals."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from types import ModuleType

import numpy as np

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.types import Document

RANKING = ("R", "P", "nDCG")
"""Measures of a ranking by their names in ir-measures."""
Passages = Sequence[int | None]
"""The passage that contains each retrieved document, by rank; None for no passage."""


def support_ranks(supporting: Iterable[int], ranking: Passages) -> tuple[int | None, ...]:
    """The best rank, from 1, of each supporting passage; None if it was not retrieved."""
    best: dict[int | None, int] = {}
    for rank, passage in enumerate(ranking, 1):
        best.setdefault(passage, rank)
    return tuple(best.get(passage) for passage in supporting)


def ranking_measures() -> ModuleType:
    """The package ir-measures; raises `MissingDependencyError` without it."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingDependencyError(
            "measuring retrieval needs ir-measures: pip install 'sarag-rdf[evaluation]'"
        ) from error
    return ir_measures


def figures(
    supporting: Sequence[Sequence[int]], rankings: Sequence[Passages], ks: Sequence[int]
) -> list[dict[str, float]]:
    """``R@k``, ``P@k``, ``nDCG@k`` and ``all@k`` in [0, 1] by question; empty without judgments.

    Further documents of the same passage keep their ranks, and count as misses. Raises
    `MissingDependencyError` without ir-measures.
    """
    ir_measures = ranking_measures()
    scores: list[dict[str, float]] = [{} for _ in supporting]
    measures = [ir_measures.parse_measure(f"{name}@{k}") for k in ks for name in RANKING]
    judged, run = [], []
    for i, (passages, ranking) in enumerate(zip(supporting, rankings, strict=True)):
        if passages:
            scores[i] = {str(measure): 0.0 for measure in measures}
            ranks = support_ranks(passages, ranking)
            scores[i] |= {f"all@{k}": float(all(r and r <= k for r in ranks)) for k in ks}
        judged += [ir_measures.Qrel(str(i), str(passage), 1) for passage in passages]
        seen: set[int | None] = {None}
        for rank, passage in enumerate(ranking, 1):
            name = f"place {rank}" if passage in seen else str(passage)
            run.append(ir_measures.ScoredDoc(str(i), name, float(-rank)))
            seen.add(passage)
    if judged and run:
        for metric in ir_measures.iter_calc(measures, judged, run):
            scores[int(metric.query_id)][str(metric.measure)] = metric.value
    return scores


def mean(rows: Iterable[Mapping[str, float]], name: str) -> float | None:
    """The mean of a measure over the rows that have it; None if there are none."""
    values = [row[name] for row in rows if name in row]
    return fmean(values) if values else None


# ---------------------------------------------------------------------------------------- Answers

_TRUTH = frozenset({"yes", "no"})


def exact_match(answer: str, known: Iterable[str]) -> float:
    """Exact match: 1 if the answer equals a known answer after normalization, else 0.

    >>> exact_match("The Danube.", ["Donau", "danube"])
    1.0
    """
    normalized = normalize_answer(answer)
    return float(any(normalized == text for text in _nonempty(known)))


def token_f1(answer: str, known: Iterable[str]) -> float:
    """Token F1: the harmonic mean of precision and recall of the bags of normalized words.

    >>> round(token_f1("the river Danube", ["Danube"]), 3)
    0.667
    """
    normalized = normalize_answer(answer).split()
    return max((_overlap(normalized, text.split()) for text in _nonempty(known)), default=0.0)


def matches(answer: str, known: Iterable[str]) -> bool:
    """Whether an answer matches a known answer, compared by words after normalization.

    It matches if it contains the known answer as whole words, or if the known answer contains it
    and it has at least half of its words. For ``yes`` and ``no``, only its first word is compared.
    After "The Reasoning Bottleneck in Graph-RAG", section 4.4, without the comparison of the last
    word only, by which "South Korea" would match "North Korea".

    >>> matches("It is the Danube.", ["Danube"]), matches("Obama", ["Barack Obama"])
    (True, True)
    >>> matches("1990", ["12 June 1990"]), matches("No one knows", ["one"])
    (False, True)
    >>> matches("not known", ["no"]), matches("No, neither", ["no"]), matches("say no", ["no"])
    (False, True, False)
    """
    normalized = normalize_answer(answer)
    return any(_match(normalized, text) for text in _nonempty(known))


def _match(normalized: str, known: str) -> bool:
    words = normalized.split()
    if not words:
        return False
    if known in _TRUTH:
        return words[0] == known
    if f" {known} " in f" {normalized} ":
        return True
    return f" {normalized} " in f" {known} " and 2 * len(words) >= len(known.split())


def _overlap(normalized: list[str], known: list[str]) -> float:
    same = sum((Counter(normalized) & Counter(known)).values())
    return 2 * same / (len(normalized) + len(known)) if same else 0.0


def _nonempty(known: Iterable[str]) -> list[str]:
    """Normalized known answers that are not empty."""
    return [text for text in map(normalize_answer, known) if text]


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Lower-case a text, remove punctuation and articles, and fold white space (SQuAD 1.1)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def count_words(document: Document) -> int:
    """The number of words in title and text, separated by white space."""
    return len(document.title.split()) + len(document.text.split())


def fits_budget(words: int, tokens: int) -> bool:
    """Whether words fit a token budget, at 4/3 tokens per word."""
    return 4 * words <= 3 * tokens


def words_to_answer(answers: Iterable[str], documents: Iterable[Document]) -> int | None:
    """The number of words, by rank, up to the end of the first document with an answer, or None.

    Answers are compared as whole words after normalization; empty ones never match.
    """
    known, words = tuple(answers), 0
    for document in documents:
        words += count_words(document)
        if contains_answer(known, (document.title, document.text)):
            return words
    return None


def contains_answer(answers: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether any text contains any of the answers, compared as in `words_to_answer`.

    >>> contains_answer(["The Danube"], ["Ulm", "It lies on the Danube."])
    True
    """
    targets = [f" {text} " for text in _nonempty(answers)]
    return any(answer in _padded(text) for text in texts for answer in targets)


@lru_cache(maxsize=20_000)
def _padded(text: str) -> str:
    return f" {normalize_answer(text)} "


# ------------------------------------------------------------------------------ Sets and intervals


@dataclass(frozen=True, slots=True)
class PRF:
    """Precision, recall and F1, in [0, 1]; all 0 if nothing is common."""

    precision: float
    recall: float

    @classmethod
    def of(cls, retrieved: Collection[Hashable], relevant: Collection[Hashable]) -> PRF:
        """Of the retrieved set against the relevant one."""
        common = len(set(retrieved) & set(relevant))
        return cls(common / len(retrieved), common / len(relevant)) if common else cls(0.0, 0.0)

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def values(self, *, times: int = 1, digits: int = 15) -> dict[str, float]:
        """The three by name, `times` as much, rounded to so many digits."""
        names = ("precision", "recall", "f1")
        return {name: round(times * getattr(self, name), digits) for name in names}


RESAMPLES = 10_000


def paired_interval(
    ours: Sequence[float], theirs: Sequence[float], seed: int
) -> tuple[float, float, float]:
    """The mean of ``ours - theirs``, and its 95% percentile bootstrap interval.

    Each of 10,000 resamples draws questions, so the values of both methods stay paired. Raises
    ValueError without questions, or for different lengths.
    """
    from scipy.stats import bootstrap

    differences = np.subtract(ours, theirs, dtype=np.float64)
    if len(ours) != len(theirs) or not len(ours):
        raise ValueError("both methods need the same number of values, and at least one")
    mean = float(differences.mean())
    if len(differences) == 1:
        return mean, mean, mean
    low, high = bootstrap(
        (differences,), np.mean, n_resamples=RESAMPLES, batch=500, method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    return mean, float(low), float(high)


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """The 95% interval of a share, in [0, 1] (Wilson, "Probable Inference", 1927).

    Raises ValueError unless 0 <= `successes` <= `total` and `total` is at least 1.

    >>> [round(value, 3) for value in wilson_interval(9, 10)]
    [0.596, 0.982]
    """
    from scipy.stats import binomtest

    interval = binomtest(successes, total).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def cohen_kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """The agreement of two judges beyond chance, in [-1, 1]; None if all judgments are equal.

    Cohen, "A Coefficient of Agreement for Nominal Scales", 1960.

    >>> cohen_kappa([(True, True), (True, False), (False, False), (False, False)])
    0.5
    """
    from sklearn.metrics import cohen_kappa_score

    if len({value for pair in pairs for value in pair}) < 2:
        return None
    return float(cohen_kappa_score(*zip(*pairs, strict=True)))
