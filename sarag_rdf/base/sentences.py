"""Where the sentences of a text begin and end, without a model; its words, and what is printable.

The rules are English abbreviations, German dates, and Latin, CJK, Arabic and Devanagari marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""A character that XML 1.0 does not allow."""
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_GERMAN_MONTHS = (
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
)
_BLOCK = re.compile(
    r"[ \t>]*(?:#{1,6}[ \t]|[-*+\u2022][ \t]|\(?\d{1,3}[.)][ \t]|\||[=-]{3,}[ \t]*$)"
)
"""The start of a line that begins a block: a heading, an item, a row, the rule under a heading."""
_ENTRY = re.compile(r"[ \t>]*\W{0,2}[A-Z][\w /()-]{1,40}:\W{0,2}[ \t]\S")
_RULE = re.compile(r"[ \t>]*[=|:+-][=|:+ \t-]*")
_NUMBERED = re.compile(r"[\s>(]*\d{1,3}\.")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]")
_DAY = re.compile(rf"\s*\d{{1,2}}\.\s+(?:{_GERMAN_MONTHS})\b")
"""A line that begins with the day of a German date is no item."""
_END = re.compile(
    r"(?<![.!?\u2026\u061f\u06d4\u0964\u0965])[.!?\u2026\u061f\u06d4\u0964\u0965]+[\"'\u201d\u2019)\]]*(?=\s)"
    rf"(?!(?<=\d\.)(?<!\d{{3}}\.)\s+(?:{_GERMAN_MONTHS})\b)"
    r"|[\u3002\uff01\uff1f\uff61]+[\u300d\u300f\u201d\u2019\uff09]*"
)
_ABBREVIATION = re.compile(
    r"(?<![^\s(\[\"'\u201c\u2018])(?<!\w')(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|St|"
    r"Sr|Jr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|Mt|Ft|Ph\.D|Bros|Vol|pp|ed|eds|trans|lit|vs|"
    r"cf|al|etc|ca|approx|est|fl|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.$"
)
_NUMBER = re.compile(r"\bNos?\.$")
_COMPANY = re.compile(r"\b(?:Co|Corp|Inc|Ltd)\.$")
_LENGTH = 24
"""Characters before a full stop that are searched for an abbreviation."""
_OPENING = re.compile(r"\s*[\"'`\u201c\u2018\u00ab\u00bf\u00a1(\[]*")
_STARTER = re.compile(r"(?:The|An?|It|Its|He|His|She|Her|They|Their|This|These|In|On|At)\b")
STOP_WORDS = frozenset(
    "a an the of in on at to from by for with and or is are was were be been do does did has have "
    "had who whom whose what which when where why how that this these those it its as into about "
    "after before between during first last many much more most name named called country city "
    "state place person people where there their year".split()
)
"""Words of questions that match nothing, since they are too common."""


def blocks(text: str) -> list[list[tuple[int, str]]]:
    r"""The lines of each block of Markdown or plain text, with the offsets at which they begin.

    Blocks are headings, items of lists, rows of tables, the rules under headings, entries
    ("Key: value" after another one), paragraphs, and blank lines.

    >>> [[line for _, line in block] for block in blocks("# Pay\nIt is\nlow.\n- Bread")]
    [['# Pay'], ['It is', 'low.'], ['- Bread']]
    """
    found: list[list[tuple[int, str]]] = []
    offset = 0
    for line in text.split("\n"):
        first, last = (found[-1][0][1], found[-1][-1][1]) if found else ("", "")
        is_new = not first.strip() or not line.strip() or first.lstrip().startswith("#")
        is_entry = not is_new and _ENTRY.match(line) and _ENTRY.match(last)
        if is_new or is_entry or _BLOCK.match(line):
            found.append([])
        found[-1].append((offset, line))
        offset += len(line) + 1
    return found


def _starts_of_blocks(text: str) -> Iterator[int]:
    """Where blocks begin, rows of tables without outer bars among them, and what follows a rule."""
    for block in blocks(text):
        if not _DAY.match(block[0][1]):
            yield block[0][0]
        for (_, before), (begin, line) in pairwise(block):
            if "|" in before or "|" in line or _RULE.fullmatch(before):
                yield begin


def sentence_spans(text: str, *, headings: bool = True) -> list[tuple[int, int]]:
    """(begin, end) of each sentence in code points, ascending, without the space between them.

    Together they hold every character that is not white space, unless `headings` and rules are
    left out, which they are only from texts with sentences.

    The end of a block (`blocks`) and a CJK end mark always end a sentence. Any other mark ends one
    before white space, unless a lower-case letter or a mark of punctuation follows, opening
    quotation marks and brackets aside. A full stop after an initial, a common English abbreviation,
    the number of an item or the day of a German date ends none; after "No." it does unless a digit
    follows, and after "Inc." and the like if an article, pronoun or preposition follows.

    >>> text = "J. R. Smith met Dr. Lee. They left in 1999. Why?"
    >>> [text[begin:end] for begin, end in sentence_spans(text)]
    ['J. R. Smith met Dr. Lee.', 'They left in 1999.', 'Why?']
    """
    starts = [*_starts_of_blocks(text), len(text)]
    bounds, place = [0], 0
    for match in _END.finditer(text):
        while starts[place] <= match.start():
            bounds.append(starts[place])
            place += 1
        if match[0][0] in "\u3002\uff01\uff1f\uff61" or _ends_sentence(text, bounds[-1], match):
            bounds.append(match.end())
    bounds += starts[place:]
    spans = []
    for begin, end in pairwise(bounds):
        sentence = text[begin:end]
        begin += len(sentence) - len(sentence.lstrip())
        end = begin + len(sentence.strip())
        if begin < end:
            spans.append((begin, end))
    if headings:
        return spans
    said = [s for s in spans if not (_HEADING.match(text, *s) or _RULE.fullmatch(text, *s))]
    return said or spans


def _ends_sentence(text: str, begin: int, mark: re.Match[str]) -> bool:
    """Whether a mark before white space ends the sentence that starts at `begin`."""
    opening = _OPENING.match(text, mark.end())
    position = opening.end() if opening else mark.end()
    following = text[position : position + 1]
    if not following or following.islower() or following in ",;:.!?)]":
        return False
    if mark[0].rstrip("\"'\u201d\u2019)]") != ".":
        return True
    if _NUMBERED.fullmatch(text, begin, mark.end()):
        return False
    before = max(begin, mark.start() - _LENGTH), mark.start() + 1
    if _NUMBER.search(text, *before):
        return not following.isdigit()
    if _COMPANY.search(text, *before):
        return _STARTER.match(text, position) is not None
    return _ABBREVIATION.search(text, *before) is None


_WORD = re.compile(r"\S+")


def word_windows(text: str, words: int = 500, overlap: int = 200) -> list[tuple[int, int]]:
    """(begin, end) of windows of `words` words, each of which overlaps the previous one.

    Consecutive windows share `overlap` words, fewer than `words`. Words are separated by white
    space, and a window starts and ends with a word. The last window ends with the last word of the
    text and may be shorter; no window is contained in the previous one. A text without words has
    no windows.
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    firsts = range(0, max(len(spans) - overlap, min(len(spans), 1)), words - overlap)
    return [(spans[i][0], spans[min(i + words, len(spans)) - 1][1]) for i in firsts]


def printable_line(text: str) -> str:
    """Make a text printable: one line, without controls and characters that XML lacks."""
    characters = []
    for character in text:
        category = unicodedata.category(character)
        if category == "Cc":
            characters.append(" ")
        elif category == "Cs" or NOT_IN_XML.match(character):
            characters.append("\ufffd")
        elif character not in _BIDI_CONTROLS:
            characters.append(character)
    return " ".join("".join(characters).split())
