"""Names in a parsed document: found, cleaned, and given to the thing they stand for.

A `Sighting` is one place where a thing is named. Places come from the pipeline's named
entities, runs of proper nouns that it missed, dates with a year, and the title's own words;
where they overlap, the longest stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from sarag_rdf.extract.names import clean_name, is_name, without_bracket
from sarag_rdf.types import EntityType

TYPES: dict[str, EntityType] = {
    "PERSON": "person",
    "ORG": "organization",
    "GPE": "geopolitical",
    "LOC": "geopolitical",
    "NORP": "misc",
    "WORK_OF_ART": "misc",
    "EVENT": "misc",
    "FAC": "misc",
    "PRODUCT": "misc",
    "LAW": "misc",
    "LANGUAGE": "misc",
}
"""Labels of OntoNotes that are kept. Dates are read by pattern; numbers and amounts are not."""

SUBJECTS = ("nsubj", "nsubjpass")
"""Dependency labels (ClearNLP) of a subject."""

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? |{_MONTH} (?:\d{{1,2}}(?:st|nd|rd|th)?,? )?)?"
    r"(?:1\d|20)\d\ds?\b(?![.,]\d)(?!%)"
    r"|\b\d{1,2}(?:st|nd|rd|th)[ -]century(?: BCE?| CE| AD)?\b|\b\d{1,4} (?:BCE?|CE|AD)\b"
)
_QUOTED = re.compile(
    r"(?:\"|``|` ` ?|\u201c) ?([A-Z0-9][^\"`\u201c\u201d\n]{1,60}?)[.,]? ?(?:\"|\'\'|\u201d)"
)
_TITLE, _DATED, _RUN = "TITLE", "DATED", "RUN"
_RANKS = frozenset(
    re.findall(
        r"\w+",
        "President Governor Senator Representative Secretary Minister Chancellor Ambassador "
        "Chairman Director Judge Justice King Queen Prince Princess Emperor Empress Duke Count "
        "Countess Baron Lord Lady Sir Dame Mr Mrs Ms Miss Dr Prof Professor Rev Father Sister "
        "Brother Pope Bishop Saint General Colonel Captain Major Lieutenant Sergeant Admiral "
        "Marshal",
    )
)
_NOT_A_NAME = frozenset(
    re.findall(
        r"\S+",
        "January February March April May June July August September October November December "
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mr Mr. Mrs Mrs. Ms Ms. Dr Dr. "
        "Jr. Jr Sr. Sr St. No. Via",
    )
)
_AMOUNTS = frozenset({"CARDINAL", "QUANTITY", "MONEY", "PERCENT"})
_BRIDGES = frozenset(
    {"of", "the", "for", "and", "&", "de", "la", "du", "von", "van", "-", "\u2013"}
)
_EDGE = frozenset({"ADP", "CCONJ", "SCONJ", "DET", "PUNCT", "SPACE", "PART", "PRON", "AUX"})


@dataclass(frozen=True, slots=True)
class Sighting:
    """Tokens ``begin`` to ``end`` (exclusive) of a document name something."""

    begin: int
    end: int
    name: str
    type: EntityType
    is_date: bool = False


def sightings(doc: Doc, title: str) -> list[Sighting]:
    """Find every place where something is named, in order, without overlaps."""
    labels: dict[tuple[int, int], str] = {}
    for span in _title_spans(doc, title):
        labels[span.start, span.end] = _TITLE
    for ent in doc.ents:
        if ent.label_ in TYPES:
            span = _trimmed(ent)
            labels.setdefault((span.start, span.end), ent.label_)
    for span in _quoted(doc):
        labels.setdefault((span.start, span.end), "WORK_OF_ART")
    for span in _dates(doc):
        labels.setdefault((span.start, span.end), _DATED)
    taken = {index for begin, end in labels for index in range(begin, end)}
    for span in _proper_noun_runs(doc, taken):
        labels[span.start, span.end] = _RUN
    spans = filter_spans([doc[begin:end] for begin, end in labels])
    pieces = _joined([(span, labels[span.start, span.end]) for span in spans])
    ner = {(_trimmed(ent).start, ent.end): ent.label_ for ent in doc.ents}
    ner |= {(ent.start, ent.end): ent.label_ for ent in doc.ents}
    found = []
    for span, label in pieces:
        name = title if label == _TITLE else clean_name(span.text)
        type_ = TYPES.get(ner.get((span.start, span.end), label), "misc")
        if label == _DATED or is_name(name):
            found.append(Sighting(span.start, span.end, name, type_, label == _DATED))
    return found


def _joined(pieces: list[tuple[Span, str]]) -> list[tuple[Span, str]]:
    """Put together what the pipeline cut: "2000" + "Summer Olympics", "Bishop" of "Antwerp".

    What follows an "of" stays a name of its own as well. A rank before a name is dropped.
    """
    joined: list[tuple[Span, str]] = []
    inner: list[tuple[Span, str]] = []
    for span, label in pieces:
        span = _numbered(span, label)
        while joined and label not in (_TITLE, _DATED):
            left, left_label = joined[-1]
            whole = span.doc[left.start : span.end]
            if _is_modifier(left, left_label, span):
                is_rank = left_label == _RUN and left[-1].text.rstrip(".") in _RANKS
                span = span if is_rank else whole
            elif _is_office(left, left_label, span, label):
                inner.append((span, label))
                span, label = whole, _RUN
            else:
                break
            joined.pop()
        joined.append((span, label))
    kept = [
        (span, label)
        for span, label in joined + inner
        if label != _RUN or not all(token.text in _NOT_A_NAME for token in span)
    ]
    return sorted(kept, key=lambda piece: (piece[0].start, -piece[0].end))


def _is_modifier(left: Span, label: str, right: Span) -> bool:
    """Tell whether a span stands right before another whose head it modifies."""
    if left.end != right.start or label == _TITLE:
        return False
    if label == _RUN and left[-1].text.rstrip(".") in _RANKS:
        return True
    role = "nummod" if label == _DATED else "compound"
    return left.root.dep_ == role and right.start <= left.root.head.i < right.end


def _is_office(left: Span, left_label: str, right: Span, label: str) -> bool:
    """Tell whether "left of right" is one name; "Osh Province of Kyrgyzstan" is two."""
    between = left.doc[left.end : right.start].text
    is_place = TYPES.get(label) == "geopolitical"
    return left_label == _RUN and between in ("of", "of the") and not (is_place and len(left) > 1)


def _numbered(span: Span, label: str) -> Span:
    """Take in a number that follows: "Route" 39."""
    following = span.doc[span.end : span.end + 1]
    is_number = label in (_RUN, "ORG", "FAC", "PRODUCT") and re.fullmatch(
        r"\d{1,3}", following.text
    )
    if is_number and span.start <= following.root.head.i < span.end:
        return span.doc[span.start : span.end + 1]
    return span


def _quoted(doc: Doc) -> Iterator[Span]:
    """Titles in quotation marks: every word of four letters and more begins with a capital."""
    for match in _QUOTED.finditer(doc.text):
        words = match[1].split()
        span = doc.char_span(match.start(1), match.end(1))
        if span is not None and len(words) <= 8 and not any(map(_is_small, words)):
            yield span


def _is_small(word: str) -> bool:
    return len(word) > 3 and word[0].islower()


def _trimmed(span: Span) -> Span:
    begin, end = span.start, span.end
    while begin < end and span.doc[begin].pos_ in _EDGE:
        begin += 1
    while begin < end and span.doc[end - 1].pos_ in _EDGE - {"PART"}:
        end -= 1
    return span.doc[begin:end] if begin < end else span


def _title_spans(doc: Doc, title: str) -> Iterator[Span]:
    """Where the title stands, whole, without its bracket, or up to its first comma.

    Case counts for a short title and for one that has a bracket because it is a common word.
    """
    bare = without_bracket(title)
    for name in sorted({title, bare, bare.split(",")[0]}):
        words = name.split()
        if not words or not is_name(name):
            continue
        pattern = r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)"
        is_distinct = len(words) > 1 or (len(name) > 4 and bare == title)
        for match in re.finditer(pattern, doc.text, re.IGNORECASE if is_distinct else 0):
            span = doc.char_span(match.start(), match.end(), alignment_mode="expand")
            if span is not None:
                yield span


def _dates(doc: Doc) -> Iterator[Span]:
    amounts = {token.i for ent in doc.ents if ent.label_ in _AMOUNTS for token in ent}
    for match in _DATE.finditer(doc.text):
        span = doc.char_span(match.start(), match.end())
        if span is not None and not all(token.i in amounts for token in span):
            yield span


def _proper_noun_runs(doc: Doc, taken: set[int]) -> Iterator[Span]:
    def proper(index: int) -> bool:
        token = doc[index]
        return index not in taken and token.pos_ == "PROPN" and not token.text.islower()

    index = 0
    while index < len(doc):
        if not proper(index):
            index += 1
            continue
        end = index + 1
        while end < len(doc):
            if proper(end):
                end += 1
            elif (bridge := _bridge(doc, end, taken)) and proper(end + bridge):
                end += bridge + 1
            else:
                break
        yield doc[index:end]
        index = end


def _bridge(doc: Doc, index: int, taken: set[int]) -> int:
    length = 0
    while (
        length < 2
        and index + length + 1 < len(doc)
        and index + length not in taken
        and doc[index + length].text in _BRIDGES
    ):
        length += 1
    return length
