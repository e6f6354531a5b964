"""The text of pictures: measured without a font, and wrapped."""

from __future__ import annotations

import unicodedata

from sarag_rdf.base.sentences import printable_line

_NARROW = frozenset("iIjl.,:;'|!() ftr[]-/")
_WIDE = frozenset("mwMW@%")


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in a wide sans-serif font: a little too much on purpose."""
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.0
    if character in _NARROW:
        return 0.37
    if character in _WIDE:
        return 0.95
    return 0.74 if character.isupper() else 0.61


def in_one_line(text: str, width: float, size: float) -> str:
    """A printable text in one line, cut with an ellipsis where it is wider."""
    line = printable_line(text)
    return line if text_width(line, size) <= width else _cut(line, width, size)


def wrap(text: str, width: float, size: float, max_lines: int) -> tuple[str, ...]:
    """Break a text into at most `max_lines` lines of like length; cut the rest with an ellipsis."""
    lines = _fill(text, width, size)
    if len(lines) > max_lines:
        return (*lines[: max_lines - 1], _cut(lines[max_lines - 1], width, size))
    longest = max((text_width(word, size) for word in text.split()), default=0.0)
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        balanced = _fill(text, width * share, size)
        if len(balanced) == len(lines) and longest <= width * share:
            return tuple(balanced)
    return tuple(lines)


def _cut(line: str, width: float, size: float) -> str:
    while line and text_width(line + "…", size) > width:
        line = line[:-1]
    return line.rstrip() + "…"


def _fill(text: str, width: float, size: float) -> list[str]:
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if text_width(joined, size) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for character in word:  # a word wider than a line, or a script without spaces
            mark = unicodedata.category(character).startswith("M")
            if lines[-1] and not mark and text_width(lines[-1] + character, size) > width:
                lines.append("")
            lines[-1] += character
    return lines
