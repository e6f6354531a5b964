"""In which words questions say hops: as names of what they lead to, or as verbs with a direction.

A word has one of these forms, with which the words of questions and of properties are compared:

- ``birthplace``: a name of what is asked for, wherever it stands, and ``teach+`` that of someone
  who does something, or of what is done: "teacher", "location";
- ``teach<``: a verb of which the topic is the object: "who teaches X", "by whom is X taught";
- ``teach>``: one of which it is the subject: "whom does X teach", "who is taught by X";
- ``teach+ of``: a name of the topic: "what is X the teacher of".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from sarag_rdf.graph.ontology.schema import OntologyProperty

_WORD: Final = re.compile(r"\w+")
_PREPOSITION: Final = re.compile(
    r"of|by|in|at|on|to|from|with|for|about|through|into|over|under|near|after|as|along"
)
_OF_FIRST: Final = re.compile(r"(?:is|was|are|were) (?:the|an?|one of the) ")
"""Begins a phrase whose noun names what stands before it: "is the son of", not "was born in"."""
_PARTICIPLE: Final = re.compile(rf" (?=\w+ed (?:{_PREPOSITION.pattern})$)")
"""Before what is said of the noun of a phrase: "is a town located in"."""
_OF_SECOND: Final = re.compile(r"(?:has|had|have) ")
_ROLE: Final = re.compile(r"\b(?!\w+ed |made |built |born |consists? )\w+ of$")
"""Ends a label that names the subject of its property: "capital of", but not "made of"."""
BELONGS: Final = re.compile(r"(?:is )?(?:a )?(?:member|part) of")
"""A label for what "belongs to" something."""
_VERB: Final = re.compile(
    rf"\w+ed|made|built|bought|sold|wrote|drew|won|led|held|taught|.* (?:{_PREPOSITION.pattern})"
)
"""A label that is a verb: "influenced", "located in", but not "date published"."""
_DONE_TO: Final = re.compile(
    r"(visited|studied|crossed|described|depicted|cited|mentioned|treated|attended|inspected|examined"
    r"|surveyed|sampled|explored) (?!(?:in|by|at|on|to|from|with|for|of)\b)[a-z ]+"
)
"""A label for what something does something to, "visited place", but not "registered office"."""
_DATED: Final = re.compile(r"\b(?:date|day|year|time)s?\b")
"""In the label of when something happened to the subject, or what it did."""
_VERB_OR_NAME: Final = re.compile(r"\w+[^\Ws]s")
"""A label that may be either: "follows", "awards"."""

_DOES: Final = re.compile(
    r"\s*what (?:(?:do|does|did)\b|(?:(?!(?:of|that|which|whose) )\w+ )+by $)", re.IGNORECASE
)
"""Begins a question for what somebody did something to, not "the age of the house built by"."""
_ENDS_AS: Final = re.compile(r" of$| an? [\w -]+ (?:in|on|for|at)$")
"""Ends a question for what the topic is something of."""
DOER: Final = re.compile(r"(?<=\w\w\w)(?:er|or)$")
"""Ends the stem of who does something: "teacher", "supervisor"."""
_APPOSITION: Final = re.compile(r"\bthe \w+\s*$", re.IGNORECASE)
"""Ends the text before a name that is told what it is of."""
_WITH_THE: Final = re.compile(r"\b(?:with|of|in|for) the (\w+)$")
"""Ends a phrase for what leads to the topic: "places with the capital", "movies of the genre"."""
_PASSIVE: Final = re.compile(r"(?:is|was|are|were) \w+(?:ed|en|on)")
"""A passive without a preposition, "was awarded": it is no verb of who awards."""
_ACT: Final = re.compile(r"\w+(?:ion|ment|ance|ence|ship)s?")
"""A word for what is done: "supervision"."""
_DOER: Final = re.compile(
    r"(?!(?:after|over|under)$|(?:suff|off|cov|deliv|ent|ord|ref|transf|consid|administ)ers?$)"
    r"\w{2,}(?:er|or)s?"
)
"""A word for who does something: "supervisors"."""
_FORM: Final = re.compile(r"[<>+]? of$|[<>+]$")
"""What a form has behind its stem."""
Content = Callable[[str], list[str]]
"""The stems of the words of a text that matter."""


def stem_of(form: str) -> str:
    """The stem in a form."""
    return _FORM.sub("", form)


def is_doer(word: str) -> bool:
    """Whether a word names who does something: a "vendor"."""
    return _DOER.fullmatch(word) is not None


def kind_words(kind: str, content: Content) -> set[str]:
    """The forms of a name of a kind of thing, in any place."""
    return {
        form
        for word, stem in _pairs(kind, content)
        for form in (_noun(word, stem), *(stem + mark for mark in ("", "<", ">")))
    }


def phrase_words(phrase: str, content: Content) -> tuple[set[str], set[str]]:
    """The forms of the words of a phrase that say its hop, and its reverse.

    What a phrase is for stands before the topic: "founders of X", "organizations founded by X".
    """
    own, other = set[str](), set[str]()
    role = _WITH_THE.search(phrase)
    head = phrase[: role.start()] if role else phrase
    *before, last = head.split() or [""]
    if role:
        _name(role[1], other, own, content)
        own |= {stem + ">" for stem in content(role[1])}
    elif last != "of" and before:
        is_joined = _PREPOSITION.fullmatch(last) and len(before) > 1  # not "works by"
        verb = f"{before[-1]} {last}" if is_joined else last
        _verb(verb, own, other, content)
        head = head.removesuffix(verb)
    _name(head, own, other, content)
    return own, other


def said_words(
    described: Mapping[str, OntologyProperty],
    packaged: Mapping[str, OntologyProperty],
    content: Content,
    kinds: Mapping[str, str],
) -> dict[str, set[str]]:
    """Hop -> the forms of the words of labels and phrases that say it.

    A hop leads to the object of its property (+ and its IRI), or to the subject (-). `kinds` are
    what stands at the ends of properties, in a word: behind a verb ("uses technology").
    """
    inverses: defaultdict[str, list[OntologyProperty]] = defaultdict(list)
    for own in {own.iri: own for own in (*packaged.values(), *described.values())}.values():
        if own.inverse:
            inverses[own.inverse].append(own)
            inverses[own.iri] += filter(None, [packaged.get(own.inverse)])
    said: dict[str, set[str]] = {}
    for iri, own in described.items():
        to_object, to_subject = set[str](), set[str]()
        for phrases, first, second in (
            (own.phrases, to_subject, to_object),
            (own.inverse_phrases, to_object, to_subject),
        ):
            for phrase in phrases:
                _say_phrase(phrase, first, second, content)
        unclear = to_object & to_subject  # "was employed at" and "employed"
        to_object -= unclear
        to_subject -= unclear
        for named, first, second in (
            (own, to_subject, to_object),
            *((inverse, to_object, to_subject) for inverse in inverses[own.iri]),
        ):
            for label in (named.label, *named.alternatives):
                verb = verb_before_kind(label, kinds.get(f"-{named.iri}", ""))
                second |= {_noun(*pair) for pair in _pairs(label.removeprefix(verb), content)}
                _say_label(verb, first, second, content)
        if _DATED.search(own.label):  # "when did X die", of the date of death
            to_object |= {stem + ">" for _, stem in _pairs(_DATED.sub("", own.label), content)}
        either = to_object | to_subject if own.is_symmetric else set[str]()
        said["+" + iri], said["-" + iri] = to_object | either, to_subject | either
    return said


def verb_before_kind(label: str, kind: str) -> str:
    """The verb of a label that says what it leads to behind it; else the label.

    >>> verb_before_kind("uses technology", "technology"), verb_before_kind("has part", "ship")
    ('uses', 'has part')
    """
    verb, _, noun = label.partition(" ")
    return verb if noun.lower() == kind.lower() and _VERB_OR_NAME.fullmatch(verb) else label


def _say_label(label: str, first: set[str], second: set[str], content: Content) -> None:
    """Add the words of a label between two ends to those of the hops that lead there."""
    if _ROLE.search(label):
        _name(label, first, second, content)
        if BELONGS.fullmatch(label):
            _verb("belongs", first, second, content)
    elif _VERB.fullmatch(label):
        _verb(label, first, second, content)
    elif _VERB_OR_NAME.fullmatch(label):
        second |= {_noun(word, stem) for word, stem in _pairs(label, content)}
        _verb(label, first, second, content)
    else:
        _name(label, second, first, content)
        if (done := _DONE_TO.fullmatch(label)) and not _DATED.search(label):
            _verb(done[1], first, second, content)


def _say_phrase(phrase: str, first: set[str], second: set[str], content: Content) -> None:
    if _OF_FIRST.match(phrase):
        noun, *participle = _PARTICIPLE.split(phrase)
        _name(noun, first, second, content)
        _verb("".join(participle), first, second, content)
    elif _OF_SECOND.match(phrase):
        _name(phrase, second, first, content)
    elif not _PASSIVE.fullmatch(phrase):
        _verb(phrase, first, second, content)


def _name(text: str, own: set[str], other: set[str], content: Content) -> None:
    """Who asks "who directs X" asks for its director, and "what does X direct" for the other."""
    for word, stem in _pairs(text, content):
        noun, verb = _noun(word, stem), _verb_of(word, stem)
        own.add(noun)
        other.add(f"{noun} of")
        if not _ACT.fullmatch(word):
            own.add(verb + "<")
        if _DOER.fullmatch(word):
            other.add(verb + ">")


def _verb(text: str, first: set[str], second: set[str], content: Content) -> None:
    """Whoever "receives a doctorate under the supervision of" somebody does not supervise."""
    subject, object_ = (second, first) if text.endswith(" by") else (first, second)
    for word, stem in _pairs(text, content):
        if not _ACT.fullmatch(word):
            subject.add(stem + "<")
            object_.add(stem + ">")


def _pairs(text: str, content: Content) -> Iterator[tuple[str, str]]:
    """The words of a text that matter, with their stems; "found" there is that of "to find"."""
    for word in _WORD.findall(text.casefold()):
        if word != "found":
            yield from ((word, stem) for stem in content(word))


def _noun(word: str, stem: str) -> str:
    return stem + "+" if _DOER.fullmatch(word) or _ACT.fullmatch(word) else stem


def _verb_of(word: str, stem: str) -> str:
    """The stem of what someone does: "teach" of "teacher"."""
    return DOER.sub("", stem) if _DOER.fullmatch(word) else stem


class AskedWord(NamedTuple):
    """A word of a question, its distance from the topic in words, negative before it, and forms.

    One that is not needed may say what the topic is: "the director X".
    """

    place: int
    stem: str
    forms: tuple[str, ...]
    is_needed: bool = True


@dataclass(frozen=True, slots=True)
class Asking:
    """A question about a topic: the text around its name, and what stands for it.

    `kind` is the kind of thing that the topic is, in a word, or nothing; with `is_owner` its name
    has an "'s". A question that does not name its topic is all `before` it.
    """

    before: str
    topic: str = ""
    after: str = ""
    kind: str = ""
    is_owner: bool = False

    @property
    def question(self) -> str:
        """The question with what stands for the topic in place of its name."""
        return f"{self.before}{self.topic}{self.after}"

    @property
    def is_turned(self) -> bool:
        """Whether it asks of what the topic is something: "whose father is X"."""
        return self.before.lower().split()[:1] == ["whose"]

    @property
    def is_done(self) -> bool:
        """Whether it asks what the topic did something to: "what did X found", "… founded by X"."""
        return _DOES.match(self.before) is not None

    def words(self, content: Content) -> Iterator[AskedWord]:
        """The words that matter, which are those with a stem by `content`."""
        left, right = (list(_spoken(t, content)) for t in (self.before, self.after))
        last = [*_WORD.findall(self.before.casefold()), ""][-2:-1]
        is_next = bool(content(" ".join(last)))
        kinds = self.kind.casefold().split()
        if left and left[-1].word.removesuffix("s") in kinds:  # "the director of film X"
            left.pop()
            is_next = False
        for place, spoken in enumerate(left, start=-len(left)):
            forms, is_of_topic = spoken.forms(is_before=True), False
            if not self.topic:
                forms = (*forms, *spoken.forms(is_before=False))
            elif is_next and place == -1:
                is_of_topic = _APPOSITION.search(self.before) is not None
                if not is_of_topic:  # "who follows X"
                    forms = forms[1:]
            yield AskedWord(place, spoken.stem, forms, not is_of_topic)
        begins = self.before.lower().split()[:1], self.after.lower().split()[:1]
        is_role = begins[0] == ["of"] or begins[1] == ["as"]  # "which firms have X as director"
        by_whom = self.before.lower().split()[:1] == ["by"]
        is_verb = self.before.lower().split()[-1:] in (["do"], ["does"], ["did"])
        # "the managing director" of "what is X the managing director of"
        _, article, role = self.after.lower().rpartition(" the ")
        last_words = max(1, len(list(_spoken(role, content)))) if article else 1
        for place, spoken in enumerate(right, start=1):
            forms = spoken.forms(is_before=by_whom)
            if is_role or (self._is_of and place > len(right) - last_words):
                forms = spoken.turned
            elif self.is_owner and place < max(2, len(right)):  # "X's father", "X's teacher born"
                forms = forms[:1]
            elif is_verb and place == 1 and len(forms) == 2:  # "who did X father"
                forms = forms[1:]
            yield AskedWord(place, spoken.stem, forms)

    @property
    def _is_of(self) -> bool:
        """Whether its last word says what the topic is.

        As in "what is X part of", "what was X an actor in", and not in "what did X die of".
        """
        first, *others = [*self.before.lower().split(), ""]
        is_of = first == "of" or _ENDS_AS.search(self.after.rstrip(" ?")) is not None
        return is_of and {"do", "does", "did"}.isdisjoint(others)


class _Spoken(NamedTuple):
    """A word of a question, its stem, and whether "by" follows."""

    word: str
    stem: str
    is_passive: bool

    def forms(self, *, is_before: bool) -> tuple[str, ...]:
        """As a name, and as a verb before the topic or after it; X's teacher is who teaches X."""
        if _PREPOSITION.fullmatch(self.word):  # "after whom was X named"
            return self.stem, f"{self.stem}<", f"{self.stem}>"
        noun = _noun(self.word, self.stem)
        is_object = is_before != self.is_passive or _DOER.fullmatch(self.word) is not None
        return noun, _verb_of(self.word, self.stem) + ("<" if is_object else ">")

    @property
    def turned(self) -> tuple[str, ...]:
        """As a name of the topic: "what is X the teacher of", "what is X made of"."""
        return f"{_noun(self.word, self.stem)} of", _verb_of(self.word, self.stem) + ">"


def _spoken(text: str, content: Content) -> Iterator[_Spoken]:
    for word, following in pairwise([*_WORD.findall(text.casefold()), ""]):
        for stem in content(word):
            yield _Spoken(word, stem, following == "by")
