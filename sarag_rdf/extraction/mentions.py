"""Mention detection: the spans of a parsed document that name something.

Spans come from the named entities of the pipeline, runs of proper nouns that it missed, quoted
titles, dates with a year, and occurrences of the title of the document. Of overlapping spans the
longest is used. A span is one name: it does not cross a comma, nor a conjunction or preposition
between two names. Offices ("Master of Trinity College") and kinds ("became a World Heritage Site")
are no names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from spacy.tokens import Doc, Span, Token
from spacy.util import filter_spans

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import VALUE_TYPES, EntityType
from sarag_rdf.extraction.entity_typing import (
    STATED,
    WORDS,
    TypeEvidence,
    type_evidence,
    type_of_title,
)
from sarag_rdf.extraction.names import (
    ENGLISH,
    FIRST_NAMES,
    clean_name,
    english,
    is_name,
    strip_disambiguation,
    type_of_noun,
)
from sarag_rdf.extraction.prose import has_other_text, is_heading, is_prose

TYPES: dict[str, EntityType] = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organization",
    "GPE": "geopolitical",
    "LOC": "geopolitical",
    "NORP": "adjective",
    "WORK_OF_ART": "misc",
    "EVENT": "misc",
    "FAC": "misc",
    "PRODUCT": "misc",
    "MISC": "misc",
    "LAW": "misc",
    "LANGUAGE": "adjective",
}
"""Labels of OntoNotes and WikiNER. Dates are matched by a pattern; amounts are ignored."""

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
    {"of", "the", "for", "and", "&", "de", "des", "la", "du", "von", "van", "-", "\u2013"}
)
_JOINTS = frozenset({"at", "from", "with", "by", "against"})
"""Prepositions between two names."""
_SUFFIXES = frozenset({"Inc", "Inc.", "Ltd", "Ltd.", "LLC", "Jr", "Jr.", "Sr", "Sr.", "Co."})
_WORKS = frozenset({"WORK_OF_ART", "LAW"})
_OFFICES = _RANKS | english("mentions", "offices")
_FOREIGN_HEADS = english("mentions", "foreign_heads")
_PARTICLES = frozenset({"de", "des", "du", "della", "di"})
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
    """A mention: tokens ``begin`` to ``end`` (exclusive) of a document, and the name.

    `weight` is that of the evidence for the type, and `noun` what the text calls the thing there.
    """

    begin: int
    end: int
    name: str
    type: EntityType
    is_date: bool = False
    weight: int = 0
    noun: str = ""

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
    for ent in doc.ents:
        if ent.label_ in TYPES:
            parts = map(_trim, _parts(ent, _surnames(doc)))
            named += [(_with_adjective(_extended(part)), ent.label_) for part in parts]
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
        ner_label = ner.get((span.start, span.end), label)
        evidence = _evidence(span, label, ner_label, title)
        if label != _TITLE and type_of_noun(span[-1].text) and _is_counted(span):
            name = name.removesuffix("s")
        if label == _DATED or is_name(name):
            is_date = label == _DATED
            mention = MentionSpan(span.start, span.end, name, evidence.type, is_date)
            mentions.append(replace(mention, weight=evidence.weight, noun=evidence.noun))
    return _same_types_in_lists(doc, mentions)


def _evidence(span: Span, label: str, ner_label: str, title: str) -> TypeEvidence:
    """The evidence for the type where the span stands."""
    type_ = TYPES.get(ner_label, "misc")
    is_technical = has_other_text(span.doc)
    evidence = type_evidence(span, type_, is_technical=is_technical)
    if label == _TITLE:
        if stated := type_of_title(title):
            return stated
        if evidence.type in VALUE_TYPES:
            return TypeEvidence("misc")
    return evidence


def _same_types_in_lists(doc: Doc, mentions: list[MentionSpan]) -> list[MentionSpan]:
    """Full names in a list with a person are persons, and a plural noun before it counts for all:
    "the films X, Y and Z".
    """
    result = list(mentions)
    groups: list[list[int]] = []
    for number, mention in enumerate(mentions):
        between = doc[mentions[number - 1].end : mention.begin].text if number else "."
        between = between.removesuffix(" the")
        if between in (",", "and", ", and", "&") and groups:
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        first = result[group[0]]
        between = doc[result[group[-2:][0]].end : result[group[-1]].begin].text
        if "and" not in between and "&" not in between:
            continue
        before = doc[max(first.begin - 4, 0) : first.begin]
        is_plural = any(token.text == first.noun and token.tag_ == "NNS" for token in before)
        has_person = any(result[n].type == "person" and " " in result[n].name for n in group)
        for n in group:
            other = result[n]
            if is_plural:
                result[n] = replace(other, type=first.type, weight=STATED, noun=first.noun)
            elif not is_plural and has_person and " " in other.name and other.weight < WORDS:
                result[n] = replace(other, type="person", weight=WORDS)
    return result


def _merge_spans(pieces: list[tuple[Span, str]]) -> list[tuple[Span, str]]:
    """Merge spans of one name: "2000" + "Summer Olympics", "Bank" of "Antwerp".

    The name after "of" also remains as a span of its own. A rank before a name is removed, and so
    are offices and kinds.
    """
    joined: list[tuple[Span, str]] = []
    inner: list[tuple[Span, str]] = []
    for span, label in pieces:
        span = _with_number(span, label)
        while joined and label not in (_TITLE, _DATED):
            left, left_label = joined[-1]
            merged_span = span.doc[left.start : span.end]
            if _is_modifier(left, left_label, span, label):
                is_rank = left_label == _RUN and left[-1].text.rstrip(".") in _RANKS
                span = span if is_rank else merged_span
            elif left.text in FIRST_NAMES and span.doc[left.end : span.start].text == "of":
                span, label = merged_span, "PERSON"  # "John" of "Brienne"
            elif _is_with_of(left, left_label, span, label) and not _is_office(left):
                inner.append((span, label))
                span, label = merged_span, _RUN
            else:
                break
            joined.pop()
        joined.append((span, label))
    merged = [
        (_without_rank(span, label), label)
        for span, label in joined + inner
        if label in (_TITLE, _DATED) or not _is_no_thing(span, label)
    ]
    return sorted(merged, key=lambda piece: (piece[0].start, -piece[0].end))


def _is_modifier(left: Span, label: str, right: Span, right_label: str) -> bool:
    """Whether a span is directly before another, and modifies its head."""
    if left.end != right.start or label == _TITLE:
        return False
    if TYPES.get(label, "adjective") != "adjective" and TYPES.get(right_label):
        # two entities of the pipeline, except the first name in Paris Hilton
        return len(left) == 1 and right_label == "PERSON"
    role = "nummod" if label == _DATED else "compound"
    return left.root.dep_ == role and right.start <= left.root.head.i < right.end


def _is_office(span: Span) -> bool:
    return all(token.text in _OFFICES for token in span)


def _is_no_thing(span: Span, label: str) -> bool:
    """Whether a span is an office, a kind, or a part of a description.

    "Master of Arts"; "became a World Heritage Site"; the name before a noun in "Newton's method".
    """
    of = next((token.i for token in span if token.text == "of"), span.end)
    is_whole = of == span.end
    if _is_office(span.doc[span.start : of]) and label not in _WORKS:
        return label == _RUN or len(span) > 1 or not is_whole
    words = {token.text.removesuffix("s") for token in span}
    if words <= _NOT_A_NAME or span[0].text in ("Version", "Chapter", "Section", "Figure"):
        return True
    article = span.doc[span.start - 1].lower_ if span.start else ""
    if article in ("a", "an") and span.root.dep_ in ("attr", "oprd") and len(span) > 1:
        return type_of_noun(span[-1].text) is not None or span[-1].text == "Site"
    is_before_noun = span.root.dep_ == "compound" and span.root.head.is_lower
    is_unknown = label == _RUN or label in _WORKS
    is_alone = is_unknown and len(span) == 1 and span.text.istitle()
    if is_alone and span.start and span.doc[span.start - 1].tag_ == "POS":
        return type_of_noun(span.text) is not None  # Halley's "Comet"
    return is_alone and is_before_noun and not has_other_text(span.doc)


def _without_rank(span: Span, label: str) -> Span:
    """The span without ranks before a name of two or more words: "Count" Leo Tolstoy."""
    if label not in (_RUN, "PERSON"):
        return span
    while len(span) > 2 and span[0].text.rstrip(".") in _RANKS - {"Saint"}:
        span = span[1:]
    return span


def _is_counted(span: Span) -> bool:
    """Whether a name in the plural counts things of one name: "thirty Nobel Prizes"."""
    before = span.doc[span.start - 1] if span.start else span[0]
    is_plural = span[-1].text in ("Prizes", "Medals", "Awards")
    return is_plural and (before.pos_ == "NUM" or before.lower_ in ("several", "many", "few"))


def _surnames(doc: Doc) -> frozenset[str]:
    """The last words of the names of people."""
    people = (_trim(ent) for ent in doc.ents if ent.label_ == "PERSON")
    return frozenset(person[-1].text for person in people if not person.text.islower())


def _parts(ent: Span, surnames: frozenset[str]) -> Iterator[Span]:
    """An entity of the pipeline, split where it has several names.

    Commas and prepositions divide names, "and" those of people and places, and a noun ends a name
    before a surname: "First World War | Langevin".
    """
    label, begin = ent.label_, ent.start
    for token in ent[1:-1] if label not in _WORKS else ():
        is_comma = token.text == "," and token.nbor().text not in _SUFFIXES
        is_and = token.text in ("and", "&") and TYPES[label] in ("person", "geopolitical")
        if is_comma or is_and or token.text in _JOINTS:
            yield ent.doc[begin : token.i]
            begin = token.i + 1
    rest = _trim(ent.doc[begin : ent.end])
    last = rest.end - 1 - (rest[-1].tag_ == "POS")
    if last - rest.start > 1 and ent.doc[last].text in surnames:
        before = ent.doc[last - 1].text
        if before.istitle() and type_of_noun(before) not in (None, "person"):
            yield ent.doc[begin:last]
            begin = last
    yield ent.doc[begin : ent.end]


def _extended(span: Span) -> Span:
    """The span with the words of a foreign name: "Pont" de pierre, "École" polytechnique."""
    doc, end = span.doc, span.end
    if len(span) > 1 or span.text not in _FOREIGN_HEADS or end >= len(doc):
        return span
    if doc[end].text in _PARTICLES:
        return doc[span.start : min(end + 2, len(doc))]
    is_foreign = doc[end].is_alpha and doc[end].pos_ in ("NOUN", "PROPN", "ADJ", "X")
    return doc[span.start : end + 1] if is_foreign else span


def _is_with_of(left: Span, left_label: str, right: Span, label: str) -> bool:
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


def _with_adjective(span: Span) -> Span:
    """The span with a capitalised adjective within a sentence: the "Large" Hadron Collider."""
    adjective = span.doc[max(span.start - 1, 0)]
    is_part = adjective.i < span.start and adjective.pos_ == "ADJ" and adjective.text.istitle()
    is_part = is_part and not adjective.is_sent_start and adjective.ent_type_ != "NORP"
    is_part = is_part and span.root.i == adjective.head.i and len(span) > 1
    return span.doc[adjective.i : span.end] if is_part else span


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
        begin = match.start()
        for index in range(begin + 1, match.end() - 1):
            if doc[index].text in ("and", "&") and _joins_names(doc[begin : match.end()], index):
                yield _extended(doc[begin:index])
                begin = index + 1
        yield _extended(doc[begin : match.end()])


def _joins_names(run: Span, index: int) -> bool:
    """Whether a conjunction joins two names: in a list, after a plural noun, or of full names."""
    doc = run.doc
    before = doc[run.start - 1] if run.start else run[0]
    is_list = before.text == "," or before.tag_ == "NNS"
    left, right = doc[run.start : index], doc[index + 1 : run.end]
    are_full = all(len(part) > 1 and part[0].pos_ == "PROPN" for part in (left, right))
    return not {"of", "for"} & {token.text for token in left} and (is_list or are_full)
