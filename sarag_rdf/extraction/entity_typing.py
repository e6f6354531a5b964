"""Entity typing: what a text says where a name stands of the thing that has the name.

A noun says what a thing is ("the tailor X", "X, a museum", "X is a film", "the island of X"); a
rank ("King X"), the words of the name ("Turing Award") and a preposition ("in X") say of which type
it is. They weigh more than the label of a recogniser, which knows only the look of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spacy.tokens import Doc, Span, Token

from sarag_rdf.base.iris import strip_disambiguation
from sarag_rdf.base.types import EntityType
from sarag_rdf.extraction.names import ENGLISH, FIRST_NAMES, KNOWN, english, type_of_noun
from sarag_rdf.extraction.prose import prose_text

NAMED, WORDS, PLACED, STATED = 1, 2, 3, 8
"""Weights of evidence: a label, the words of a name, a preposition, a noun or rank."""

SUBJECTS = ("nsubj", "nsubjpass")
"""Dependency labels (ClearNLP) of a subject."""
MONTH = f"(?:{'|'.join(ENGLISH['numbers']['months'].split())})"
DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? {MONTH},? |{MONTH} (?:\d{{1,2}}(?:st|nd|rd|th)?,? )?)?"
    r"(?:1\d|20)\d\ds?\b(?![.,]\d)(?!%)"
    rf"|\b(?:\d{{1,2}} )?{MONTH} \d{{3}}\b(?![,.]\d)"
    r"|\b\d{1,2}(?:st|nd|rd|th)[ -]century(?: BCE?| CE| AD)?\b|\b\d{1,4} (?:BCE?|CE|AD)\b"
)
FULL_DATE = rf"(?:\d{{1,2}} {MONTH}|{MONTH} \d{{1,2}}),? \d{{3,4}}"
"""Patterns of months, and of dates with a day."""

_CALLED = ("called", "titled", "entitled", "named")
_RANKS = english("mentions", "ranks")
_PLACED = english("mentions", "placed")
_PLACING = english("mentions", "placing")
_LOCATED = english("mentions", "located")
_NOT_KINDS = english("mentions", "not_kinds")
_DEEDS = english("mentions", "deeds")
SHIPS = english("mentions", "ships")
_PARTIES = frozenset("owner founder developer designer builder producer successor brewer".split())
"""Nouns for persons that organizations are called, too."""
_DEMONYMS = english("mentions", "demonyms")
_RULERS = english("mentions", "rulers")
_COMPASS = english("mentions", "compass")
_OFFICES = _RANKS | english("mentions", "offices")
_POSTS = english("phrases", "offices")
_CASTING = english("mentions", "casting")
_MADE = english("mentions", "made")
_COMPANIES = english("mentions", "companies")
_AREA_NAMES = "|".join(re.escape(n) for n, noun in KNOWN.items() if noun in ("country", "state"))
_IN_COUNTRY = re.compile(rf", (?:{_AREA_NAMES})(?=[,.;:) ])")
_ADJECTIVE = re.compile(r"[A-Z]\w+(?:ian|ese|ish)")
_LIFE = re.compile(
    r"\s*,?\s*\((?:[^()]*[;,]\s*)?(?:born\b|b\.|"
    rf"[^()]*{FULL_DATE}[^()]*[-\u2013]\s*(?:[^()]*\W)?\d{{3,4}}\b|"
    rf"[^()]*\d{{3,4}}[^()]*[-\u2013][^()]*{FULL_DATE})"
)
"""Dates of birth and death after a name: one of them with a day, or "born"."""
_OPENED = re.compile(r"\((?:[^()]*[-\u2013\u2014;])?\s*$")
_AFTER_DATE = re.compile(rf"\((?:[^()]*\W)?{FULL_DATE},\s+$")
_BEFORE_DATE = re.compile(rf"(?:,[^(),\d]*)?,\s+{FULL_DATE}")
_DATELINE = re.compile(rf", {FULL_DATE}(?:\n|$)")
"""What stands around a place in the dates of a life, and after that of a letter."""
_OFFICE = rf"(?:(?:{'|'.join(sorted(_OFFICES))})\s+)+"
_TITLED = re.compile(
    rf"\s*,\s+(?:\d+(?:st|nd|rd|th)\s+{_OFFICE}|(?:the\s+)?{_OFFICE}of\s+(?:the\s+)?)[A-Z]"
)
"""An office after a name."""
_ACRONYM = re.compile(r"\s*\([A-Z]{2,6}\)")
_ROLE = re.compile(
    r"\s*\((?:the |our )?(?:[a-z][a-z-]+ )*?([a-z][a-z-]+)"
    r"(?:[,;)]| (?:of|at|for|in) | [A-Z][\w-]+[,;)])"
)
"""An office in brackets after a name: "(head gardener of Tarn)", "(site manager Tarn)"."""
_INITIALS = re.compile(
    r"(?!U\. ?[SK]\.)(?:[A-Z][\w-]+ )?(?:[A-Z]\. ?)+[A-Z][a-z][\w'\u2019-]+"
    r"|[A-Z]\w+ [IVX]{1,5} (?:of|the) [A-Z].*"
)
"""Names of persons: with initials ("Otis P. Bird"), and of rulers ("Anselm II of Tarn")."""

_NUMBERED = re.compile(r"\d{2}")
"""Part of the name of a thing, and never of a person: "EM 712"."""


@dataclass(frozen=True, slots=True)
class TypeEvidence:
    """An entity type with its weight; `noun` is the noun that says it, or empty."""

    type: EntityType
    weight: int = 0
    noun: str = ""


def type_evidence(span: Span, label_type: EntityType, *, is_technical: bool) -> TypeEvidence:
    """The strongest evidence where a name stands.

    `label_type` is the type of its label, "misc" without one. In a technical text, labels of single
    words count only after prepositions: they are mostly software.
    """
    if all(word in _DEMONYMS for word in re.split(r"[-\s/]+", span.text)):
        return TypeEvidence("adjective", STATED)
    if label_type == "person" and _NUMBERED.search(span.text):
        label_type = "misc"
    kind, _, ship = span.text.partition(" ")
    if ship and ("/" in kind[1:2] or (kind in SHIPS and label_type != "person")):
        return TypeEvidence("misc", STATED)
    words = type_of_words(span.text)
    if words == "person" and _has_article(span):
        words = None
    if words in (None, "person") and _LIFE.match(prose_text(span.doc), span.end_char):
        before, owner = token_before(span).text, span.doc[max(span.start - 2, 0)]
        if before == "of" and not owner.is_lower:  # "Mary of X (1 May 1500 - 1560)"
            return TypeEvidence("geopolitical", PLACED)
        if before != "," and not (before == "of" and owner.text in _PLACED):
            return TypeEvidence("person", STATED)
    if label_type == "person" and _ACRONYM.match(prose_text(span.doc), span.end_char):
        label_type = "person" if words else "organization"  # "Lyndon Johnson (LBJ)"
    noun = _stated_noun(span)
    is_owned = words == "organization" and type_of_noun(noun) in ("person", "geopolitical")
    if noun and not is_owned:  # "the singer's band X", "the city Board"
        type_ = type_of_noun(noun) or "misc"
        is_owner = type_ == "organization" and words == "person"  # "the publisher Anna Reed"
        return TypeEvidence("person" if is_owner else type_, STATED, "" if is_owner else noun)
    if _follows_rank(span):
        return TypeEvidence("person", STATED)
    role = _ROLE.match(prose_text(span.doc), span.end_char)
    is_full = len(span) > 1 and span.text.istitle() and not _has_article(span)
    if words in (None, "person") and is_full and role and _is_office(role[1]):
        return TypeEvidence("person", PLACED)
    if words in (None, "person") and _is_made_by(span):
        return TypeEvidence("person", PLACED)
    if words is None and label_type != "adjective" and _is_before_place(span):
        return TypeEvidence("geopolitical", WORDS)
    if known := KNOWN.get(span.text):
        return TypeEvidence(type_of_noun(known) or "misc", PLACED, known.removeprefix("misc"))
    is_single = " " not in span.text.replace("- ", "-")
    if is_single and label_type != "person" and _is_adjective(span):
        return TypeEvidence("adjective", PLACED)
    is_in_area = _IN_COUNTRY.match(prose_text(span.doc), span.end_char) and not span.text.isupper()
    if words is None and (is_in_area or _is_in_life(span)):
        return TypeEvidence("geopolitical", PLACED)
    if is_single and not is_technical and _is_placed(span, label_type):
        return TypeEvidence("geopolitical", PLACED)
    if label_type == "adjective" and _is_noun(span):
        return TypeEvidence("misc")
    if is_technical and is_single and not _is_supported(span, label_type):
        return TypeEvidence("misc")
    if words:
        return TypeEvidence(words, WORDS)
    is_plural = span[-1].tag_ == "NNPS" and token_before(span).lower_ == "the" and not is_single
    is_plural = is_plural and "of" not in span.text.split()
    if is_plural and label_type in ("person", "misc"):  # "the Boston Red Owls"
        return TypeEvidence("organization", NAMED)
    if label_type == "person" and _has_article(span):
        return TypeEvidence("misc", 0 if is_single else WORDS)
    is_subject = span.root.dep_ == "nsubj" and span.root.head.lower_ in _DEEDS
    if label_type != "person" and is_subject and not is_single:
        return TypeEvidence("person", PLACED)
    if label_type == "misc" and span.text in FIRST_NAMES and token_before(span).lower_ != "the":
        return TypeEvidence("person", NAMED)
    return TypeEvidence(label_type, NAMED if label_type != "misc" else 0)


def type_of_title(title: str) -> TypeEvidence | None:
    """What a bracket or an office says: "(1936 film)", "(footballer, born 1978)", ", Earl of X"."""
    bracket = title.removeprefix(strip_disambiguation(title)).strip(" ()")
    words = bracket.split(",")[0].split()
    type_ = type_of_noun(words[-1]) if words else None
    if (not words and _TITLED.search(title)) or re.fullmatch(r"\d{3,4}.\d{2,4}", bracket):
        return TypeEvidence("person", STATED)
    return TypeEvidence(type_, STATED, words[-1].lower()) if type_ else None


def type_of_words(name: str) -> EntityType | None:
    """What the words of a name say: its last word before a preposition, or a first name."""
    words = re.split(r" (?:of|for|in|at|on|to|de|du|des) ", name)[0].split()
    if len(words) == 1 and type_of_noun(words[0]) == "misc":  # Church of England
        return None
    if len(words) > 1 and name.split()[-1] in _COMPANIES:
        return "organization"
    if _INITIALS.fullmatch(name) and type_of_noun(words[-1]) in (None, "person"):
        return "person"
    is_person = len(words) in (2, 3) and words[0].split("-")[0] in FIRST_NAMES
    type_ = type_of_noun(words[-1]) if len(name.split()) > 1 and words[-1].istitle() else None
    if words[-1].endswith("s") and type_ == "organization":  # Iain Banks
        type_ = None
    if is_person and type_ not in ("organization", "misc") and words[-1].lower() not in _PLACED:
        return "person"
    return type_ if type_ != "person" else None


def _stated_noun(span: Span) -> str:
    """The noun that says what has the name, or empty."""
    nouns = (
        _noun_before(span), _noun_of(span), _entry(span), _apposed(span), _predicate(span),
        _called(span),
    )  # fmt: skip
    return next(filter(None, nouns), "")


def is_kind(token: Token, excluded: Sequence[str] | frozenset[str] = ()) -> bool:
    """Whether a token is a common noun that says what a thing is."""
    is_noun = token.pos_ in ("NOUN", "PROPN", "ADJ") or token.dep_ == "amod"
    is_noun = is_noun and token.is_lower and token.text not in excluded
    return is_noun and type_of_noun(token.text) is not None


def _noun_before(span: Span) -> str:
    """The noun directly before: "the tailor X", "his films X and Y"."""
    noun, root = token_before(span), span.root
    is_clause = root.dep_ in SUBJECTS and root.head.dep_ in ("relcl", "acl", "ccomp")
    is_clause = is_clause and root.head.head == noun and noun.dep_ != "ROOT"
    is_star = noun.text in ("star", "stars") and root.ent_type_ == "PERSON"
    is_kind_of = is_kind(noun, ("name",)) and not is_clause and not is_star  # "the name X"
    return noun.text if is_kind_of else ""


def _entry(span: Span) -> str:
    """The noun for persons before a colon: "Chief scientist: X"."""
    colon = token_before(span)
    noun = colon.nbor(-1) if colon.text == ":" and colon.i else span[0]
    is_noun = noun.i < span.start and noun.tag_ in ("NN", "NNS", "NNP", "NNPS")
    is_noun = is_noun and noun.lower_.removesuffix("s") not in _NOT_KINDS | _PARTIES
    return noun.lower_ if is_noun and type_of_noun(noun.text) == "person" else ""


def _noun_of(span: Span) -> str:
    """The noun before "of": "the island of X"."""
    if span.start < 3 or span.doc[span.start - 1].text != "of":
        return ""
    noun = span.doc[span.start - 2]
    before = span.doc[max(span.start - 4, 0) : span.start - 2]
    is_definite = "the" in before.text.lower().split() and before[-1].tag_ != "JJS"
    forms = {noun.text, noun.text.removesuffix("s"), noun.text.removesuffix("ies") + "y"}
    return noun.text if not forms.isdisjoint(_PLACED) and is_definite else ""


def _apposed(span: Span) -> str:
    """The noun in apposition: "X, a museum for art,", "their captain, X,"."""
    doc, root = span.doc, span.root
    after = doc[span.end].text if span.end < len(doc) else ""
    for child in root.children:
        is_next = child.dep_ == "appos" and child.left_edge.i == span.end + 1 and after == ","
        if is_next and is_kind(child, _NOT_KINDS) and child.left_edge.pos_ in ("DET", "PRON"):
            return child.text
    head, before = root.head, token_before(span)
    if before.lower_ == "the" and before.i:
        before = before.nbor(-1)
    plural = before.nbor(-1) if before.text == "," and before.i else before
    if plural.tag_ == "NNS" and plural != before and is_kind(plural, _NOT_KINDS):
        return plural.text  # "two rivers, the X and the Y"
    is_after = root.dep_ == "appos" and before.text == "," and head.i < span.start
    return head.text if is_after and is_kind(head, _NOT_KINDS) else ""


def _predicate(span: Span) -> str:
    """The noun after or before "is": "X is a film", "his first film was X"."""
    root = span.root
    verb = root.head
    if root.dep_ in SUBJECTS:
        nouns = (child for child in verb.children if child.dep_ == "attr")
    elif root.dep_ == "attr" and root.i > verb.i:
        nouns = (child for child in verb.children if child.dep_ in SUBJECTS)
    else:
        return ""
    return next((noun.text for noun in nouns if is_kind(noun, _NOT_KINDS)), "")


def _called(span: Span) -> str:
    """The noun before "called": "a film called X"."""
    verb = span.root.head
    is_called = span.root.dep_ == "oprd" and verb.dep_ == "acl" and verb.lower_ in _CALLED
    return verb.head.text if is_called and is_kind(verb.head, _NOT_KINDS) else ""


def _is_office(noun: str) -> bool:
    """Whether a noun is one for persons, or for their offices."""
    return noun in _POSTS or type_of_noun(noun) == "person"


def _is_in_life(span: Span) -> bool:
    """Whether a place stands beside the date of a letter or of a life.

    "Tarn, 4 May 1901" is a line; "(Turin, 24 August 1821 - 6 May 1899, X)".
    """
    text, begin, end = prose_text(span.doc), span.start_char, span.end_char
    if text[max(begin - 1, 0) : begin] in ("\n", "") and _DATELINE.match(text, end):
        return True
    comma = token_before(span)
    while comma.is_space and comma.i:
        comma = comma.nbor(-1)
    is_before_date = _BEFORE_DATE.match(text, end) is not None
    if not is_before_date and comma.text != ",":
        return False
    bracket = text.rfind("(", 0, begin)
    patterns = (_AFTER_DATE, _OPENED) if is_before_date else (_AFTER_DATE,)
    return bracket >= 0 and any(pattern.match(text, bracket, begin) for pattern in patterns)


def is_cast(span: Span) -> bool:
    """Whether the names from here on are those of actors: "starring X, Y and Z"."""
    return span.start > 0 and token_before(span).lower_ in _CASTING


def _is_made_by(span: Span) -> bool:
    """Whether a name is that of an actor, or of who made something: "directed by X"."""
    words = span.doc[max(span.start - 2, 0) : span.start].text.lower().split()
    return is_cast(span) or (words[1:] == ["by"] and words[0] in _MADE)


def _is_before_place(span: Span) -> bool:
    """Whether a name is part of that of a place: "the X region"."""
    after = span.doc[span.end : span.end + 1]
    return after.text in _PLACED and after[0].tag_ == "NN" and token_before(span).lower_ == "the"


def _is_adjective(span: Span) -> bool:
    """Whether a word is an adjective by its ending and place: "a Mercian queen"."""
    root, head = span.root, span.root.head
    is_before = root.dep_ in ("amod", "compound", "nmod") and head.i == span.end
    is_before = is_before and head.is_lower
    return is_before and _ADJECTIVE.fullmatch(span.text) is not None


def _follows_rank(span: Span) -> bool:
    """Whether a rank is before the name or its first word."""
    doc = span.doc
    before = doc[span.start - 1].text.rstrip(".") if span.start else ""
    first = span[0].text.rstrip(".")
    is_own = len(span) > 1 and span[1].tag_ != "POS" and first in _RANKS - {"Saint", "General"}
    return (is_own or before in _RANKS or before == "Dear") and type_of_noun(span[-1].text) in (
        None,
        "person",
    )


def token_before(span: Span) -> Token:
    """The token before a span, or its first."""
    return span.doc[max(span.start - 1, 0)]


def _has_article(span: Span) -> bool:
    """Whether an article belongs to a name, which is then none of a person: "the Dravik Grand"."""
    is_before_noun = span.root.dep_ in ("compound", "nmod", "poss") and span.root.head not in span
    after = span.doc[span.end : span.end + 1]
    is_before_noun = is_before_noun or any(t.tag_ in ("NN", "NNS", "HYPH") for t in after)
    is_article = token_before(span).lower_ == "the"
    return is_article if len(span) == 1 else not is_before_noun and is_article


def _is_noun(span: Span) -> bool:
    """Whether a word is a singular proper noun without an article, and modifies none."""
    root = span.root
    is_modifier = root.dep_ in ("amod", "compound", "nmod", "poss")
    return root.tag_ == "NNP" and not is_modifier and not any(c.dep_ == "det" for c in root.lefts)


def _is_placed(span: Span, type_: EntityType) -> bool:
    """Whether a preposition before a single word says that it is a place.

    "At" says it with some verbs and nouns, and before what seemed to be a person.
    """
    preposition = token_before(span)
    is_owner = span.doc[span.end : span.end + 1].text in ("'s", "\u2019s")  # "in Newton's book"
    if is_owner or not span.text.istitle() or not preposition.i < span.start:
        return False
    word, head = preposition.lower_, preposition.head
    heads = {head.lower_, *(ancestor.lower_ for ancestor in head.ancestors)}
    if word in _PLACING or (word == "from" and type_ == "adjective"):
        return True
    if word == "of" and preposition.i:  # "Bishop of X", "Anna of X"
        owner = preposition.nbor(-1)
        return owner.lower_ in _RULERS | _COMPASS or owner.ent_type_ == "PERSON"
    if word == ",":  # "King's College, Oxford"
        return span.start > 1 and type_of_noun(span.doc[span.start - 2].text) == "organization"
    return word == "at" and (type_ == "person" or not heads.isdisjoint(_LOCATED))


def _is_supported(span: Span, type_: EntityType) -> bool:
    """Whether a preposition agrees with the label of a single word in a technical text."""
    before = span.doc[span.start - 1].lower_ if span.start else ""
    beyond = span.doc[span.start - 2] if span.start > 1 else None
    if type_ == "geopolitical":
        is_second = before == "," and beyond is not None and beyond.ent_type_ == "GPE"
        return span.text.istitle() and (before in ("in", "near") or is_second)
    return type_ == "organization" and before in ("by", "at", "of")


def introductions(doc: Doc, title: str) -> Iterator[Span]:
    """Words at the start of a sentence that says what they are, which the title has, too."""
    known = set(re.findall(r"\w+", title))
    for sentence in doc.sents:
        if sentence[0].text in known and is_introduced(sentence[0]):
            yield sentence[:1]


def is_introduced(token: Token) -> bool:
    """Whether a sentence says what its subject is, which is a name: "Porter is the service"."""
    is_name = token.tag_ in ("NN", "NNP") and token.text[:1].isupper()
    kinds = [child for child in token.head.children if child.dep_ == "attr"]
    is_kind = any(child.dep_ == "det" for kind in kinds for child in kind.lefts)
    return is_name and is_kind and token.dep_ in SUBJECTS and token.left_edge.dep_ != "det"
