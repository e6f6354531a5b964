"""HTML: the visible text, a line for each block element, white space folded."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement
from bs4.exceptions import ParserRejectedMarkup

from sarag_rdf.read.format import Opened, Record, UnreadableError, apart
from sarag_rdf.read.text import checked, clean, clean_line, decode, encoding_of, read_bytes

_DROPPED = ("script", "style", "nav", "template", "noscript", "svg", "iframe", "object", "title")
# fmt: off
_BLOCKS = (
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
    "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1",
    "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "li", "legend", "main", "menu",
    "ol", "optgroup", "option", "p", "pre", "search", "section", "summary", "table", "tbody",
    "tfoot", "thead", "tr", "ul",
)
# fmt: on
_SHORT = 4_096
"""Characters that are parsed in this process: no parser takes long for them."""
_BREAK = "\x1e"
"""Stands for a line break while white space is folded; a cleaned text has none of its own."""
_MARKS = {**dict.fromkeys(_BLOCKS, _BREAK), "br": _BREAK, "td": " ", "th": " "}


def read(opened: Opened) -> Iterator[Record]:
    """Yield the page's text, its title (or first h1) and its declared language."""
    source = clean(checked(_decode(read_bytes(opened)), opened.max_chars))
    yield _parsed(source) if len(source) <= _SHORT else apart(opened, _parsed, source)


def _parsed(source: str) -> Record:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser's guesses at what else this might be
            soup = BeautifulSoup(_ended(source), "html.parser")
    except (ParserRejectedMarkup, AssertionError) as error:
        reason = clean_line(str(error)) or type(error).__name__
        raise UnreadableError(f"is not HTML that can be parsed ({reason}): repair it") from None
    return Record(*_text_and_title(soup), language=_language(soup))


def _ended(source: str) -> str:
    """The same with what can begin no tag or comment, since none ends after it, as text.

    The parser takes it for text, too, but looks through all the rest for each of its marks.
    """
    end = source.rfind(">") + 1
    return source[:end] + source[end:].replace("<", "&lt;")


def _text_and_title(soup: BeautifulSoup) -> tuple[str, str]:
    lines = (clean_line(line) for line in "".join(_pieces(soup)).split(_BREAK))
    titled, heading = soup.find("title"), soup.find("h1")
    title = clean_line(titled.get_text()) if titled and not titled.find_parent("svg") else ""
    if not title and isinstance(heading, Tag):
        title = clean_line("".join(_pieces(heading)).replace(_BREAK, " "))
    return "\n".join(line for line in lines if line), title


def _pieces(root: Tag) -> Iterator[str]:
    """Yield text and marks in the order of the page; a stack, for pages are nested deeply."""
    pending: list[PageElement | str] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Tag):
            if node.name not in _DROPPED:
                mark = _MARKS.get(node.name, "")
                yield mark
                pending.append(mark)
                pending.extend(reversed(node.contents))
        elif type(node) in (str, NavigableString):  # and no comment, declaration or ruby gloss
            yield str(node)


def _language(soup: BeautifulSoup) -> str:
    root = soup.find("html")
    if not isinstance(root, Tag):
        return ""
    return str(root.get("lang") or root.get("xml:lang") or "")


def _decode(data: bytes) -> str:
    """Decode as the byte order mark says, else as the page declares, else as UTF-8."""
    mark, _ = encoding_of(data)
    declared = None if mark else EncodingDetector.find_declared_encoding(data, is_html=True)
    try:
        encoding = codecs.lookup(declared or "utf-8").name
    except (LookupError, ValueError):  # also a name with a zero byte
        encoding = "utf-8"
    if encoding.startswith(("utf", "ascii")):
        return decode(data)
    try:
        # Browsers read Latin-1 as Windows-1252, and so do the people who declare it.
        return data.decode("cp1252" if encoding == "iso8859-1" else encoding)
    except (LookupError, ValueError):
        return decode(data)
