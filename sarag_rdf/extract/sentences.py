"""Descriptions of entities, made of sentences of the document.

In the SA-RAG paper a language model writes a description of each entity. Here a description is
"name: " and up to three sentences of the document that contain the name.
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
    """Split at sentence ends and blank lines; white space within a sentence is collapsed.

    A full stop does not end a sentence after an initial or a common English abbreviation, nor
    before a lower-case letter.

    `sarag_rdf.context.selected.sentence_spans` is a different splitter: it returns offsets, knows
    more abbreviations and closing quotes, and after any Latin end mark requires a capital letter
    or a digit. The sentences here are part of the descriptions in stored evidence, so a change
    here would change every graph that is indexed again; a change there changes only contexts.
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


def sentences_with_name(forms: Iterable[str], sentences: Sequence[str]) -> list[str]:
    """The sentences that contain one of the forms, normalised, as whole words."""
    keys = [f" {normalize_name(form)} " for form in forms if form.strip()]
    return [
        sentence
        for sentence in sentences
        if any(key in f" {normalize_name(sentence)} " for key in keys)
    ]


def build_descriptions(name: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """One description from the first `MAX_SENTENCES` sentences, or none without sentences."""
    body = " ".join(islice(sentences, MAX_SENTENCES))
    return (f"{name}: {body}",) if body else ()
