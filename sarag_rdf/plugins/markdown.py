"""Markdown: the text is the source without its title.

The title is that of the YAML front matter, which is not part of the text, else the first level 1
heading. A heading at the start of the file is removed from the text; a later one is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from sarag_rdf.documents.format import Format, OpenInput, Record, read_text

_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?P<yaml>[ \t]*\n|(?:[\w\"'#][^\n]*\n).*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_YAML_KEY = re.compile(r"^[\w\"'-]+[ \t]*:(?:[ \t]|$)", re.MULTILINE)
_YAML_TITLE = re.compile(
    r"^title[ \t]*:[ \t]*(?P<value>.*)(?P<more>(?:\n[ \t]+\S.*)*)", re.MULTILINE
)
_ONLY_COMMENTS = re.compile(r"(?:\s++|<!--.*?-->)*+", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}#[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(\*\*|\*|`)([^*`]+)\1")


def read(file: OpenInput) -> Iterator[Record]:
    """Yield the Markdown source and its title."""
    title, text = split_title(read_text(file))
    yield Record(text, title)


def split_title(source: str) -> tuple[str, str]:
    """Split Markdown into a title (empty if there is none) and the text that remains."""
    front = _FRONT_MATTER.match(source)
    if front and (not front["yaml"].strip() or _YAML_KEY.search(front["yaml"])):
        source = source[front.end() :]
        if title := _yaml_title(front["yaml"]):
            return title, source.lstrip("\n")
    heading = _first_heading(source)
    if heading is None:
        return "", source
    begin, end, title = heading
    opens = _ONLY_COMMENTS.fullmatch(source, 0, begin)
    return title, source[end:].lstrip("\n") if opens else source


def _first_heading(source: str) -> tuple[int, int, str] | None:
    """The first level 1 heading outside fenced code: start and end offsets, plain text."""
    fence = previous = ""
    position = 0
    for line in source.split("\n"):
        end = position + len(line)
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            line = ""
        elif fence:
            line = ""
        elif atx := _ATX.fullmatch(line):
            if words := _plain_heading(atx[1]):
                return position, end, words
        elif previous.strip() and _UNDERLINE.fullmatch(line):
            return position - 1 - len(previous), end, _plain_heading(previous)
        previous, position = line, end + 1
    return None


def _plain_heading(heading: str) -> str:
    """Strip closing "#" characters, links and emphasis from a heading (but "C#" stays "C#")."""
    heading = heading.strip()
    bare = heading.rstrip("#")
    if bare != heading and (not bare or bare[-1] in " \t"):
        heading = bare.rstrip()
    return _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", heading)).strip()


def _yaml_title(front: str) -> str:
    """The title in front matter; what is not YAML, such as a colon in it, counts as it is."""
    match = _YAML_TITLE.search(front)
    if match is None:
        return ""
    try:
        value = yaml.load(match[0], yaml.BaseLoader)["title"]  # noqa: S506 - it makes texts alone
    except (yaml.YAMLError, TypeError, KeyError):
        value = None
    title = value if isinstance(value, str) else (match["value"] + match["more"]).strip(' "')
    return "" if title in ("~", "null") else " ".join(title.split())


MARKDOWN = Format(read, "text/markdown")
