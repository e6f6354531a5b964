"""What an English question asks for; any other text asks for something else."""

from __future__ import annotations

import re
from typing import Literal

Asked = Literal["time", "number", "other"]

_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b"
    r"|\b(?:date|year) (?:of|when)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|far|large|tall|big|high|deep)\b|\bwhat (?:percent|number|pop)",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"\b(?:who|whom|whose|what|which|where|when|why|how|is|are|was|were|do|does|did|has|have|had)\b",
    re.IGNORECASE,
)


def asked_for(question: str) -> Asked:
    """Whether a question asks for a time, a number or something else.

    >>> asked_for("In which year did it open?"), asked_for("How long is it?"), asked_for("Who?")
    ('time', 'number', 'other')
    """
    return "time" if _TIME.search(question) else "number" if _NUMBER.search(question) else "other"


def is_question(text: str) -> bool:
    """Whether a text has a word that begins a question.

    >>> is_question("Near which town was it?"), is_question("Speakers include #1?")
    (True, False)
    """
    return _WORD.search(text) is not None
