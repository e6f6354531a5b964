"""Descriptions in a document's own words: the sentences that name a thing.

The SA-RAG paper has a language model write a description of each entity. Here the document
itself speaks: "name: " and up to three of its sentences that name the entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from sarag_rdf.iris import normalize_name

MAX_SENTENCES = 3

_END = re.compile(
    r"[.!?\u061f\u06d4\u0964]+[\"'\u2019\u201d)\]]*(?=\s)|[\u3002\uff01\uff1f]+|\n\s*\n"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'])(?:[A-Za-z]|(?:[A-Za-z]\.)+[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Capt"
    r"|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|Mt|Ft|No|Nos|vs|v|cf|ca|c|al|etc|e\.g|i\.e|approx|Vol|pp)\.$"
)


def split_sentences(text: str) -> list[str]:
    """Split at sentence ends and blank lines; white space within a sentence is folded.

    A full stop does not end a sentence after an initial or a common English abbreviation, nor
    before a lower-case letter.
    """
    sentences = []
    begin = 0
    for match in _END.finditer(text):
        following = text[match.end() :].lstrip()[:1]
        is_stop = match.group().startswith(".")
        if is_stop and (
            following.islower() or _ABBREVIATION.search(text[begin : match.start() + 1])
        ):
            continue
        sentences.append(text[begin : match.end()])
        begin = match.end()
    sentences.append(text[begin:])
    folded = (" ".join(sentence.split()) for sentence in sentences)
    return [sentence for sentence in folded if sentence]


def naming(forms: Iterable[str], sentences: Sequence[str]) -> list[str]:
    """Return the sentences in which one of the forms occurs as whole words, normalised."""
    keys = [f" {normalize_name(form)} " for form in forms if form.strip()]
    return [
        sentence
        for sentence in sentences
        if any(key in f" {normalize_name(sentence)} " for key in keys)
    ]


def describe(name: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return one description of the first sentences, or none if there is no sentence."""
    body = " ".join(islice(sentences, MAX_SENTENCES))
    return (f"{name}: {body}",) if body else ()
