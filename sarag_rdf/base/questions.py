"""What an English question asks for; any other text asks for something else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Asked = Literal["time", "number", "place", "person", "other"]

_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b"
    r"|\b(?:date|year) (?:of|when)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|far|large|tall|big|high|deep)\b|\bwhat (?:percent|number|pop)",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:city|town|village|county|state|country|place)\b"
    r"|\bplace of\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_TRUTH = re.compile(
    r"\s*(?!\w+ you (?:name|tell|list|give|say)\b)"
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:who|whom|whose|what|which|where|when|why|how)\b", re.IGNORECASE)
_KINDS: Mapping[Asked, re.Pattern[str]] = {
    "time": _TIME,
    "number": _NUMBER,
    "place": _PLACE,
    "person": _PERSON,
}

RELATIVES: Mapping[str, tuple[str, str]] = {
    "paternal grandfather": ("father", "father"),
    "paternal grandmother": ("father", "mother"),
    "maternal grandfather": ("mother", "father"),
    "maternal grandmother": ("mother", "mother"),
    "father-in-law": ("spouse", "father"),
    "mother-in-law": ("spouse", "mother"),
    "child-in-law": ("child", "spouse"),
    "son-in-law": ("daughter", "spouse"),
    "daughter-in-law": ("son", "spouse"),
    "stepfather": ("mother", "spouse"),
    "stepmother": ("father", "spouse"),
    "grandchild": ("child", "child"),
    "grandson": ("child", "son"),
    "granddaughter": ("child", "daughter"),
    "nephew": ("sibling", "son"),
    "niece": ("sibling", "daughter"),
}
"""Relatives of relatives: the first one, and what the one asked for is of that one."""
_KIN = "|".join(map(re.escape, RELATIVES))
_ASKS_KIN = re.compile(
    rf"(who (?:is|was)) (?:(?:the )?({_KIN}) of (.+?)|(.+?)['’]s? ({_KIN}))\s*\?*", re.IGNORECASE
)


def relatives(question: str) -> list[str]:
    """The parts of a question for a relative of a relative, ``#1`` being the answer to the first.

    >>> relatives("Who was Ada's paternal grandmother?")
    ['Who was the father of Ada?', 'Who was the mother of #1?']
    >>> relatives("Who is the son-in-law of Ada?")
    ['Who is the daughter of Ada?', 'Who is the spouse of #1?']
    >>> relatives("Who was the grandmother of Ada?")
    []
    """
    if not (match := _ASKS_KIN.fullmatch(question.strip())):
        return []
    asks, kin, name = match[1], (match[2] or match[5]).lower(), match[3] or match[4]
    first, second = RELATIVES[kin]
    return [f"{asks} the {first} of {name}?", f"{asks} the {second} of #1?"]


def asked_for(question: str) -> Asked:
    """What a question asks for, by the first of these that its words fit.

    >>> asked_for("In which year did it open?"), asked_for("How long is it?"), asked_for("Why?")
    ('time', 'number', 'other')
    """
    return next((kind for kind, words in _KINDS.items() if words.search(question)), "other")


def asks_alike(question: str, other: str) -> bool:
    """Whether two questions may ask for the same; a thing may be a place or a person.

    >>> asks_alike("What is its birthplace?", "Where was it born?")
    True
    >>> asks_alike("In which city is its seat?", "Who leads it?")
    False
    """
    kinds = {asked_for(question), asked_for(other)}
    return len(kinds) == 1 or kinds <= {"place", "other"} or kinds <= {"person", "other"}


def is_yes_or_no(question: str) -> bool:
    """Whether a question is answered by yes or no.

    >>> is_yes_or_no("Are both towns?"), is_yes_or_no("Are they from Ulm, and which is older?")
    (True, False)
    >>> is_yes_or_no("Can you name a pupil of Ada?")
    False
    """
    return bool(_TRUTH.match(question)) and not _ASKS.search(question)


def is_question(text: str) -> bool:
    """Whether a text asks something.

    >>> is_question("Near which town was it?"), is_question("Speakers include #1?")
    (True, False)
    """
    return bool(_ASKS.search(text) or _TRUTH.match(text))
