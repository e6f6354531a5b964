"""Chunks: windows of words with overlap (SA-RAG, section 5.3)."""

from __future__ import annotations

import re

from sarag_rdf.errors import UsageError
from sarag_rdf.iris import Minter
from sarag_rdf.types import Document, Source

_WORD = re.compile(r"\S+")


def chunk(
    source: Source, source_iri: str, minter: Minter, *, words: int = 500, overlap: int = 200
) -> list[Document]:
    """Cut a source into windows of `words` words, each sharing `overlap` with the one before.

    Words are what white space separates. A window begins with a word and ends with one; the
    last ends with the last word of the text and may be shorter, and no window lies within the
    one before it. A text without words gives no documents. Raises `UsageError` for fewer than
    one word, or an overlap outside ``[0, words)``.
    """
    if words < 1:
        raise UsageError(f"chunks of {words} words cannot be made: give at least 1")
    if not 0 <= overlap < words:
        raise UsageError(
            f"an overlap of {overlap} does not fit chunks of {words} words: "
            f"give a number from 0 to {words - 1}"
        )
    spans = [match.span() for match in _WORD.finditer(source.text)]
    documents = []
    for first in range(0, max(len(spans) - overlap, min(len(spans), 1)), words - overlap):
        begin, end = spans[first][0], spans[min(first + words, len(spans)) - 1][1]
        text = source.text[begin:end]
        iri = minter.document(source_iri, begin, end, text)
        documents.append(Document(iri, source_iri, source.title, text, begin, end, source.language))
    return documents
