"""Names that patterns of a text show, and its grammar: titles of works and of nobility.

That the words of "Woman with a Lute" are one name only the grammar of a sentence says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spacy.tokens import Doc, Span

from sarag_rdf.extraction.entity_typing import MONTH, SUBJECTS
from sarag_rdf.extraction.names import (
    ENGLISH,
    FIRST_NAMES,
    KNOWN,
    english,
    english_pattern,
    type_of_noun,
)
from sarag_rdf.extraction.prose import places_of, prose_text, whole_text

_QUOTED = english_pattern("patterns", "quoted")
_NAMESAKE = re.compile(r"\bthe (?:Elder|Younger)\b")
"""Tells one of two people of a name: "Mara Holm the Younger"."""
_FOREIGN_ARTICLES = english("mentions", "foreign_articles")
ROMAN = re.compile(r"[IVX]{1,5}")
RULERS = english("mentions", "rulers")
APPOINTED = {"governor", "voivode", "castellan", "mayor", "bishop", "archbishop", "regent"}
_NOBLE = "|".join(sorted(RULERS - APPOINTED)).title()
NOBLE_TITLE = rf"(?:(?:Grand|Hereditary|Crown)[ -])?(?:{_NOBLE})"
_NOBILITY = re.compile(
    rf",\s+(?:the\s+)?(?:(\d{{1,3}}(?:st|nd|rd|th))\s+{NOBLE_TITLE}(?:\s+of)?|{NOBLE_TITLE}\s+of)"
    r"\s+[A-Z][\w'\u2019]+(?:[ -][A-Z][\w'\u2019]+)*(\s+and\s+[A-Z][\w'\u2019-]+\b(?! [A-Z]))?"
    rf"|,\s+{NOBLE_TITLE}\s+[A-Z][\w'\u2019-]+(?=,? (?:\(|was |is |who ))"
)
"""A title of nobility after a name, and perhaps a second place: ", 6th Earl of Tarn and Brook".

Without "of" at the start of a sentence or before a bracket: "Ada, Countess Tarn, was".
"""
_WORD = r"[^\W\d_a-z][\w'\u2019-]*"
_SMALL = "in|on|at|of|with|from|to|for|by|under|over|and|the|a|an"
_SUBJECT = re.compile(
    rf"(?:^|(?<=\w)(?>\W*?(?:\n|[.!?:]\s)))\W*+(?P<name>{_WORD}(?:(?: (?:{_SMALL}))* {_WORD})+)"
    r"(?= (?:was|is|has) (\w+))"
)
_INDEFINITE = re.compile(rf" an? {_WORD}")
_SHOWN = english("mentions", "made") | english("mentions", "shown")
_IDENTIFIER = re.compile(r"(?<![\w/.-])[A-Z]{1,6}\d*(?:[-/]\d+[A-Z]?){2,}(?![\w/])")
"""The number of a paper, sample or voyage: "VM-2016-041"."""
_MODEL = re.compile(
    r"(?<![A-Z$€£] )(?<![\w$€£.-])([A-Z]{2,5}) (?!1[5-9]\d\d|20\d\d)\d{1,4}[A-Z]?"
    r"(?![\w%]|[.,:/-]\d|[\u2013-]| [\d%\u2013-]| [A-Z]{2}"
    rf"| {MONTH}| (?:inch|mm|cm|m|km|kg|pounder)\b)"
)
"""A model with its number: "EM 712"."""
_NO_MODELS = english("mentions", "not_names") | frozenset(ENGLISH["currencies"]["codes"].split())
_BINOMIAL = re.compile(
    r"(?<![\w.])([A-Z][a-z]{3,}) ([a-z]{3,}(?:us|a|um|is|i|e|ns|es|or|ax))\b(?!-)"
)
_AGREEING = re.compile(r"\w+(?:a \w+(?:[^e]a|[^a]is|ii)|us \w+(?:us|[^a]is|ii)|um \w+um)")
"""A genus and an epithet whose endings agree."""
_NOT_EPITHETS = english("mentions", "not_epithets")
_PARTS = english("mentions", "parts_of_institutions")
_BIOLOGY = english("mentions", "biology")
_FIELD = r"[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}"
_OF_FIELDS = re.compile(
    rf"\b(?:[A-Z]\w+ ){{0,4}}(?:{'|'.join(sorted(_PARTS))}) (?:of|for) "
    rf"((?:{_FIELD}, )+{_FIELD},?|{_FIELD}) and ({_FIELD})\b"
)


def titled_subjects(doc: Doc) -> Iterator[Span]:
    """Names that their verbs show to be one, wherever they stand in the text.

    The verb is singular after a conjunction or a plural ("Gifts and Givers was held", "Voices of
    Wood is"), or it is said of works and events ("Harbour in Fog was painted"); or an indefinite
    article is in the name.
    """
    names = {m["name"]: None for m in _SUBJECT.finditer(prose_text(doc)) if _is_one(doc, m)}
    for name in names:
        for place in places_of(doc, name):
            if span := doc.char_span(*place):
                yield span


def _is_one(doc: Doc, match: re.Match[str]) -> bool:
    """Whether the subject of a verb in the singular is one name with small words in it."""
    span = doc.char_span(*match.span("name"))
    small = re.search(rf" ({_SMALL}) ", match["name"])
    if span is None or small is None or span.root.dep_ not in SUBJECTS:
        return False
    root = span.root
    if root.ent_type_ in ("PERSON", "ORG") or any(t.ent_type_ == "NORP" for t in span[:1]):
        return False
    if small[1] == "and":
        return "the" not in match["name"].split()[:1]
    is_plural = root.tag_ in ("NNS", "NNPS") and root.ent_type_ != "GPE"
    is_shown = small[1] not in ("of", "for") and match[2] in _SHOWN
    return is_plural or is_shown or _INDEFINITE.search(match["name"]) is not None


def numbered(doc: Doc) -> Iterator[Span]:
    """Names with numbers that the pipeline cuts: "VM-2016-041", "EM 712"."""
    yield from matches(doc, _IDENTIFIER)
    for match in _MODEL.finditer(prose_text(doc)):
        span = doc.char_span(*match.span())
        is_known = match[1] in _NO_MODELS or ROMAN.fullmatch(match[1])
        if (
            span is not None
            and not is_known
            and span.doc[span.end : span.end + 1].root.tag_ != "NNS"
        ):
            yield span


def of_fields(doc: Doc) -> Iterator[Span]:
    """Parts of institutions named after several fields: "Department of Ferns and Mosses".

    The last one is no name by itself: not of a person, place or part, nor elsewhere in the text.
    """
    text = prose_text(doc)
    for match in _OF_FIELDS.finditer(text):
        span, last = (doc.char_span(*match.span(group)) for group in (0, 2))
        if span is None or last is None or {t.ent_type_ for t in last} == {"PERSON"}:
            continue
        words = f"{match[1]} {match[2]}".replace(",", "").split()
        types = {type_of_noun(word) for word in words}
        is_other = not {*words}.isdisjoint(FIRST_NAMES | KNOWN.keys() | _PARTS | {"The"})
        is_other = is_other or any(type_of_noun(w) == "person" and w[-1] != "s" for w in words)
        places = (begin for begin, _ in places_of(doc, match[2]))
        is_other = is_other or any(not text.endswith("and ", 0, begin) for begin in places)
        after = doc[span.end : span.end + 1].text
        is_other = is_other or not types.isdisjoint({"organization", "geopolitical"})
        if not is_other and after not in ("of", "for", "are", "were"):
            while span[0].pos_ not in ("PROPN", "NOUN", "ADJ") and len(span) > 3:
                span = span[1:]
            yield span


def binomials(doc: Doc) -> Iterator[tuple[Span, bool]]:
    """Latin names ("Calanus finmarchicus"), each with whether it is that of a species.

    They stand in italics, or in brackets after a common name, or after a noun such as "shrub", or
    genus and epithet agree in a text that has such words; and so do others with that genus.
    """
    text = prose_text(doc)
    found = [m for m in _BINOMIAL.finditer(text) if m[2] not in _NOT_EPITHETS]
    if not found:
        return
    source, genera = whole_text(doc), dict[str, bool]()
    is_biological = not _BIOLOGY.isdisjoint(text.casefold().split())
    for match in found:
        around = source[max(match.start() - 1, 0) : match.start()] + source[match.end() :][:1]
        before = text[max(match.start() - 40, 0) : match.start()]
        is_bracketed = around in ("()", "(,") and re.search(r"[a-z] ?\($", before) is not None
        is_bracketed = is_bracketed or match[1].lower() == match[2]
        if before.endswith(" ") and match[2].endswith(("us", "a", "um", "is", "i", "e")):
            is_bracketed = is_bracketed or (before.split() or [""])[-1] in _BIOLOGY
        is_agreeing = is_biological and _AGREEING.fullmatch(match[0]) and match[1] not in KNOWN
        if is_bracketed or around in ("**", "__") or (is_agreeing and match[1] not in FIRST_NAMES):
            genera[match[1]] = genera.get(match[1], is_biological) or is_bracketed
    for match in found:
        if match[1] in genera and (span := doc.char_span(*match.span())):
            yield span, genera[match[1]]


def quoted(doc: Doc) -> Iterator[Span]:
    """Titles in quotation marks: words of four or more letters begin with a capital letter."""
    for match in _QUOTED.finditer(prose_text(doc)):
        words = match[1].split()
        span = doc.char_span(match.start(1), match.end(1))
        is_title = not any(len(word) > 3 and word[0].islower() for word in words)
        is_title = is_title or words[0] in _FOREIGN_ARTICLES
        if span is not None and len(words) <= 12 and is_title:
            yield span


def matches(doc: Doc, pattern: re.Pattern[str]) -> Iterator[Span]:
    """What matches a pattern, or its group ``name``."""
    group: str | int = "name" if "name" in pattern.groupindex else 0
    for match in pattern.finditer(prose_text(doc)):
        if span := doc.char_span(match.start(group), match.end(group)):
            yield span


def with_titles_of_nobility(doc: Doc) -> Iterator[Span]:
    """Names with the title that tells their bearer from others: "Anna Merrow, 4th Earl of Tarn"."""
    for match in _NOBILITY.finditer(prose_text(doc)):
        end = match.start(2) if match[2] and not match[1] else match.end()
        span = doc.char_span(match.start(), end)
        if span is None:
            continue
        begin = span.start
        while begin and (doc[begin - 1].pos_ == "PROPN" or ROMAN.fullmatch(doc[begin - 1].text)):
            begin -= 1
            if begin > 1 and doc[begin - 1].text in ("of", "de", "von", "-"):
                begin -= doc[begin - 2].pos_ == "PROPN"
        is_whole = " of " in span.text or match[1] or doc[begin].is_sent_start
        is_whole = is_whole or doc[span.end].text == "("
        if begin < span.start and is_whole:
            yield doc[begin : span.end]


def namesakes(doc: Doc) -> Iterator[Span]:
    """Names with what tells their bearer from another one: "Mara Holm the Younger"."""
    for suffix in matches(doc, _NAMESAKE):
        begin = suffix.start
        while begin and doc[begin - 1].pos_ == "PROPN":
            begin -= 1
            if doc[begin].ent_iob_ == "B":
                break
        if begin < suffix.start:
            yield doc[begin : suffix.end]
