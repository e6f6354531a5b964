"""The sentence to show of each retrieved document: the one that carries the fact or the link.

No model is needed: sentences are compared with the question by their words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from Stemmer import Stemmer

from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import Document, RankedDocument, Retrieved
from sarag_rdf.extraction.names import strip_disambiguation
from sarag_rdf.retrieval.seeds import STOP_WORDS

_WORD = re.compile(r"\w+")


def key_sentences_of(retrieved: Retrieved, names: Mapping[str, str]) -> list[str]:
    """The key sentence of each retrieved document, in order of rank; "" of an empty document.

    `names` are the names of nodes by IRI, as `names_of` gives them.
    """
    onward = _names_that_lead_on(retrieved.documents, names)
    documents = [ranked.document for ranked in retrieved.documents]
    spans = key_sentences(documents, retrieved.query.text, onward)
    return [
        document.text[begin:end] for document, (begin, end) in zip(documents, spans, strict=True)
    ]


def _names_that_lead_on(documents: Sequence[RankedDocument], names: Mapping[str, str]) -> list[str]:
    """For each document the names through which activation went on from it to other documents."""
    onward: dict[str, list[str]] = {ranked.document.iri: [] for ranked in documents}
    for ranked in documents:
        for step in ranked.chain:
            if step.origin in onward and step.origin_type == "document":
                onward[step.origin].append(names.get(step.target, ""))
    return [" ".join(onward[ranked.document.iri]) for ranked in documents]


def key_sentences(
    documents: Sequence[Document], question: str, onward: Sequence[str]
) -> list[tuple[int, int]]:
    """(begin, end) in code points of one sentence of each text, or (0, 0) of an empty one.

    A sentence scores the sum of ``log(1 + N / df)`` over the words that it shares with the question
    or with the names in `onward` that led from its document to others; df of the N sentences of all
    texts contain the word. The words of a document's own title count for none of its sentences,
    since all of them are about it. Inflected forms are one word (Snowball's stemmer of the
    document's language), stop words do not count, and the first of equal sentences wins.
    """
    sentences = [
        [(span, _words(d.text[slice(*span)], d.language)) for span in sentence_spans(d.text)]
        for d in documents
    ]
    frequency = Counter(word for of_text in sentences for _, words in of_text for word in words)
    total = sum(map(len, sentences))

    def score(words: set[str]) -> float:
        return sum(math.log(1 + total / frequency[word]) for word in sorted(words))

    chosen = []
    for document, of_text, names in zip(documents, sentences, onward, strict=True):
        relevant = _words(f"{question} {names}", document.language)
        relevant -= _words(strip_disambiguation(document.title), document.language)
        best = max(of_text, key=lambda item: score(item[1] & relevant), default=((0, 0), set()))
        chosen.append(best[0])
    return chosen


def _words(text: str, language: str) -> set[str]:
    """The stems of a text's words without stop words; the words, where no stemmer is known."""
    words = [word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS]
    stemmer = _stemmer(language.partition("-")[0])
    return set(words if stemmer is None else stemmer.stemWords(words))


@cache
def _stemmer(language: str) -> Any:
    """The stemmer of a language, or None."""
    try:
        return Stemmer(language)
    except KeyError:
        return None
