"""Clauses of a parsed document: what verbs and noun phrases say of a name, by named rules.

Each clause joins a name to an argument by words: the verb with its auxiliaries, its object if the
argument comes after it, and the prepositions and nouns on the way. Arguments are names, dates,
numbers and common nouns. Whether the words state a property of an ontology is decided elsewhere
(`sarag_rdf.extraction.phrases`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spacy.tokens import Doc, Span, Token

from sarag_rdf.base.types import Relation
from sarag_rdf.extraction.coreference import CoreferenceResult
from sarag_rdf.extraction.entity_typing import SUBJECTS, is_introduced
from sarag_rdf.extraction.mentions import MentionSpan
from sarag_rdf.extraction.names import english
from sarag_rdf.extraction.normal_phrases import NAME, Word, is_participle, stem
from sarag_rdf.extraction.periods import ALWAYS, BEGINNING, Period, find_periods
from sarag_rdf.extraction.phrases import Argument
from sarag_rdf.extraction.prose import prose_text
from sarag_rdf.extraction.text_values import parse_value
from sarag_rdf.extraction.word_groups import (
    DENIALS,
    LEAVING,
    QUALIFIED,
    VERBS,
    Words,
    is_fact_of,
    is_of_one,
    is_passive_verb,
    noun_texts,
    noun_words,
    objects_of,
    verb_words,
)

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
normalised, and the name in a triple may be longer ("town of Leeds"). Facts that GPT-3.5 does not
state, such as that Bergen is in Norway, count against it: 0.1 for "place" is not its precision.
"""
_SMALL = re.compile(r"(?<= )(?!(?:of|the|and|de|la|von|van|du|for|in|on|at)\b)[a-z]+\b")
"""A word in small letters in a title that is no name: "Weekly report"."""
_IN_NAME = ("NOUN", "ADJ", "ADV")
_MAX_NOUNS = 3
_MAX_VERBS = 4
_YOUNGEST = 18
"""The least age at which two years in brackets are taken for those of birth and death."""
_INEXACT = english("phrases", "inexact")
_NAMING = english("mentions", "naming")
_AT_FIRST = english("phrases", "at_first")
_HEDGES = english("phrases", "hedges")
_OFFICES = english("phrases", "offices")
_APPOINTING = english("phrases", "appointing")
_INITIALS = re.compile(r"[A-TV-Z]\.?[A-Z]\.?")
"""Initials that are a part of the name before them ("Washington, D.C."), unlike "U.S."."""

Located = tuple[Words, Argument, int]
"""The words up to an argument, the argument, and its token."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Words between a subject and an object, which is at a token.

    Clauses without a rule of `CONFIDENCE` are of use only if they state a property. Those that are
    not a fact, such as a negation or a wish, state none.
    """

    rule: str
    subject: str
    words: Words
    object: Argument
    token: int
    is_fact: bool = True
    text: str = ""
    """A sentence that says it better than subject, words and object; else empty."""
    period: Period = ALWAYS
    is_hedged: bool = False

    @property
    def place(self) -> tuple[str, str, int]:
        """Subject, object, and the token of the object."""
        return self.subject, self.object.text, self.token

    @property
    def phrase(self) -> str:
        """The words as in the text, without other names."""
        return " ".join(word.stem for word in self.words if word.stem != NAME)

    @property
    def said(self) -> str:
        """The words that phrases cannot do without, without auxiliaries, in lower case."""
        words = (word.stem.lower() for word in self.words if not word.is_optional)
        return " ".join(word for word in words if word != NAME)

    @property
    def relation(self) -> Relation:
        """The relation between its arguments, without a property, at the times of its verb."""
        times = self.period.start, self.period.end, self.period.at
        is_time = any(time and time.text == self.object.text for time in times)
        start, end, at = (None, None, None) if is_time else times
        confidence = CONFIDENCE[self.rule]
        ends = self.subject, self.phrase, self.object.text
        return Relation(*ends, self.text, confidence, start=start, end=end, at=at)


def find_clauses(doc: Doc, coreference: CoreferenceResult) -> list[Clause]:
    """The clauses of a document between different things, in a fixed order."""
    walk = _Walk(doc, coreference)
    return [clause for clause in walk.clauses() if clause.subject != clause.object.text]


class _Walk:
    """A dependency parse with resolved coreference (ClearNLP labels, as in English pipelines)."""

    def __init__(self, doc: Doc, coreference: CoreferenceResult) -> None:
        self._doc = doc
        self._coreference = coreference
        self._spans = coreference.mention_spans
        self._span_of = {i: span for span in self._spans for i in range(span.begin, span.end)}
        self._periods = find_periods(doc)
        self._offices: dict[str, Argument] = {}  # what the text has named a noun of, the last

    def clauses(self) -> Iterator[Clause]:
        """All clauses; dates of life, then those of verbs and noun phrases, then those of names."""
        yield from self._dates_of_life()
        for token in self._doc:
            if token.pos_ in VERBS:
                yield from self._successions(self._timed(token, self._of_verb(token)))
                yield from self._timed(token, self._of_topic(token))
            elif token.dep_ == "poss":
                yield from self._possessive(token)
            elif token.dep_ == "appos":
                yield from self._timed(token, self._apposition(token))
        for span in self._spans:
            yield from self._titles(span)
            yield from self._prepositions(span)

    def _timed(self, anchor: Token, clauses: Iterator[Clause]) -> Iterator[Clause]:
        """The clauses of a verb or an apposition, with the period of it or of a second object."""
        period = self._periods.get(anchor.i, ALWAYS)
        if anchor.lower_ == "become" and anchor.head.lower_ in LEAVING:
            period = period or Period(start=self._periods.get(anchor.head.i, ALWAYS).at)
        adverbs = (child.lower_ for child in anchor.children if child.dep_ == "advmod")
        is_guess = not _HEDGES.isdisjoint(adverbs)
        for clause in clauses:
            beside = {t.text for t in self._doc[clause.token].lefts} | {clause.words[-1].stem}
            is_hedged = is_guess or not _HEDGES.isdisjoint(beside)
            own = self._periods.get(clause.token, clause.period or period)
            yield replace(clause, period=own, is_hedged=is_hedged)

    def _successions(self, clauses: Iterator[Clause]) -> Iterator[Clause]:
        """The clauses, and who was something at a time of what another one was it, too.

        As in "Ann was director of the museum until 1934. Bo has been director since 1938". Without
        such another one, it is an office of the organization that the text is about.
        """
        topic = self._coreference.clusters.get(self._coreference.topic)
        is_organization = topic is not None and topic.type == "organization"
        own = Argument(topic.name) if topic and is_organization else None
        for clause in clauses:
            yield clause
            noun, words = clause.object.text, [w.stem for w in clause.words if not w.is_optional]
            if clause.object.kind == "name" and words[1:] and words[-1] == "of":
                self._offices[words[-2]] = clause.object
            elif clause.rule == "copula" and clause.period and clause.is_fact:
                office = self._offices.get(noun, own) if clause.object.kind == "noun" else None
                after = {child.lower_ for child in self._doc[clause.token].rights}
                if office and after.isdisjoint(("of", "at", "for", "in")):
                    of = (*clause.words, *map(Word, noun.split()), Word("of"))
                    yield replace(clause, rule="", words=of, object=office)

    def _of_verb(self, verb: Token) -> Iterator[Clause]:
        """Subjects and arguments of a verb; its object as the subject of the passive."""
        words = verb_words(verb)
        is_passive = is_passive_verb(verb)
        is_copula = any(child.dep_ == "attr" for child in verb.children)
        rule = "copula" if is_copula else "passive" if is_passive else "active"
        is_fact = is_fact_of(verb) and not self._is_doubtful_modifier(verb)
        arguments = list(self._arguments(verb, words))
        subjects = self._subjects(verb)
        is_relative = verb.head in objects_of(verb)
        is_past = is_passive and not _AT_FIRST.isdisjoint(child.lower_ for child in verb.children)
        for subject in subjects:
            for argument_words, argument, token in arguments:
                if is_relative and token in self._periods.get(verb.i, ALWAYS).tokens:
                    continue  # the time of what was done, not of who did it
                is_so = is_fact and not (is_past and self._is_state(verb, argument_words, argument))
                yield Clause(rule, subject, argument_words, argument, token, is_so)
        for subject in subjects if stem(verb.lower_) == "be" else ():
            for adjective in (child for child in verb.children if child.dep_ == "acomp"):
                is_asked = verb.i == verb.sent.start or verb.sent[-1].text == "?"
                is_plain = not any(child.dep_ in ("advmod", "neg") for child in adjective.children)
                if is_asked or not is_plain or not is_participle(adjective.lower_):
                    continue
                is_ = (*words, Word(adjective.text))  # "is married to Bo"
                for child in (c for c in adjective.children if c.dep_ == "prep"):
                    for argument_words, argument, token in self._prepositional(child, is_):
                        yield Clause("", subject, argument_words, argument, token, is_fact)
        is_listing = stem(verb.lower_) == "includ"  # "her pupils included Bo"
        if not subjects and (is_copula or is_listing or stem(verb.lower_) == "be"):
            be = (Word("were"),) if is_listing else words
            yield from self._inverted(verb, be, is_fact)
        for child in objects_of(verb) if is_fact and not is_passive else ():
            if verb.lower_ in _APPOINTING:
                yield from self._appointed(verb, child)
            for name in self._names(child, verb):
                if name in self._timed_conjuncts(child):
                    continue
                for argument_words, argument, token in arguments:
                    required = [word for word in argument_words if not word.is_optional]
                    is_of_object = len(required) == 3 and required[1].stem == NAME
                    if is_of_object and required[2].stem != "by":  # "bought X by Y", its maker
                        passive = (Word("was"), required[0], required[2])
                        yield Clause("", name, passive, argument, token)

    def _of_topic(self, verb: Token) -> Iterator[Clause]:
        """As in "The owner is Ann" and "Ann is the owner", where the text is about one thing."""
        topic = "" if self._coreference.is_heading else self._coreference.topic
        is_named = not _SMALL.search(topic) or topic in prose_text(self._doc)
        if verb.lower_ != "is" or not topic or not is_named or self._is_of_other(verb.sent, topic):
            return
        ends = [[c for c in verb.children if c.dep_ in deps] for deps in (SUBJECTS, ("attr",))]
        for noun, other in [pair for s in ends[0] for a in ends[1] for pair in ((s, a), (a, s))]:
            is_role = noun.tag_ == "NN" and not self._span(noun) and not [*noun.rights]
            if is_role and noun.left_edge.lower_ == "the":
                words = (Word("is"), *noun_words(noun), Word("of"))
                for name in self._names(other):
                    if not self._coreference.clusters[name].is_date:
                        yield Clause("", name, words, Argument(topic), noun.i, is_fact_of(verb))

    def _is_of_other(self, sentence: Span, topic: str) -> bool:
        """Whether another thing than the topic is a subject of a sentence or of the one before."""
        begin = self._doc[sentence.start - 1].sent.start if sentence.start else 0
        clusters = self._coreference.clusters
        for token in (t for t in self._doc[begin : sentence.end] if t.dep_ in SUBJECTS):
            names = self._names(token)
            others = {name for name in names if name != topic}
            if any(clusters[name].type != "person" for name in others if name in clusters):
                return True
            if not names and is_introduced(token):
                return True
        return False

    def _appointed(self, verb: Token, person: Token) -> Iterator[Clause]:
        """As in "The board appointed Ann (as) head of X"."""
        roles = [c for c in verb.children if c.dep_ in ("oprd", "attr")]
        for as_ in (c for c in (*verb.children, *person.children) if c.lower_ == "as"):
            roles += [child for child in as_.children if child.dep_ == "pobj"]
        for role in roles:
            became = (Word("was"), Word(verb.text), *noun_words(role))
            for words, argument, token in self._below(role, became):
                for name in self._names(person, verb):
                    yield Clause("", name, words, argument, token)

    def _timed_conjuncts(self, noun: Token) -> dict[str, int]:
        """The names joined to an object that have a time of their own, with their tokens."""
        timed = (token for token in noun.conjuncts if token.i in self._periods)
        return {name: token.i for token in timed for name in self._names(token)}

    def _is_state(self, verb: Token, words: Words, argument: Argument) -> bool:
        """Whether a passive verb says how something was, not by whom or when it was made."""
        cluster = self._coreference.clusters.get(argument.text)
        is_date = argument.kind == "value" or (cluster is not None and cluster.is_date)
        is_made = verb.lower_ in BEGINNING and (is_date or words[-1].stem == "by")
        is_kept = is_made or verb.lower_ in _NAMING
        return argument.kind in ("name", "value") and not is_kept

    def _inverted(self, verb: Token, words: Words, is_fact: bool) -> Iterator[Clause]:
        """As in "The capital of Poland is Warsaw": Warsaw is the capital of Poland.

        What is no name is had: "Its seat is in Bonn", "The depth of the Tarn is 9 m". In "Since
        1938 the director has been Bo" Bo is director.
        """
        predicates = [child for child in verb.children if child.dep_ in ("attr", "dobj")]
        nouns = [child for child in verb.children if child.dep_ in SUBJECTS]
        if not nouns and verb.dep_ == "conj":  # "The director was Bo and is now Ida"
            nouns = [child for child in verb.head.children if child.dep_ in SUBJECTS]
        for noun in nouns if verb.i in self._periods else ():
            if noun.pos_ == "NOUN" and not [*noun.rights]:
                for name in (name for each in predicates for name in self._names(each)):
                    for own_words, argument, token in self._noun_arguments(noun, words):
                        yield Clause("copula", name, own_words, argument, token, is_fact)
        for noun in nouns:
            for of_words, owner, place in self._below(noun, ()):
                of_noun = (*words, *noun_words(noun), *of_words)
                for name in (name for each in predicates for name in self._names(each)):
                    yield Clause("copula", name, of_noun, owner, place, is_fact)
                has = (Word("has"), *noun_words(noun))
                is_owned = owner.kind == "name" and [word.stem for word in of_words] == ["of"]
                for own_words, argument, token in self._arguments(verb, has) if is_owned else ():
                    if argument.kind == "value" or own_words[-1].stem in ("in", "at"):
                        yield Clause("", owner.text, own_words, argument, token, is_fact)

    def _arguments(self, verb: Token, words: Words) -> Iterator[Located]:
        """The arguments of a verb; those after its object have the noun of the object.

        The object of a relative clause is the noun before it: "the ship, which Ann designed".
        """
        nouns = [c for c in verb.children if c.dep_ == "attr"]
        objects = [c for c in (*objects_of(verb), *nouns) if c.i > verb.i or c == verb.head]
        objects = [c for c in objects if not (span := self._span(c)) or not span.is_date]
        direct: Words = ()
        if objects:
            direct = (Word(NAME),) if self._names(objects[0]) else noun_words(objects[0])
        for name in self._names(verb.head, verb) if verb.head in objects else ():
            yield words, Argument(name), verb.head.i
        for child in verb.children:
            if child.dep_ in ("prep", "agent") or (child.dep_ == "dative" and child.pos_ == "ADP"):
                for each in child.subtree:  # "depends on X for light and on Y"
                    is_joined = each.dep_ == "conj" and each.pos_ == "ADP"
                    is_same = each.head == child or each.lower_ == child.lower_
                    if each == child or (is_joined and is_same):
                        yield from self._prepositional(each, words + direct)
            elif child.dep_ in ("dobj", "attr", "oprd", "dative") and child.i > verb.i:
                names = self._names(child)
                own = self._timed_conjuncts(child)
                yield from ((words, Argument(name), own.get(name, child.i)) for name in names)
                for each in (child, *child.conjuncts) if not names else ():
                    yield from self._noun_arguments(each, words)
                    yield from self._values(each, words)
                noun = noun_words(child) if child.dep_ == "oprd" and not names else direct
                yield from self._below(child, words + noun)
            elif child.dep_ in ("acomp", "advmod"):
                for amount in child.lefts:
                    yield from self._values(amount, (*words, Word(child.text)))
            elif child.dep_ == "conj" and child.i in self._periods and direct:
                yield from ((words, Argument(name), child.i) for name in self._names(child))
            elif child.dep_ in ("npadvmod", "pobj"):
                for name in self._names(child):
                    yield words + direct, Argument(name), child.i

    def _prepositional(self, preposition: Token, words: Words, depth: int = 0) -> Iterator[Located]:
        words = (*words, Word(preposition.lower_))
        for child in preposition.children:
            if child.dep_ in ("prep", "agent"):
                is_second = any(each.dep_ == "pobj" for each in preposition.children)
                before = words[:-1] if is_second else words  # "from A to B"
                yield from self._prepositional(child, before, depth)
            elif child.dep_ in ("pobj", "pcomp"):
                for name in self._names(child):
                    yield words, Argument(name), child.i
                yield from self._values(child, words)
                if self._span(child):
                    yield from self._below(child, words[:-1], depth)
                elif child.pos_ in ("NOUN", "PROPN"):
                    for noun in (child, *child.conjuncts):
                        yield from self._noun_arguments(noun, words)
                    if depth < _MAX_NOUNS:
                        is_field = child.tag_ == "NNS" and {w.stem for w in words[-2:-1]} & _OFFICES
                        between = (*words[-1:], *noun_words(child)) if is_field else ()
                        field = [Word(w.stem, True) for w in between]  # "curator of coins of X"
                        own = (*words[:-1], *field) if is_field else words + noun_words(child)
                        yield from self._below(child, own, depth + 1)

    def _below(self, noun: Token, words: Words, depth: int = 0) -> Iterator[Located]:
        """The arguments of the prepositions and possessives of a noun."""
        own = self._span(noun)
        for child in noun.children:
            if own is not None and (child.lower_ == "of" or self._span(child) is own):
                continue
            is_noun = child.pos_ in ("NOUN", "PROPN") and not self._span(child)
            if child.dep_ in ("prep", "agent"):
                yield from self._prepositional(child, words, depth)
            elif child.dep_ == "poss" and own is None:
                for name in self._names(child):
                    yield (*words, Word("of")), Argument(name), child.i
            elif is_noun and child.dep_ == "conj" and depth < _MAX_NOUNS:
                joined = tuple(w for w in words if w.stem != noun.lower_) + noun_words(child)
                yield from self._below(child, joined, depth + 1)
                if not any(other.dep_ == "prep" for other in noun.children):
                    yield from self._below(child, words, depth + 1)

    def _noun_arguments(self, noun: Token, words: Words) -> Iterator[Located]:
        """A common noun as a value: alone, with its compounds, and as a whole phrase."""
        is_joined = noun.dep_ == "conj" and noun.head.dep_ == "attr"
        if self._span(noun) or not (noun.pos_ in ("NOUN", "PROPN") or is_joined):
            return
        for text in noun_texts(noun):
            yield words, Argument(text, "noun"), noun.i
        for child in noun.children:
            if child.dep_ == "nmod" and any(other.dep_ == "cc" for other in child.children):
                yield from self._noun_arguments(child, words)
            if child.dep_ in ("amod", "compound", "nmod") and child.text[:1].isupper():
                begin = child.i
                while begin >= noun.left_edge.i and noun.doc[begin].text[:1].isupper():
                    text = noun.doc[begin : child.i + 1].text
                    yield words, Argument(text, "adjective"), child.i
                    begin -= 1

    def _values(self, head: Token, words: Words) -> Iterator[Located]:
        """Numbers, quantities, money: "atomic number 72", "a length of 2 km", "two euros"."""
        text = self._doc[head.left_edge.i : head.i + 1].text.rstrip(".")
        if quantity := parse_value(text, "quantity") or parse_value(text, "money"):
            yield words, Argument(text, "value", value=quantity), head.i
            return
        for token in (head, *head.children):
            if token.like_num and token.dep_ in ("nummod", "appos", "pobj", "npadvmod", "attr"):
                counted = (Word(word.stem) for word in noun_words(head) if word.stem != token.text)
                named = words if token is head else (*words, *counted)  # not "two new gates"
                is_exact = _INEXACT.isdisjoint(t.lower_ for t in (*token.lefts, *head.lefts))
                if is_exact and (value := parse_value(token.text, "number")):
                    yield named, Argument(token.text, "value", value=value), token.i
                    if token.dep_ == "attr" or (token.i > head.i and head.tag_ == "NN"):
                        yield named, Argument(token.text, "value"), token.i  # "version 7"

    def _possessive(self, owner: Token) -> Iterator[Clause]:
        """As in "Poland's capital Warsaw" and "his wife, Mary": has the capital, has the wife."""
        noun = owner.head
        lefts = (token for left in noun.lefts for token in left.subtree if token.i > owner.i)
        kinds = [token for token in lefts if token.dep_ in ("amod", "compound")]
        span = self._span(noun)
        if span is not None:
            names = [span.name]
            kinds = [left for left in kinds if left.i < span.begin]
        else:
            kinds.append(noun)
            names = [inner.name for _, inner in self._appositions(noun)]
        kind = " ".join(token.text for token in kinds)
        words: Words = (Word("has"),)
        if kinds:
            modifiers = (Word(t.text, t.lower_ not in QUALIFIED) for t in kinds[:-1])
            words = (Word("has"), Word("the"), *modifiers, Word(kinds[-1].text))
        for name in names:
            if kinds:
                yield Clause("", name, (Word("is"),), Argument(kinds[-1].lower_, "class"), noun.i)
            for subject in self._names(owner):
                text = f"{subject}'s {kind} is {name}" if kinds else ""
                object_ = Argument(name)
                yield Clause("possessive", subject, words, object_, noun.i, bool(kinds), text)

    def _apposition(self, noun: Token) -> Iterator[Clause]:
        """As in "Warsaw, the capital of Poland"; "Marc Seguin, an engineer"; "Paris, France"."""
        outer, inner = self._span(noun.head), self._span(noun)
        is_denied = noun.doc[noun.left_edge.i - 1].lower_ in DENIALS  # "X, no longer the owner"
        is_ = Word("is")
        described = self._described(noun) if inner and inner.type == "person" else None
        if inner and described:  # "the director of the museum, Ann"
            for words, argument, token in self._below(described, (is_, *noun_words(described))):
                if self._is_before(argument, inner):
                    yield Clause("apposition", inner.name, words, argument, token)
            return
        if outer is None or outer.is_date or is_denied or not is_fact_of(noun):
            return
        if inner is None:
            if (period := self._past(noun)) is None:
                return
            person = self._next_person(noun) if outer.type == "person" else None
            if person and noun.head.dep_ != "appos":
                return  # "Ann, head of X, Bo, and Ida"
            nouns = [] if person else [c for c in noun.conjuncts if not self._span(c)]
            for each in (noun, *nouns):
                arguments = [*self._noun_arguments(each, (is_,))]
                arguments += self._below(each, (is_, *noun_words(each)))
                for words, argument, token in arguments:
                    if person is None or self._is_before(argument, person):
                        name = (person or outer).name
                        clause = Clause("apposition", name, words, argument, token)
                        yield replace(clause, period=period)
        elif inner.type == "geopolitical" and outer.type in ("geopolitical", "organization"):
            is_next = noun.doc[outer.end : inner.begin].text == ","
            if is_next and not _INITIALS.fullmatch(inner.name):
                yield Clause("place", outer.name, (is_, Word("in")), Argument(inner.name), noun.i)

    def _is_before(self, argument: Argument, person: MentionSpan) -> bool:
        """Whether an argument stands before a person, and not in the list that the person is in."""
        if argument.kind != "name":
            return person.name not in argument.text
        return any(s.name == argument.text and s.begin < person.begin for s in self._spans)

    def _next_person(self, noun: Token) -> MentionSpan | None:
        """The person after an apposition, whom it may describe: "The chair, Ann, the head, Bo".

        Relatives may be listed: "sister of Ann, Bo and Ida".
        """
        people = (s for s in self._spans if s.begin > noun.i and s.type == "person")
        if (person := next(people, None)) is None:
            return None
        between = noun.doc[noun.i + 1 : person.begin]
        is_verbal = any(token.pos_ in VERBS for token in between)
        is_verbal = is_verbal or any(t.tag_ == "POS" for t in noun.doc[person.end :][:1])
        is_next = between.text.endswith(",") and between.text.count(",") == 1
        return person if is_next and not is_verbal else None

    def _described(self, noun: Token) -> Token | None:
        """The noun for whom a name follows: "director" in "the director of the museum, Ann".

        The name may be parsed as an apposition of the last name before it.
        """
        place, of = noun.head, noun.head.head
        span = self._span(place)
        is_nested = place.dep_ == "pobj" and of.lower_ == "of" and noun.i > place.i
        above = of.head if is_nested and span and span.type != "person" else place
        return above if above.lower_ in _OFFICES and not self._span(above) else None

    def _past(self, noun: Token) -> Period | None:
        """When an apposition was true, if only then; none if the text does not say when.

        "Ann, then director of the museum, spoke in 1932"; an office is held until death.
        """
        verb = next((token for token in noun.ancestors if token.pos_ in VERBS), noun)
        is_dead = verb.lower_ == "died" and noun.lower_ in _OFFICES
        before = noun.doc[max(noun.left_edge.i - 1, 0) : noun.i]
        if not is_dead and all(token.lower_ != "then" for token in before):
            return ALWAYS
        period = self._periods.get(verb.i, ALWAYS)
        return Period(at=period.at or period.start) or None

    def _titles(self, span: MentionSpan) -> Iterator[Clause]:
        """Nouns before a name: "the Danish astronomer Ole R\u00f8mer"."""
        if span.is_date or span.begin == 0:
            return
        noun, root = self._doc[span.begin - 1], span.root(self._doc)
        if noun.pos_ != "NOUN" or self._span(noun):
            return
        is_modifier = noun.dep_ in ("compound", "nmod", "amod") and noun.head == root
        if not (is_modifier or (root.dep_ == "appos" and root.head == noun)):
            return
        if any(child.dep_ == "poss" for child in (*noun.children, *root.children)):
            return
        arguments = [Argument(noun.text, "noun")]
        for token in self._doc[max(0, noun.i - 1) : noun.i]:
            if token.pos_ in ("NOUN", "ADJ") and not self._span(token):
                arguments.append(Argument(f"{token.text} {noun.text}", "noun"))
            if token.text[:1].isupper() and token.pos_ in ("ADJ", "PROPN"):
                arguments.append(Argument(token.text, "adjective"))
        for argument in arguments:
            yield Clause("", span.name, (Word("is"),), argument, noun.i)

    def _prepositions(self, span: MentionSpan) -> Iterator[Clause]:
        """As in "Erik Dahl from the University of Oslo"."""
        for preposition in span.root(self._doc).children:
            if preposition.dep_ == "prep" and preposition.i >= span.end:
                words = (Word(preposition.lower_),)
                is_place = preposition.lower_ == "in" and not span.is_date
                for noun in preposition.children:
                    for name in self._names(noun) if noun.dep_ == "pobj" else ():
                        object_ = Argument(name)
                        yield Clause("preposition", span.name, words, object_, noun.i, is_place)

    def _dates_of_life(self) -> Iterator[Clause]:
        """As in "Ann Lee (1 May 1900 – 2 June 1980)", "Ann Lee (born 1900, died 1980)"."""
        for position, person in enumerate(self._spans):
            opening = self._doc[person.end : person.end + 1].text
            if opening != "(" or self._coreference.clusters[person.name].type != "person":
                continue
            dates: list[MentionSpan] = []
            for later in self._spans[position + 1 :]:
                if ")" in self._doc[person.end : later.begin].text:
                    break
                if later.is_date:
                    dates.append(later)
            if self._is_life(person, dates, is_first=position == 0):
                for event, date in zip(("was born", "died"), dates, strict=False):
                    is_day = re.match(r"\d\d?\b|.*[^\W\d]+ \d\d?,", date.name)
                    words = tuple(map(Word, (*event.split(), "on" if is_day else "in")))
                    yield Clause("life", person.name, words, Argument(date.name), date.begin)

    def _is_life(
        self, person: MentionSpan, dates: Sequence[MentionSpan], *, is_first: bool
    ) -> bool:
        """Whether the dates in brackets after a name are those of birth and death.

        Two years without a day may also be those of an office or a contract. They are taken for a
        life if nothing else stands in the brackets, the name does not end with a ruler's number,
        and they are `_YOUNGEST` years apart or follow the first name of the text.
        """
        inside = self._doc[person.end : dates[-1].begin].text if dates else ""
        is_born = re.search(r"\bborn\b|\bb\.", inside) is not None
        if len(dates) != 2:
            return is_born and len(dates) == 1
        if re.search(r"\bdied\b|\bd\.", inside):
            return is_born
        if re.search(r"[-\u2013\u2014]", inside) is None:
            return False
        if not all(re.fullmatch(r"\d{3,4}", date.name) for date in dates):
            return True
        years = [int(date.name) for date in dates]
        is_bare = re.fullmatch(r"\W*(?:ca?\.\W*)?\d+\W*(?:ca?\.\W*)?", inside) is not None
        is_long = is_first or years[1] - years[0] >= _YOUNGEST
        is_ruler = re.search(r" [IVX]+$", person.name) is not None
        return is_bare and is_long and not is_ruler and years[0] < years[1]

    # ------------------------------------------------------------------ names and subjects

    def _span(self, token: Token) -> MentionSpan | None:
        """The mention that contains a token, the last one if there are several."""
        return self._span_of.get(token.i)

    def _names(self, noun: Token, verb: Token | None = None) -> list[str]:
        """The names in a noun phrase: of the noun, its conjuncts, or else its appositions.

        Those of a noun with a `verb` are on the same side of it ("Ann, who died in Ulm, and Bo"),
        and only the last one if it is in the singular or in brackets ("Ann and Bo, who was born").

        A place is followed by the places that contain it: an event in "Chicago, Illinois, USA" is
        in all three.
        """
        names: list[str] = []
        tokens = [noun, *noun.conjuncts] if noun.dep_ != "conj" else [noun]
        if verb is not None:
            tokens = [token for token in tokens if (token.i < verb.i) == (noun.i < verb.i)]
            tokens = tokens[-1:] if verb.head == noun and is_of_one(verb) else tokens
        for token in tokens:
            span = self._span(token)
            if token.tag_ == "WP$" and (relative := token.head.head).dep_ == "relcl":
                names.extend(self._names(relative.head, relative))
            elif token.i in self._coreference.pronouns:
                names.extend(self._coreference.pronouns[token.i])
            elif span is not None:
                names.extend((span.name, *self._larger_places(token)))
            else:
                for child, inner in self._appositions(token):
                    names.append(inner.name)
                    if token.tag_ == "NNS":  # "the brothers X and Y"
                        names.extend(s.name for n in child.conjuncts if (s := self._span(n)))
                if not names and (named := self._named_kind(token)):
                    names.append(named.name)
        return list(dict.fromkeys(names))

    def _named_kind(self, noun: Token) -> MentionSpan | None:
        """The name at the end of a phrase, however it is parsed: "the deep-sea winch KW 40"."""
        last = self._span(noun.right_edge)
        is_last = last is not None and last.end == noun.right_edge.i + 1 and not last.is_date
        is_kind = is_last and noun.tag_ == "NN" and noun.left_edge.lower_ == "the"
        between = noun.doc[noun.i + 1 : last.begin] if last and is_kind else None
        is_one = between is not None and all(t.is_lower and t.pos_ in _IN_NAME for t in between)
        return last if is_one else None

    def _appositions(self, token: Token) -> Iterator[tuple[Token, MentionSpan]]:
        for child in token.children if self._span(token) else token.subtree:
            if child.dep_ == "appos" and (inner := self._span(child)):
                is_nested = inner.type == "person" and self._described(child) == token
                if child.head == token or is_nested:
                    yield child, inner

    def _larger_places(self, token: Token) -> Iterator[str]:
        place = self._span(token)
        if place and place.type == "geopolitical":
            for child, inner in self._appositions(token):
                if inner.type == "geopolitical":
                    yield inner.name
                    yield from self._larger_places(child)

    def _subjects(self, verb: Token, depth: int = 0) -> list[str]:
        """The subjects of a verb: its own, or those of the verb that it depends on."""
        own = [child for child in verb.children if child.dep_ in SUBJECTS]
        if own:
            return [name for child in own for name in self._subject_names(child)]
        if verb.dep_ in ("acl", "relcl"):
            return self._subject_names(verb.head, verb)
        is_chained = verb.dep_ in ("conj", "xcomp", "advcl") and verb.head.pos_ in VERBS
        return self._subjects(verb.head, depth + 1) if is_chained and depth < _MAX_VERBS else []

    def _subject_names(self, noun: Token, verb: Token | None = None) -> list[str]:
        """The names that a subject refers to, also by a relative pronoun or predicate noun."""
        names = self._names(noun, verb)
        if names:
            return names
        if noun.tag_ in ("WDT", "WP"):
            relative = noun.head
            return self._subject_names(relative.head, relative) if relative.dep_ == "relcl" else []
        if noun.dep_ == "attr":
            return self._subjects(noun.head)
        is_common = noun.dep_ == "appos" and noun.pos_ == "NOUN"
        return self._names(noun.head, verb) if is_common else []

    def _is_doubtful_modifier(self, verb: Token) -> bool:
        """A participle or relative clause after "a noun of Name" may belong to either noun."""
        is_place = any(child.lower_ in ("where", "when") for child in verb.children)
        if verb.dep_ not in ("acl", "relcl") or is_place:
            return False
        head = verb.head
        if head.dep_ != "pobj":
            return False
        between = verb.doc[head.i + 1 : verb.i]
        is_nested = head.head.head.pos_ not in VERBS
        return verb.dep_ == "acl" or is_nested or not any(t.text in (",", "(") for t in between)
