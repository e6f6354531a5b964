"""How near an answer is to the known ones: exact match, token F1 (SQuAD 1.1), and a plain match.

SQuAD: Rajpurkar et al. 2016 (arXiv 1606.05250), section 6.1. All figures lie in [0, 1]; of
several known answers the best counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sarag_rdf.evaluate.coverage import normalised

_TRUTH = frozenset({"yes", "no"})


def exact(answer: str, known: Iterable[str]) -> float:
    """1 if the answer is a known one after normalisation, else 0.

    >>> exact("The Danube.", ["Donau", "danube"])
    1.0
    """
    given = normalised(answer)
    return float(any(given == text for text in _filled(known)))


def token_f1(answer: str, known: Iterable[str]) -> float:
    """Harmonic mean of precision and recall of normalised words, each as often as it occurs.

    >>> round(token_f1("the river Danube", ["Danube"]), 3)
    0.667
    """
    given = normalised(answer).split()
    return max((_overlap(given, text.split()) for text in _filled(known)), default=0.0)


def matches(answer: str, known: Iterable[str]) -> bool:
    """Whether an answer says a known one, as far as words tell.

    It does if, both normalised, the known answer stands in it as whole words; or if it stands in
    the known one and has at least half of its words. For ``yes`` and ``no`` its first word counts
    alone. After "The Reasoning Bottleneck in Graph-RAG", section 4.4, without its comparison of
    the last word alone, by which "South Korea" would match "North Korea".

    >>> matches("It is the Danube.", ["Danube"]), matches("Obama", ["Barack Obama"])
    (True, True)
    >>> matches("1990", ["12 June 1990"]), matches("No one knows", ["one"])
    (False, True)
    >>> matches("not known", ["no"]), matches("No, neither", ["no"]), matches("say no", ["no"])
    (False, True, False)
    """
    given = normalised(answer)
    return any(_match(given, text) for text in _filled(known))


def _match(given: str, known: str) -> bool:
    words = given.split()
    if not words:
        return False
    if known in _TRUTH:
        return words[0] == known
    if f" {known} " in f" {given} ":
        return True
    return f" {given} " in f" {known} " and 2 * len(words) >= len(known.split())


def _overlap(given: list[str], known: list[str]) -> float:
    same = sum((Counter(given) & Counter(known)).values())
    return 2 * same / (len(given) + len(known)) if same else 0.0


def _filled(known: Iterable[str]) -> list[str]:
    """Known answers, normalised, without those of which nothing is left."""
    return [text for text in map(normalised, known) if text]
