"""How probable it is that an answer is right, by the sentences that it was read from.

A small reader answers almost everything, whatever it was given. What tells right answers from wrong
ones is whether a sentence that contains the answer also holds the words of the question. No call is
made for it.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sarag_rdf.base.arrays import logistic
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.files import read_text
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.base.words import Words, words_of

_LANGUAGE = "en"
"""That of relationships and descriptions."""
_TRUTH = {"yes", "no"}
_PART = 0.5
"""The least share of an answer's words in a sentence that may be the one it was read from."""


def support(question: str, answer: str, context: Context) -> float:
    """The greatest share in [0, 1] of a question's words that a sentence with the answer holds.

    Words are stems in the language of the sentence, without stop words and those of the answer;
    their weight is ``log(1 + N / df)``: df of the N sentences of the context hold one. The share is
    multiplied by that of the answer's words in the sentence, which is 0 if it is less than half.
    Yes and no stand in no sentence, and every sentence counts for them. A sentence is read with the
    title of its document.
    """
    sentences = [(*pair, words_of(*pair)) for pair in _sentences(context)]
    counts = Counter(word for _, _, words in sentences for word in words)
    name = normalize_name(answer)
    languages = {language for _, language, _ in sentences}
    own = {language: words_of(answer, language) for language in languages}
    asked = {language: words_of(question, language) - own[language] for language in languages}

    def weight(words: Words) -> float:
        return sum(math.log(1 + len(sentences) / max(counts[word], 1)) for word in sorted(words))

    def has_answer(text: str, language: str, words: Words) -> float:
        if name in _TRUTH or f" {name} " in f" {normalize_name(text)} ":
            return 1.0
        part = len(own[language] & words) / (len(own[language]) or 1)
        return part if part >= _PART else 0.0

    whole = {language: weight(words) or 1.0 for language, words in asked.items()}
    shares = (
        has_answer(text, language, words) * weight(asked[language] & words) / whole[language]
        for text, language, words in sentences
    )
    return max(shares, default=0.0)


def coverage(question: str, contexts: Sequence[Context]) -> float:
    """The share in [0, 1] of a question's words that stand anywhere in some contexts.

    That of the language in which it is greatest.
    """
    read: defaultdict[str, set[str]] = defaultdict(set)
    for context in contexts:
        for text, language in _sentences(context):
            read[language] |= words_of(text, language)
    asked = {language: words_of(question, language) for language in read}
    shares = (len(asked[each] & read[each]) / (len(asked[each]) or 1) for each in read)
    return max(shares, default=0.0)


def _sentences(context: Context) -> Iterator[tuple[str, str]]:
    """The sentences of a context after the titles of their documents, and their languages."""
    for excerpt in context.excerpts.values():
        document = excerpt.document
        for begin, end in excerpt.spans:
            span = document.text[begin:end]
            for first, last in sentence_spans(span):
                yield f"{document.title}: {span[first:last]}", document.language
    for section in context.sections:
        for text in (*section.descriptions, *section.relationships):
            yield text, _LANGUAGE


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic model of whether an answer is right; `fitted` says on what.

    `support` and `coverage` are the weights of `features`.
    """

    intercept: float
    support: float
    coverage: float
    fitted: str

    def probability(self, supported: float, covered: float) -> float:
        """In [0, 1], for the values of `features`."""
        return logistic(self.intercept + self.support * supported + self.coverage * covered)

    def confidence(self, answer: Answer) -> float | None:
        """That of an answer, or None without facts.

        If all of them were looked up, it is the probability of the least probable one.
        """
        if values := features(answer):
            return self.probability(*values)
        return min((fact.support for fact in answer.facts), default=None)


def features(answer: Answer) -> tuple[float, float] | None:
    """What the confidence of an answer depends on, both in [0, 1]; None if no fact was read.

    The support of its weakest fact, or that of the last one if this answers the whole question; and
    the coverage of the question by all that was read.
    """
    if all(fact.is_looked_up for fact in answer.facts):
        return None
    question, last = answer.retrieved.query.text, answer.facts[-1]
    is_whole = last.question.split() == question.split()
    supported = last.support if is_whole else min(fact.support for fact in answer.facts)
    return supported, coverage(question, [evidence.context for evidence in answer.evidence])


@cache
def packaged() -> Calibration:
    """The calibration of this distribution."""
    return read_calibration(Path(__file__).with_name("confidence.json"))


def read_calibration(path: Path) -> Calibration:
    """The calibration in a file; raises `InputError` for a file of another form."""
    try:
        data = json.loads(read_text(path))
        weights = {name: float(data[name]) for name in ("intercept", "support", "coverage")}
        model = Calibration(**weights, fitted=str(data["fitted"]))
    except (LookupError, ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: not a calibration of confidence ({error}): write one with "
            "'sarag evaluate confidence --calibration FILE'"
        ) from error
    if not all(map(math.isfinite, weights.values())):
        raise InputError(f"{path}: a weight is not a finite number")
    return model
