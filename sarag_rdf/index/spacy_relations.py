"""Relations between the things of one parsed document, in its own words, each by a named rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spacy.tokens import Doc, Token

from sarag_rdf.index.spacy_coreference import Naming
from sarag_rdf.index.spacy_mentions import SUBJECTS, Sighting
from sarag_rdf.index.spacy_parse import Parse
from sarag_rdf.index.spacy_star import title_star
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
