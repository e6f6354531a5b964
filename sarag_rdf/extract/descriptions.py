"""Descriptions of entities, made of sentences of the document.

In the SA-RAG paper a language model writes a description of each entity. Here a description is
"name: " and up to three sentences of the document that contain the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from sarag_rdf.iris import normalize_name

MAX_SENTENCES = 3


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
