"""The text of a document that was parsed by its prose alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

_KEY = "source_text"
_HEADING = re.compile(r"[ \t>]*(?:#{1,6}[ \t]|(?:[-*+][ \t]+|\d+\.[ \t]+)?(?:\*\*|__))")
_BLANK_LINE = re.compile(r"\n\s*\n")


def set_source_text(doc: Doc, text: str) -> None:
    """Record the text of which the parsed one is the prose."""
    doc.user_data[_KEY] = text


def has_other_text(doc: Doc) -> bool:
    """Whether the text has parts that are not prose."""
    return bool(doc.user_data.get(_KEY, doc.text) != doc.text)


def source_text(span: Span) -> str:
    """The text of a span as it is in the document, with single spaces."""
    whole = span.doc.user_data.get(_KEY)
    text = span.text if whole is None else whole[span.start_char : span.end_char]
    return " ".join(text.split())


def is_prose(span: Span) -> bool:
    """Whether a span does not cross a part that is not prose, nor a blank line."""
    text = span.text
    whole = span.doc.user_data.get(_KEY)
    if whole is not None and whole[span.start_char : span.end_char] != text:
        return False
    return _BLANK_LINE.search(text) is None


def is_heading(span: Span) -> bool:
    """Whether a span is in a line that is a Markdown heading, or begins in bold type."""
    whole = span.doc.user_data.get(_KEY, "")
    return _HEADING.match(whole, whole.rfind("\n", 0, span.start_char) + 1) is not None
