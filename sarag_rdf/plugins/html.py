"""HTML: the visible text, one line per block element, with white space collapsed.

A row of headers has a rule below it, as in Markdown.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement
from bs4.exceptions import ParserRejectedMarkup

from sarag_rdf.documents.format import (
    Format,
    OpenInput,
    Record,
    UnreadableError,
    check_length,
    clean,
    clean_line,
    decode,
    encoding_of,
    read_bytes,
    run_sandboxed,
)

_SKIPPED_TAGS = frozenset("script style nav template noscript svg iframe object title".split())
_BLOCK_TAGS = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li legend main menu ol "
    "optgroup option p pre search section summary table tbody tfoot thead tr ul"
).split()
_MAX_INLINE = 4_096
"""Pages of up to this many bytes are parsed in this process: they cannot take long."""
_LINE_BREAK = "\x1e"
"""Marks a line break while white space is collapsed; a cleaned text cannot contain it."""
_CELLS = ("td", "th")
_HEADING = re.compile("h([1-6])")
"""A heading, which is no part of a sentence."""
_SEPARATORS = {**dict.fromkeys(_BLOCK_TAGS, _LINE_BREAK), "br": _LINE_BREAK, "td": " ", "th": " "}


def read(file: OpenInput) -> Iterator[Record]:
    """Yield the page's text, its title (or first h1) and its declared language."""
    data = read_bytes(file)
    source = clean(check_length(_decode(data), file.max_chars))
    is_small = len(data) <= _MAX_INLINE
    yield _parse(source) if is_small else run_sandboxed(file, _parse, source)


def _parse(source: str) -> Record:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser warns if the text looks like XML or a URL
            soup = BeautifulSoup(_escape_tail(source), "html.parser")
    except (ParserRejectedMarkup, AssertionError) as error:
        reason = clean_line(str(error)) or type(error).__name__
        raise UnreadableError(f"is not HTML that can be parsed ({reason}): repair it") from None
    root = soup.find("html") or Tag(name="html")
    language = str(root.get("lang") or root.get("xml:lang") or "")
    return Record(*_text_and_title(soup), language=language)


def _escape_tail(source: str) -> str:
    """Escape "<" after the last ">": for each, the parser would scan the whole remainder."""
    end = source.rfind(">") + 1
    return source[:end] + source[end:].replace("<", "&lt;")


def _text_and_title(soup: BeautifulSoup) -> tuple[str, str]:
    lines = (clean_line(line) for line in "".join(_text_pieces(soup)).split(_LINE_BREAK))
    titled, heading = soup.find("title"), soup.find("h1")
    title = clean_line(titled.get_text()) if titled and not titled.find_parent("svg") else ""
    if not title and isinstance(heading, Tag):
        title = clean_line("".join(_text_pieces(heading)).replace(_LINE_BREAK, " ")).lstrip("# ")
    return "\n".join(line for line in lines if line), title


def _text_pieces(root: Tag) -> Iterator[str]:
    """Yield text and separators in document order; iterative, as pages may be nested deeply."""
    pending: list[PageElement | str] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Tag):
            if node.name not in _SKIPPED_TAGS:
                separator = _SEPARATORS.get(node.name, "")
                is_next = node.name in _CELLS and node.find_previous_sibling(_CELLS) is not None
                yield " | " if is_next else separator
                yield _mark(node)
                heads = node.find_all("th", recursive=False) if node.name == "tr" else ()
                is_header = len(heads) > 1 and node.find("td", recursive=False) is None
                rule = " | ".join("---" for _ in heads) if is_header else ""
                pending.append(f"{separator}{rule}{separator}" if rule else separator)
                pending.extend(reversed(node.contents))
        elif type(node) in (str, NavigableString):  # not a comment, declaration or ruby text
            yield str(node)


def _mark(node: Tag) -> str:
    """What begins the line of a heading or an item of text in Markdown; nothing otherwise."""
    children = (child for child in node.children if isinstance(child, Tag) or str(child).strip())
    first = next(children, None)
    if first is None or (isinstance(first, Tag) and first.name in _BLOCK_TAGS):
        return ""
    level = _HEADING.fullmatch(node.name)
    return "#" * int(level[1]) + " " if level else "- " if node.name == "li" else ""


def _decode(data: bytes) -> str:
    """Decode by the byte order mark, else by the declaration in the page, else as UTF-8."""
    mark, _ = encoding_of(data)
    declared = None if mark else EncodingDetector.find_declared_encoding(data, is_html=True)
    try:
        encoding = codecs.lookup(declared or "utf-8").name
    except (LookupError, ValueError):  # ValueError: a name with a zero byte
        encoding = "utf-8"
    if encoding.startswith(("utf", "ascii")):
        return decode(data)
    try:
        # Pages declared as Latin-1 are in fact Windows-1252; browsers decode them as such too.
        return data.decode("cp1252" if encoding == "iso8859-1" else encoding)
    except (LookupError, ValueError):
        return decode(data)


HTML = Format(read, "text/html", sandboxed_above=_MAX_INLINE)
XHTML = Format(read, "application/xhtml+xml", sandboxed_above=_MAX_INLINE)
