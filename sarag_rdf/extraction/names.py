"""Names and types of entities, as texts and models give them.

Names are cleaned, compared, and found in titles and texts. In the SA-RAG paper a language model
writes a description of each entity. Other extractors build it from the name and up to three
sentences of the document that contain the name.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import ENTITY_TYPES, VALUE_TYPES, EntityType, Extraction
from sarag_rdf.base.vocab import COMMON

ENGLISH: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("english.toml").read_text("utf-8")
)
"""The words of English that the rules of extraction know."""


def english(part: str, name: str) -> frozenset[str]:
    """The words of one list of `ENGLISH`."""
    return frozenset(ENGLISH[part][name].split())


def english_pattern(part: str, name: str) -> re.Pattern[str]:
    """One pattern of `ENGLISH`, which may have line breaks."""
    return re.compile(ENGLISH[part][name].replace("\n", ""))


def listed(text: str) -> list[str]:
    """What stands between commas."""
    return " ".join(text.split()).split(", ")


KNOWN: Final[Mapping[str, str]] = {
    name: noun for noun, names in ENGLISH["known"].items() for name in listed(names)
}
"""Nouns for things with well-known names."""
MAX_NAME = 100
FIRST_NAMES = english("names", "first")
"""Common first names of persons."""

_EDGE = re.compile(
    r"^[\s\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb\[\]{}<>,;:!?*_/|\\\-\u2013\u2014"
    r"\u00a9\u00ae\u2122\u200d\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]+"
)
_ASTERISK = re.compile(r"(?<![\w*])[A-Z]{1,4}\*$")
_ARTICLE = re.compile(r"^(?:[Tt]he|a|an)\s+(?!Hague$)(?=\S)")
_POSSESSIVE = re.compile(r"\s*['\u2019]s?$")
_BROKEN = re.compile(r"(?<=[^\W\d])- (?=[A-Z\u00c0-\u00de])")
"""A hyphen at the end of a line within a name."""
_TITLE_SEPARATOR = english_pattern("patterns", "title_separator")


def clean_name(text: str) -> str:
    """Strip a leading article, a possessive ending, quotes and outer punctuation.

    An asterisk that belongs to a short name in capitals remains.

    A hyphen before a space is that of a broken line.

    >>> clean_name("the  Curie Institute's"), clean_name("*WHO*"), clean_name("Sgr A*")
    ('Curie Institute', 'WHO', 'Sgr A*')
    >>> clean_name("Frédéric Joliot- Curie")
    'Frédéric Joliot-Curie'
    """
    name = _strip(_BROKEN.sub("-", " ".join(text.split())))
    name = _strip(_ARTICLE.sub("", _POSSESSIVE.sub("", name)))
    if name.count("(") != name.count(")"):
        name = _strip(name.strip("()").split("(")[0])
    return name


def _strip(name: str) -> str:
    if not _ASTERISK.search(name):
        name = _EDGE.sub("", name[::-1])[::-1]
    return _EDGE.sub("", name)


def is_name(name: str) -> bool:
    """Whether a cleaned string can be a name.

    A name has 2 to 100 characters and at least one letter, and is not all in lower case, nor an
    initial.
    """
    if not 2 <= len(name) <= MAX_NAME or name.islower() or re.fullmatch(r"[A-Z]\.", name):
        return False
    return any(character.isalpha() for character in name)


def names_in_title(title: str) -> list[str]:
    """The title, then its parts between commas, brackets and prepositions.

    Only parts that begin with a capital letter or a digit are included.

    >>> names_in_title("Governors of the Bank of England")
    ['Governors of the Bank of England', 'Governors', 'Bank', 'England']
    """
    parts = (part.strip() for part in _TITLE_SEPARATOR.split(title))
    named = (part for part in parts if part and (part[0].isupper() or part[0].isdigit()))
    return list(dict.fromkeys((title, *named))) if title else []


_LOWERCASE_WORDS = english("names", "lower_case")
_LEAD_NAME = english_pattern("patterns", "lead_name")
_NOT_OPENING_NAMES = english("names", "not_opening")
_SUFFIXES = frozenset({"Jr.", "Jr", "Sr.", "Sr", "II", "III", "IV", "V"})


def lead_name(text: str) -> str:
    """The capitalised name that is the subject of the first words of a text, or empty.

    >>> lead_name("Johnnycake is an unincorporated community.")
    'Johnnycake'
    >>> lead_name("In Canada, it was broadcast later.")
    ''
    """
    match = _LEAD_NAME.match(text.lstrip())
    words = match["name"].split() if match else []
    if not words or words[0] in _NOT_OPENING_NAMES:
        return ""
    capitalised = (
        w[0].isupper() or w[0].isdigit() or not w[0].isalnum() or w in _LOWERCASE_WORDS
        for w in words
    )
    return " ".join(words) if words[0][0].isupper() and all(capitalised) else ""


def topic_name(title: str, text: str, names: Iterable[str] = ()) -> str:
    """The name of what a text is about: its title, else the name at its start, or empty.

    Of the `names` in the text, the only longer one that ends in the name at its start is used.

    >>> topic_name("", "Snow was a singer in Nashville.", ["Hank Snow", "Nashville"])
    'Hank Snow'
    """
    if any(map(str.isalnum, title)):
        return " ".join(title.split())
    opening = lead_name(text)
    end = f" {normalize_name(opening)}"
    longer = {normalize_name(name): name for name in names if normalize_name(name).endswith(end)}
    return next(iter(longer.values())) if opening and len(longer) == 1 else opening


def name_in_headline(title: str, names: Collection[str], *, is_headline: bool) -> str:
    """What a title is about that the text does not contain: itself, or a name of the text.

    That is the name on one side of a colon or dash, or the only one in a headline, which is else
    empty.

    >>> name_in_headline("Larch Bank buys a rival", ["Larch Bank", "Tarn"], is_headline=True)
    'Larch Bank'
    >>> name_in_headline("Report: Larch", ["Larch", "Tarn"], is_headline=False)
    'Larch'
    """
    ends = {end for name in names for end in (name, name.partition(" ")[2])}
    sides = re.split(r": | [|\u2013\u2014-] ", title)
    sides = [side for side in sides if side in ends] if len(sides) > 1 else []
    if len(sides) == 1:
        return sides[0]
    if not is_headline:
        return " ".join(title.split())
    inside = {name for name in names if f" {name} " in f" {title} "}
    whole = {name for name in inside if not any(name in other for other in inside - {name})}
    return whole.pop() if len(whole) == 1 else ""


def short_names_of_person(text: str) -> tuple[str, ...]:
    """Short names of the person at the start of a text: without middle names, and with initials.

    The text must start with a full name followed by dates in brackets; otherwise the result is
    empty.

    >>> short_names_of_person("Kevin Wayne Durant (born September 29, 1988) is a player.")
    ('Kevin Durant', 'Kevin W. Durant')
    """
    match, words = _LEAD_NAME.match(text.lstrip()), lead_name(text).split()
    words = [word.rstrip(",") for word in words if word not in _SUFFIXES]
    if match is None or not re.search(r"\bborn\b|\d{3,4}", match["bracket"] or ""):
        return ()
    if len(words) < 3 or any(word in _LOWERCASE_WORDS or not word[0].isupper() for word in words):
        return ()
    initials = " ".join(f"{word[0]}." for word in words[1:-1])
    return f"{words[0]} {words[-1]}", f"{words[0]} {initials} {words[-1]}"


MAX_SENTENCES = 3


def build_descriptions(name: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """One description from the first `MAX_SENTENCES` sentences, or none without sentences.

    Items of lists and headings get a full stop before another sentence.
    """
    *others, last = [*islice(sentences, MAX_SENTENCES)] or [""]
    body = " ".join([*(re.sub(r"([\w)\]*`])$", r"\1.", text) for text in others), last])
    return (f"{name}: {body}",) if body else ()


# Entity types

_TYPES: dict[str, EntityType] = {
    label: type_ for type_, labels in ENGLISH["types"].items() for label in listed(labels)
}
_NAMESPACE = re.compile(r"^.*[/#:](?=.)")
_TAG_PREFIX = re.compile(r"^[BILESU]-(?=[A-Z])")
"""The prefix of a tag in the IOB and BILOU schemes."""
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


_PLURALS = (("", ""), ("ies", "y"), ("es", ""), ("s", ""), ("men", "man"))
_OCCUPATION = re.compile(r"\w{3,}(?:ologist|grapher|metrist|nomist|icist|mist|nist|ician)s?")


def nearest_type(label: object) -> EntityType:
    """The entity type for a label of a recogniser or model; `misc` for an unknown label.

    A label is looked up in lower case and in the singular, without a namespace or the prefix of a
    tagging scheme, else its words are looked up, from the last to the first.
    """
    if label in ENTITY_TYPES:
        return label
    bare = _TAG_PREFIX.sub("", _NAMESPACE.sub("", str(label).strip()))
    words = re.findall(r"\w+", _CAMEL_CASE.sub(" ", bare).replace("_", " ").casefold())
    types = map(_listed_type, (" ".join(words), *reversed(words)))
    return next(filter(None, types), "misc")


def type_of_noun(noun: str) -> EntityType | None:
    """The entity type of what a common noun stands for, also in the plural.

    It is None for a noun that is in no list and is no occupation by its ending, and for values.

    >>> [type_of_noun(noun) for noun in ("tailors", "botanist", "film", "idea")]
    ['person', 'person', 'misc', None]
    """
    type_ = _listed_type(noun.casefold())
    if type_ is None and _OCCUPATION.fullmatch(noun.casefold()):
        return "person"
    return None if type_ in VALUE_TYPES else type_


def types_of_class(class_: str) -> frozenset[EntityType]:
    """The entity type that the name of a class of one's own says, or none.

    >>> types_of_class("https://example.org/MuseumObject"), types_of_class("urn:x:Q5")
    (frozenset({'misc'}), frozenset())
    """
    words = _CAMEL_CASE.sub(" ", _NAMESPACE.sub("", class_)).replace("_", " ").split()
    type_ = type_of_noun(words[-1]) if words and not class_.startswith(COMMON.base) else None
    return frozenset({type_} if type_ else ())


def _listed_type(name: str) -> EntityType | None:
    for end, singular in _PLURALS:
        form = name.removesuffix(end) + singular
        if name.endswith(end) and form in _TYPES:
            return _TYPES[form]
    return None


def unknown_types(extraction: Extraction) -> Counter[str]:
    """Counts of the mentions whose type is not an entity type, by their label."""
    return Counter(str(m.type) for m in extraction.mentions if m.type not in ENTITY_TYPES)


def resolve_types(extraction: Extraction) -> Extraction:
    """The extraction with every unknown type replaced by the nearest entity type."""
    if not unknown_types(extraction):
        return extraction
    mentions = tuple(replace(m, type=nearest_type(m.type)) for m in extraction.mentions)
    return replace(extraction, mentions=mentions)


def unknown_types_warning(counts: Counter[str]) -> str:
    """A warning on one line with the most frequent unknown labels."""
    shown = [
        f"{label[:40]!r} as {nearest_type(label)} ({count})"
        for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
    ]
    more = f", and {len(counts) - 5} other labels" if len(counts) > 5 else ""
    return f"unknown entity types were replaced by the nearest ones: {', '.join(shown)}{more}"
