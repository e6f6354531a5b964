"""Candidate arguments: all spans of a sentence that may be the subject or object of a statement.

They overlap on purpose ("chief test pilot", "test pilot", "pilot"): the classifiers decide. All of
them are text of the sentence; nothing is invented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from spacy.tokens import Doc, Span

from sarag_rdf.base.types import Value
from sarag_rdf.extraction.names import clean_name
from sarag_rdf.extraction.text_values import find_values

Kind = Literal[
    "person", "organization", "place", "group", "work", "name", "noun",
    "date", "duration", "number", "quantity", "money", "coordinates", "identifier", "url",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
ENTITY_KINDS = frozenset(KINDS[:7])

_LABELS: dict[str, Kind] = {
    "PERSON": "person", "ORG": "organization", "GPE": "place", "LOC": "place", "FAC": "place",
    "NORP": "group", "LANGUAGE": "group", "WORK_OF_ART": "work", "PRODUCT": "name",
    "EVENT": "name", "LAW": "name",
}  # fmt: skip
"""OntoNotes labels -> kinds."""
_WORD = r"(?:[A-Z\u00c0-\u00de0-9][\w'’.&/-]*)"
_WORDS = rf"{_WORD}(?:\s{_WORD})*"
_BRIDGE = (
    r"(?:of the|of|the|and|&|for|de la|de|la|du|dos|das|da|do|del|di|y|von|van|der|"
    r"in|at|on|to|with|from|[-–,])"
)
_RUN = re.compile(
    rf"(?<![\w])(?:[A-Z\u00c0-\u00de][\w'’.&/-]*|\d[\w.]*(?=\s[A-Z]))(?:\s{_WORD})*"
    rf"(?:(?:,|,?\s{_BRIDGE})\s{_WORDS}){{0,2}}(?:\s\((?!born|n\.|c\.)[^\W\d][\w\s.'-]{{1,30}}\))?"
)
_PART_END = re.compile(rf",?\s{_BRIDGE}\s|,\s|\s\(|['’]s\s")
_QUOTED = re.compile(r"[\"“”]([^\"“”]{2,100})[\"“”]|(?<!\w)['‘]([^'‘’]{2,80})['’](?!\w)")
_ARTICLES = frozenset({"the", "a", "an"})
_DROPPED = frozenset({"DET", "PRON", "PUNCT", "SPACE", "CCONJ", "ADP", "AUX", "SCONJ", "PART"})
_INNER = frozenset({"NOUN", "PROPN", "ADJ", "NUM"})
_TRAILING = frozenset(
    "which who that also is was are were has had and or 's ’s , ; : ' \" ( -".split()
)
_MAX_TOKENS = 14
_MAX_INNER = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span of tokens ``begin`` to ``end`` (exclusive), and what is known about it.

    `text` is the name or the text of the value; `head` the index of its syntactic head.
    """

    begin: int
    end: int
    text: str
    kind: Kind
    head: int
    value: Value | None = None
    is_entity: bool = False

    def overlaps(self, other: Candidate) -> bool:
        """Whether they have a token in common."""
        return self.begin < other.end and other.begin < self.end


def find_candidates(sentence: Span) -> list[Candidate]:
    """All candidates of a sentence in the order of their first tokens, without duplicates."""
    doc, offset = sentence.doc, sentence.start_char
    candidates: dict[tuple[int, int, bool], Candidate] = {}
    for own in find_values(sentence.text):
        span = doc.char_span(offset + own.begin, offset + own.end, alignment_mode="expand")
        if span is not None:
            candidates[span.start, span.end, True] = Candidate(
                span.start, span.end, own.value.text, own.kind, span.root.i, own.value
            )
    for span, kind in _spans(sentence):
        key = span.start, span.end, False
        if key not in candidates and (text := _text(span, kind)):
            is_entity = any((_trim(e).start, _trim(e).end) == key[:2] for e in sentence.ents)
            candidates[key] = Candidate(
                span.start, span.end, text, kind or _kind(span), span.root.i,
                is_entity=is_entity,
            )  # fmt: skip
    return sorted(candidates.values(), key=lambda c: (c.begin, c.end, c.value is None))


def _spans(sentence: Span) -> Iterator[tuple[Span, Kind | None]]:
    """Named entities, noun phrases and their parts, runs of capitalised words, quotations."""
    doc, text = sentence.doc, sentence.text
    for ent in sentence.ents:
        if ent.label_ in _LABELS:
            yield _trim(ent), _LABELS[ent.label_]
    for match in _QUOTED.finditer(text):
        if span := _char_span(sentence, *match.span(match.lastindex or 0)):
            yield span, "work"
    for chunk in sentence.noun_chunks if doc.has_annotation("DEP") else ():
        chunk = _trim(chunk)
        yield chunk, None
        for begin in range(chunk.start, chunk.end):
            for end in range(begin + 1, chunk.end + 1):
                inner = doc[begin:end]
                is_short = end == chunk.end or end - begin <= _MAX_INNER
                if is_short and {inner[0].pos_, inner[-1].pos_} <= _INNER and not _is_part(inner):
                    yield inner, None
    for token in sentence:
        if token.pos_ == "ADJ" and token.text[:1].isupper() and token.i > sentence.start:
            yield doc[token.i : token.i + 1], "group"
        elif token.pos_ in ("NOUN", "ADJ"):
            yield doc[token.i : token.i + 1], None
    for match in _RUN.finditer(text):
        run, start = match[0], match.start()
        parts = [(0, len(run)), *((0, end.start()) for end in _PART_END.finditer(run))]
        parts += [(end.end(), len(run)) for end in re.finditer(r"['’]s?\s", run)]
        for begin, end in parts:
            if span := _char_span(sentence, start + begin, start + end):
                yield _trim(span), None


def _char_span(sentence: Span, begin: int, end: int) -> Span | None:
    """The tokens of a part of a sentence without punctuation at its end."""
    end = begin + len(sentence.text[begin:end].rstrip(".,'’ "))
    return sentence.doc.char_span(sentence.start_char + begin, sentence.start_char + end)


def _is_part(span: Span) -> bool:
    """Whether a span is a single word of a longer proper name, such as its first name."""
    doc = span.doc
    around = [doc[i] for i in (span.start - 1, span.end) if 0 <= i < len(doc)]
    return len(span) == 1 and span[0].pos_ == "PROPN" and any(t.pos_ == "PROPN" for t in around)


def _text(span: Span, kind: Kind | None) -> str:
    """The name of a candidate; empty for a pronoun, and for a part of a hyphenated word."""
    text = " ".join(span.text.split()) if kind == "work" else clean_name(span.text)
    before = span.doc[span.start - 1] if span.start else None
    if before is not None and before.text == "The" and not before.is_sent_start:
        text = f"The {text}"
    is_name = 0 < len(span) <= _MAX_TOKENS and len(text) > 1 and any(map(str.isalnum, text))
    is_pronoun = len(span) == 1 and span[0].pos_ in ("PRON", "DET")
    is_whole = not any(_is_joint(span.doc, place) for place in (span.start, span.end))
    return text if is_name and not is_pronoun and is_whole else ""


def _is_joint(doc: Doc, place: int) -> bool:
    """Whether the tokens before and after a place are parts of one hyphenated word."""
    if not 0 < place < len(doc):
        return False
    is_hyphen = not {doc[place - 1].text, doc[place].text}.isdisjoint("-–")
    return is_hyphen and not doc[place - 1].whitespace_


def _kind(span: Span) -> Kind:
    """The kind of the named entity with the same last word, else a name or a noun."""
    if span[-1].ent_type_ in _LABELS:
        return _LABELS[span[-1].ent_type_]
    is_name = any(token.pos_ == "PROPN" or token.text[:1].isupper() for token in span)
    return "name" if is_name else "noun"


def _trim(span: Span) -> Span:
    """Without articles, pronouns and punctuation at its edges; brackets and initials stay."""
    begin, end, doc = span.start, span.end, span.doc
    while begin < end - 1 and doc[begin].whitespace_:
        first = doc[begin]
        is_capital = first.text[:1].isupper() and first.lower_ != "its"
        if first.lower_ not in _ARTICLES and (is_capital or first.pos_ not in _DROPPED):
            break
        begin += 1
    while begin < end - 1 and (
        doc[end - 1].lower_ in _TRAILING
        or (doc[end - 1].text == ")" and "(" not in doc[begin:end].text)
    ):
        end -= 1
    return doc[begin:end]
