"""In which words questions say hops: as names of what they lead to, or as verbs with a direction.

A word has one of four forms, with which the words of questions and of properties are compared:

- ``teacher``: a name of what is asked for, wherever it stands;
- ``teach<``: a verb of which the topic is the object: "who teaches X", "by whom is X taught";
- ``teach>``: one of which it is the subject: "whom does X teach", "who is taught by X";
- ``teacher of``: a name of the topic: "what is X the teacher of".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from sarag_rdf.base.sentences import STOP_WORDS
from sarag_rdf.base.words import stems_of
from sarag_rdf.graph.ontology.schema import OntologyProperty

_WORD: Final = re.compile(r"\w+")
_OF_FIRST: Final = re.compile(r"(?:is|was|are|were) (?:the|an?|one of the) ")
"""Begins a phrase whose noun names what stands before it: "is the son of", not "was born in"."""
_OF_SECOND: Final = re.compile(r"(?:has|had|have) ")
_ROLE: Final = re.compile(r"\b(?!\w+ed |made |built |born |consists? )\w+ of$")
"""Ends a label that names the subject of its property: "capital of", but not "made of"."""
_VERB: Final = re.compile(
    r"\w+ed|.* (?:of|by|in|at|on|to|from|with|for|about|through|into|over|under|near|after|as)"
)
"""A label that is a verb: "influenced", "located in", but not "date published"."""
_VERB_OR_NAME: Final = re.compile(r"\w+[^\Ws]s")
"""A label that may be either: "follows", "awards"."""

_APPOSITION: Final = re.compile(r"\bthe \w+\s*$", re.IGNORECASE)
"""Ends the text before a name that is told what it is of."""


def in_any_place(stems: Iterable[str]) -> set[str]:
    """All forms but the last, for words of phrases that are meant for one direction."""
    return {stem + mark for stem in stems for mark in ("", "<", ">")}


def turned(stems: Iterable[str]) -> set[str]:
    """The last form, for words that name the other end."""
    return {f"{stem} of" for stem in stems}


def stem_of(form: str) -> str:
    """The stem in a form."""
    return form.rstrip("<>").removesuffix(" of")


def said_words(
    described: Mapping[str, OntologyProperty], packaged: Mapping[str, OntologyProperty]
) -> dict[str, set[str]]:
    """Hop -> the forms of the words of labels and phrases that say it.

    A hop leads to the object of its property (+ and its IRI), or to the subject (-).
    """
    inverses: defaultdict[str, list[OntologyProperty]] = defaultdict(list)
    for own in {own.iri: own for own in (*packaged.values(), *described.values())}.values():
        if own.inverse:
            inverses[own.inverse].append(own)
            inverses[own.iri] += filter(None, [packaged.get(own.inverse)])
    said: dict[str, set[str]] = {}
    for iri, own in described.items():
        to_object, to_subject = set[str](), set[str]()
        for named, first, second in (
            (own, to_subject, to_object),
            *((inverse, to_object, to_subject) for inverse in inverses[own.iri]),
        ):
            for label in (named.label, *named.alternatives):
                _say_label(label, first, second)
        for phrases, first, second in (
            (own.phrases, to_subject, to_object),
            (own.inverse_phrases, to_object, to_subject),
        ):
            for phrase in phrases:
                _say_phrase(phrase, first, second)
        either = to_object | to_subject if own.is_symmetric else set[str]()
        said["+" + iri], said["-" + iri] = to_object | either, to_subject | either
    return said


def _say_label(label: str, first: set[str], second: set[str]) -> None:
    """Add the words of a label between two ends to those of the hops that lead there."""
    if _ROLE.search(label):
        _name(label, first, second)
    elif _VERB.fullmatch(label):
        _verb(label, first, second)
    elif _VERB_OR_NAME.fullmatch(label):
        second |= _stems(label)
        _verb(label, first, second)
    else:
        _name(label, second, first)


def _say_phrase(phrase: str, first: set[str], second: set[str]) -> None:
    if _OF_FIRST.match(phrase):
        _name(phrase, first, second)
    elif _OF_SECOND.match(phrase):
        _name(phrase, second, first)
    else:
        _verb(phrase, first, second)


def _name(text: str, own: set[str], other: set[str]) -> None:
    """Who asks "who directs X" asks for its director."""
    stems = _stems(text)
    own |= stems | {stem + "<" for stem in stems}
    other |= turned(stems)


def _verb(text: str, first: set[str], second: set[str]) -> None:
    subject, object_ = (second, first) if text.endswith(" by") else (first, second)
    stems = _stems(text, STOP_WORDS)
    subject |= {stem + "<" for stem in stems}
    object_ |= {stem + ">" for stem in stems}


def _stems(text: str, stop: Container[str] = ()) -> set[str]:
    return set(stems_of(text, "en", stop))


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

    def words(self, content: Callable[[str], list[str]]) -> Iterator[AskedWord]:
        """The words that matter, which are those with a stem by `content`."""
        of_topic = {*content(self.kind)}
        left, right = (list(_spoken(t, content)) for t in (self.before, self.after))
        last = [*_WORD.findall(self.before.casefold()), ""][-2:-1]
        is_next = bool(content(" ".join(last)))
        if left and left[-1][0] in of_topic:  # "the director of film X"
            left.pop()
            is_next = False
        for place, (stem, is_passive) in enumerate(left, start=-len(left)):
            forms: tuple[str, ...] = (stem, stem + (">" if is_passive else "<"))
            is_of_topic = False
            if not self.topic:
                forms = tuple(in_any_place([stem]))
            elif is_next and place == -1:
                is_of_topic = _APPOSITION.search(self.before) is not None
                if not is_of_topic:  # "who follows X"
                    forms = forms[1:]
            yield AskedWord(place, stem, forms, not is_of_topic)
        by_whom = self.before.lower().split()[:1] == ["by"]
        for place, (stem, is_passive) in enumerate(right, start=1):
            forms = (stem, stem + ("<" if is_passive or by_whom else ">"))
            if place == len(right) and self._is_of:
                forms = (*turned([stem]), stem + ">")
            elif self.is_owner and place < max(2, len(right)):  # "X's father", "X's teacher born"
                forms = (stem,)
            yield AskedWord(place, stem, forms)

    @property
    def _is_of(self) -> bool:
        """Whether its last word says what the topic is: "what is X part of", not "did X die of"."""
        first, *others = [*self.before.lower().split(), ""]
        is_of = first == "of" or self.after.rstrip(" ?").endswith(" of")
        return is_of and {"do", "does", "did"}.isdisjoint(others)


def _spoken(text: str, content: Callable[[str], list[str]]) -> Iterator[tuple[str, bool]]:
    """The stems of the words of a text, and whether "by" follows them."""
    for word, following in pairwise([*_WORD.findall(text.casefold()), ""]):
        for stem in content(word):
            yield stem, following == "by"
