"""Candidate arguments: all spans of a sentence that may be the subject or object of a statement.

They overlap on purpose ("chief test pilot", "test pilot", "pilot"): the scorer decides. All of them
are text of the sentence; nothing is invented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from spacy.tokens import Doc, Span, Token

from sarag_rdf.base.types import Value
from sarag_rdf.extraction.names import clean_name
from sarag_rdf.extraction.values import find_values

CandidateKind = Literal[
    "person", "organization", "place", "group", "work", "name", "noun",
    "date", "duration", "number", "quantity", "money", "coordinates", "identifier", "url",
]  # fmt: skip
KINDS: tuple[CandidateKind, ...] = (
    "person", "organization", "place", "group", "work", "name", "noun",
    "date", "duration", "number", "quantity", "money", "coordinates", "identifier", "url",
)  # fmt: skip
ENTITY_KINDS: frozenset[CandidateKind] = frozenset(KINDS[:7])

_LABELS: dict[str, CandidateKind] = {
    "PERSON": "person",
    "ORG": "organization",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "NORP": "group",
    "LANGUAGE": "group",
    "WORK_OF_ART": "work",
    "PRODUCT": "name",
    "EVENT": "name",
    "LAW": "name",
}
"""OntoNotes labels -> kinds."""
_WORD = r"(?:[A-Z\u00c0-\u00de0-9][\w'’.&/-]*)"
_BRIDGE = (
    r"(?:of the|of|the|and|&|for|de la|de|la|du|dos|das|da|do|del|di|y|von|van|der|"
    r"in|at|on|to|with|from|[-–,])"
)
_RUN = re.compile(
    rf"(?<![\w])(?:[A-Z\u00c0-\u00de][\w'’.&/-]*|\d[\w.]*(?=\s[A-Z]))(?:\s{_WORD})*"
    rf"(?:,?\s{_BRIDGE}\s{_WORD}(?:\s{_WORD})*){{0,2}}(?:\s\((?!born|n\.|c\.)[^\W\d][\w\s.'-]{{1,30}}\))?"
)
_PLACE_PAIR = re.compile(rf"(?<!\w){_WORD}(?:\s{_WORD})*,\s{_WORD}(?:\s{_WORD}){{0,2}}")
_PLACE_TRIPLE = re.compile(rf"{_PLACE_PAIR.pattern},\s{_WORD}(?:\s{_WORD}){{0,2}}")
_FIRM = re.compile(rf"(?<!\w){_WORD},\s{_WORD},?\s(?:and|&)\s{_WORD}(?:\s{_WORD}){{0,2}}")
_QUOTED = re.compile(
    r"[\"“”](?P<double>[^\"“”]{2,100})[\"“”]|(?<!\w)['‘](?P<single>[^'‘’]{2,80})['’](?!\w)"
)
_LEAD_END = re.compile(
    r"\s(?:is|was|are|were|has|had|have|can|which|who|that|also|comes|came|plays|played|"
    r"serves|served|became|did|does|will|originates|includes|contains|stars|directed|competed)\b|[,(;]|\s\("
)
_DROPPED = frozenset({"DET", "PRON", "PUNCT", "SPACE", "CCONJ", "ADP", "AUX", "SCONJ", "PART"})
_INNER = frozenset({"NOUN", "PROPN", "ADJ", "NUM"})
_HYPHENS = frozenset("-–")
_TRAILING = frozenset("which who that also is was are were has had and or".split())
_MAX_TOKENS = 14
_MAX_SUFFIXES = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span of tokens ``begin`` to ``end`` (exclusive), and what is known about it.

    `text` is the name or the text of the value; `head` the index of its syntactic head. `dropped`
    is the number of words of its noun chunk that it leaves out at the beginning.
    """

    begin: int
    end: int
    text: str
    kind: CandidateKind
    head: int
    value: Value | None = None
    is_lead: bool = False
    is_entity: bool = False
    is_chunk: bool = False
    is_quoted: bool = False
    dropped: int = 0

    def overlaps(self, other: Candidate) -> bool:
        """Whether they have a token in common."""
        return self.begin < other.end and other.begin < self.end


def find_candidates(sentence: Span) -> list[Candidate]:
    """All candidates of a sentence in the order of their first tokens, without duplicates."""
    by_span: dict[tuple[int, int, bool], Candidate] = {}
    for candidate in _all(sentence):
        key = candidate.begin, candidate.end, candidate.value is None
        if (before := by_span.get(key)) is None or _evidence(candidate) > _evidence(before):
            is_lead = candidate.is_lead or (before is not None and before.is_lead)
            by_span[key] = replace(candidate, is_lead=is_lead)
        elif candidate.is_lead:
            by_span[key] = replace(before, is_lead=True)
    return sorted(by_span.values(), key=lambda c: (c.begin, c.end, c.value is None))


def _lead_start(sentence: Span) -> int:
    """The first token that is not an article, if it begins a noun phrase or name; else -1."""
    for token in sentence:
        is_article = token.lower_ in ("the", "a", "an") and bool(token.whitespace_)
        if is_article or token.is_punct or token.is_space:
            continue
        is_noun = token.pos_ in ("NOUN", "PROPN", "ADJ", "NUM") or (
            token.i > sentence.start and token.text[:1].isupper()
        )
        return token.i if is_noun else -1
    return -1


def _evidence(candidate: Candidate) -> tuple[bool, bool, bool]:
    return candidate.is_entity, candidate.is_quoted, candidate.is_chunk


def _all(sentence: Span) -> Iterator[Candidate]:
    doc, offset = sentence.doc, sentence.start_char
    text = sentence.text
    for value in find_values(text):
        span = doc.char_span(offset + value.begin, offset + value.end, alignment_mode="expand")
        if span is not None:
            yield Candidate(
                span.start, span.end, value.value.text, value.kind, span.root.i, value.value
            )
    for ent in sentence.ents:
        if kind := _LABELS.get(ent.label_):
            yield from _candidate(_trim(ent), kind, is_entity=True)
    for chunk in sentence.noun_chunks if sentence.doc.has_annotation("DEP") else ():
        yield from _suffixes(_trim(chunk))
    for token in sentence:
        if token.pos_ == "ADJ" and token.text[:1].isupper() and token.i > sentence.start:
            yield from _candidate(doc[token.i : token.i + 1], "group")
        elif token.pos_ in ("NOUN", "ADJ") and token.dep_ in (
            "conj",
            "attr",
            "amod",
            "pobj",
            "dobj",
        ):
            yield from _candidate(doc[token.i : token.i + 1], "noun")
    for match in _RUN.finditer(text):
        yield from _runs(doc, offset + match.start(), match[0])
    for match in (m for p in (_PLACE_PAIR, _PLACE_TRIPLE, _FIRM) for m in p.finditer(text)):
        end = match.start() + len(match[0].rstrip(".,'’"))
        span = doc.char_span(offset + match.start(), offset + end)
        if span is not None:
            yield from _candidate(span, "name")
    for match in _QUOTED.finditer(text):
        group = "double" if match["double"] else "single"
        span = doc.char_span(offset + match.start(group), offset + match.end(group))
        if span is not None:
            yield from _candidate(span, "work", is_quoted=True)
    yield from _lead(sentence)


def _suffixes(chunk: Span) -> Iterator[Candidate]:
    yield from _candidate(chunk, _kind(chunk), is_chunk=True)
    for dropped in range(1, min(len(chunk), _MAX_SUFFIXES + 1)):
        suffix = _trim(chunk.doc[chunk.start + dropped : chunk.end])
        if suffix.start == chunk.start + dropped:
            yield from _candidate(suffix, _kind(suffix), dropped=dropped)
    doc = chunk.doc
    for begin in range(chunk.start, chunk.end - 1):
        for end in range(begin + 1, min(begin + 4, chunk.end)):
            inner = doc[begin:end]
            if inner[-1].pos_ in _INNER and inner[0].pos_ in _INNER and not _is_part(inner):
                yield from _candidate(inner, _kind(inner), dropped=begin - chunk.start)


def _is_part(span: Span) -> bool:
    """Whether a span is a single word of a longer proper name, such as its first name."""
    doc = span.doc
    around = [doc[i] for i in (span.start - 1, span.end) if 0 <= i < len(doc)]
    return len(span) == 1 and span[0].pos_ == "PROPN" and any(t.pos_ == "PROPN" for t in around)


def _runs(doc: Doc, begin: int, text: str) -> Iterator[Candidate]:
    """A capitalised run, its beginnings before each bridge, and its end after a possessive."""
    bridges = re.finditer(rf",?\s{_BRIDGE}\s|\s\(|['’]s\s", text)
    parts = [(0, match.start()) for match in bridges]
    parts += [(match.end(), len(text)) for match in re.finditer(r"['’]s?\s", text)]
    for start, end in [(0, len(text)), *parts]:
        part = text[start:end].rstrip(".,'’ ")
        span = doc.char_span(begin + start, begin + start + len(part))
        if span is not None and len(part) > 1:
            yield from _candidate(_trim(span), "name")


def _lead(sentence: Span) -> Iterator[Candidate]:
    """The words before the first verb, comma or bracket."""
    text, start = sentence.text, _lead_start(sentence)
    if sentence[0].pos_ in ("ADP", "SCONJ"):
        return
    match = _LEAD_END.search(text)
    ends = [match.start()] if match else []
    for token in sentence:
        if token.pos_ in ("VERB", "AUX") and token.i > sentence.start:
            ends.append(token.idx - sentence.start_char - 1)
            break
    for end in dict.fromkeys(ends):
        span = sentence.doc.char_span(
            sentence.start_char, sentence.start_char + max(end, 1), alignment_mode="contract"
        )
        if span is None or not 0 < len(span) <= _MAX_TOKENS:
            continue
        trimmed = _trim(span)
        if any(token.text[:1].isupper() or token.is_digit for token in trimmed):
            is_lead = trimmed.start == start
            yield from _candidate(trimmed, _kind(trimmed), is_lead=is_lead)
            owner = next((t.i for t in trimmed if t.lower_ in ("'s", "’s")), trimmed.start)
            if owner > trimmed.start:
                possessor = trimmed.doc[trimmed.start : owner]
                yield from _candidate(possessor, _kind(possessor), is_lead=is_lead)


def _candidate(
    span: Span,
    kind: CandidateKind,
    *,
    is_lead: bool = False,
    is_entity: bool = False,
    is_chunk: bool = False,
    is_quoted: bool = False,
    dropped: int = 0,
) -> Iterator[Candidate]:
    text = " ".join(span.text.split()) if is_quoted else clean_name(span.text)
    before = span.doc[span.start - 1] if span.start else None
    if before is not None and before.text == "The" and not before.is_sent_start:
        text = f"The {text}"
    if not 0 < len(span) <= _MAX_TOKENS or len(text) < 2 or not any(map(str.isalnum, text)):
        return
    if (len(span) == 1 and span[0].pos_ in ("PRON", "DET")) or _splits_word(span):
        return
    yield Candidate(
        span.start, span.end, text, kind, span.root.i, None, is_lead, is_entity, is_chunk,
        is_quoted, dropped,
    )  # fmt: skip


def _splits_word(span: Span) -> bool:
    """Whether a span begins or ends within a hyphenated word."""
    doc = span.doc
    if span[0].text in _HYPHENS or span[-1].text in _HYPHENS:
        return True
    before = (
        span.start > 1
        and doc[span.start - 1].text in _HYPHENS
        and not (doc[span.start - 1].whitespace_ or doc[span.start - 2].whitespace_)
    )
    after = (
        span.end + 1 < len(doc)
        and doc[span.end].text in _HYPHENS
        and not (doc[span.end].whitespace_ or doc[span.end - 1].whitespace_)
    )
    return before or after


def _kind(span: Span) -> CandidateKind:
    """The kind of the named entity with the same last word, else a name or a noun."""
    last: Token = span[-1]
    if last.ent_type_ in _LABELS:
        return _LABELS[last.ent_type_]
    is_name = any(token.pos_ == "PROPN" or token.text[:1].isupper() for token in span)
    return "name" if is_name else "noun"


def _trim(span: Span) -> Span:
    """Without articles, pronouns and punctuation at its edges; brackets and initials stay."""
    begin, end = span.start, span.end
    doc = span.doc
    while (
        begin < end - 1
        and (doc[begin].pos_ in _DROPPED or doc[begin].lower_ in ("the", "a", "an"))
        and doc[begin].whitespace_
        and not (
            doc[begin].text[:1].isupper() and doc[begin].lower_ not in ("the", "a", "an", "its")
        )
    ):
        begin += 1
    while begin < end - 1 and (
        doc[end - 1].lower_ in _TRAILING
        or doc[end - 1].text in ("'s", "’s", ",", ";", ":", "'", '"', "and", "or", "(", "-")
        or (doc[end - 1].text == ")" and "(" not in doc[begin:end].text)
    ):
        end -= 1
    return doc[begin:end]
