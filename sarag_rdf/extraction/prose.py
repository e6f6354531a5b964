"""What of a text is prose: not code, markup, addresses, tables, settings and encoded data.

Rules for Markdown and reStructuredText, and for such things in plain text. Headings and the texts
of links are prose. A text may be a part of a file, so that it may begin within a code block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise, takewhile
from typing import TYPE_CHECKING

from sarag_rdf.base.sentences import blocks
from sarag_rdf.extraction.names import ENGLISH, FIRST_NAMES, english, english_pattern, listed

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

_COMMENT = english_pattern("prose", "comment")
_ELEMENT = re.compile(r"<(script|style|pre|code|kbd|svg|table)\b[^<>]*>.*?</\1>", re.DOTALL | re.I)
_FENCE = re.compile(r"(?:[ \t>]|[-*+][ \t])*(`{3,}|~{3,})([^`\n]*)")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_DIRECTIVE = re.compile(r"[ \t]*\.\. |(?:.*\S)?::[ \t]*$")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,2}[.)])[ \t]")
_CODE_LIKE = english_pattern("prose", "code_like")
_SMALL_WORD = re.compile(r"\b[a-z]{2,}\b")
_TABLE_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:[|+][ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_BARRED = re.compile(r"[ \t>]*[|+].*[|+][ \t]*")
_SETTING = english_pattern("prose", "setting")
_COMMAND = english_pattern("prose", "command")

_INLINE = [re.compile(pattern) for pattern in ENGLISH["prose"]["inline"]]
"""In this order; the group `prose` remains."""


def prose_of(text: str) -> str:
    """The text with a space for every character that is not prose, except line breaks.

    Offsets into it are offsets into the text.

    >>> prose_of("Use `--cut 5` in [Trim Galore](https://example.org/tg).")
    'Use           in  Trim Galore                         .'
    """
    indented = _indented(text.split("\n"))
    lines = _ELEMENT.sub(_blank, _COMMENT.sub(_blank, text)).split("\n")
    settings = _runs([bool(_SETTING.fullmatch(line)) for line in lines], 2)
    hidden = {n for run in (*fenced(lines), *_tables(lines), *indented, *settings) for n in run}
    text = "\n".join(" " * len(line) if n in hidden else line for n, line in enumerate(lines))
    for pattern in _INLINE:
        text = pattern.sub(_blank, text)
    return text


_QUOTE_MARKS = re.compile(r"(?m)^(?:[ \t]*>)+")
_MAIL_HEADER = re.compile(
    r"(?m)^(?:[ \t>*]*(?:From|To|Cc|Bcc|Sent|Date|Time|Place|Subject|Reply-To|Attendees|"
    r"Participants)(?: ?\([^()\n]*\))?\**:.*(?:\n|\Z)){2,}"
)
_SENDER = re.compile(r"(?m)^[ \t>*]*(?:From|Attendees|Participants)\b")
_DATED = re.compile(r"(?m)^[ \t>*]*(?:Date|Sent|Time|Subject)\b.*")
_KEY_OF_MAIL = re.compile(r"(?m)^[ \t>*]*[A-Z][^:\n]*:\**")
_GREETING = re.compile(r"(?m)^[ \t>]*(?:Hi|Hello|Hey|Dear)(?: [A-Z][\w'\u2019-]+){0,3},")


def without_mail_marks(text: str) -> str:
    r"""The text with spaces for marks of quotations, and for the headers and greetings of e-mails.

    Of a header, the names of senders and attendees remain.

    >>> text = "> From: Ann Reed\n> Date: 3 May\n>\n> Hi Bo, the lamp works."
    >>> without_mail_marks(text).split()
    ['Ann', 'Reed', 'the', 'lamp', 'works.']
    """
    without = _MAIL_HEADER.sub(_blank_keys, text)
    if without != text:
        without = _GREETING.sub(_blank, without)
    return _QUOTE_MARKS.sub(_blank, without)


def _blank_keys(header: re.Match[str]) -> str:
    """The header of an e-mail or of minutes, which has a sender and a date, without its keys."""
    if not (_SENDER.search(header[0]) and _DATED.search(header[0])):
        return header[0]
    return _KEY_OF_MAIL.sub(_blank, _DATED.sub(_blank, header[0]))


def _blank(match: re.Match[str]) -> str:
    prose = match.span("prose") if "prose" in match.re.groupindex else (match.end(), match.end())
    begin, end = (offset - match.start() for offset in prose)
    whole = match[0]
    return _spaces(whole[:begin]) + whole[begin:end] + _spaces(whole[end:])


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def fenced(lines: Sequence[str]) -> list[range]:
    """The lines of fenced code.

    A text that begins within a code block shows by a closing fence that has a language.
    """
    fences = [(n, m) for n, line in enumerate(lines) if (m := _FENCE.match(line))]
    if not fences:
        return []
    outside, inside = (_pair(fences, len(lines), starts_inside=flag) for flag in (False, True))
    begins_inside = inside[1] < outside[1] or (
        inside[1] == outside[1]
        and _is_code(lines[: fences[0][0]])
        and not fences[0][1][2].strip()
        and len(fences) % 2 == 1
    )
    return (inside if begins_inside else outside)[0]


def _pair(
    fences: Sequence[tuple[int, re.Match[str]]], size: int, *, starts_inside: bool
) -> tuple[list[range], int]:
    """The blocks of code, and the number of fences within code that have a language."""
    blocks, odd = [], 0
    opened, mark = (0, "") if starts_inside else (-1, "")
    for number, match in fences:
        if opened < 0:
            opened, mark = number, match[1]
        elif match[2].strip():
            odd += 1
        elif match[1].startswith(mark):
            blocks.append(range(opened, number + 1))
            opened = -1
    if opened >= 0:
        blocks.append(range(opened, size))
    return blocks, odd


def _tables(lines: Sequence[str]) -> Iterator[range]:
    """The rows of tables: around a rule of hyphens and bars, or several lines between bars."""
    end = 1
    for number, line in enumerate(lines):
        is_rule = number >= end and "|" in line and _TABLE_RULE.fullmatch(line)
        if is_rule and "|" in lines[number - 1]:
            rows = takewhile(lambda n: "|" in lines[n], range(number + 1, len(lines)))
            end = max(rows, default=number) + 1
            yield range(number - 1, end)
    yield from _runs([bool(_BARRED.fullmatch(line)) for line in lines], 2)


def _indented(lines: Sequence[str]) -> list[range]:
    """Blocks of indented lines after a blank line, most of them like code; commands."""
    is_part = [bool(_INDENTED.match(line)) or not line.strip() for line in lines]
    hidden = _runs([bool(_COMMAND.match(x)) and not x.rstrip().endswith(".") for x in lines], 1)
    for run in _runs(is_part, 1):
        block = [lines[number] for number in run if lines[number].strip()]
        before = lines[run.start - 1] if run.start else ""
        if not block or (run.start and lines[run.start].strip()):
            continue
        is_literal = _DIRECTIVE.match(before) and not re.search("note|warning", before)
        if is_literal or (not _LIST_ITEM.match(block[0]) and _is_code(block)):
            hidden.append(run)
    return hidden


def _is_code(lines: Sequence[str]) -> bool:
    """Whether more than half of the lines that are not blank have signs of code or few words."""
    full = [line for line in lines if line.strip()]
    few = (_CODE_LIKE.search(line) or len(_SMALL_WORD.findall(line)) < 3 for line in full)
    return 2 * sum(map(bool, few)) > len(full)


def _runs(flags: Sequence[bool], least: int) -> list[range]:
    """The runs of true flags of at least this length."""
    runs = []
    for is_run, group in groupby(range(len(flags)), key=flags.__getitem__):
        numbers = [*group]
        if is_run and len(numbers) >= least:
            runs.append(range(numbers[0], numbers[-1] + 1))
    return runs


# Lines that end a heading, an item of a list, a row of a table, a setting or a paragraph

_TURNING = english("prose", "turning")
_SLACK = 8
"""A line may be shorter than the longest one of its block by so many characters and a word."""


def block_ends(text: str) -> set[int]:
    """The offsets of the line breaks that end a block, and with it a sentence.

    Those before the blocks of `base.sentences` do. Any other line break does unless the text was
    wrapped there: the next line begins in lower case, or the line has a word before it that needs
    another one ("of"), or it has no room for the next word. Texts of which no line shows that they
    were wrapped are not.
    """
    found = blocks(text)
    ends = {block[0][0] - 1 for block in found}
    breaks = [(*pair, block) for block in found for pair in pairwise(block)]
    wrapped = {at: len(line) for (_, line), (at, after), _ in breaks if _runs_on(line, after)}
    usual = sorted(wrapped.values())[len(wrapped) // 2] if wrapped else 0
    widths = {id(block): max(usual, *(len(each) for _, each in block)) for block in found}
    for (_, line), (begin, after), block in breaks:
        is_full = usual and len(line) + len(after.split()[0]) + 1 + _SLACK > widths[id(block)]
        if begin not in wrapped and not is_full:
            ends.add(begin - 1)
    return ends - {-1}


def _runs_on(line: str, after: str) -> bool:
    """Whether a sentence goes on in the next line by its first letter or the last word before."""
    before, first = line.split()[-1], after.split()[0]
    is_open = before in _TURNING or before[-1] == "-"
    is_open = is_open or (before in FIRST_NAMES and first.istitle() and first not in FIRST_NAMES)
    is_small = after.lstrip("([\"'\u201c *_`")[:1].islower()
    return is_open or (is_small and before[-1] not in ".!?:")


# Lines of tables that were run together into prose

_LABELS = sorted(listed(ENGLISH["tables"]["labels"]), key=len, reverse=True)
_LABEL = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, _LABELS))})(?: ?\(s\))?(?!\w)")
_CELL = re.compile(
    r"[^\W\d_a-z][\w.'\u2019-]*(?: (?:(?:of|the|de|&) ){0,2}[^\W\d_a-z][\w.'\u2019-]*)*"
)
_PHRASE = re.compile(r" (?:- )?(?!as |and |or )[a-z]")
"""The rest of a common phrase that begins with a capital letter: "Heavy" metal."""
_WORDS = re.compile(r"(\S+) (?=(\S+))")
FINITE = frozenset({"VBD", "VBP", "VBZ", "MD"})
_HEADERS = english("tables", "headers")
_JOINTS = frozenset({",", ";", "and", "the", "a", "an", "his", "her", "its", "their"})


def tables(doc: Doc) -> Iterator[Span]:
    """Stretches that are lines of tables: capitals without verbs, articles and conjunctions."""
    begin = 0
    for end in (*(t.i for t in doc if t.is_lower and t.tag_ in FINITE), len(doc)):
        stops = [token.i + 1 for token in doc[begin:end] if token.text == "."]
        first = stops[0] if stops and begin else begin
        span = doc[first : max(stops[-1] if stops and end < len(doc) else end, first)]
        begin = end + 1
        words = [token for token in span if token.text[0].isalnum()]
        capitals = sum(not word.is_lower for word in words)
        joints = sum(token.lower_ in _JOINTS for token in span)
        is_dense = 5 * capitals > 3 * len(words) > 20 * joints
        if is_dense and len(words) > (11 if len(_LABEL.findall(span.text)) > 1 else 30):
            yield span


def cells(table: Span) -> Iterator[Span]:
    """The names in a table: up to three words in capitals between labels, numbers and signs.

    A first name begins a name: "Karen Bird | Ken Moss".
    """
    whole = table.text
    text = _LABEL.sub(lambda match: " " + "|" * (len(match[0]) - 1), whole)
    text = _WORDS.sub(
        lambda m: f"{m[1]}{' |'[m[2] in FIRST_NAMES and m[1] not in FIRST_NAMES]}", text
    )
    for match in _CELL.finditer(text):
        span = table.char_span(*match.span())
        is_short = match[0].count(" ") < 3 or " of " in match[0]
        if span is not None and is_short and not _PHRASE.match(whole, match.end()):
            yield span


# Documents that were parsed by their prose alone

_KEY = "texts"
_HEADING = re.compile(r"[ \t>]*(?:#{1,6}[ \t]|(?:[-*+][ \t]+|\d+\.[ \t]+)?(?:\*\*|__))")
_BLANK_LINE = re.compile(r"\n\s*\n")
_ANY_WORD = re.compile(r"\w+")


class _Texts:
    """The whole text of a document and its prose, which `Doc.text` joins from all tokens."""

    def __init__(self, whole: str, prose: str) -> None:
        self.whole, self.prose, self.is_other = whole, prose, whole != prose

    @cached_property
    def words(self) -> Mapping[str, Sequence[int]]:
        """Where each word of the prose begins."""
        places: dict[str, list[int]] = {}
        for match in _ANY_WORD.finditer(self.prose):
            places.setdefault(match[0], []).append(match.start())
        return places


def set_source_text(doc: Doc, text: str) -> None:
    """Record the text of which the parsed one is the prose."""
    doc.user_data[_KEY] = _Texts(text, doc.text)


def _texts(doc: Doc) -> _Texts:
    if _KEY not in doc.user_data:
        set_source_text(doc, doc.text)
    texts: _Texts = doc.user_data[_KEY]
    return texts


def whole_text(doc: Doc) -> str:
    """The text that was recorded, else that of the document itself."""
    return _texts(doc).whole


def prose_text(doc: Doc) -> str:
    """The text of the document itself, which is joined only once."""
    return _texts(doc).prose


def places_of(doc: Doc, name: str) -> list[tuple[int, int]]:
    """Begin and end of each place where a name stands in the prose as whole words."""
    texts, pattern = _texts(doc), re.compile(rf"\b{re.escape(name)}\b")
    if (first := _ANY_WORD.match(name)) is None:
        return [match.span() for match in pattern.finditer(texts.prose)]
    places: list[tuple[int, int]] = []
    for begin in texts.words.get(first[0], ()):
        match = pattern.match(texts.prose, begin)
        if match and not (places and begin < places[-1][1]):
            places.append(match.span())
    return places


def has_other_text(doc: Doc) -> bool:
    """Whether the text has parts that are not prose."""
    return _texts(doc).is_other


def source_text(span: Span) -> str:
    """The text of a span as it is in the document, with single spaces.

    The white space behind it is none of it: there, the document may have the mark of an item.
    """
    while len(span) > 1 and span[-1].is_space:
        span = span[:-1]
    return " ".join(whole_text(span.doc)[span.start_char : span.end_char].split())


def is_prose(span: Span) -> bool:
    """Whether a span does not cross a part that is not prose, nor a blank line."""
    text = span.text
    is_whole = whole_text(span.doc)[span.start_char : span.end_char] == text
    return is_whole and _BLANK_LINE.search(text) is None


def is_heading(span: Span) -> bool:
    """Whether a span is in a line that is a Markdown heading, or begins in bold type."""
    whole = whole_text(span.doc)
    return _HEADING.match(whole, whole.rfind("\n", 0, span.start_char) + 1) is not None


def is_label(span: Span) -> bool:
    """Whether a word heads what it begins: "Provenance: ...", "3. Loan. ...", "Kelp debris ...".

    A common noun or a part of a word follows it, and the text has it nowhere else.
    """
    doc, text = span.doc, prose_text(span.doc)
    before = text[max(span.start_char - 9, 0) : span.start_char].rpartition("\n")[2].strip()
    after = doc[span.end : span.end + 1]
    if not before.rstrip(".)").strip("(-*0123456789") and after.text in (":", "."):
        return True
    is_first = span[0].is_sent_start or before.endswith(":")
    is_part = after.text == "-" or any(t.is_lower and t.tag_ in ("NN", "NNS") for t in after)
    return is_first and is_part and len(places_of(doc, span.text)) == 1


def is_in_heading(span: Span) -> bool:
    """Whether a span is in a line without a verb, and in capitals as that, or labels of a table.

    "CRUISE REPORT", "Name Room Since", "Length 11 m".
    """
    line = span.sent
    if len(line) > 12:
        return False
    words = [token.text for token in line if token.is_alpha and len(token) > 2]
    if len(words) > 1 and all(map(str.isupper, words)):
        is_word = all(token.is_alpha and len(token) > 3 for token in span)
        return is_word and prose_text(span.doc).count(span.text) == 1
    is_header = all(token.text in _HEADERS for token in span)
    return is_header and not any(token.tag_ in FINITE for token in line)
