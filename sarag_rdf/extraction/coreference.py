"""Coreference resolution: names and pronouns of the same entity, by high-precision rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from spacy.tokens import Doc, Token

from sarag_rdf.base.iris import normalize_name, strip_disambiguation
from sarag_rdf.base.types import EntityType
from sarag_rdf.extraction.defined_aliases import DefinedAlias, find_aliases
from sarag_rdf.extraction.entity_typing import NAMED, SHIPS, SUBJECTS, WORDS, is_introduced
from sarag_rdf.extraction.mentions import MentionSpan
from sarag_rdf.extraction.names import (
    ENGLISH,
    FIRST_NAMES,
    english,
    english_pattern,
    short_names_of_person,
    type_of_noun,
)
from sarag_rdf.extraction.phrases import PhraseMatcher
from sarag_rdf.extraction.prose import prose_text

_NAME_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
_LOWER_CASE = english("names", "lower_case") | english("phrases", "prepositions")
_LEGAL_FORMS = english("names", "legal_forms")
_RANKS = {word.casefold() for word in english("mentions", "ranks")} - {"mrs", "lady", "queen"}
_OTHER_NAMES = {
    normalize_name(name): tuple(names.split(", ")) for name, names in ENGLISH["other_names"].items()
}
_GENDER = {"he": "he", "his": "he", "she": "she", "her": "she"}
_VESSELS = english("phrases", "vessels")
_NEUTER = frozenset({"it", "its", "they", "their"})


@dataclass(frozen=True, slots=True)
class CoreferenceCluster:
    """An entity of a document, with the names that refer to it."""

    name: str
    type: EntityType
    aliases: tuple[str, ...] = ()
    is_date: bool = False
    nouns: tuple[str, ...] = ()
    """What the text calls the thing directly at its name, if that agrees with the type."""


@dataclass(frozen=True, slots=True)
class CoreferenceResult:
    """The clusters of a document by name, the topic first, with their mentions.

    `topic` is the name of the entity that the document is about: its title, else the first name,
    else empty. `mention_spans` have the names of their clusters; `pronouns` maps token indices to
    one or two such names.
    """

    topic: str
    clusters: dict[str, CoreferenceCluster]
    mention_spans: tuple[MentionSpan, ...]
    pronouns: dict[int, tuple[str, ...]] = field(default_factory=dict)
    is_heading: bool = False
    """Whether the topic is a heading, not the name of a thing."""


class _NameLinks:
    """Disjoint sets of names of the same entity; the name of the topic is always a root."""

    def __init__(self, topic_key: str) -> None:
        self._topic_key = topic_key
        self._parent: dict[str, str] = {}

    def root(self, key: str) -> str:
        while key in self._parent:
            key = self._parent[key]
        return key

    def link(self, short: str, long: str) -> None:
        """Add `short` to the set of `long`, unless it has been added to a set before."""
        if short in self._parent:
            return
        long = self.root(long)
        if short == self._topic_key:
            short, long = long, short
        if short != long:
            self._parent[short] = long


def resolve_coreference(
    doc: Doc,
    title: str,
    mention_spans: list[MentionSpan],
    matcher: PhraseMatcher | None = None,
    *,
    is_titled: bool = True,
) -> CoreferenceResult:
    """Cluster the names of one document by entity, and resolve pronouns for its topic.

    With the `matcher` of an ontology, nouns are resolved by its classes, too. A title that is the
    name of a file is a heading, unless the text has it.
    """
    topic = title or next((s.name for s in mention_spans if not s.is_date), "")
    topic_key = normalize_name(topic)
    types = _types(mention_spans)
    types.setdefault(topic_key, "misc")
    opening = _opening_name_of_topic(doc, mention_spans, types, title) if title else ""
    if opening and types[topic_key] == "misc":
        types[topic_key] = types[normalize_name(opening)]
    aliases = list(find_aliases(doc, mention_spans, types))
    if opening:
        is_global = " " in opening or types[normalize_name(opening)] != "person"
        aliases.append(DefinedAlias(topic, opening, is_global))
    aliases += (
        DefinedAlias(topic, s.name, " " in s.name or s.type != "person")
        for s in mention_spans
        if _is_other_name(doc, s)
    )

    rank, _, unranked = title.partition(" ")
    is_ranked = types[topic_key] == "person" and rank.casefold() in _RANKS
    if is_ranked and re.fullmatch(r"\S+ \S*[a-z]\S*", unranked):  # "Count" Otto Lind
        aliases.append(DefinedAlias(topic, unranked, is_global=True))

    links = _NameLinks(topic_key)
    for alias in aliases:
        links.link(normalize_name(alias.alias), normalize_name(alias.name))
    titled = _person_in_title(title, types)
    types |= {normalize_name(name): "person" for name in titled}
    for short, long in _short_forms(mention_spans, types, normalize_name(title), titled):
        links.link(short, long)
    for short, long in _bare_names((topic, *(s.name for s in mention_spans)), types, matcher):
        links.link(short, long)
    surname = title.split()[-1] if title.split() else ""
    for part in surname.split("-") if "-" in surname and types[topic_key] == "person" else ():
        # "Irène Joliot-Curie" is also "Joliot"
        if types.get(key := normalize_name(part), "geopolitical") != "geopolitical":
            links.link(key, topic_key)

    names = {s.key: s.name for s in reversed(mention_spans)}
    names |= {normalize_name(name): name for name in (*titled, topic)}
    resolved = tuple(replace(s, name=names[links.root(s.key)]) for s in mention_spans)
    if not topic:
        clusters = {s.name: CoreferenceCluster(s.name, s.type, is_date=True) for s in resolved}
        return CoreferenceResult("", clusters, resolved)
    others = _global_aliases(title, aliases, links)
    for key in names.keys() & _OTHER_NAMES.keys():
        others[key] = (*others.get(key, ()), *_OTHER_NAMES[key])
    votes: dict[str, Counter[EntityType]] = {topic_key: Counter()}
    stated: dict[str, dict[str, EntityType]] = {}
    for mention_span in mention_spans:
        root = links.root(mention_span.key)
        _vote(votes.setdefault(root, Counter()), mention_span)
        votes[root][types[mention_span.key]] += 1
        if mention_span.noun:
            stated.setdefault(root, {})[mention_span.noun] = mention_span.type
    for key in {links.root(normalize_name(name)) for name in titled} & votes.keys():
        votes[key]["person"] += WORDS
    dates = {s.key for s in mention_spans if s.is_date}
    clusters = {
        names[key]: CoreferenceCluster(
            names[key],
            type_ := _majority_type(counter),
            others.get(key, ()),
            key in dates,
            tuple(noun for noun, said in stated.get(key, {}).items() if said == type_),
        )
        for key, counter in votes.items()
    }
    known = {s.name for s in resolved if s.type == "person" and s.weight > NAMED}
    openings = {sentence.start for sentence in doc.sents if sentence[0].lower_ in ("it", "its")}
    gendered = next((token.i for token in doc if token.lower_ in _GENDER), len(doc))
    is_neuter = bool(openings) and (
        gendered == len(doc) or (topic not in known and min(openings) < gendered)
    )
    is_neuter = is_neuter and (bool(title) or " " not in topic)
    if clusters[topic].type == "person" and is_neuter:
        clusters[topic] = replace(clusters[topic], type="misc")
    kinds = dict(_with_kinds(doc, resolved))
    named = {i: s.name for s in resolved for i in range(s.begin, s.end)} | kinds
    roots = {s.root(doc).i for s in resolved} | kinds.keys()
    people = {n for n, c in clusters.items() if c.type == "person" and (" " in n or n in known)}
    pronouns = [*_pronouns(doc, named, roots, clusters[topic], people)]
    is_heading = _is_heading(doc, topic, resolved, matcher, is_titled=is_titled)
    if is_heading:
        pronouns = [i for i in pronouns if doc[i].lower_ not in ("it", "its")]
    heads = {i: (name,) for i, name in kinds.items() if doc[i].dep_ in SUBJECTS}
    named |= dict.fromkeys(pronouns, topic)
    words = {w for s in resolved if s.name != topic for w in s.name.lower().split()}
    nouns = () if is_heading else _definite_nouns(doc, named, clusters, topic, words, matcher)
    pairs = {
        **heads,
        **{i: (name,) for i, name in nouns},
        **dict(_people(doc, named, clusters, topic)),
        **dict(_introduced(doc, named, kinds, topic, people)),
        **dict(_pairs(doc, named, clusters[topic], clusters)),
    }
    resolved_pronouns = dict.fromkeys(pronouns, (topic,)) | pairs
    return CoreferenceResult(topic, clusters, resolved, resolved_pronouns, is_heading)


def _is_heading(
    doc: Doc,
    topic: str,
    spans: Sequence[MentionSpan],
    matcher: PhraseMatcher | None,
    *,
    is_titled: bool,
) -> bool:
    """Whether a topic is a heading, not a thing: "Fairs: a list", "Ulm, 3 May 1990".

    So is one with words that are no name, by which the text calls nothing: "Larch – a design",
    "Towns of Larch"; and the name of a file.
    """
    is_dated = len(spans) > 1 and spans[1].is_date and (spans[0].begin, spans[0].name) == (0, topic)
    if is_dated and doc[spans[0].end : spans[1].begin].text == ",":
        return True
    lines = (line.strip("# \t") for line in prose_text(doc).split("\n"))
    is_said = any(topic.casefold() in line.casefold() for line in lines if line != topic)
    is_linked = any(span.name == topic != doc[span.begin : span.end].text for span in spans)
    is_plain = sum(map(_is_plain, topic.split())) > (topic.split()[0] not in ("A", "An"))
    is_page = is_plain or not is_titled or _PAGE.search(topic) is not None
    if topic and not is_said and not is_linked and is_page:
        return True
    head = topic if is_said or is_linked else _COMPLEMENT.split(topic)[0]
    noun = (head.split(": ")[0].split() or [""])[-1]
    is_kind = type_of_noun(noun) or (matcher and matcher.classes_of_noun(noun))
    is_noun = noun.islower() or noun == head.split(": ")[0]
    return is_noun and bool(is_kind) and noun.endswith("s") and not noun.endswith("ss")


_PAGE = re.compile(r": | [|\u2013\u2014-] |\b[a-z]{4,} (?:for|about|on) [A-Z]")
"""In titles of pages: "Larch: design", "Larch - Design", "Design page for Larch"."""
_COMPLEMENT = re.compile(r" (?:of|in|for|at|and) ")


def _is_plain(word: str) -> bool:
    """Whether a word is no part of a name, as in "A short history of the harbour"."""
    return word.isalpha() and word.islower() and len(word) > 3 and word not in _LOWER_CASE


def _is_other_name(doc: Doc, mention_span: MentionSpan) -> bool:
    """Whether a name is one of the topic.

    "Its Polish name is X", "it is called X", "she was born X", "they call her X".
    """
    root = mention_span.root(doc)
    verb = root.head.head if root.head.lower_ == "as" else root.head
    subjects = [child for child in verb.children if child.dep_ in SUBJECTS]
    if mention_span.is_date or not subjects:
        return False
    words = {child.lower_ for child in subjects[0].lefts}
    if root.dep_ == "attr" and subjects[0].lower_ == "name":
        return "its" in words
    if mention_span.type == "person":
        before = doc[max(mention_span.begin - 1, 0)].lower_
        is_born = root.dep_ == "oprd" and root.head.lower_ == "born"
        is_called = root.head.lower_ in ("call", "calls", "called") and before in ("her", "him")
        return is_called or (is_born and subjects[0].lower_ in ("he", "she"))
    is_called = (root.dep_, verb.lower_) in (("oprd", "called"), ("pobj", "known"))
    return is_called and (subjects[0].lower_ == "it" or words == {"the"})


def _global_aliases(
    title: str, aliases: list[DefinedAlias], links: _NameLinks
) -> dict[str, tuple[str, ...]]:
    """Aliases that are valid outside the document, by the key of their cluster."""
    names_of: dict[str, dict[str, str]] = {}
    for alias in aliases:
        if alias.is_global:
            names = names_of.setdefault(links.root(normalize_name(alias.name)), {})
            names |= {normalize_name(name): name for name in (alias.name, alias.alias)}
    bare = strip_disambiguation(title)
    names_of.setdefault(normalize_name(title), {})[normalize_name(bare)] = bare
    return {
        key: tuple(sorted(name for other, name in names.items() if other != key))
        for key, names in names_of.items()
    }


def _types(mention_spans: list[MentionSpan]) -> dict[str, EntityType]:
    """The majority type of each name."""
    votes: dict[str, Counter[EntityType]] = {}
    for mention_span in mention_spans:
        _vote(votes.setdefault(mention_span.key, Counter()), mention_span)
    return {key: _majority_type(counter) for key, counter in votes.items()}


def _vote(votes: Counter[EntityType], mention_span: MentionSpan) -> None:
    """Count the evidence of a mention for its type, by its weight."""
    votes[mention_span.type] += mention_span.weight


def _majority_type(votes: Counter[EntityType]) -> EntityType:
    """The type with the greatest weight; "misc" only if there is no other or a text states it."""
    named = Counter({type_: n for type_, n in votes.items() if type_ != "misc" and n})
    if not named:
        return "misc"
    best, weight = named.most_common(1)[0]
    return "misc" if votes["misc"] > weight and votes["misc"] >= WORDS else best


def _short_forms(
    mention_spans: list[MentionSpan],
    types: dict[str, EntityType],
    title_key: str,
    titled: Iterable[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield (short, long) for surnames, first names, initials, omitted middle names, legal forms.

    A short form that fits several people, or names of unknown type, refers to none of them, unless
    one is the title. The title may name the person with other words, as the `titled` do.
    """
    others = map(normalize_name, titled)
    keys = [title_key, *(s.key for s in mention_spans if not s.is_date), *others]
    keys = list(dict.fromkeys(keys))
    heads = {
        s.key: normalize_name(re.split(r", |(?<= [IVX]) of |(?<=[IVX]{2}) of ", s.name)[0])
        for s in mention_spans
    }
    people = {
        key: words
        for key in keys
        if types.get(key) in ("person", "misc")
        and (
            len(words := _strip_endings(heads.get(key, key), _NAME_SUFFIXES)) > 1 or words != [key]
        )
    }
    companies = {
        bare: key for key in keys if (bare := " ".join(_strip_endings(key, _LEGAL_FORMS))) != key
    }
    ends: dict[tuple[str, ...], list[str]] = {}
    for long, parts in people.items():
        beyond = (tuple(parts[n:]) for n in range(1, len(parts)))
        for part in {(*parts[:1],), (*parts[:1], "", *parts[-1:]), *beyond}:
            ends.setdefault(part, []).append(long)
    with_initials = {s.key for s in mention_spans if re.match(r"(?:[A-Z]\.[ -]?)+[A-Z]\w", s.name)}
    with_family_name = {s.key for s in mention_spans if re.search(r" \w+-[a-z]+$", s.name)}
    for key in keys:
        words = _strip_endings(key, _NAME_SUFFIXES)
        type_ = types.get(key, "misc")
        if key in companies and type_ != "person":
            yield key, companies[key]
        if type_ == "geopolitical" or not words or key == title_key:
            continue
        longer = []
        unranked = words[1:] if words[0] in _RANKS and len(words) > 1 else words
        parted = (words[0], "", words[-1]), tuple(unranked), (words[-1],)
        shared = (ends.get(part, ()) for part in parted[: 2 + (key in with_initials)])
        for long in dict.fromkeys(chain.from_iterable(shared)):
            parts = people[long]
            is_family_name = long in with_family_name  # Chow Man-lok
            is_first = words == parts[:1] and (
                type_ == "person"
                or is_family_name
                or (type_ == "organization" and long == title_key)
            )
            is_inner = len(words) > 1 and (words[0], words[-1]) == (parts[0], parts[-1])
            is_last = unranked == parts[-len(unranked) :] and "of" not in parts
            is_shorter = len(parts) > len(unranked) and (is_first or is_inner or is_last)
            is_shorter = is_shorter or (key in with_initials and _has_initials(words, parts))
            if long != key and (is_shorter or key == heads.get(long)):
                longer.append(long)
        if any(types[long] == "person" and title_key.endswith(f" {long}") for long in longer):
            longer = [long for long in longer if long != title_key or types[long] == "person"]
        long_form = title_key if title_key in longer else longer[0] if len(longer) == 1 else ""
        if types.get(long_form) == "person":
            yield key, long_form


_TITLED = re.compile(
    r"(?:^|.* (?:with|by|for|to|from|about|on)|.*:) ((?:[A-Z][\w'-]+ ){1,2}[A-Z][\w'-]+)"
)


def _person_in_title(title: str, types: Mapping[str, EntityType]) -> list[str]:
    """The person at the end of a title that the text names by the surname alone, or none."""
    match = _TITLED.fullmatch(title)
    words = match[1].split() if match else [""]
    is_named = normalize_name(words[-1]) in types and words[0] in FIRST_NAMES
    is_other = not is_named or types[normalize_name(words[-1])] == "geopolitical"
    return [] if is_other or match is None or match[1] == title else [match[1]]


def _bare_names(
    names: Iterable[str], types: Mapping[str, EntityType], matcher: PhraseMatcher | None
) -> Iterator[tuple[str, str]]:
    """Yield (short, long) for ships, and things with a class of one's own: "Heron", "R/V Heron".

    A short form of several names refers to none of them.
    """
    long_names: dict[str, set[str]] = {}
    for name in names:
        kind, _, bare = name.partition(" ")
        is_ship = kind in SHIPS or re.fullmatch(r"[A-Z]/[A-Z]", kind) is not None
        if is_ship or (matcher and matcher.own_classes(kind)):
            long_names.setdefault(normalize_name(bare), set()).add(normalize_name(name))
    for short, [long, *more] in long_names.items():
        if not more and types.get(short, "geopolitical") not in ("geopolitical", "person"):
            yield short, long


def _has_initials(short: list[str], long: list[str]) -> bool:
    """Whether a name has a surname and the initials before it: "P. R. Lund", "Pia Rosa Lund"."""
    initials = "".join(word[0] for word in long[:-1])
    return len(short) == 2 and short[-1] == long[-1] and initials.startswith(short[0])


def _strip_endings(key: str, endings: frozenset[str]) -> list[str]:
    words = key.split()
    while len(words) > 1 and words[-1] in endings:
        words.pop()
    return words


def _opening_name_of_topic(
    doc: Doc, mention_spans: list[MentionSpan], types: dict[str, EntityType], title: str
) -> str:
    """The name at the start of the text, if it is another form of the title, or empty.

    It is a person with the same surname ("Grant Henry Hill"); the title with more words, without a
    place, a rank or a legal form ("Anna" of "Anna of Holstein", "Taizhou" of "Taizhou, Jiangsu",
    "Airspeed Limited" of "Airspeed Ltd."), or its acronym; or the first sentence says that the
    title is another name ("Choi Jin-ri, better known by her stage name Sulli").
    """
    if not mention_spans or mention_spans[0].begin > 2 or doc[mention_spans[0].end - 1].is_lower:
        return ""  # "Tarn station" is not Tarn
    first, bare = mention_spans[0], strip_disambiguation(title)
    key, title_key, bare_key = first.key, normalize_name(title), normalize_name(bare)
    head, _, rest = bare.partition(", ")
    words, title_words = (
        _strip_endings(key, _NAME_SUFFIXES),
        _strip_endings(normalize_name(head), _NAME_SUFFIXES),
    )
    if title.endswith(f" {first.name}") and _TITLED.fullmatch(title):
        return ""  # "Interview with Ada Lind"
    is_full = len(words) > 1 and len(title_words) > 1 and words[-1] == title_words[-1]
    is_full = is_full and "of" not in title_words
    is_person = types[key] == "person" or short_names_of_person(prose_text(doc)) != ()
    if is_full and (is_person or words[0] == title_words[0]):
        return first.name
    if types[key] == "person" and title_key.startswith(f"{key} of "):
        return first.name
    is_head = f"{key} of ".startswith(f"{normalize_name(head)} of ") and not rest[:1].islower()
    is_longer = key.startswith(f"{bare_key} ") or (
        len(title_words) > 1 and {*title_words} <= {*words}
    )
    is_company = _strip_endings(key, _LEGAL_FORMS) == _strip_endings(bare_key, _LEGAL_FORMS)
    is_acronym = len(words) > 2 and "".join(word[0] for word in words) == bare_key
    sentence = next(doc.sents).text
    is_called = re.search(rf"{_CALLED}{re.escape(bare)}(?!\w)", sentence) is not None
    return first.name if is_head or is_longer or is_company or is_called or is_acronym else ""


def _with_kinds(doc: Doc, mention_spans: Iterable[MentionSpan]) -> Iterator[tuple[int, str]]:
    """The heads of things named with their kind: "the town of X", "the ship X", "X station"."""
    for span in mention_spans:
        of = span.begin > 1 and doc[span.begin - 1].text == "of"
        noun = doc[max(span.begin - 1 - of, 0)]
        is_kind = noun.text == span.noun and noun.tag_ == "NN" and span.type != "person"
        if is_kind:
            yield noun.i, span.name
        if (is_kind and not of) or doc[span.end - 1].is_lower:
            yield span.root(doc).i, span.name


def _pronouns(
    doc: Doc,
    named: Mapping[int, str],
    roots: Collection[int],
    topic: CoreferenceCluster,
    people: Collection[str],
) -> Iterator[int]:
    """Yield the pronouns that refer to the topic.

    "He" and "she" refer only to a person, whose gender is that of the first such pronoun; "it" and
    "they" refer to other entities. A subject or possessive is not resolved if after the last
    mention of the topic another entity that it could refer to is a subject, nor is a possessive
    whose noun is joined to another name ("Karl and his wife"). "Him", "her" and "it" as objects
    refer to the topic if it is the last subject before their clause, and the subject of the clause
    is another one.
    """
    is_person = topic.type == "person"
    places = (*SUBJECTS, "poss")
    pronouns = (t for t in doc if t.lower_ in _GENDER and t.dep_ in places)
    genders = (_GENDER[t.lower_] for t in pronouns if _companion(t, named) in ("", topic.name))
    gender = next(genders, "") if is_person else "it"
    is_vessel = not is_person and _is_vessel(doc, named, topic)
    subjects: dict[int, str] = {}
    last = topic.name
    for token in doc:
        word = token.lower_
        name = named.get(token.i, "")
        is_numbered = token.dep_ in SUBJECTS and any(t.text.isdigit() for t in token.rights)
        is_other = name and token.i in roots and token.dep_ in SUBJECTS
        is_other = is_other and token.head.dep_ != "relcl"  # "where Ada Brook was his tutor"
        is_same = bool(name) and (name in people) == is_person
        if name == topic.name or (is_other and (is_same or is_vessel)):
            last = name
        elif not name and not is_person and (is_introduced(token) or is_numbered):
            last = ""
        elif token.dep_ in places and word in _GENDER.keys() | _NEUTER:
            fits = _GENDER.get(word) == gender if is_person else word in _NEUTER
            fits = fits or (is_vessel and _GENDER.get(word) == "she")
            is_topic = last == topic.name and _companion(token, named) in ("", topic.name)
            name = topic.name if fits and is_topic else ""
        elif token.dep_ in _OBJECTS and word == _OBJECT_FORMS.get(gender):
            own = next((c for c in token.head.children if c.dep_ in SUBJECTS), None)
            begin = own.left_edge.i if own and token.head.pos_ == "VERB" else 0
            earlier = reversed(subjects.items()) if begin else ()
            before = next((name for i, name in earlier if i < begin), "")
            if own and before == topic.name != subjects.get(own.i):
                name = last = topic.name
        if token.dep_ in SUBJECTS and token.tag_ not in ("WDT", "WP"):
            subjects[token.i] = name
        if name == topic.name and token.i not in named:
            yield token.i


def _is_vessel(doc: Doc, named: Mapping[int, str], topic: CoreferenceCluster) -> bool:
    """Whether the topic is a ship, by its name or by what the text says that it is."""
    said = {*topic.nouns, *topic.name.split()}
    for token in doc:
        if token.dep_ in SUBJECTS and named.get(token.i) == topic.name:
            said |= {c.lower_ for c in token.head.children if c.dep_ == "attr"}
    return not _VESSELS.isdisjoint(said)


def _companion(token: Token, named: Mapping[int, str]) -> str:
    """Who is named together with what a possessive owns: "Ida, daughter of Karl and his wife"."""
    is_joined = token.dep_ == "poss" and token.head.dep_ == "conj"
    return named.get(token.head.head.i, "") if is_joined else ""


def _definite_nouns(
    doc: Doc,
    names: Mapping[int, str],
    clusters: Mapping[str, CoreferenceCluster],
    title: str,
    others: Collection[str],
    matcher: PhraseMatcher | None,
) -> Iterator[tuple[int, str]]:
    """Yield "the city" where the text says that its topic is a city, or the name of the topic does.

    The noun must have no other modifier, and must not be among the words of `others` names. It may
    be another label of the class, or of one above it: "the outage" for an incident. Other nouns
    mean the only thing named before with an article and the noun: "the viola" the Ayr Viola.
    """
    topic = clusters[title]
    ends: dict[str, set[str]] = {}
    kinds = {*topic.nouns, strip_disambiguation(topic.name).split(",")[0].split()[-1].lower()}
    for token in doc:
        is_subject = token.dep_ in SUBJECTS and names.get(token.i) == topic.name
        if is_subject and token.head.lower_ in ("is", "was"):
            for noun in token.head.children:
                if noun.dep_ == "attr" and noun.pos_ == "NOUN":
                    kinds |= {other.lower_ for other in (noun, *noun.conjuncts)}
    kinds_of = matcher.kinds_of if matcher else lambda _: ()
    classes = {class_ for kind in kinds for class_ in kinds_of(kind)}
    for token in doc:
        name = names.get(token.i, "")
        if name and token.text == name.split()[-1] and clusters[name].type != "person":
            is_named = {child.lower_ for child in token.lefts} >= {"the"} and " " in name
            ends.setdefault(token.lower_, set()).add(name if is_named else "")
        if token.dep_ in ("attr", "appos", "conj", "oprd") or name:
            continue
        is_alone = not {"prep", "relcl", "acl", "appos"} & {child.dep_ for child in token.rights}
        is_definite = is_alone and [child.lower_ for child in token.lefts] == ["the"]
        is_kind = token.lower_ in kinds or (
            is_definite and not classes.isdisjoint([*kinds_of(token.lower_)][:1])
        )
        if is_definite and is_kind and token.lower_ not in others:
            yield token.i, title
        elif is_definite and not is_kind and token.tag_ == "NN":
            [name, *more] = ends.get(token.lower_, {""})
            if name and not more:
                yield token.i, name


def _people(
    doc: Doc, names: Mapping[int, str], clusters: Mapping[str, CoreferenceCluster], topic: str
) -> Iterator[tuple[int, tuple[str]]]:
    """Yield "he" and "she" after a sentence about one person: "Ada works in Ulm. She was born".

    That person is its subject, and nobody else is in it, nor between the sentence and the pronoun;
    and the text does not call the person, or somebody else whom it is about, by such a pronoun.
    """
    genders = {names[t.i]: _GENDER[t.lower_] for t in doc if t.i in names and t.lower_ in _GENDER}
    person = ""
    for sentence in doc.sents:
        people: dict[str, bool] = {}
        for token in sentence:
            name, word = names.get(token.i, ""), _GENDER.get(token.lower_, "")
            is_place = word and not name and token.dep_ in (*SUBJECTS, "poss")
            is_alone = person and {*people} <= {person} and genders.get(person, word) == word
            if is_place and is_alone and (person == topic or genders.get(topic) != word):
                name = person
                genders[name] = word
                yield token.i, (person,)
            is_role = token.dep_ in ("attr", "appos", "compound", "nmod", "oprd")
            is_other = word or token.lower_ == "him" or type_of_noun(token.lower_) == "person"
            if name in clusters and clusters[name].type == "person":
                is_subject = token.dep_ in SUBJECTS and token.head == sentence.root
                people[name] = people.get(name, False) or is_subject
            elif not name and is_other and not is_role:
                people[""] = False
        if people:
            [first, *more] = people
            person = first if people[first] and not more else ""


def _introduced(
    doc: Doc,
    names: Mapping[int, str],
    kinds: Mapping[int, str],
    topic: str,
    people: Collection[str],
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield "it" after the sentence that says what another thing is: "Porter is a service. It".

    Such a sentence is the first one, or about a thing that the name of the topic names; or its
    subject is named with its kind: "The ship Porter". So is "it" after "The winner was Porter",
    and the subject of any sentence if the text does not name the topic, such as a headline; then
    also "it" later in the sentence: "Porter has been here since 1990, when it replaced Larch".
    """
    name, in_topic = "", set(normalize_name(topic).split())
    is_absent = topic not in names.values()
    for sentence in doc.sents:
        first = sentence[0]
        if first.lower_ in ("it", "its") and first.dep_ in (*SUBJECTS, "poss"):
            if name:
                yield first.i, (name,)
            continue
        subject = next((t for t in sentence if t.dep_ in SUBJECTS and t.head.dep_ == "ROOT"), first)
        name = kinds.get(subject.i) or (names.get(subject.i, "") if is_introduced(subject) else "")
        root = sentence.root
        if subject.dep_ == "nsubj" and subject.pos_ == "NOUN" and root.lemma_ == "be":
            name = next(
                (names[c.i] for c in root.children if c.dep_ == "attr" and c.i in names), name
            )
        elif is_absent and (main := [t for t in sentence if t.dep_ in SUBJECTS and t.i in names]):
            name = names[main[0].i] if len(main) == 1 else ""
            its = [t for t in sentence if t.lower_ == "it" and t.dep_ in SUBJECTS]
            is_main = main[0].head.dep_ == "ROOT" and name not in ("", *people)
            if is_main and len(its) == 1 and its[0].i > main[0].i:
                yield its[0].i, (name,)
        if any(token.lower_ == "it" and names.get(token.i) == topic for token in sentence):
            name = ""
        is_new = sentence.start == 0 or set(normalize_name(name).split()) <= in_topic
        is_new = is_new or is_absent or names.get(subject.i) != name
        is_new = is_new or subject.i in kinds
        if name == topic or not is_new or name in people:
            name = ""


def _pairs(
    doc: Doc,
    names: Mapping[int, str],
    topic: CoreferenceCluster,
    clusters: Mapping[str, CoreferenceCluster],
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield "they" and "the couple" with the topic and another person: "He met X. They shared"."""
    people = {name for name, c in clusters.items() if c.type == "person"} - {topic.name}
    other = ""
    for token in doc:
        name = names.get(token.i, "")
        if token.dep_ in SUBJECTS and token.lower_ in ("they", "couple"):
            if other and topic.type == "person":
                yield token.i, (topic.name, other)
        elif token.dep_ in SUBJECTS and token.tag_ in ("NNS", "NNPS"):
            other = ""
        elif token.dep_ == "dobj" and name in people:
            subjects = (names.get(c.i) for c in token.head.children if c.dep_ in SUBJECTS)
            other = name if topic.name in subjects else other


_OBJECTS = ("dobj", "dative")
_OBJECT_FORMS = {"he": "him", "she": "her", "it": "it"}
_CALLED = english_pattern("patterns", "called").pattern
"""What precedes another name of the subject of a sentence."""
