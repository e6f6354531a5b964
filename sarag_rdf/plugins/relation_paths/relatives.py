"""Relatives of relatives in questions, in the words for the two steps."""

from __future__ import annotations

import re
from typing import Final

from sarag_rdf.base.questions import RELATIVES

_KIN: Final = "|".join(map(re.escape, RELATIVES))
_NAMED_KIN: Final = re.compile(rf"(['’]s? )?(?<![\w-])({_KIN})(?![\w-])")


def spelled_out(question: str) -> str:
    """The question with relatives of relatives in the words for the two steps.

    >>> spelled_out("When did Ada's mother-in-law die?")
    "When did Ada's spouse's mother die?"
    >>> spelled_out("Who is the stepmother of Ada?"), spelled_out("Who wrote The Stepmother?")
    ('Who is the spouse of the father of Ada?', 'Who wrote The Stepmother?')
    """

    def steps(match: re.Match[str]) -> str:
        (first, second), owner = RELATIVES[match[2]], match[1]
        return f"{owner}{first}'s {second}" if owner else f"{second} of the {first}"

    return _NAMED_KIN.sub(steps, question)
