"""Other names that a text defines: acronyms in brackets, "also known as", and birth names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spacy.tokens import Doc

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import EntityType
from sarag_rdf.extraction.entity_typing import SUBJECTS
from sarag_rdf.extraction.mentions import MentionSpan
from sarag_rdf.extraction.names import english_pattern, type_of_noun
from sarag_rdf.extraction.prose import prose_text

_ACRONYM = re.compile(r"\s*\(\s*(?:the |or )?[\"'\u201c]?([A-Z][\w.&/-]{1,9}?)[\"'\u201d]?\s*[),;]")
_KNOWN_AS = english_pattern("patterns", "known_as")
_FORMER = english_pattern("patterns", "former")
"""A former name, or one in another language, in brackets."""
_ALSO = re.compile(r"\s*\(\s*(?:or|also)\s[\s\"'`\u201c]*(?:the )?")
_OR = re.compile(r"\s+or\s+(?:the )?")
_PREDICATE = re.compile(r"\s*(?:\(|,|(?:is|was|are|were|may)\b)")
"""What follows two names at the start of a text: "X or Y is"."""
_CLOSING = re.compile(r"\s*[\"'\u201d]?\s*[),;(]")
_BORN = english_pattern("patterns", "born")


@dataclass(frozen=True, slots=True)
class DefinedAlias:
    """An alias defined in a text; `is_global` if it is also valid outside this document."""

    name: str
    alias: str
    is_global: bool


def text_after(doc: Doc, mention_span: MentionSpan) -> str:
    """The 200 characters after a mention."""
    end = doc[mention_span.begin : mention_span.end].end_char
    return prose_text(doc)[end : end + 200]


def find_aliases(
    doc: Doc, mention_spans: list[MentionSpan], types: Mapping[str, EntityType]
) -> Iterator[DefinedAlias]:
    """Yield acronyms in brackets, names after "also known as", and birth names."""
    by_begin = {s.begin: s for s in mention_spans}
    for left in mention_spans:
        type_ = types[left.key]
        following = text_after(doc, left)
        if (match := _ACRONYM.match(following)) and _abbreviates(match[1], left.name, type_):
            yield DefinedAlias(left.name, match[1], True)
        for pattern in (_KNOWN_AS, _FORMER, _ALSO, _BORN, *((_OR,) if left.begin <= 1 else ())):
            match = pattern.match(following)
            if not match:
                continue
            offset = doc[left.end - 1].idx + len(doc[left.end - 1]) + match.end()
            span = doc.char_span(offset, offset + 1, alignment_mode="expand")
            right = by_begin.get(span.start) if span is not None else None
            if right is None or right.is_date or type_of_noun(right.name):
                continue
            closing = {_OR: _PREDICATE, _ALSO: _CLOSING}.get(pattern)
            if closing and not closing.match(text_after(doc, right)):
                continue
            is_introduced = match[0].strip().startswith("(") or _opens_clause(doc, left)
            is_name = type_ == "person" and right.type != "geopolitical"
            if is_introduced and (is_name or pattern is not _BORN):
                is_global = pattern is not _BORN or " " in right.name
                yield DefinedAlias(left.name, right.name, is_global)
                while doc[right.end : right.end + 1].text == "or" and right.end + 1 in by_begin:
                    right = by_begin[right.end + 1]  # "also known as X or Y"
                    yield DefinedAlias(left.name, right.name, True)


def _opens_clause(doc: Doc, mention_span: MentionSpan) -> bool:
    """Whether a mention is a subject, or precedes all other names and verbs of its sentence."""
    root = mention_span.root(doc)
    before = doc[root.sent.start : mention_span.begin]
    return root.dep_ in SUBJECTS or not any(token.pos_ in ("PROPN", "VERB") for token in before)


def _abbreviates(short: str, name: str, type_: EntityType) -> bool:
    """Whether a word in brackets after a name is its acronym.

    Its letters must occur in the name in the same order, beginning with the first. For names of
    organizations with three or more words any acronym is accepted: it may come from another
    language (CERN).
    """
    letters = [character for character in short if character.isalpha()]
    if type_ == "person" or sum(map(str.isupper, letters)) * 2 <= len(letters):
        return False
    if type_ == "organization" and len(name.split()) >= 3:
        return True
    rest = iter(normalize_name(name))
    return short[0].lower() == normalize_name(name)[0] and all(c.lower() in rest for c in letters)
