"""Candidates for typed statements: words between names, dates, numbers and common nouns.

Each candidate joins a name to an argument by words of a clause or noun phrase: the verb with its
auxiliaries, its object if the argument comes after it, and the prepositions and nouns on the way.
Whether the words state a property of an ontology is decided elsewhere (`PhraseMatcher`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spacy.tokens import Token

from sarag_rdf.extraction.phrases import (
    NAME,
    Argument,
    PhraseMatcher,
    Word,
    is_function_word,
    normalize_words,
)
from sarag_rdf.extraction.spacy.mentions import SUBJECTS, MentionSpan
from sarag_rdf.extraction.spacy.relations import ParsedClauses
from sarag_rdf.extraction.values import parse_value

_REAL_VERBS = frozenset({"begin", "began", "begun", "continue", "continued", "go", "went"})
"""Verbs whose infinitive complement is a fact: "began to teach"."""
_BE = frozenset({"is", "was", "are", "were", "be", "been", "being"})
_DIRECT = ("dobj", "attr", "oprd")
_MAX_NOUNS = 3
_MAX_PLACES = 4

_INITIALS = re.compile(r"[A-TV-Z]\.?[A-Z]\.?")
"""Initials that are a part of the name before them ("Washington, D.C."), unlike "U.S."."""

LocatedArgument = tuple[list[Word], Argument, int]
"""The words up to an argument, the argument, and its token."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible statement: the words between a subject and an object, which is at a token."""

    subject: str
    phrase: tuple[Word, ...]
    object: Argument
    token: int

    @property
    def words(self) -> tuple[Word, ...]:
        """The normalised words of the phrase."""
        return normalize_words(self.phrase)

    @property
    def text(self) -> str:
        """The phrase as in the text, without its optional words."""
        return " ".join(word.stem for word in self.phrase if word.stem != NAME)


class CandidateFinder:
    """Finds the candidates of one document."""

    def __init__(self, parse: ParsedClauses, matcher: PhraseMatcher) -> None:
        self._parse = parse
        self._matcher = matcher

    def find(self) -> Iterator[Candidate]:
        """All candidates; those of clauses and noun phrases, then those of names."""
        for token in self._parse.doc:
            if token.pos_ in ("VERB", "AUX"):
                yield from self._clause(token)
            elif token.dep_ == "poss":
                yield from self._possessive(token)
            elif token.dep_ == "appos":
                yield from self._apposition(token)
        for mention_span in self._parse.coreference.mention_spans:
            yield from self._titles(mention_span)
            yield from self._prepositions(mention_span)

    def _clause(self, verb: Token) -> Iterator[Candidate]:
        if not _is_fact(verb) or self._is_doubtful_modifier(verb) or _is_completed(verb):
            return
        subjects = self._parse.subjects(verb)
        children = list(verb.children)
        own_subject = next((child for child in children if child.dep_ in SUBJECTS), None)
        words = _verb_words(verb)
        is_passive = len(words) > 1 and words[0].stem in _BE
        arguments = list(self._arguments(verb, words))
        for subject in subjects:
            for argument_words, argument, token in arguments:
                yield Candidate(subject, tuple(argument_words), argument, token)
        if not is_passive:
            yield from self._passive(verb, arguments)
        if not subjects and own_subject is not None and is_passive is False:
            yield from self._inverted(verb, own_subject)

    def _passive(self, verb: Token, arguments: Sequence[LocatedArgument]) -> Iterator[Candidate]:
        """Candidates about the object, as in the passive: "X founded it in 1546"."""
        objects = [
            name
            for child in verb.children
            if child.dep_ == "dobj"
            for name in self._parse.names(child)
        ]
        for name in objects:
            for words, argument, token in arguments:
                stems = [word.stem for word in words]
                if len(stems) == 3 and stems[1] == NAME and argument.text != name:
                    passive = [Word("was"), words[0], words[2]]
                    yield Candidate(name, tuple(passive), argument, token)

    def _inverted(self, verb: Token, subject: Token) -> Iterator[Candidate]:
        """As in "The capital of Poland is Warsaw"; "Its Polish name is Wis\u0142a"."""
        if verb.lower_ not in _BE:
            return
        for predicate in verb.children:
            if predicate.dep_ != "attr":
                continue
            for name in self._parse.names(predicate):
                for words, argument, token in self._below(subject, [Word("is"), *_noun(subject)]):
                    yield Candidate(name, tuple(words), argument, token)

    def _arguments(self, verb: Token, words: list[Word]) -> Iterator[LocatedArgument]:
        direct: list[Word] = []
        for child in verb.children:
            if child.dep_ in ("dobj", "attr") and child.i > verb.i:
                direct = [Word(NAME)] if self._parse.names(child) else _noun(child)
                break
        for child in verb.children:
            if child.dep_ in _DIRECT and child.i > verb.i:
                names = self._parse.names(child)
                yield from ((words, Argument(name), child.i) for name in names)
                if not names:
                    for noun in (child, *child.conjuncts):
                        yield from self._noun_arguments(noun, words)
                yield from self._below(child, words + direct)
            elif child.dep_ in ("prep", "agent"):
                yield from self._prepositional(child, words + direct)
            elif child.dep_ == "acomp":
                yield from self._measure(child, words)
                yield from self._below(child, [*words, Word(child.lower_)])
            elif child.dep_ in ("npadvmod", "pobj"):
                names = self._parse.names(child)
                yield from ((words + direct, Argument(name), child.i) for name in names)

    def _prepositional(
        self, preposition: Token, words: list[Word], depth: int = 0
    ) -> Iterator[LocatedArgument]:
        words = [*words, Word(preposition.lower_)]
        for child in preposition.children:
            if child.dep_ in ("prep", "agent"):
                yield from self._prepositional(child, words, depth)
            elif child.dep_ in ("pobj", "pcomp"):
                for name in self._parse.names(child):
                    yield words, Argument(name), child.i
                yield from self._numbers(child, words)
                if self._parse.mention_span(child):
                    yield from self._below(child, words[:-1], depth)
                elif child.pos_ in ("NOUN", "PROPN"):
                    for noun in (child, *child.conjuncts):
                        yield from self._noun_arguments(noun, words)
                    if depth < _MAX_NOUNS:
                        yield from self._below(child, words + _noun(child), depth + 1)

    def _below(self, noun: Token, words: list[Word], depth: int = 0) -> Iterator[LocatedArgument]:
        """The arguments of the prepositions and possessives of a noun."""
        own = self._parse.mention_span(noun)
        for child in noun.children:
            if own is not None and (child.lower_ == "of" or self._parse.mention_span(child) is own):
                continue
            if child.dep_ in ("prep", "agent"):
                yield from self._prepositional(child, words, depth)
            elif child.dep_ == "poss" and own is None:
                for name in self._parse.names(child):
                    yield [*words, Word("of")], Argument(name), child.i
            elif self._is_common_noun(child) and child.dep_ == "conj" and depth < _MAX_NOUNS:
                joined = [w for w in words if w.stem != noun.lower_] + _noun(child)
                yield from self._below(child, joined, depth + 1)
                if not any(other.dep_ == "prep" for other in noun.children):
                    yield from self._below(child, words, depth + 1)

    def _is_common_noun(self, token: Token) -> bool:
        return token.pos_ in ("NOUN", "PROPN") and not self._parse.mention_span(token)

    def _noun_arguments(self, noun: Token, words: list[Word]) -> Iterator[LocatedArgument]:
        """A common noun as a value: alone, with its compounds, and as a whole phrase."""
        is_joined = noun.dep_ == "conj" and noun.head.dep_ == "attr"
        if not (noun.pos_ in ("NOUN", "PROPN") or is_joined) or self._parse.mention_span(noun):
            return
        for text in _noun_texts(noun):
            yield words, Argument(text, "noun"), noun.i
        for child in noun.children:
            if (
                child.pos_ == "NOUN"
                and child.dep_ == "nmod"
                and any(other.dep_ == "cc" for other in child.children)
            ):
                yield from self._noun_arguments(child, words)
            if child.dep_ in ("amod", "compound", "nmod") and child.text[:1].isupper():
                begin = child.i
                while begin >= noun.left_edge.i and noun.doc[begin].text[:1].isupper():
                    text = noun.doc[begin : child.i + 1].text
                    yield words, Argument(text, "adjective"), child.i
                    begin -= 1

    def _numbers(self, noun: Token, words: list[Word]) -> Iterator[LocatedArgument]:
        """Numbers that a noun phrase consists of or ends in: "atomic number 72"."""
        for token in (noun, *noun.children):
            if token.like_num and token.dep_ in ("nummod", "appos", "pobj", "npadvmod"):
                value = parse_value(token.text, "number")
                if value is not None and not self._parse.mention_span(token):
                    named = [] if token is noun else [*_noun(noun)]
                    yield [*words, *named], Argument(token.text, "value", value=value), token.i

    def _measure(self, adjective: Token, words: list[Word]) -> Iterator[LocatedArgument]:
        """A quantity before an adjective: "161 metres high"."""
        for child in adjective.children:
            if child.dep_ == "npadvmod":
                span = adjective.doc[child.left_edge.i : child.i + 1]
                numbers = [token for token in span if token.like_num]
                if not numbers:
                    continue
                text = adjective.doc[numbers[0].i : child.i + 1].text
                value = parse_value(text, "quantity")
                if value is not None:
                    yield (
                        [*words, Word(adjective.lower_)],
                        Argument(text, "value", value=value),
                        child.i,
                    )

    def _possessive(self, owner: Token) -> Iterator[Candidate]:
        """As in "his wife, Mary", "his student Walther": has wife, has student."""
        noun = owner.head
        for name, kind in self._parse.possessions(owner):
            if not kind:
                continue
            words = [Word("has")] + [Word(k.lower_, True) for k in kind[:-1]]
            words.append(Word(kind[-1].lower_))
            yield Candidate(name, (Word("is"),), Argument(kind[-1].lower_, "class"), noun.i)
            for subject in self._parse.names(owner):
                yield Candidate(subject, tuple(words), Argument(name), noun.i)

    def _apposition(self, noun: Token) -> Iterator[Candidate]:
        """As in "Warsaw, the capital of Poland"; "Marc Seguin, an engineer"; "Paris, France"."""
        outer, inner = self._parse.mention_span(noun.head), self._parse.mention_span(noun)
        if outer is None or outer.is_date:
            return
        if inner is None:
            nouns = [noun, *(c for c in noun.conjuncts if not self._parse.mention_span(c))]
            for each in nouns:
                following = noun.doc[each.i + 1 : each.i + 2]
                is_title = any(self._parse.mention_span(token) for token in following)
                if each.pos_ != "NOUN" or is_title:
                    continue
                for words, argument, token in self._noun_arguments(each, [Word("is")]):
                    yield Candidate(outer.name, tuple(words), argument, token)
                for words, argument, token in self._below(each, [Word("is"), *_noun(each)]):
                    yield Candidate(outer.name, tuple(words), argument, token)
        elif not inner.is_date:
            is_after_comma = noun.doc[outer.end : outer.end + 1].text == ","
            is_place = inner.type == "geopolitical" and outer.type in (
                "geopolitical",
                "organization",
            )
            if _INITIALS.fullmatch(inner.name) or self._is_in_list(inner):
                return
            if is_place and is_after_comma and inner.begin == outer.end + 1:
                phrase = (Word("is"), Word("in"))
                yield Candidate(outer.name, phrase, Argument(inner.name), noun.i)

    def _is_in_list(self, mention_span: MentionSpan) -> bool:
        """Whether more than four names between commas are a list, and no place in a larger one."""
        run = 1
        spans = self._parse.coreference.mention_spans
        position = spans.index(mention_span)
        for step in (-1, 1):
            index, current = position, mention_span
            while 0 <= index + step < len(spans):
                index += step
                first, second = sorted((current, spans[index]), key=lambda s: s.begin)
                if self._parse.doc[first.end : second.begin].text != ",":
                    break
                run, current = run + 1, spans[index]
        return run > _MAX_PLACES

    def _titles(self, mention_span: MentionSpan) -> Iterator[Candidate]:
        """Nouns before a name: "the Danish astronomer Ole R\u00f8mer"."""
        doc = self._parse.doc
        if mention_span.is_date or mention_span.begin == 0:
            return
        noun = doc[mention_span.begin - 1]
        root = self._parse.root(mention_span)
        if noun.pos_ != "NOUN" or self._parse.mention_span(noun):
            return
        is_modifier = noun.dep_ in ("compound", "nmod", "amod") and noun.head == root
        if not (is_modifier or (root.dep_ == "appos" and root.head == noun)):
            return
        if any(child.dep_ == "poss" for child in (*noun.children, *root.children)):
            return
        before = doc[max(0, mention_span.begin - 2) : mention_span.begin - 1]
        arguments = [Argument(noun.text, "noun")]
        for token in before:
            if token.pos_ in ("NOUN", "ADJ") and not self._parse.mention_span(token):
                arguments.append(Argument(f"{token.text} {noun.text}", "noun"))
            if token.text[:1].isupper() and token.pos_ in ("ADJ", "PROPN"):
                arguments.append(Argument(token.text, "adjective"))
        for argument in arguments:
            yield Candidate(mention_span.name, (Word("is"),), argument, noun.i)

    def _prepositions(self, mention_span: MentionSpan) -> Iterator[Candidate]:
        """As in "the Radium Institute in Paris"."""
        if mention_span.is_date or not self._matcher.class_of_name(mention_span.name):
            return
        for preposition in self._parse.root(mention_span).children:
            if preposition.dep_ != "prep" or preposition.i != mention_span.end:
                continue
            for noun in preposition.children:
                place = self._parse.mention_span(noun)
                if place is None or place.type != "geopolitical" or preposition.lower_ != "in":
                    continue
                words = (Word("is"), Word(preposition.lower_))
                yield Candidate(mention_span.name, words, Argument(place.name), noun.i)

    def _is_doubtful_modifier(self, verb: Token) -> bool:
        """A participle or relative clause after "a noun of Name" may belong to either noun."""
        if verb.dep_ not in ("acl", "relcl"):
            return False
        head = verb.head
        before = verb.doc[head.i + 1 : verb.left_edge.i]
        names = [self._parse.mention_span(token) for token in before]
        if verb.dep_ == "acl" and any(n and n is not self._parse.mention_span(head) for n in names):
            return True
        if head.dep_ != "pobj":
            return False
        is_nested = head.head.head.pos_ not in ("VERB", "AUX")
        between = verb.doc[head.i + 1 : verb.i]
        return verb.dep_ == "acl" or is_nested or not any(t.text in (",", "(") for t in between)


def _is_fact(verb: Token) -> bool:
    """Whether a clause is stated: no negation, no possibility, condition, wish or purpose."""
    for child in verb.children:
        if child.dep_ == "neg" or (child.dep_ == "aux" and child.tag_ in {"MD"}):
            return False
        if child.dep_ == "mark" and child.lower_ in ("if", "whether", "unless", "that", "to"):
            return False
        if child.dep_ == "aux" and child.lower_ == "to":
            is_real = verb.dep_ == "xcomp" and verb.head.lower_ in _REAL_VERBS
            if not is_real:
                return False
    if verb.dep_ in ("ccomp", "pcomp", "csubj"):
        return verb.dep_ == "ccomp" and verb.head.pos_ == "VERB" and verb.i < verb.head.i
    is_gerund = verb.tag_ == "VBG" and verb.dep_ in ("xcomp", "pcomp", "amod")
    if verb.dep_ in ("conj", "xcomp") and verb.head.pos_ in ("VERB", "AUX"):
        own = any(child.dep_ in SUBJECTS for child in verb.children)
        return not is_gerund and (own or verb.dep_ == "xcomp" or _is_fact(verb.head))
    return not is_gerund


def _is_completed(verb: Token) -> bool:
    """Whether another verb completes a verb: what follows "began" is stated by "began to teach"."""
    return any(child.dep_ == "xcomp" and child.pos_ == "VERB" for child in verb.children)


def _verb_words(verb: Token) -> list[Word]:
    """The verb with "be" if it is passive, its particle, and the verb that it completes."""
    children = list(verb.children)
    is_passive = any(child.dep_ in ("auxpass", "nsubjpass") for child in children)
    is_participle = verb.tag_ == "VBN" and verb.dep_ == "acl"
    if not is_passive and verb.tag_ == "VBN" and verb.dep_ == "conj":
        has_aux = any(child.dep_ in ("aux", "auxpass", *SUBJECTS) for child in children)
        is_passive = not has_aux and _verb_words(verb.head)[0].stem in _BE
    auxiliary = next((child.lower_ for child in children if child.dep_ == "auxpass"), "was")
    words = [Word(auxiliary)] if is_passive or is_participle else []
    words.append(Word(verb.lower_))
    words += [Word(child.lower_) for child in children if child.dep_ == "prt"]
    if verb.dep_ == "xcomp" and verb.head.lower_ in _REAL_VERBS:
        words = [Word(verb.head.lower_), Word("to"), *words]
    return words


def _noun(noun: Token) -> list[Word]:
    """A noun with its modifiers, which are optional."""
    modifiers = [
        left
        for left in noun.lefts
        if left.dep_ in ("amod", "compound", "nmod", "nummod") and not is_function_word(left.lower_)
    ]
    return [*(Word(left.lower_, True) for left in modifiers), Word(noun.lower_)]


def _noun_texts(noun: Token) -> list[str]:
    """The texts of a noun phrase: the noun, with the words before it, and with its complement."""
    begin = noun.i
    texts = [noun.text]
    while begin > noun.left_edge.i and noun.doc[begin - 1].pos_ in ("NOUN", "ADJ", "PROPN"):
        begin -= 1
        texts.append(noun.doc[begin : noun.i + 1].text)
    of = next((r for r in noun.rights if r.dep_ == "prep" and r.lower_ == "of"), None)
    if of is not None:
        texts.append(noun.doc[begin : of.right_edge.i + 1].text)
    return texts
