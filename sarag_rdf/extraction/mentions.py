"""Mention detection: the spans of a parsed document that name something.

Spans come from the named entities of the pipeline, runs of proper nouns that it missed, quoted
titles, dates with a year, and occurrences of the title of the document. Of overlapping spans the
longest is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spacy.tokens import Doc, Span, Token
from spacy.util import filter_spans

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import VALUE_TYPES, EntityType
from sarag_rdf.extraction.names import ENGLISH, clean_name, english, is_name, strip_disambiguation
from sarag_rdf.extraction.prose import has_other_text, is_heading, is_prose

TYPES: dict[str, EntityType] = {
    "PERSON": "person",
    "ORG": "organization",
    "GPE": "geopolitical",
    "LOC": "geopolitical",
    "NORP": "adjective",
    "WORK_OF_ART": "misc",
    "EVENT": "misc",
    "FAC": "misc",
    "PRODUCT": "misc",
    "LAW": "misc",
    "LANGUAGE": "adjective",
}
"""OntoNotes labels that are used. Dates are matched by a pattern; numbers and amounts are ignored.
"""

SUBJECTS = ("nsubj", "nsubjpass")
"""Dependency labels (ClearNLP) of a subject."""

_MONTH = f"(?:{'|'.join(ENGLISH['numbers']['months'].split())})"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? |{_MONTH} (?:\d{{1,2}}(?:st|nd|rd|th)?,? )?)?"
    r"(?:1\d|20)\d\ds?\b(?![.,]\d)(?!%)"
    r"|\b\d{1,2}(?:st|nd|rd|th)[ -]century(?: BCE?| CE| AD)?\b|\b\d{1,4} (?:BCE?|CE|AD)\b"
)
_QUOTED = re.compile(
    r"(?:\"|``|` ` ?|\u201c) ?([A-Z0-9][^\"`\u201c\u201d\n]{1,60}?)[.,]? ?(?:\"|\'\'|\u201d)"
)
_TITLE, _DATED, _RUN = "TITLE", "DATED", "RUN"
_RANKS = english("mentions", "ranks")
_NOT_A_NAME = english("mentions", "not_names")
_AMOUNTS = frozenset({"CARDINAL", "QUANTITY", "MONEY", "PERCENT"})
_BRIDGES = frozenset(
    {"of", "the", "for", "and", "&", "de", "la", "du", "von", "van", "-", "\u2013"}
)
_EDGE = frozenset({"ADP", "CCONJ", "SCONJ", "DET", "PUNCT", "SPACE", "PART", "PRON", "AUX"})

# Words that technical texts write with a capital letter without naming something.
_VERBS = english("mentions", "verbs")
_COMMON = english("mentions", "common")


def _is_listed(word: str, *lists: frozenset[str]) -> bool:
    """Whether a word is in a list, also in the plural or third person."""
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    return not all(map(forms.isdisjoint, lists))


@dataclass(frozen=True, slots=True)
class MentionSpan:
    """A mention: tokens ``begin`` to ``end`` (exclusive) of a document, and the name."""

    begin: int
    end: int
    name: str
    type: EntityType
    is_date: bool = False

    @property
    def key(self) -> str:
        """The normalised name."""
        return normalize_name(self.name)

    def root(self, doc: Doc) -> Token:
        """The syntactic head."""
        return doc[self.begin : self.end].root


def find_mention_spans(doc: Doc, title: str) -> list[MentionSpan]:
    """Find all mentions, in order; only parts of names joined by "of" overlap."""
    named = [(span, _TITLE) for span in _title_spans(doc, title)]
    named += [(_trim(ent), ent.label_) for ent in doc.ents if ent.label_ in TYPES]
    named += [(span, "WORK_OF_ART") for span in _quoted_titles(doc)]
    named += [(span, _DATED) for span in _dates(doc)]
    labels = {(span.start, span.end): label for span, label in reversed(named) if is_prose(span)}
    covered = {index for begin, end in labels for index in range(begin, end)}
    for span in _proper_noun_runs(doc, covered):
        labels[span.start, span.end] = _RUN
    spans = filter_spans([doc[begin:end] for begin, end in labels])
    pieces = _merge_spans([(_with_sign(s), labels[s.start, s.end]) for s in spans])
    ner = {(_trim(ent).start, ent.end): ent.label_ for ent in doc.ents}
    ner |= {(ent.start, ent.end): ent.label_ for ent in doc.ents}
    if has_other_text(doc):
        small = frozenset(token.text for token in doc if token.is_lower)
        pieces = [
            (span if label == _TITLE else _without_verb(span), label)
            for span, label in pieces
            if label in (_TITLE, _DATED) or not _is_common(span, small)
        ]
    mentions = []
    for span, label in pieces:
        name = title if label == _TITLE else clean_name(span.text)
        type_ = TYPES.get(ner.get((span.start, span.end), label), "misc")
        if label == _TITLE and type_ in VALUE_TYPES:  # a text about a language or people
            type_ = "misc"
        if label == _DATED or is_name(name):
            mentions.append(MentionSpan(span.start, span.end, name, type_, label == _DATED))
    return mentions


def _merge_spans(pieces: list[tuple[Span, str]]) -> list[tuple[Span, str]]:
    """Merge spans of one name: "2000" + "Summer Olympics", "Bishop" of "Antwerp".

    The name after "of" also remains as a span of its own. A rank before a name is removed.
    """
    joined: list[tuple[Span, str]] = []
    inner: list[tuple[Span, str]] = []
    for span, label in pieces:
        span = _with_number(span, label)
        while joined and label not in (_TITLE, _DATED):
            left, left_label = joined[-1]
            merged_span = span.doc[left.start : span.end]
            if _is_modifier(left, left_label, span):
                is_rank = left_label == _RUN and left[-1].text.rstrip(".") in _RANKS
                span = span if is_rank else merged_span
            elif _is_office(left, left_label, span, label):
                inner.append((span, label))
                span, label = merged_span, _RUN
            else:
                break
            joined.pop()
        joined.append((span, label))
    merged = [
        (span, label)
        for span, label in joined + inner
        if label != _RUN or not all(token.text in _NOT_A_NAME for token in span)
    ]
    return sorted(merged, key=lambda piece: (piece[0].start, -piece[0].end))


def _is_modifier(left: Span, label: str, right: Span) -> bool:
    """Whether a span is directly before another, and modifies its head."""
    if left.end != right.start or label == _TITLE:
        return False
    if label == _RUN and left[-1].text.rstrip(".") in _RANKS:
        return True
    role = "nummod" if label == _DATED else "compound"
    return left.root.dep_ == role and right.start <= left.root.head.i < right.end


def _is_office(left: Span, left_label: str, right: Span, label: str) -> bool:
    """Whether "left of right" is one name; "Osh Province of Kyrgyzstan" is two."""
    between = left.doc[left.end : right.start].text
    is_place = TYPES.get(label) == "geopolitical"
    return left_label == _RUN and between in ("of", "of the") and not (is_place and len(left) > 1)


def _is_common(span: Span, small: frozenset[str]) -> bool:
    """Whether a capitalised span in a technical text has no word that is a name.

    `small` are the words that the text has in lower case. Capitals of words in a heading say
    nothing: what stands in a single heading is not a name unless it has digits or more capitals.
    """
    words = [token for token in span if any(map(str.isalnum, token.text))]
    if is_heading(span) and span.doc.text.count(span.text) == 1:
        return all(t.is_title or t.is_lower for t in words)
    return all(
        _is_listed(t.lower_, _VERBS, _COMMON) or (t.is_title and t.lower_ in small) for t in words
    )


def _without_verb(span: Span) -> Span:
    """The span without a verb at its beginning: "Install" Docker."""
    return span[1:] if len(span) > 1 and _is_listed(span[0].lower_, _VERBS) else span


def _with_sign(span: Span) -> Span:
    """The span with a sign that is written together with it: C#, A*."""
    following = span.doc[span.end : span.end + 1]
    is_sign = following.text in ("#", "*") and not span[-1].whitespace_
    return span.doc[span.start : span.end + 1] if is_sign else span


def _with_number(span: Span, label: str) -> Span:
    """The span with a number that follows it: "Route" 39."""
    following = span.doc[span.end : span.end + 1]
    is_number = label in (_RUN, "ORG", "FAC", "PRODUCT") and re.fullmatch(
        r"\d{1,3}", following.text
    )
    if is_number and span.start <= following.root.head.i < span.end:
        return span.doc[span.start : span.end + 1]
    return span


def _quoted_titles(doc: Doc) -> Iterator[Span]:
    """Titles in quotation marks: words of four or more letters begin with a capital letter."""
    for match in _QUOTED.finditer(doc.text):
        words = match[1].split()
        span = doc.char_span(match.start(1), match.end(1))
        if span is not None and len(words) <= 8 and not any(map(_is_small, words)):
            yield span


def _is_small(word: str) -> bool:
    return len(word) > 3 and word[0].islower()


def _trim(span: Span) -> Span:
    begin, end = span.start, span.end
    while begin < end and span.doc[begin].pos_ in _EDGE:
        begin += 1
    while begin < end and span.doc[end - 1].pos_ in _EDGE - {"PART"}:
        end -= 1
    return span.doc[begin:end] if begin < end else span


def _title_spans(doc: Doc, title: str) -> Iterator[Span]:
    """Occurrences of the title: whole, without its brackets, or up to its first comma.

    The search is case-sensitive for short titles, and for titles with a disambiguation in brackets,
    as these are often common words.
    """
    bare = strip_disambiguation(title)
    surname = {bare.split()[-1]} if _is_name_of_person(doc, bare) else set()
    for name in sorted({title, bare, bare.split(",")[0]} | surname):
        words = name.split()
        if not words or not is_name(name):
            continue
        pattern = r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)"
        is_distinct = len(words) > 1 or (len(name) > 4 and bare == title)
        for match in re.finditer(pattern, doc.text, re.IGNORECASE if is_distinct else 0):
            span = doc.char_span(match.start(), match.end(), alignment_mode="expand")
            if span is not None:
                yield span


def _is_name_of_person(doc: Doc, name: str) -> bool:
    """Whether a name of several words is a person: to the pipeline, or since "he" or "she" follows.

    Pronouns count if the text begins with the name.
    """
    people = {clean_name(ent.text) for ent in doc.ents if ent.label_ == "PERSON"}
    has_gender = any(token.lower_ in ("he", "she") for token in doc)
    return " " in name and (name in people or (has_gender and doc.text.startswith(name)))


def _dates(doc: Doc) -> Iterator[Span]:
    amounts = {token.i for ent in doc.ents if ent.label_ in _AMOUNTS for token in ent}
    for match in _DATE.finditer(doc.text):
        span = doc.char_span(match.start(), match.end())
        if span is not None and not all(token.i in amounts for token in span):
            yield span


def _proper_noun_runs(doc: Doc, covered: set[int]) -> Iterator[Span]:
    """Runs of proper nouns with at most two words such as "of the" between them."""

    def sign(token: Token) -> str:
        if token.i not in covered and token.pos_ == "PROPN" and not token.text.islower():
            return "N"
        return "-" if token.i not in covered and token.text in _BRIDGES else " "

    for match in re.finditer("N(?:-{0,2}N)*", "".join(map(sign, doc))):
        yield doc[match.start() : match.end()]
