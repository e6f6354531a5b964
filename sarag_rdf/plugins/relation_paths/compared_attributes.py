"""What comparatives and superlatives of English compare, and the questions for it.

In a question ``#`` stands for the thing. Of several attributes that a word may mean, each is asked
for, and all that are known of both things have to decide alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from sarag_rdf.answering.comparison import Comparison

_BEGINNINGS: Final = (
    "when was # born",
    "when was # founded",
    "when was # built",
    "when was # made",
    "when was # opened",
    "when was # released",
)
_DIMENSIONS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("longer longest", "shorter shortest", ("length", "duration")),
    ("taller tallest", "shorter shortest", ("height",)),
    ("higher highest", "lower lowest", ("height", "elevation")),
    ("larger largest bigger biggest", "smaller smallest", ("area", "population", "size")),
    ("heavier heaviest", "lighter lightest", ("weight", "mass")),
    ("deeper deepest", "shallower shallowest", ("depth",)),
    ("wider widest broader broadest", "narrower narrowest", ("width",)),
    ("faster fastest", "slower slowest", ("speed",)),
    ("expensive", "cheaper cheapest", ("price", "cost")),
    ("populous", "", ("population",)),
)
"""Words for the greater of two, those for the smaller, and what they compare."""
_AGES: Final[Mapping[str, tuple[Comparison, tuple[str, ...]]]] = {
    **dict.fromkeys(("older", "oldest"), ("earliest", _BEGINNINGS)),
    **dict.fromkeys(("younger", "youngest"), ("latest", _BEGINNINGS[:1])),
    **dict.fromkeys(("newer", "newest"), ("latest", _BEGINNINGS[1:])),
}
_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "die": ("when did # die", "what is the date of death of #"),
    "born": ("when was # born", "what is the date of birth of #"),
    **dict.fromkeys(
        ("released", "published", "come out", "came out"),
        ("when was # released", "when was # published", "what is the release date of #"),
    ),
}
"""What happens to things, and the questions for its time, unless it is asked as it is said."""
_FIRST: Final = r"first|earlier|earliest|sooner|before"
_LAST: Final = r"(?:more |most )?recently|last|later|latest|after"
_OTHER: Final = r"(?: than the other(?: one)?| of the two| one)?"
_BE: Final = r"(?:(?:is|are|was|were|has been|had been|did|does|do) )?"
_TIMED: Final = (
    re.compile(
        rf"{_BE}(?P<event>[a-z]+(?: (?:out|up|down|off))?) (?P<order>{_FIRST}|{_LAST}){_OTHER}"
    ),
    re.compile(rf"{_BE}(?P<order>{_FIRST}|{_LAST}) (?P<event>[a-z]+(?: (?:out|up|down|off))?)"),
)
_NO_EVENT: Final = re.compile(r"(?:is|are|was|were|has|had|live|lived|come|came)\b(?! out)")
_IS: Final = re.compile(
    rf"(?:is|are|was|were) (?:the )?(?P<sign>more |less |most |least )?(?P<word>[a-z]+){_OTHER}"
)
_HAS: Final = (
    r"(?:(?:has|have|had|do(?:es)? have|did have) (?:the |an? )?)(?P<word>[a-z]+) "
    r"(?P<noun>[a-z]+(?: [a-z]+)?)"
)
_HAVING: Final = re.compile(f"{_HAS}{_OTHER}")
_COUNTS: Final[Mapping[str, Comparison]] = {
    **dict.fromkeys(("more", "most"), "largest"),
    **dict.fromkeys(("fewer", "fewest", "less", "least"), "smallest"),
}
_DEGREES: Final[Mapping[str, Comparison]] = {
    **dict.fromkeys(("larger", "largest", "higher", "highest", "greater", "greatest"), "largest"),
    **dict.fromkeys(("longer", "longest", "bigger", "biggest"), "largest"),
    **dict.fromkeys(("smaller", "smallest", "lower", "lowest", "shorter"), "smallest"),
}
"""As in "has the larger population"."""


class Criterion(NamedTuple):
    """Which of several values decides, and the questions for it, about ``#``."""

    kind: Comparison
    questions: tuple[str, ...]


def criterion(predicate: str) -> Criterion | None:
    """What a predicate in small letters compares things by; None if it does not compare.

    >>> criterion("was born first")
    Criterion(kind='earliest', questions=('when was # born', 'what is the date of birth of #'))
    >>> criterion("is longer than the other")
    Criterion(kind='largest', questions=('what is the length of #', 'what is the duration of #'))
    >>> criterion("has the fewest seats")
    Criterion(kind='smallest', questions=('what is the number of seats of #',))
    >>> criterion("lived longer")
    """
    if match := _HAVING.fullmatch(predicate):
        return _amount(match["word"], match["noun"])
    for form in _TIMED:
        match = form.fullmatch(predicate)
        if match and not _NO_EVENT.match(match["event"]):
            is_first = re.fullmatch(_FIRST, match["order"]) is not None
            return Criterion("earliest" if is_first else "latest", _times(match["event"]))
    match = _IS.fullmatch(predicate)
    return _degree(match["word"], match["sign"] or "") if match else None


def measured_by(word: str) -> tuple[str, ...]:
    """What "how" asks for with an adjective, or with a verb; none if that is not known.

    >>> measured_by("heavy"), measured_by("weigh"), measured_by("wide")
    (('weight', 'mass'), ('weight', 'mass'), ('width',))
    """
    comparative = {"weigh": "heavier", "cost": "cheaper", "big": "bigger"}.get(word)
    comparative = comparative or re.sub(r"y$", "i", word).removesuffix("e") + "er"
    return tuple(
        noun
        for more, less, nouns in _DIMENSIONS
        if comparative in (*more.split(), *less.split())
        for noun in nouns
    )


def _amount(word: str, noun: str) -> Criterion | None:
    if word in _COUNTS:
        return Criterion(_COUNTS[word], (f"what is the number of {noun} of #",))
    if word in _DEGREES:
        return Criterion(_DEGREES[word], (f"what is the {noun} of #",))
    return None


def _times(event: str) -> tuple[str, ...]:
    infinitive = {"died": "die", "dies": "die"}.get(event, event)
    return _EVENTS.get(infinitive, (f"when was # {event}",))


def _degree(word: str, sign: str) -> Criterion | None:
    """What an adjective compares; "less" turns it round."""
    if word in _AGES and not sign:
        return Criterion(*_AGES[word])
    greater = [noun for more, _, nouns in _DIMENSIONS if word in more.split() for noun in nouns]
    less = [noun for _, less, nouns in _DIMENSIONS if word in less.split() for noun in nouns]
    if not (greater or less) or bool(sign) != (word in ("expensive", "populous")):
        return None
    is_greater = bool(greater) and sign not in ("less ", "least ")
    questions = (f"what is the {noun} of #" for noun in greater or less)
    return Criterion("largest" if is_greater else "smallest", tuple(questions))
