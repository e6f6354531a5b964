"""Where sentences begin and end: by punctuation, with an eye to initials and abbreviations."""

from __future__ import annotations

import re

_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s)"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\u2019\uff09]*"
    r"|\n\s*\n"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"'\u201c])(?:[A-Z]|[A-Z]\.(?:\s?[A-Z]\.)*[A-Z]?|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Lt|Sgt|"
    r"Capt|Rev|Hon|Sen|Rep|Gov|Mt|Ft|No|Nos|Vol|vs|etc|e\.g|i\.e|cf|al|ca|c|approx|est|b|d|r|fl|"
    r"Inc|Ltd|Co|Corp|Bros|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|pp?|ed|eds|trans|lit|"
    r"Ph\.D|U\.S|a\.m|p\.m)\.$"
)
_LOOK = 24
"""How far back an abbreviation is looked for."""
_START = re.compile(r"\s*[\"'\u201c\u2018(\[]*[^\W\d_a-z]|\s*[\"'\u201c\u2018(\[]*\d|\s*$")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(begin, end) of each sentence in code points, ascending, without the space between them.

    Together they hold every character that is not white space.

    >>> text = "J. R. Smith met Dr. Lee. They left in 1999. Why?"
    >>> [text[begin:end] for begin, end in sentence_spans(text)]
    ['J. R. Smith met Dr. Lee.', 'They left in 1999.', 'Why?']
    """
    spans = []
    begin = 0
    for match in _END.finditer(text):
        place, end = match.span()
        mark = text[place]
        if match[0] == "." and _ABBREVIATED.search(text, max(begin, place - _LOOK), end):
            continue
        if mark in ".!?\u2026" and not _START.match(text, end):
            continue
        spans.append((begin, end))
        begin = end
    spans.append((begin, len(text)))
    trimmed = (
        (b + len(text[b:e]) - len(text[b:e].lstrip()), b + len(text[b:e].rstrip()))
        for b, e in spans
    )
    return [(b, e) for b, e in trimmed if b < e]
