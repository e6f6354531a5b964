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

from sarag_rdf.base.iris import normalize_name, strip_disambiguation
from sarag_rdf.base.types import VALUE_TYPES, EntityType
from sarag_rdf.extraction.entity_typing import (
    DATE,
    MONTH,
    NAMED,
    PLACED,
    STATED,
    WORDS,
    TypeEvidence,
    introductions,
    is_cast,
    token_before,
    type_evidence,
    type_of_title,
)
from sarag_rdf.extraction.name_patterns import (
    APPOINTED,
    NOBLE_TITLE,
    ROMAN,
    RULERS,
    binomials,
    matches,
    namesakes,
    numbered,
    of_fields,
    quoted,
    titled_subjects,
    with_titles_of_nobility,
)
from sarag_rdf.extraction.names import (
    ENGLISH,
    FIRST_NAMES,
    clean_name,
    english,
    english_pattern,
    is_name,
    lead_name,
    type_of_noun,
)
from sarag_rdf.extraction.prose import (
    cells,
    has_other_text,
    is_heading,
    is_in_heading,
    is_label,
    is_prose,
    prose_text,
    tables,
)

TYPES: dict[str, EntityType] = {
    label: type_ for type_, labels in ENGLISH["labels"].items() for label in labels.split()
}
"""Labels of OntoNotes and WikiNER. Dates are matched by a pattern; amounts are ignored."""


_TRANSLATED = english_pattern("patterns", "translated")
"""A name in another language: "(German: X)"."""
_NICKNAMED = english_pattern("patterns", "nicknamed")
"""A name with a nickname: Ada "Ace" Brook."""
_PATRONYMIC = english_pattern("patterns", "patronymic")
"""A name with that of a father or family: Dáire mac Cormaic."""
_JOINED = english_pattern("mentions", "joined")
_HYPHENS = re.compile(r"(?:-[a-z]{2,5})+-[A-Z]\w+")
"""The rest of a name such as Aix-en-Provence."""
_TITLE, _DATED, _RUN, _QUOTE, _TITLED = "TITLE", "DATED", "RUN", "QUOTE", "TITLED"
_PART, _CELL, _SPECIES = "PART", "CELL", "SPECIES"
"""Labels of a word that names something only beside a name, of a name in a table, of a species."""
_EXACT = frozenset({_TITLE, _DATED, _QUOTE})
_RANKS = english("mentions", "ranks")
_NOT_A_NAME = english("mentions", "not_names")
_AMOUNTS = frozenset({"CARDINAL", "QUANTITY", "MONEY", "PERCENT"})
_BRIDGES = english("mentions", "bridges")
_JOINTS = frozenset({"at", "from", "with", "by", "against", "as", "under"})
"""Prepositions between two names."""
_SUFFIXES = frozenset({"Inc", "Inc.", "Ltd", "Ltd.", "LLC", "Jr", "Jr.", "Sr", "Sr.", "Co."})
_WORKS = frozenset({"WORK_OF_ART", "LAW", _QUOTE})
_OFFICES = _RANKS | english("mentions", "offices")
_BEFORE_OFFICES = frozenset({"the", "a", "an", "as", "their", "his", "her"})
_PARTS = frozenset({"Version", "Chapter", "Section", "Figure"})
_DAYS = re.compile(
    rf"\d{{1,2}} ?[\u2013-] ?\d{{1,2}} {MONTH}|{MONTH} \d{{1,2}} ?[\u2013-] ?\d{{1,2}}"
)
"""Days of a month: "3\u201319 June"."""
_NUMBERED = re.compile(rf"\d+(?:st|nd|rd|th) {NOBLE_TITLE}\b")
_HONOURS = english("mentions", "honours")
_NAMING = english("mentions", "naming")
_FOREIGN_HEADS = english("mentions", "foreign_heads")
_PLACES = english("mentions", "placed")
_BEFORE = english("mentions", "compass") | {"d:dd", "dd:dd"}
"""Words, and shapes of times of day, that belong to no name behind them."""
_PARTICLES = frozenset({"de", "des", "du", "della", "di"})
_DATABLE = frozenset({"misc", "organization"})
"""Types of what a year before the name tells from others: the "2000" Summer Olympics."""
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
    titles = [(span, "WORK_OF_ART" if _is_nickname(span) else _QUOTE) for span in quoted(doc)]
    named += [(span, label) for span, label in titles if label == _QUOTE]
    surnames = _surnames(doc)
    for ent in doc.ents:
        if ent.label_ in TYPES:
            parts = map(_extended, map(_trim, _parts(ent, surnames)))
            named += [(_whole_words(part), ent.label_) for part in parts]
    named += titles
    named += [(span, _TITLED) for span in with_titles_of_nobility(doc)]
    named += [(span, "WORK_OF_ART") for span in matches(doc, _TRANSLATED)]
    nicknamed = [s for s in matches(doc, _NICKNAMED) if any(t.ent_type_ == "PERSON" for t in s)]
    patterned = *matches(doc, _PATRONYMIC), *namesakes(doc)
    people = *nicknamed, *patterned, *_opening(doc, title)
    named += [(span, "PERSON") for span in people]
    named += [(span, "GPE") for span in matches(doc, _JOINED)]
    named += [(span, _DATED) for span in _dates(doc)]
    named += [(span, _RUN) for span in introductions(doc, title)]
    named += [(span, "WORK_OF_ART") for span in titled_subjects(doc)]
    named += [(span, "ORG") for span in of_fields(doc)]
    named += [(span, "PRODUCT") for span in numbered(doc)]
    named += [(span, _SPECIES if sure else "PRODUCT") for span, sure in binomials(doc)]
    in_tables = [*tables(doc)]
    tabular = {token.i for table in in_tables for token in table}
    labels = {
        (span.start, span.end): label
        for span, label in reversed(named)
        if is_prose(span) and (label in _EXACT or tabular.isdisjoint(range(span.start, span.end)))
    }
    labels |= {(s.start, s.end): _CELL for table in in_tables for s in cells(table)} | labels
    covered = tabular.union(*(range(begin, end) for begin, end in labels))
    for span in map(_whole_words, _proper_noun_runs(doc, covered)):
        is_name_alone = any(token.pos_ == "PROPN" for token in span)
        labels.setdefault((span.start, span.end), _RUN if is_name_alone else _PART)
    spans = filter_spans([doc[begin:end] for begin, end in labels])
    pieces = _merge_spans([(_with_sign(s), labels[s.start, s.end]) for s in spans])
    ner = {(span.start, ent.end): ent.label_ for ent in doc.ents for span in (_trim(ent), ent)}
    if has_other_text(doc):
        small = frozenset(token.text for token in doc if token.is_lower)
        pieces = [
            (span if label == _TITLE else _without_verb(span), label)
            for span, label in pieces
            if label in (_TITLE, _DATED) or not _is_common(span, small)
        ]
    mentions = []
    for span, label in pieces:
        nickname = _NICKNAMED.fullmatch(span.text) if label == "PERSON" else None
        text = span.text.replace(nickname[1], "") if nickname else span.text
        name = title if label == _TITLE else clean_name(text)
        ner_label = ner.get((span.start, span.end), label)
        evidence = _evidence(span, label, ner_label, title)
        if label != _TITLE and type_of_noun(span[-1].text) and _is_counted(span):
            name = name.removesuffix("s")
        if label == _DATED or is_name(name):
            is_date = label == _DATED
            mention = MentionSpan(span.start, span.end, name, evidence.type, is_date)
            mentions.append(replace(mention, weight=evidence.weight, noun=evidence.noun))
    return _with_short_names(_same_types_in_lists(doc, mentions))


def _with_short_names(mentions: list[MentionSpan]) -> list[MentionSpan]:
    """Single words that only a label calls something else are short names of people of the text."""
    people = {m.name for m in mentions if m.type == "person" and " " in m.name}
    short = {name.split(",")[0] for name in people}
    short |= {name.split()[-1].title() for name in people if " of " not in name}
    return [
        replace(m, type="person") if m.name in short and m.weight <= NAMED else m for m in mentions
    ]


def _evidence(span: Span, label: str, ner_label: str, title: str) -> TypeEvidence:
    """The evidence for the type where the span stands."""
    if label == _QUOTE:
        return TypeEvidence("misc", PLACED, "quoted title")
    if label == _TITLED:
        return TypeEvidence("person", STATED)
    if label == _SPECIES:
        return TypeEvidence("misc", STATED, "species")
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
    """Full names in a list with a person are persons, and so are all in a list of actors.

    A plural noun before it counts for all: "the films X, Y and Z".
    """
    result = list(mentions)
    groups: list[list[int]] = []
    for number, mention in enumerate(mentions):
        between = doc[mentions[number - 1].end : mention.begin].text if number else "."
        if between == "," and _is_place_after(doc, mentions[number - 1], mention):
            result[number] = mention = replace(mention, type="geopolitical", weight=PLACED)
        between = between.removesuffix(" the")
        if between in (",", "and", ", and", "&") and groups:
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        first = result[group[0]]
        if is_cast(doc[first.begin : first.end]):
            _retype(result, group, first.type, NAMED, PLACED)
        if len(group) == 1:
            continue
        between = doc[result[group[-2]].end : result[group[-1]].begin].text
        if "and" not in between and "&" not in between:
            continue
        noun = _plural_at(doc, first, result[group[-1]])
        if noun:
            _retype(result, group, type_of_noun(noun) or "misc", STATED, STATED, noun)
        elif any(result[n].type == "person" and " " in result[n].name for n in group):
            full = [n for n in group if re.fullmatch(r"\D* \D*", result[n].name)]
            _retype(result, full, "person", WORDS - 1, WORDS)
        else:
            short = [n for n in group if " " not in result[n].name and not result[n].name.isupper()]
            places = sum(result[n].type == "geopolitical" for n in group)
            if places * 2 > len(group):  # single words that are labelled as persons often are none
                _retype(result, short, "geopolitical", WORDS - 1, WORDS)
    return result


def _retype(
    mentions: list[MentionSpan],
    numbers: list[int],
    type_: EntityType,
    most: int,
    weight: int,
    noun: str = "",
) -> None:
    """Give a type to those of the mentions whose evidence has at most a weight."""
    for n in numbers:
        is_open = mentions[n].weight <= most and mentions[n].type != "adjective"
        if is_open and not mentions[n].is_date:
            mentions[n] = replace(mentions[n], type=type_, weight=weight, noun=noun)


def _is_place_after(doc: Doc, left: MentionSpan, right: MentionSpan) -> bool:
    """Whether a name is that of a place after that of a smaller one: "in X, Y,"."""
    after = doc[right.end : right.end + 1].text
    is_placed = left.weight == PLACED and left.type == "geopolitical"
    return is_placed and right.type != "person" and after in (",", ".", ";", ")", "-", "\u2013", "")


def _plural_at(doc: Doc, first: MentionSpan, last: MentionSpan) -> str:
    """The plural noun before or after a list, or empty: "the films X and Y", "X and Y counties"."""
    before = doc[max(first.begin - 4, 0) : first.begin]
    if any(token.text == first.noun and token.tag_ == "NNS" for token in before):
        return first.noun
    after = doc[last.end : last.end + 1]
    return after.text if type_of_noun(after.text) == "geopolitical" else ""


def _merge_spans(pieces: list[tuple[Span, str]]) -> list[tuple[Span, str]]:
    """Merge spans of one name: "2000" + "Summer Olympics", "Bank" of "Antwerp".

    The name after "of" also remains as a span of its own. A rank before a name is removed, and so
    are offices and kinds.
    """
    joined: list[tuple[Span, str]] = []
    inner: list[tuple[Span, str]] = []
    for span, label in pieces:
        span = _with_number(span, label)
        while joined and label not in (_TITLE, _DATED, _CELL, _SPECIES):
            left, left_label = joined[-1]
            merged_span = span.doc[left.start : span.end]
            between = span.doc[left.end : span.start].text
            if ROMAN.fullmatch(span[0].text) and left.end == span.start:
                span, label = merged_span, left_label if len(span) == 1 else "PERSON"
            elif _is_modifier(left, left_label, span, label):
                is_rank = left_label == _RUN and left[-1].text.rstrip(".") in _RANKS
                is_office = label in ("PERSON", _RUN) and len(left) > 1 and _is_office(left)
                span = span if is_rank or is_office else merged_span
                if label not in TYPES:  # "Denis" Sassou, a person, but "Perth" Theatre
                    is_known = TYPES.get(left_label) in ("person", "organization")
                    label = left_label if is_known else _RUN
            elif between in ("of", "the") and _is_given_name(left, left_label):
                inner += [(span, label)] if between == "of" else []
                span, label = merged_span, "PERSON"  # "John" of "Brienne", "Anselm II" of "Tarn"
            elif between in ("'s", "\u2019s") and span.text.lower() in _PLACES:
                span, label = merged_span, "GPE"  # "Merrow" 's "Island"
            elif _is_with_of(left, left_label, span, label) and not _is_office(left):
                inner.append((span, label))
                span, label = merged_span, _RUN
            else:
                break
            joined.pop()
        joined.append((span, label))
    offices = [span for span, label in joined if label not in (_TITLE, _SPECIES, *_WORKS)]
    inner += [(place, "GPE") for span in offices if (place := _place_of_ruler(span))]
    merged = [
        (_without_rank(span, label), label)
        for span, label in joined + inner
        if label in (_TITLE, _DATED) or not (label == _PART or _is_no_thing(span, label))
    ]
    return sorted(merged, key=lambda piece: (piece[0].start, -piece[0].end))


def _is_modifier(left: Span, label: str, right: Span, right_label: str) -> bool:
    """Whether a span is directly before another, and modifies its head."""
    if left.end != right.start or label in (_TITLE, _CELL):
        return False
    if label == _DATED:
        is_event = type_of_noun(right[-1].text) == "misc"
        is_event = is_event and token_before(left).lower_ in ("the", "'s")
        is_event = is_event or (left.root.dep_ == "nummod" and left.root.head in right)
        return len(left) == 1 and is_event and TYPES.get(right_label, "misc") in _DATABLE
    types = TYPES.get(label), TYPES.get(right_label)
    if types[0] == "adjective":
        return left.root.dep_ == "compound" and right.start <= left.root.head.i < right.end
    is_other = types[0] == "person" and _is_office(right)
    is_end = label == "EVENT" or left[-1].tag_ == "POS"
    return not (is_other or is_end or right[0].is_sent_start)


def _is_given_name(span: Span, label: str) -> bool:
    """Whether a name before "of" is that of a person: "John", "Duchess Sabine", "Anselm II"."""
    if span.text in FIRST_NAMES:
        return True
    ends = span[0].lower_, span[-1].lower_
    is_ranked = [end in RULERS - APPOINTED for end in ends] == [True, False]
    is_numbered = len(span) == 2 and ROMAN.fullmatch(span[1].text) is not None
    is_numbered = is_numbered and type_of_noun(span[0].text) is None
    is_single = len(span) == 1 and label == "PERSON"
    return label != _TITLE and (is_numbered or is_single or (is_ranked and span[1].text != "-"))


def _is_office(span: Span) -> bool:
    """Whether all words before "of" are those of an office, also after the name of its place."""
    of = next((token.i for token in span if token.text in ("of", "for")), span.end)
    span = span.doc[span.start : of]
    while len(span) > 1 and span[0].ent_type_ in ("GPE", "NORP"):
        span = span[1:]
    return all(token.text in _OFFICES for token in span)


def _place_of_ruler(span: Span) -> Span | None:
    """The place in the name of an office: Count of "Anhalt"."""
    begin = next((token.i + 1 for token in span if token.text == ","), span.start)
    begin += span.doc[begin].text[:1].isdigit()  # the "6th" Earl of
    of = next((token.i for token in span if token.text == "of" and token.i >= begin), begin)
    office = span.doc[begin:of]
    is_ruler = office[-1:].text.lower() in RULERS
    place = span.doc[of + 1 : span.end]
    return place if is_ruler and place.text.istitle() and place[-1].tag_ != "NNPS" else None


def _is_no_thing(span: Span, label: str) -> bool:
    """Whether a span is an office, a kind, or a part of a description.

    "Master of Arts"; "became a World Heritage Site"; the name before a noun in "Newton's method".
    """
    article = span.doc[span.start - 1].lower_ if span.start else ""
    if _is_office(span) and label not in _WORKS:
        is_alone = label != _RUN and len(span) == 1
        after = span.doc[span.end : span.end + 1].text
        return not is_alone or after == "of" or article in _BEFORE_OFFICES
    words = {token.text.removesuffix("s") for token in span}
    if words <= _NOT_A_NAME or words <= _HONOURS or span[0].text in _PARTS:
        return True
    if _DAYS.fullmatch(span.text):
        return True
    if ROMAN.fullmatch(span.text) or _NUMBERED.match(span.text):
        return True
    if article in ("a", "an") and span.root.dep_ in ("attr", "oprd"):
        return type_of_noun(span[-1].text) is not None or span[-1].text == "Site"
    is_before_noun = span.root.dep_ == "compound" and span.root.head.is_lower
    is_unknown = label == _RUN or label in _WORKS
    is_alone = is_unknown and len(span) == 1 and span.text.istitle()
    if (is_alone and is_label(span)) or (label not in _WORKS and is_in_heading(span)):
        return True
    is_owned = span.doc[span.start - 1].tag_ == "POS"
    is_common = label == _RUN and not span.text.endswith("s")
    if is_alone and type_of_noun(span.text) and (is_owned or is_common):
        return True  # "the University", Halley's "Comet"
    return is_alone and is_before_noun and not has_other_text(span.doc)


def _without_rank(span: Span, label: str) -> Span:
    """The span without ranks before a name of two or more words, and without honours after it.

    "Count" Leo Tolstoy, Ann Lee "OBE".
    """
    if label not in (_RUN, "PERSON"):
        return span
    while len(span) > 1 and span[-1].text in _HONOURS:
        span = span[:-1]
    if len(span) > 1 and span[0].text == "Dear" and span.doc[span.end : span.end + 1].text == ",":
        span = span[1:]
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

    Commas and prepositions divide names, "and" those of people and places, and a
    noun ends a name before a surname: "First World War | Langevin".
    """
    label, begin = ent.label_, ent.start
    for token in ent[1:-1] if label not in _WORKS else ():
        is_comma = token.text == "," and token.nbor().text not in _SUFFIXES
        is_one = TYPES[label] in ("person", "geopolitical")
        is_joint = token.text in _JOINTS or (is_one and token.text in ("and", "&", "in"))
        if is_comma or is_joint:
            yield ent.doc[begin : token.i]
            begin = token.i + 1
    rest = _trim(ent.doc[begin : ent.end])
    last = rest.end - 1 - (rest[-1].tag_ == "POS")
    if last - rest.start > 1 and ent.doc[last].text in surnames:
        before = ent.doc[last - 1].text
        if type_of_noun(before) not in (None, "person"):
            yield ent.doc[begin:last]
            begin = last
    yield ent.doc[begin : ent.end]


def _extended(span: Span) -> Span:
    """The span with the words of a foreign name: "Pont" de pierre, "École" polytechnique."""
    doc, end = span.doc, span.end
    if span.text not in _FOREIGN_HEADS or end >= len(doc):
        return span
    if doc[end].text in _PARTICLES:
        return doc[span.start : min(end + 2, len(doc))]
    is_foreign = doc[end].is_alpha and doc[end].pos_ in ("NOUN", "PROPN", "ADJ", "X")
    return doc[span.start : end + 1] if is_foreign else span


def _is_with_of(left: Span, left_label: str, right: Span, label: str) -> bool:
    """Whether "left of right" is one name; "Osh Province of Kyrgyzstan" is two."""
    between, noun = left.doc[left.end : right.start].text, left[-1]
    is_place = TYPES.get(label) == "geopolitical"
    is_whole = left_label == _RUN and not (is_place and len(left) > 1)
    is_noun = noun.is_title and TYPES.get(left_label) != "person"
    kind = type_of_noun(noun.text) if is_noun else None
    is_kind = kind in ("organization", "misc") and is_place and between == "of"
    return between in ("of", "of the") and (is_whole or is_kind or (len(left) == 1 and bool(kind)))


def _is_common(span: Span, small: frozenset[str]) -> bool:
    """Whether a capitalised span in a technical text has no word that is a name.

    `small` are the words that the text has in lower case. Capitals of words in a heading say
    nothing: what stands in a single heading is not a name unless it has digits or more capitals.
    """
    words = [token for token in span if any(map(str.isalnum, token.text))]
    if is_heading(span) and prose_text(span.doc).count(span.text) == 1:
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
    number = span.doc[span.end : span.end + 1]
    after = span.doc[span.end + 1 : span.end + 2].text
    is_road = span[-1].text in ("Interstate", "Route", "Highway")
    is_number = is_road or label in (_RUN, "ORG", "FAC", "PRODUCT")
    is_number = is_number and re.fullmatch(r"\d{1,3}", number.text) is not None
    is_score = re.fullmatch(rf"{MONTH}|[-\u2013\u2014]+|\d+", after) is not None
    if is_number and not is_score and (is_road or number.root.head in span):
        return span.doc[span.start : span.end + 1]
    return span


def _whole_words(span: Span) -> Span:
    """The span with the words that hyphens join to it: "Aix-en-Provence"."""
    doc, begin, end = span.doc, span.start, span.end
    while begin > 1 and doc[begin - 1].text == "-" and not doc[begin - 2].whitespace_:
        begin -= 2
    for slash in (begin - 1, begin - 2):  # "R/V Heron"
        kind = doc[max(slash - 1, 0) : slash + 2]
        is_kind = re.fullmatch(r"[A-Z]/[A-Z]", kind.text) and kind.end < span.end
        begin = kind.start if is_kind else begin
    while end < len(doc) and doc[end - 1].text[-1] == "-" and doc[end].text[:1].isupper():
        end += 1  # a line that was broken: "Solms- Braunfels"
        while end < len(doc) and doc[end].ent_iob_ == "I":
            end += 1
    span = doc[span.start : end]
    is_joined = doc[begin].text[:1].isupper() and doc[begin].ent_type_ != "NORP"
    after = _HYPHENS.match(prose_text(doc), span.end_char)
    whole = doc.char_span(doc[begin if is_joined else span.start].idx, after.end() if after else 0)
    return whole or doc[begin if is_joined else span.start : span.end]


def _is_nickname(span: Span) -> bool:
    """Whether a quoted name is that of a person or thing, which has other names beside it."""
    doc = span.doc
    before = doc[max(span.start - 5, 0) : span.start]
    return any(token.lower_ in _NAMING for token in before)


def _trim(span: Span) -> Span:
    begin, end = span.start, span.end
    while begin < end and (
        (first := span.doc[begin]).pos_ in _EDGE or {first.text, first.shape_} & _BEFORE
    ):
        begin += 1
    while end - begin > 2 and re.fullmatch(r"[A-Z]\. (?:&|and)", span.doc[begin : begin + 2].text):
        begin += 2  # "Lind, E. & Kern, O."
    while begin < end and span.doc[end - 1].pos_ in _EDGE - {"PART"}:
        end -= 1
    return span.doc[begin:end] if begin < end else span


def _opening(doc: Doc, title: str) -> Iterator[Span]:
    """The name at the start of the text that has all words of the title: "Andrés Bernal Reyes"."""
    opening = lead_name(prose_text(doc))
    words = normalize_name(strip_disambiguation(title)).split()
    begin = prose_text(doc).find(opening)
    span = doc.char_span(begin, begin + len(opening))
    is_longer = len(words) > 1 and set(words) < set(normalize_name(opening).split())
    if span and is_longer and not re.search(r" and | of the ", opening):
        yield span


def _title_spans(doc: Doc, title: str) -> Iterator[Span]:
    """Occurrences of the title: whole, without its brackets, or up to its first comma.

    The search is case-sensitive for short titles, and for titles with a disambiguation in brackets,
    as these are often common words.
    """
    bare = strip_disambiguation(title)
    own = bare.split(",")[0]
    has_surname = _is_name_of_person(doc, own) and " of " not in own
    surname = {own.split()[-1]} if has_surname else set()
    for name in sorted({title, bare, own} | surname):
        words = name.split()
        if not words or not is_name(name):
            continue
        joined = r"\s+".join(map(re.escape, words))
        pattern = r"(?<!\w)" + re.sub(r"\\-|'", r"\g<0>\\s?", joined) + r"(?!\w)"
        is_distinct = len(words) > 1 or (len(name) > 4 and bare == title)
        for match in re.finditer(pattern, prose_text(doc), re.IGNORECASE if is_distinct else 0):
            span = doc.char_span(match.start(), match.end(), alignment_mode="expand")
            if span is not None:
                yield span


def _is_name_of_person(doc: Doc, name: str) -> bool:
    """Whether a name of several words is a person: to the pipeline, or since "he" or "she" follows.

    Pronouns count if the text begins with the name.
    """
    people = {clean_name(ent.text) for ent in doc.ents if ent.label_ == "PERSON"}
    has_gender = any(token.lower_ in ("he", "she") for token in doc)
    return " " in name and (name in people or (has_gender and prose_text(doc).startswith(name)))


def _dates(doc: Doc) -> Iterator[Span]:
    amounts = {token.i for ent in doc.ents if ent.label_ in _AMOUNTS for token in ent}
    for match in DATE.finditer(prose_text(doc)):
        span = doc.char_span(match.start(), match.end())
        if span is not None and not all(token.i in amounts for token in span):
            yield span


def _proper_noun_runs(doc: Doc, covered: set[int]) -> Iterator[Span]:
    """Runs of proper nouns with at most two words such as "of the" between them.

    Common words with a capital letter within a sentence belong to the name beside them, and so does
    the number of a ruler: the "Large" Hadron Collider, Anselm "I".
    """

    def sign(token: Token) -> str:
        if token.i in covered:
            return "c"
        if token.pos_ == "PROPN" and not token.text.islower():
            return "N"
        is_capital = token.is_title and token.tag_ in ("JJ", "NN", "NNS", "CD")
        if is_capital and not token.is_sent_start and token.ent_type_ in ("", *_AMOUNTS):
            return "n"
        if token.text == "I":
            return "i"
        return "-" if token.text in _BRIDGES else " "

    for match in re.finditer("n*N(?:-{0,2}N|n|i)*|(?<=c)[ni]+|n+(?=c)", "".join(map(sign, doc))):
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
