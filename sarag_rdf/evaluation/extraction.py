"""Measures of extraction against an ontology: those of Text2KGBench, and strict and soft ones.

*Official* (Text2KGBench, section 4.2, and its ``run_eval.py``): predictions are first restricted to
properties that occur in the sentence's own gold statements; precision, recall and F1 are means over
sentences, then over ontologies. *Strict*: all predictions count; precision, recall and F1 are of
the summed counts of an ontology, then means over ontologies. *Soft*: as strict, after both sides
lose accents, brackets, quotes, units and the fraction ".0" of numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from sarag_rdf.evaluation.text2kgbench import Sentence, Triple
from sarag_rdf.extract.typed.matching import soft_text


@dataclass(frozen=True, slots=True)
class ExtractionScores:
    """Scores in [0, 1].

    `conformance` is the share of predictions with a property of the ontology; invented subjects and
    objects do not occur in the sentence, in the title of its document, nor as a class label. For a
    normalised value the text that it was read from is looked for.
    """

    official_precision: float
    official_recall: float
    official_f1: float
    strict_precision: float
    strict_recall: float
    strict_f1: float
    soft_precision: float
    soft_recall: float
    soft_f1: float
    conformance: float
    invented_subjects: float
    invented_objects: float

    @classmethod
    def mean(cls, scores: Sequence[ExtractionScores]) -> ExtractionScores:
        """The mean of each score over ontologies."""
        return cls(*(sum(getattr(s, f.name) for s in scores) / len(scores) for f in fields(cls)))


def score_ontology(
    sentences: Sequence[Sentence],
    predictions: Mapping[str, Sequence[Triple]],
    relations: Iterable[str],
    concepts: Iterable[str],
    titles: Mapping[str, str] | None = None,
) -> ExtractionScores:
    """Scores of the predictions for the sentences of one ontology, by sentence id.

    `titles` are those of the documents of sentences, by sentence id.
    """
    known = {relation.replace(" ", "_") for relation in relations}
    labels, titles = " ".join(concepts), titles or {}
    rows = [
        _score_sentence(
            sentence,
            predictions.get(sentence.id, ()),
            known,
            f"{titles.get(sentence.id, '')} {labels}",
        )
        for sentence in sentences
    ]
    means = [sum(row[place] for row in rows) / max(1, len(rows)) for place in range(6)]
    strict = _micro(sentences, predictions, strict_key)
    soft = _micro(sentences, predictions, soft_key)
    return ExtractionScores(*(*means[:3], *strict, *soft, *means[3:]))


def _score_sentence(
    sentence: Sentence, predicted: Sequence[Triple], known: set[str], labels: str
) -> tuple[float, float, float, float, float, float]:
    relations = {triple.relation.replace(" ", "_") for triple in sentence.triples}
    gold = {strict_key(triple) for triple in sentence.triples}
    restricted = {strict_key(t) for t in predicted if t.relation.replace(" ", "_") in relations}
    measures = _prf(len(gold & restricted), len(restricted), len(gold))
    if not predicted:
        return *measures, 1.0, 0.0, 0.0
    context = _occurrence_key(f"{sentence.text} {labels}")
    count = len(predicted)
    return (
        *measures,
        sum(t.relation.replace(" ", "_") in known for t in predicted) / count,
        sum(_occurrence_key(t.subject) not in context for t in predicted) / count,
        sum(_occurrence_key(t.source or t.object) not in context for t in predicted) / count,
    )


def _micro(
    sentences: Sequence[Sentence],
    predictions: Mapping[str, Sequence[Triple]],
    key: Callable[[Triple], str],
) -> tuple[float, float, float]:
    counts: Counter[str] = Counter()
    for sentence in sentences:
        gold = {key(triple) for triple in sentence.triples}
        predicted = {key(triple) for triple in predictions.get(sentence.id, ())}
        counts.update(both=len(gold & predicted), predicted=len(predicted), gold=len(gold))
    return _prf(counts["both"], counts["predicted"], counts["gold"])


def _prf(both: int, predicted: int, gold: int) -> tuple[float, float, float]:
    precision = both / predicted if predicted else 0.0
    recall = both / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return precision, recall, f1


def strict_key(triple: Triple) -> str:
    """A statement without spaces and underscores, in lower case: equality in the benchmark."""
    parts = (triple.subject, triple.relation, triple.object)
    return "".join(re.sub(r"[_\s]+", "", part).lower() for part in parts)


def soft_key(triple: Triple) -> str:
    """A statement whose subject and object are normalised by `soft_text`."""
    relation = re.sub(r"[_\s]+", "", triple.relation).lower()
    return f"{soft_text(triple.subject)} {relation} {soft_text(triple.object)}"


def _occurrence_key(text: str) -> str:
    """Stems of the words without anything between them, as the benchmark compares occurrences."""
    words = re.findall(r"\w+|[^\w\s]", text.replace("_", " ").lower())
    return "".join(_stem(word) for word in words).replace("01januar", "")


def _stem(word: str) -> str:
    """The word without endings of plurals, participles and adjectives (short of Porter's steps)."""
    for ending in ("ational", "ing", "ies", "ed", "es", "ly", "al", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
