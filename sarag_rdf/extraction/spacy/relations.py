"""Relations between the entities of a parsed document, by named rules over its dependency parse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spacy.tokens import Doc, Token

from sarag_rdf.base.types import Relation
from sarag_rdf.extraction.spacy.coreference import CoreferenceResult
from sarag_rdf.extraction.spacy.mentions import SUBJECTS, MentionSpan

CONFIDENCE: dict[str, float] = {
    "active": 0.6,
    "passive": 0.7,
    "copula": 0.5,
    "apposition": 0.5,
    "possessive": 0.4,
    "preposition": 0.4,
    "place": 0.1,
    "life": 0.7,
}
"""The confidence of each rule: its agreement with a language model, not its accuracy.

It is the share of the unordered pairs of a rule that are also in the triples of GPT-3.5, on 1,890
paragraphs (MuSiQue; extraction published with HippoRAG), rounded to one decimal. Names are
normalised, and the name in a triple may be longer ("town of Leeds"): .58 of 2,698 active pairs,
.67 of 2,211 passive, .55 of 1,564 copula, .47 of 206 appositions, .41 of 262 possessives, .35 of
1,072 prepositions, .13 of 506 places, .65 of 260 dates of life. Facts that GPT-3.5 does not state,
such as that Bergen is in Norway, count against a rule, so the value of "place" does not mean that
its relations are false.
"""


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A relation with its sentence and the rule that matched."""

    rule: str
    subject: str
    phrase: str
    object: str
    text: str

    @property
    def relation(self) -> Relation:
        return Relation(self.subject, self.phrase, self.object, self.text, CONFIDENCE[self.rule])


def _rule_match(rule: str, subject: str, phrase: str, object_: str) -> RuleMatch:
    return RuleMatch(rule, subject, phrase, object_, f"{subject} {phrase} {object_}")


def find_relations(doc: Doc, coreference: CoreferenceResult) -> list[RuleMatch]:
    """Find the relations of a document, without duplicate triples, in a fixed order."""
    matches: dict[tuple[str, str, str], RuleMatch] = {}
    for match in _dependencies(ParsedClauses(doc, coreference)):
        if match.subject != match.object:
            matches.setdefault((match.subject, match.phrase, match.object), match)
    return list(matches.values())


def _dependencies(parse: ParsedClauses) -> Iterator[RuleMatch]:
    for token in parse.doc:
        if token.pos_ in ("VERB", "AUX"):
            yield from _clause(parse, token)
        elif token.dep_ == "poss":
            yield from _possessive(parse, token)
        elif token.dep_ == "appos":
            yield from _apposition(parse, token)
    for mention_span in parse.coreference.mention_spans:
        yield from _prepositions(parse, mention_span)
    yield from _dates_of_life(parse)


def _clause(parse: ParsedClauses, verb: Token) -> Iterator[RuleMatch]:
    """Subject, verb, and objects, predicates and prepositional objects up to depth two."""
    labels = {child.dep_ for child in verb.children}
    rule = "active"
    if "attr" in labels:
        rule = "copula"
    elif labels & {"auxpass", "nsubjpass", "agent"} or (verb.dep_, verb.tag_) == ("acl", "VBN"):
        rule = "passive"
    subjects = parse.subjects(verb)
    for object_, path in parse.targets(verb):
        for subject in subjects:
            yield _rule_match(rule, subject, parse.verb_phrase(verb, path), object_)
    if rule == "copula" and not subjects:
        yield from _inverted(parse, verb)


def _inverted(parse: ParsedClauses, verb: Token) -> Iterator[RuleMatch]:
    """As in "The capital of Poland is Warsaw": Warsaw is the capital of Poland."""
    predicates = [child for child in verb.children if child.dep_ == "attr"]
    for noun in verb.children:
        if noun.dep_ in SUBJECTS:
            for object_, path in parse.targets(noun, (noun,), 1):
                phrase = parse.verb_phrase(verb, path)
                for predicate in predicates:
                    for name in parse.names(predicate):
                        yield _rule_match("copula", name, phrase, object_)


def _possessive(parse: ParsedClauses, owner: Token) -> Iterator[RuleMatch]:
    """As in "Poland's capital Warsaw" and "his wife, Mary": has the capital, has the wife."""
    for name, kinds in parse.possessions(owner):
        kind = " ".join(token.text for token in kinds)
        for subject in parse.names(owner):
            if kind:
                text = f"{subject}'s {kind} is {name}"
                yield RuleMatch("possessive", subject, f"has the {kind}", name, text)
            else:
                yield _rule_match("possessive", subject, "has", name)


def _apposition(parse: ParsedClauses, noun: Token) -> Iterator[RuleMatch]:
    """As in "Warsaw, the capital of Poland"; "Paris, France"."""
    outer, inner = parse.mention_span(noun.head), parse.mention_span(noun)
    if outer is None:
        return
    if inner is None:
        for object_, path in parse.targets(noun, (noun,), 1):
            phrase = " ".join(("is", *parse.noun_words(path)))
            yield _rule_match("apposition", outer.name, phrase, object_)
    elif outer.type == inner.type == "geopolitical":
        yield _rule_match("place", outer.name, "is in", inner.name)


def _prepositions(parse: ParsedClauses, mention_span: MentionSpan) -> Iterator[RuleMatch]:
    """As in "Erik Dahl from the University of Oslo"."""
    for preposition in parse.root(mention_span).children:
        if preposition.dep_ == "prep" and preposition.i >= mention_span.end:
            for noun in preposition.children:
                for name in parse.names(noun) if noun.dep_ == "pobj" else ():
                    yield _rule_match("preposition", mention_span.name, preposition.lower_, name)


def _dates_of_life(parse: ParsedClauses) -> Iterator[RuleMatch]:
    """As in "Ann Lee (1 May 1900 – 2 June 1980)", "Ann Lee (born 1900)"."""
    mention_spans = parse.coreference.mention_spans
    for position, person in enumerate(mention_spans):
        opening = parse.doc[person.end : person.end + 1].text
        if opening != "(" or parse.coreference.clusters[person.name].type != "person":
            continue
        dates: list[MentionSpan] = []
        for later in mention_spans[position + 1 :]:
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
                yield _rule_match(
                    "life", person.name, f"{event} {'on' if is_day else 'in'}", date.name
                )


_OBJECTS = ("dobj", "dative", "attr", "oprd", "pobj", "pcomp", "npadvmod")
_VERB_WORDS = ("aux", "auxpass", "neg", "prt")
_NOUN_WORDS = ("det", "amod", "compound", "nummod", "nmod")
_MAX_NOUNS = 2
_MAX_VERBS = 4

Path = tuple[Token, ...]
"""The prepositions and nouns between a verb or noun and a name."""


def word(token: Token) -> str:
    """The text of a token, without the capital letter of a first word that is not a name."""
    return token.lower_ if token.is_sent_start and token.pos_ != "PROPN" else token.text


class ParsedClauses:
    """A dependency parse with resolved coreference (ClearNLP labels, as in English pipelines)."""

    def __init__(self, doc: Doc, coreference: CoreferenceResult) -> None:
        self.doc = doc
        self.coreference = coreference
        self._owner = {
            index: mention_span
            for mention_span in coreference.mention_spans
            for index in range(mention_span.begin, mention_span.end)
        }

    def mention_span(self, token: Token) -> MentionSpan | None:
        """The mention that contains a token, the last one if there are several."""
        return self._owner.get(token.i)

    def root(self, mention_span: MentionSpan) -> Token:
        return self.doc[mention_span.begin : mention_span.end].root

    def names(self, noun: Token) -> list[str]:
        """The names in a noun phrase: of the noun, its conjuncts, or else its appositions.

        A place is followed by the places that contain it: an event in "Chicago, Illinois, USA" is
        in all three.
        """
        names: list[str] = []
        for token in (noun, *noun.conjuncts) if noun.dep_ != "conj" else (noun,):
            mention_span = self.mention_span(token)
            if token.i in self.coreference.pronouns:
                names.append(self.coreference.pronouns[token.i])
            elif mention_span is not None:
                names.extend((mention_span.name, *self._larger_places(token)))
            else:
                names.extend(inner.name for _, inner in self._appositions(token))
        return list(dict.fromkeys(names))

    def _appositions(self, token: Token) -> Iterator[tuple[Token, MentionSpan]]:
        for child in token.children:
            if child.dep_ == "appos" and (inner := self.mention_span(child)):
                yield child, inner

    def _larger_places(self, token: Token) -> Iterator[str]:
        place = self.mention_span(token)
        if place and place.type == "geopolitical":
            for child, inner in self._appositions(token):
                if inner.type == "geopolitical":
                    yield inner.name
                    yield from self._larger_places(child)

    def subjects(self, verb: Token, depth: int = 0) -> list[str]:
        """The subjects of a verb: its own, or those of the verb that it depends on."""
        own = [child for child in verb.children if child.dep_ in SUBJECTS]
        if own:
            return [name for child in own for name in self.subject_names(child)]
        if verb.dep_ in ("acl", "relcl"):
            return self.subject_names(verb.head)
        is_chained = verb.dep_ in ("conj", "xcomp", "advcl") and verb.head.pos_ in ("VERB", "AUX")
        return self.subjects(verb.head, depth + 1) if is_chained and depth < _MAX_VERBS else []

    def subject_names(self, noun: Token) -> list[str]:
        """The names that a subject refers to, also by a relative pronoun or predicate noun."""
        names = self.names(noun)
        if names:
            return names
        if noun.tag_ in ("WDT", "WP"):
            return self.subject_names(noun.head.head) if noun.head.dep_ == "relcl" else []
        if noun.dep_ == "attr":
            return self.subjects(noun.head)
        return self.names(noun.head) if noun.dep_ == "appos" else []

    def possessions(self, owner: Token) -> Iterator[tuple[str, list[Token]]]:
        """The names of what a possessive owns, each with its kind: Mary, a wife."""
        noun = owner.head
        kinds = [
            left for left in noun.lefts if left.i > owner.i and left.dep_ in ("amod", "compound")
        ]
        mention_span = self.mention_span(noun)
        if mention_span is not None:
            names = [mention_span.name]
            kinds = [left for left in kinds if left.i < mention_span.begin]
        else:
            kinds.append(noun)
            names = [inner.name for _, inner in self._appositions(noun)]
            if not names and noun.dep_ in SUBJECTS:
                predicates = [child for child in noun.head.children if child.dep_ == "attr"]
                names = [name for predicate in predicates for name in self.names(predicate)]
        for name in names:
            yield name, kinds

    def targets(self, token: Token, path: Path = (), nouns: int = 0) -> Iterator[tuple[str, Path]]:
        """Yield the names below a verb or noun, each with its path."""
        own = self.mention_span(token)
        for child in token.children:
            if own is not None and self.mention_span(child) is own:
                continue
            if child.dep_ in ("prep", "agent"):
                yield from self.targets(child, (*path, child), nouns)
            elif child.dep_ in _OBJECTS:
                for name in self.names(child):
                    yield name, path
                if self.mention_span(child):
                    yield from self.targets(child, path[:-1], _MAX_NOUNS)
                elif nouns < _MAX_NOUNS and child.pos_ in ("NOUN", "PROPN", "VERB"):
                    yield from self.targets(child, (*path, child), nouns + 1)

    def verb_phrase(self, verb: Token, path: Path) -> str:
        """A phrase such as "was born in" or "is the capital of".

        In "X is a town located in Y" the participle gets the "is" of its head.
        """
        group = [verb, *(child for child in verb.children if child.dep_ in _VERB_WORDS)]
        words = [word(token) for token in sorted(group, key=lambda token: token.i)]
        if (verb.dep_, verb.tag_, verb.head.dep_) == ("acl", "VBN", "attr"):
            words.insert(0, verb.head.head.text)
        return " ".join((*words, *self.noun_words(path)))

    def noun_words(self, path: Path) -> Iterator[str]:
        """The words of a path, nouns with their modifiers."""
        for token in path:
            if token.pos_ in ("NOUN", "PROPN"):
                yield from (word(left) for left in token.lefts if left.dep_ in _NOUN_WORDS)
            yield word(token)
