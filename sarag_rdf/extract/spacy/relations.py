"""Relations between the entities of a parsed document, each by a named rule over its parse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spacy.tokens import Doc, Token

from sarag_rdf.extract.spacy.coreference import Naming
from sarag_rdf.extract.spacy.mentions import SUBJECTS, Sighting
from sarag_rdf.types import Relation

CONFIDENCE: dict[str, float] = {
    "active": 0.6,
    "passive": 0.7,
    "copula": 0.5,
    "apposition": 0.5,
    "possessive": 0.4,
    "preposition": 0.4,
    "place": 0.1,
    "life": 0.7,
    "star": 0.4,
}
"""A prior for each rule, measured against a language model's extraction, not against the truth.

It is the share of the unordered pairs a rule finds that GPT-3.5's triples also hold, on 1,890
paragraphs (MuSiQue; HippoRAG's published extraction), rounded to one decimal. Names are
normalised, and an end of a triple may be longer than the name ("town of Leeds"): .58 of
2,698 active pairs, .67 of 2,211 passive, .55 of 1,564 copula, .47 of 206 appositions, .41 of 262
possessives, .35 of 1,072 prepositions, .13 of 506 places, .65 of 260 dates of life, .37 of
12,216 by title star. What that model leaves unsaid counts as missing, such as that Bergen is in
Norway: the prior of "place" says nothing about its truth.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A relation, its sentence, and the rule that found it."""

    rule: str
    subject: str
    phrase: str
    object: str
    text: str

    @property
    def relation(self) -> Relation:
        return Relation(self.subject, self.phrase, self.object, self.text, CONFIDENCE[self.rule])


def _claim(rule: str, subject: str, phrase: str, object_: str) -> Claim:
    return Claim(rule, subject, phrase, object_, f"{subject} {phrase} {object_}")


def find_relations(doc: Doc, naming: Naming) -> list[Claim]:
    """Find the relations of a document, each (subject, phrase, object) once, in a fixed order."""
    parse = Parse(doc, naming)
    found: dict[tuple[str, str, str], Claim] = {}
    for claim in _dependencies(parse):
        if claim.subject != claim.object:
            found.setdefault((claim.subject, claim.phrase, claim.object), claim)
    joined = {frozenset((subject, object_)) for subject, _, object_ in found}
    for phrase, object_, text in title_star(parse, joined):
        found[naming.topic, phrase, object_] = Claim("star", naming.topic, phrase, object_, text)
    return list(found.values())


def _dependencies(parse: Parse) -> Iterator[Claim]:
    for token in parse.doc:
        if token.pos_ in ("VERB", "AUX"):
            yield from _clause(parse, token)
        elif token.dep_ == "poss":
            yield from _possessive(parse, token)
        elif token.dep_ == "appos":
            yield from _apposition(parse, token)
    for sighting in parse.naming.sightings:
        yield from _prepositions(parse, sighting)
    yield from _dates_of_life(parse)


def _clause(parse: Parse, verb: Token) -> Iterator[Claim]:
    """Subject, verb, and objects, predicates and prepositional objects of any depth up to two."""
    labels = {child.dep_ for child in verb.children}
    rule = "active"
    if "attr" in labels:
        rule = "copula"
    elif labels & {"auxpass", "nsubjpass", "agent"} or (verb.dep_, verb.tag_) == ("acl", "VBN"):
        rule = "passive"
    subjects = parse.subjects(verb)
    for object_, path in parse.targets(verb):
        for subject in subjects:
            yield _claim(rule, subject, parse.verb_phrase(verb, path), object_)
    if rule == "copula" and not subjects:
        yield from _inverted(parse, verb)


def _inverted(parse: Parse, verb: Token) -> Iterator[Claim]:
    """In "The capital of Poland is Warsaw": Warsaw is the capital of Poland."""
    predicates = [child for child in verb.children if child.dep_ == "attr"]
    for noun in verb.children:
        if noun.dep_ in SUBJECTS:
            for object_, path in parse.targets(noun, (noun,), 1):
                phrase = parse.verb_phrase(verb, path)
                for predicate in predicates:
                    for name in parse.names(predicate):
                        yield _claim("copula", name, phrase, object_)


def _possessive(parse: Parse, owner: Token) -> Iterator[Claim]:
    """In "Poland's capital Warsaw" and "his wife, Mary": has the capital, has the wife."""
    noun = owner.head
    kinds = [left for left in noun.lefts if left.i > owner.i and left.dep_ in ("amod", "compound")]
    sighting = parse.sighting(noun)
    if sighting is not None:
        names = [sighting.name]
        kinds = [left for left in kinds if left.i < sighting.begin]
    else:
        kinds.append(noun)
        names = parse.names(noun)
        if not names and noun.dep_ in SUBJECTS:
            predicates = [child for child in noun.head.children if child.dep_ == "attr"]
            names = [name for predicate in predicates for name in parse.names(predicate)]
    kind = " ".join(token.text for token in kinds)
    for subject in parse.names(owner):
        for name in names:
            if kind:
                text = f"{subject}'s {kind} is {name}"
                yield Claim("possessive", subject, f"has the {kind}", name, text)
            else:
                yield _claim("possessive", subject, "has", name)


def _apposition(parse: Parse, noun: Token) -> Iterator[Claim]:
    """As in "Warsaw, the capital of Poland"; "Paris, France"."""
    outer, inner = parse.sighting(noun.head), parse.sighting(noun)
    if outer is None:
        return
    if inner is None:
        for object_, path in parse.targets(noun, (noun,), 1):
            phrase = " ".join(("is", *parse.noun_words(path)))
            yield _claim("apposition", outer.name, phrase, object_)
    elif outer.type == inner.type == "geopolitical":
        yield _claim("place", outer.name, "is in", inner.name)


def _prepositions(parse: Parse, sighting: Sighting) -> Iterator[Claim]:
    """As in "Erik Dahl from the University of Oslo"."""
    for preposition in parse.root(sighting).children:
        if preposition.dep_ == "prep" and preposition.i >= sighting.end:
            for noun in preposition.children:
                for name in parse.names(noun) if noun.dep_ == "pobj" else ():
                    yield _claim("preposition", sighting.name, preposition.lower_, name)


def _dates_of_life(parse: Parse) -> Iterator[Claim]:
    """As in "Ann Lee (1 May 1900 – 2 June 1980)", "Ann Lee (born 1900)"."""
    sightings = parse.naming.sightings
    for place, person in enumerate(sightings):
        opening = parse.doc[person.end : person.end + 1].text
        if opening != "(" or parse.naming.things[person.name].type != "person":
            continue
        dates: list[Sighting] = []
        for later in sightings[place + 1 :]:
            if ")" in parse.doc[person.end : later.begin].text:
                break
            if later.is_date:
                dates.append(later)
        inside = parse.doc[person.end : dates[-1].begin].text if dates else ""
        is_born = len(dates) == 1 and re.search(r"\bborn\b|\bb\.", inside)
        is_span = len(dates) == 2 and re.search(r"[-\u2013\u2014]", inside)
        if is_born or is_span:
            for event, date in zip(("was born", "died"), dates, strict=False):
                is_day = re.match(r"\d\d?\b|.*[^\W\d]+ \d\d?,", date.name)
                yield _claim("life", person.name, f"{event} {'on' if is_day else 'in'}", date.name)


_OBJECTS = ("dobj", "dative", "attr", "oprd", "pobj", "pcomp", "npadvmod")
_VERB_WORDS = ("aux", "auxpass", "neg", "prt")
_NOUN_WORDS = ("det", "amod", "compound", "nummod", "nmod")
_MAX_NOUNS = 2
_MAX_VERBS = 4

Path = tuple[Token, ...]
"""The prepositions and nouns that lead from a verb or noun to a thing."""


def word(token: Token) -> str:
    """A token as it reads inside a sentence: not capitalised for being the first one."""
    return token.lower_ if token.is_sent_start and token.pos_ != "PROPN" else token.text


class Parse:
    """A parsed document with the things it names (ClearNLP dependency labels, as in English)."""

    def __init__(self, doc: Doc, naming: Naming) -> None:
        self.doc = doc
        self.naming = naming
        self._owner = {
            index: sighting
            for sighting in naming.sightings
            for index in range(sighting.begin, sighting.end)
        }

    def sighting(self, token: Token) -> Sighting | None:
        """The innermost sighting that a token belongs to."""
        return self._owner.get(token.i)

    def root(self, sighting: Sighting) -> Token:
        return self.doc[sighting.begin : sighting.end].root

    def names(self, noun: Token) -> list[str]:
        """The things that a noun phrase names: itself with its conjuncts, or its apposition.

        A place brings the places it lies in: what is in "Chicago, Illinois, USA" is in all three.
        """
        names: list[str] = []
        for token in (noun, *noun.conjuncts) if noun.dep_ != "conj" else (noun,):
            sighting = self.sighting(token)
            if token.i in self.naming.pronouns:
                names.append(self.naming.pronouns[token.i])
            elif sighting is not None:
                names.extend((sighting.name, *self._larger_places(token)))
            else:
                names.extend(inner.name for _, inner in self._appositions(token))
        return list(dict.fromkeys(names))

    def _appositions(self, token: Token) -> Iterator[tuple[Token, Sighting]]:
        for child in token.children:
            if child.dep_ == "appos" and (inner := self.sighting(child)):
                yield child, inner

    def _larger_places(self, token: Token) -> Iterator[str]:
        place = self.sighting(token)
        if place and place.type == "geopolitical":
            for child, inner in self._appositions(token):
                if inner.type == "geopolitical":
                    yield inner.name
                    yield from self._larger_places(child)

    def subjects(self, verb: Token, depth: int = 0) -> list[str]:
        """The things that are a verb's subject, its own or that of the verb it hangs on."""
        own = [child for child in verb.children if child.dep_ in SUBJECTS]
        if own:
            return [name for child in own for name in self.subject_names(child)]
        if verb.dep_ in ("acl", "relcl"):
            return self.subject_names(verb.head)
        is_chained = verb.dep_ in ("conj", "xcomp", "advcl") and verb.head.pos_ in ("VERB", "AUX")
        return self.subjects(verb.head, depth + 1) if is_chained and depth < _MAX_VERBS else []

    def subject_names(self, noun: Token) -> list[str]:
        """The things that a subject stands for, also a relative pronoun or a predicate noun."""
        names = self.names(noun)
        if names:
            return names
        if noun.tag_ in ("WDT", "WP"):
            return self.subject_names(noun.head.head) if noun.head.dep_ == "relcl" else []
        if noun.dep_ == "attr":
            return self.subjects(noun.head)
        return self.names(noun.head) if noun.dep_ == "appos" else []

    def targets(self, token: Token, path: Path = (), nouns: int = 0) -> Iterator[tuple[str, Path]]:
        """Yield the things below a verb or noun, each with the words that lead there."""
        own = self.sighting(token)
        for child in token.children:
            if own is not None and self.sighting(child) is own:
                continue
            if child.dep_ in ("prep", "agent"):
                yield from self.targets(child, (*path, child), nouns)
            elif child.dep_ in _OBJECTS:
                for name in self.names(child):
                    yield name, path
                if self.sighting(child):
                    yield from self.targets(child, path[:-1], _MAX_NOUNS)
                elif nouns < _MAX_NOUNS and child.pos_ in ("NOUN", "PROPN", "VERB"):
                    yield from self.targets(child, (*path, child), nouns + 1)

    def verb_phrase(self, verb: Token, path: Path) -> str:
        """Words such as "was born in" and "is the capital of".

        In "X is a town located in Y" the participle borrows the "is".
        """
        group = [verb, *(child for child in verb.children if child.dep_ in _VERB_WORDS)]
        words = [word(token) for token in sorted(group, key=lambda token: token.i)]
        if (verb.dep_, verb.tag_, verb.head.dep_) == ("acl", "VBN", "attr"):
            words.insert(0, verb.head.head.text)
        return " ".join((*words, *self.noun_words(path)))

    def noun_words(self, path: Path) -> Iterator[str]:
        """The words of a path, nouns with what stands before them."""
        for token in path:
            if token.pos_ in ("NOUN", "PROPN"):
                yield from (word(left) for left in token.lefts if left.dep_ in _NOUN_WORDS)
            yield word(token)


MAX_WORDS = 8
_DROPPED_FIRST = frozenset({"and", "but", "or", "who", "which", "that"})
_EMPTY = frozenset({"and", "or", "the", "a", "an", "of", "also"})


def title_star(parse: Parse, joined: set[frozenset[str]]) -> Iterator[tuple[str, str, str]]:
    """Yield (words, thing, sentence) for each thing that no pair in `joined` joins to the topic.

    The words are up to eight from the thing before it, or from the clause's start; a member of
    a list has the words before the list. What only qualifies a noun is left out ("Polish" in "a
    Polish physicist"): of such pairs GPT-3.5's extraction has one in twenty.
    """
    topic = parse.naming.topic
    if not topic:
        return
    done = {topic}
    words: Sequence[Token] = ()
    previous: Sighting | None = None
    for sighting in parse.naming.sightings:
        fresh = _words_before(parse, sighting, previous)
        if fresh or not _continues(parse, previous, sighting):
            words = fresh or _words_before(parse, sighting, None)
        previous = sighting
        if parse.root(sighting).dep_ == "amod":
            continue
        if sighting.name not in done and frozenset((topic, sighting.name)) not in joined:
            done.add(sighting.name)
            phrase = " ".join(map(word, words)) or "mentions"
            subject = _other_subject(parse, words)
            yield phrase, sighting.name, f"{topic}{subject} {phrase} {sighting.name}"


def _continues(parse: Parse, previous: Sighting | None, sighting: Sighting) -> bool:
    """Tell whether a thing is a further member of a list, or the place of a place."""
    if previous is None or parse.doc[sighting.begin - 1].text == "(":
        return False
    root = parse.root(sighting)
    tokens = range(previous.begin, previous.end)
    return root.head.i in tokens or any(token.i in tokens for token in root.conjuncts)


def _words_before(parse: Parse, sighting: Sighting, previous: Sighting | None) -> list[Token]:
    begin = parse.doc[sighting.begin].sent.start
    if previous is not None:
        begin = max(begin, previous.end)
    words: list[Token] = []
    for token in reversed(parse.doc[begin : max(begin, sighting.begin)]):
        if (token.text in (";", ":") and words) or len(words) == MAX_WORDS:
            break
        if any(character.isalnum() for character in token.text):
            words.append(token)
    words.reverse()
    while words and (
        words[0].lower_ in _DROPPED_FIRST
        or words[0].tag_ == "POS"
        or words[0].i in parse.naming.pronouns
    ):
        del words[0]
    return words if any(token.lower_ not in _EMPTY for token in words) else []


def _other_subject(parse: Parse, words: Sequence[Token]) -> str:
    """What comes between topic and words: a colon, and whom the words speak of instead of it."""
    if not words:
        return ""
    if any(token.dep_ in SUBJECTS for token in words):
        return ":"
    before = parse.doc[words[0].sent.start : words[0].i]
    spoken_of = [token.head for token in words if token.dep_ == "appos"] + [
        token for token in reversed(before) if token.dep_ in SUBJECTS
    ]
    names = parse.subject_names(spoken_of[0]) if spoken_of else []
    return f": {names[0]}" if names and parse.naming.topic not in names else ""
