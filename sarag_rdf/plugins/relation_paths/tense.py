"""The tense of English questions and statements: what is asked for now, and what is over."""

from __future__ import annotations

import re
from typing import Final

_NOW: Final = re.compile(
    r"\b(?:is|are|does|do|now|currently|today)\b|\bwho['\u2019]s\b"
    r"|^\W*(?:who|which \w+) (?!has\b|was\b)\w+s\b",
    re.IGNORECASE,
)
"""Who asks in the present tense asks for what has not ended: "is", and not "is known to have"."""
_PAST: Final = re.compile(r"\b(?:was|were|did|had|have(?! +as\b)|been)\b", re.IGNORECASE)
_PLURAL: Final = re.compile(r"\s*(?:which|what|how many)\b", re.IGNORECASE)
_PAST_FORM: Final = re.compile(
    r"\b(?:\w+ed|became|began|bought|bore|brought|built|came|chose|drew|fell|flew|fought|found|gave|"
    r"got|grew|held|kept|knew|laid|led|left|lost|made|met|paid|ran|rose|said|sang|sat|saw|sent|sold|"
    r"spoke|stood|taught|took|told|went|won|wore|wrote)\b",
    re.IGNORECASE,
)
"""A past tense, without which a question for several is in the present: "which firms operate"."""
_DOES: Final = re.compile(
    r"\b(?:do|does)\b|^\W*(?:who|which \w+) (?!has\b|is\b)\w+s\b", re.IGNORECASE
)
_NAME: Final = re.compile(r"\b[A-Z]\w*")
_PAST_STATE: Final = re.compile(
    r"\b(?:worked|lived|served|resided|stayed|studied|played|was|were) (?:for|at|in|with|under)\b"
    r"|\b(?:employed|led|headed|managed|owned|operated|used|housed|hosted|chaired|ruled|governed|"
    r"based|headquartered|kept|stored|displayed)\b"
)
_ROLE: Final = re.compile(r"\b(?:was|were) (?:the |an? )?((?:[\w-]+ ){0,2}[\w-]+) (?:of|at|for)\b")
"""What somebody was of something: an office or a place, which may have ended."""
_LASTING_NOUN: Final = re.compile(
    r"\b(?:author|founder|maker|inventor|discoverer|creator|composer|designer|architect|builder|painter|"
    r"sculptor|writer|translator|father|mother|son|daughter|brother|sister|parent|child|cousin|"
    r"uncle|aunt|nephew|niece|grand\w+|pupil|student|teacher|native|descendant|work|name)s?\b"
)
"""Words for what somebody remains."""
_PARTICIPLE: Final = re.compile(
    r"\b(?:\w+ed|born|made|built|held|kept|known|written|drawn|given|taken|found)\b"
)
_ACT: Final = re.compile(
    r"\b(?:founded|established|created|built|made|constructed|designed|wrote|written|composed|"
    r"painted|drew|drawn|invented|discovered|named|born|died|buried|published|released|produced|"
    r"recorded|directed|translated|edited|introduced|won|awarded|received|taught|supervised|"
    r"studied|killed|signed|adopted|opened|launched|completed|restored|repaired|appeared|starred|"
    r"acted|married)\b"
)
"""What is done once: whoever did it remains who did."""
_PRESENT: Final = re.compile(r"\b(?:is|are|has|have)\b")
"""In a statement that holds, or has held since: "is based in", "has worked for"."""


def is_present_tense(question: str) -> bool:
    """Whether a question, without names, asks for what has not ended."""
    if _PAST.search(question):
        return False
    is_plural = _PLURAL.match(question) and not _PAST_FORM.search(question)
    return bool(_NOW.search(question) or is_plural)


def asks_what_goes_on(question: str) -> bool:
    """Whether a question, without names, asks with a verb for what somebody does at present."""
    return bool(_DOES.search(question)) and not _PAST.search(question)


def is_past_tense(statement: str) -> bool:
    """Whether a statement says what was done, and not what has been done since.

    >>> is_past_tense("Fred worked for Orle"), is_past_tense("Fred has worked for Orle since 2010")
    (True, False)
    """
    said = _NAME.sub("", statement)
    return bool(_PAST.search(said) or _PAST_FORM.search(said)) and not _PRESENT.search(said)


def is_past_state(statement: str) -> bool:
    """Whether a statement says in the past tense what may have ended: "worked", not "wrote".

    >>> is_past_state("Ada was director of Thule"), is_past_state("Ada was the founder of Thule")
    (True, False)
    """
    said = _NAME.sub("", statement)
    role = _ROLE.search(said)
    is_role = role is not None and not (
        _LASTING_NOUN.search(role[1]) or _PARTICIPLE.search(role[1])
    )
    return (is_role or bool(_PAST_STATE.search(said))) and not _PRESENT.search(said)


def remains_so(statement: str) -> bool:
    """Whether a statement in the past tense says what remains so: "wrote", "was the author of"."""
    said = _NAME.sub("", statement)
    return bool(_ACT.search(said) or _LASTING_NOUN.search(said))
