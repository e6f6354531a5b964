"""Which names and pronouns of a document refer to the same entity, by high-precision rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from spacy.tokens import Doc

from sarag_rdf.extract.names import without_bracket
from sarag_rdf.extract.spacy.mentions import SUBJECTS, Sighting
from sarag_rdf.iris import normalize_name
from sarag_rdf.types import EntityType

_LIFE = re.compile(r"[^().]{0,20}\([^()]*(?:\bborn\b|\d{4} ?[-\u2013\u2014] ?[^()]*\d{4})[^()]*\)")
_NAME_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
_LEGAL_FORMS = frozenset(
    {"inc", "corp", "corporation", "ltd", "limited", "company", "co", "plc", "llc", "gmbh", "ag"}
)
_GENDER = {"he": "he", "his": "he", "she": "she", "her": "she"}
_NEUTER = frozenset({"it", "its", "they", "their"})


@dataclass(frozen=True, slots=True)
class Thing:
    """What one or more names of a document stand for."""

    name: str
    type: EntityType
    aliases: tuple[str, ...] = ()
    is_date: bool = False


@dataclass(frozen=True, slots=True)
class Naming:
    """The things of a document, by name, the topic first; and where they are named.

    `topic` is what the document is about: its title, else the first thing named, else empty.
    `sightings` bear the things' names; `pronouns` maps token indices to such names.
    """

    topic: str
    things: dict[str, Thing]
    sightings: tuple[Sighting, ...]
    pronouns: dict[int, str] = field(default_factory=dict)


class _Same:
    """Which names of a document stand for the same thing; the topic's name stands for others."""

    def __init__(self, topic_key: str) -> None:
        self._topic_key = topic_key
        self._longer: dict[str, str] = {}

    def root(self, key: str) -> str:
        while key in self._longer:
            key = self._longer[key]
        return key

    def join(self, short: str, long: str) -> None:
        """Let `short` stand for what `long` stands for, unless it already stands for something."""
        if short in self._longer:
            return
        long = self.root(long)
        if short == self._topic_key:
            short, long = long, short
        if short != long:
            self._longer[short] = long


def resolve(doc: Doc, title: str, sightings: list[Sighting]) -> Naming:
    """Join the names of one document that stand for the same thing."""
    topic = title or next((s.name for s in sightings if not s.is_date), "")
    topic_key = normalize_name(topic)
    types = _types(doc, sightings)
    types.setdefault(topic_key, "misc")
    aliases = list(defined_aliases(doc, sightings, types))
    if _is_he_or_she(doc, sightings, types, topic_key, aliases):
        types[topic_key] = "person"

    same = _Same(topic_key)
    for alias in aliases:
        same.join(normalize_name(alias.alias), normalize_name(alias.name))
    for short, long in _short_forms(sightings, types, normalize_name(title)):
        same.join(short, long)
    if title and (full := _full_name_of_topic(sightings, types, topic_key)):
        same.join(full, topic_key)

    names = {normalize_name(s.name): s.name for s in reversed(sightings)} | {topic_key: topic}
    resolved = tuple(replace(s, name=names[same.root(normalize_name(s.name))]) for s in sightings)
    if not topic:
        return Naming("", {s.name: Thing(s.name, s.type, is_date=True) for s in resolved}, resolved)
    others = _other_names(title, aliases, same)
    votes: dict[str, Counter[EntityType]] = {topic_key: Counter()}
    for sighting in sightings:
        key = normalize_name(sighting.name)
        votes.setdefault(same.root(key), Counter())[types[key]] += 1
    dates = {normalize_name(s.name) for s in sightings if s.is_date}
    things = {
        names[key]: Thing(names[key], _winner(counter), others.get(key, ()), key in dates)
        for key, counter in votes.items()
    }
    things[topic] = replace(things[topic], type=_topic_type(doc, types[topic_key], things[topic]))
    pronouns = dict(_pronouns(doc, resolved, things[topic]))
    return Naming(topic, things, resolved, pronouns)


def _other_names(title: str, aliases: list[Alias], same: _Same) -> dict[str, tuple[str, ...]]:
    """Aliases that serve outside the document, by the key of the thing they are of."""
    found: dict[str, dict[str, str]] = {}
    for alias in aliases:
        if alias.is_global:
            known = found.setdefault(same.root(normalize_name(alias.name)), {})
            known |= {normalize_name(name): name for name in (alias.name, alias.alias)}
    bare = without_bracket(title)
    found.setdefault(normalize_name(title), {})[normalize_name(bare)] = bare
    return {
        key: tuple(sorted(name for other, name in known.items() if other != key))
        for key, known in found.items()
    }


def _topic_type(doc: Doc, own: EntityType, topic: Thing) -> EntityType:
    type_ = own if own != "misc" else topic.type
    return "misc" if type_ == "person" and _speaks_of_it(doc) else type_


def _types(doc: Doc, sightings: list[Sighting]) -> dict[str, EntityType]:
    """The type most often seen for a name; what has dates of life in brackets is a person."""
    seen: dict[str, Counter[EntityType]] = {}
    for sighting in sightings:
        seen.setdefault(normalize_name(sighting.name), Counter())[sighting.type] += 1
    types = {key: _winner(counter) for key, counter in seen.items()}
    first = next((s for s in sightings if not s.is_date), None)
    if first and _LIFE.match(text_after(doc, first)):
        types[normalize_name(first.name)] = "person"
    return types


def _is_he_or_she(
    doc: Doc,
    sightings: list[Sighting],
    types: dict[str, EntityType],
    topic_key: str,
    aliases: list[Alias],
) -> bool:
    """Tell whether the first "he" or "she" follows the topic as a subject, and no other person."""
    keys = {topic_key}
    for alias in aliases:
        pair = {normalize_name(alias.name), normalize_name(alias.alias)}
        keys |= pair if topic_key in pair else set()
    pronoun = next((t.i for t in doc if t.lower_ in _GENDER and t.dep_ in SUBJECTS), 0)
    before = [(normalize_name(s.name), doc[s.begin : s.end]) for s in sightings if s.end <= pronoun]
    return any(key in keys and span.root.dep_ in SUBJECTS for key, span in before) and all(
        key in keys or types[key] != "person" for key, _ in before
    )


def _winner(votes: Counter[EntityType] | None) -> EntityType:
    """The type most often seen; anything goes before "misc"."""
    named = Counter({type_: n for type_, n in (votes or {}).items() if type_ != "misc"})
    return named.most_common(1)[0][0] if named else "misc"


def _short_forms(
    sightings: list[Sighting], types: dict[str, EntityType], title_key: str
) -> Iterator[tuple[str, str]]:
    """Yield (short, long) for surnames, first names, dropped middle names and legal forms.

    What two could be called (a person, or a thing of unknown type) means neither, unless one of
    them is the title.
    """
    named = (normalize_name(s.name) for s in sightings if not s.is_date)
    keys = list(dict.fromkeys((title_key, *named)))
    people = {
        key: words
        for key in keys
        if types.get(key) in ("person", "misc") and len(words := _without(key, _NAME_SUFFIXES)) > 1
    }
    companies = {
        bare: key for key in keys if (bare := " ".join(_without(key, _LEGAL_FORMS))) != key
    }
    for key in keys:
        words = _without(key, _NAME_SUFFIXES)
        type_ = types.get(key, "misc")
        if key in companies and type_ != "person":
            yield key, companies[key]
        if type_ == "geopolitical" or not words or key == title_key:
            continue
        longer = [
            long
            for long, parts in people.items()
            if long != key
            and len(parts) > len(words)
            and (
                (len(words) == 1 and words[0] == parts[-1])
                or (len(words) == 1 and words[0] == parts[0] and type_ == "person")
                or (len(words) > 1 and (words[0], words[-1]) == (parts[0], parts[-1]))
            )
        ]
        meant = title_key if title_key in longer else longer[0] if len(longer) == 1 else ""
        if types.get(meant) == "person":
            yield key, meant


def _without(key: str, endings: frozenset[str]) -> list[str]:
    words = key.split()
    while len(words) > 1 and words[-1] in endings:
        words.pop()
    return words


def _full_name_of_topic(
    sightings: list[Sighting], types: dict[str, EntityType], topic_key: str
) -> str:
    """The key of the person that opens the text with the title's surname, or empty."""
    if not sightings or sightings[0].begin > 2:
        return ""
    key = normalize_name(sightings[0].name)
    words, title = _without(key, _NAME_SUFFIXES), topic_key.split()
    is_full = types[key] == "person" and len(words) > 1 and len(title) > 1
    return key if is_full and words[-1] == title[-1] else ""


def _speaks_of_it(doc: Doc) -> bool:
    """Tell whether sentences begin with "it" and nobody is a he or she: no person's article."""
    words = {token.lower_ for token in doc}
    return not words & _GENDER.keys() and any(s[0].lower_ in ("it", "its") for s in doc.sents)


def _pronouns(doc: Doc, sightings: tuple[Sighting, ...], topic: Thing) -> Iterator[tuple[int, str]]:
    """Yield the pronouns that stand for the topic.

    He and she need a person, and the first of the two fixes which; it and they need something
    else. Another thing of a fitting type that was the last subject before the pronoun bars it.
    """
    is_person = topic.type == "person"
    subjects = {
        doc[s.begin : s.end].root.i: s.name
        for s in sightings
        if doc[s.begin : s.end].root.dep_ in SUBJECTS and (s.type == "person") == is_person
    }
    gender = ""
    last = topic.name
    for token in doc:
        if token.i in subjects:
            last = subjects[token.i]
        word = token.lower_
        if token.dep_ not in (*SUBJECTS, "poss") or word not in _GENDER.keys() | _NEUTER:
            continue
        if is_person and word in _GENDER:
            gender = gender or _GENDER[word]
        fits = _GENDER.get(word) == gender if is_person else word in _NEUTER
        if fits and last == topic.name:
            yield token.i, topic.name


_ACRONYM = re.compile(r"\s*\(\s*(?:the |or )?[\"'\u201c]?([A-Z][\w.&/-]{1,9}?)[\"'\u201d]?\s*[),;]")
_KNOWN_AS = re.compile(
    r"\s*(?:\([^()]*\))?[\s,(]*(?:(?:is|was|are|were) )?(?:"
    r"(?:also|better|best|commonly|popularly|sometimes|often|formerly|previously|originally) "
    r"(?:known|called|referred to)(?: simply| professionally| commonly)?(?: as)?"
    r"|known(?: professionally| simply| commonly)? as|a\.?k\.?a\.?)[\s\"'`\u201c]*(?:the )?",
)
_BORN = re.compile(r"[\s,(]*(?:(?:was|is) )?(?:born|n\u00e9e|nee)(?: as)?[\s\"'`\u201c]*")


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name that a text gives; `is_global` if it serves outside this document."""

    name: str
    alias: str
    is_global: bool


def text_after(doc: Doc, sighting: Sighting) -> str:
    """The two hundred characters that follow a sighting."""
    last = doc[sighting.end - 1]
    return doc.text[last.idx + len(last) : last.idx + len(last) + 200]


def defined_aliases(
    doc: Doc, sightings: list[Sighting], types: Mapping[str, EntityType]
) -> Iterator[Alias]:
    """Yield acronyms in brackets, names "also known as", and names at birth."""
    by_begin = {s.begin: s for s in sightings}
    for left in sightings:
        if left.is_date:
            continue
        type_ = types[normalize_name(left.name)]
        following = text_after(doc, left)
        if (match := _ACRONYM.match(following)) and _abbreviates(match[1], left.name, type_):
            yield Alias(left.name, match[1], True)
        for pattern in (_KNOWN_AS, _BORN):
            match = pattern.match(following)
            if not match:
                continue
            offset = doc[left.end - 1].idx + len(doc[left.end - 1]) + match.end()
            span = doc.char_span(offset, offset + 1, alignment_mode="expand")
            right = by_begin.get(span.start) if span is not None else None
            if right is None or right.is_date:
                continue
            if not (match[0].strip().startswith("(") or _opens_clause(doc, left)):
                continue
            if pattern is _BORN and (type_ != "person" or right.type == "geopolitical"):
                continue
            is_global = pattern is _KNOWN_AS or " " in right.name
            yield Alias(left.name, right.name, is_global)


def _opens_clause(doc: Doc, sighting: Sighting) -> bool:
    """Tell whether a thing is a subject, or the first one in its sentence."""
    root = doc[sighting.begin : sighting.end].root
    before = doc[root.sent.start : sighting.begin]
    return root.dep_ in SUBJECTS or not any(token.pos_ in ("PROPN", "VERB") for token in before)


def _abbreviates(short: str, name: str, type_: EntityType) -> bool:
    """Tell whether a word in brackets after a name is its acronym.

    Its letters have to occur in the name in order, from the first; an organization of three
    words or more may have an acronym from another language (CERN).
    """
    letters = [character for character in short if character.isalpha()]
    capitals = sum(character.isupper() for character in letters)
    words = name.split()
    if type_ == "person" or len(words) < 2 or capitals < 2 or capitals * 2 <= len(letters):
        return False
    if type_ == "organization" and len(words) >= 3:
        return True
    rest = iter(normalize_name(name))
    return short[0].lower() == normalize_name(name)[0] and all(c.lower() in rest for c in letters)
