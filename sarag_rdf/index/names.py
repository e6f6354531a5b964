"""Names as they are shown: cleaned of what does not belong to them."""

from __future__ import annotations

import re

MAX_NAME = 100

_EDGE = re.compile(
    r"^[\s\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb\[\]{}<>,;:!?*_/|\\\-\u2013\u2014"
    r"\u200d\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]+"
)
_ARTICLE = re.compile(r"^(?:[Tt]he|a|an)\s+(?=\S)")
_POSSESSIVE = re.compile(r"\s*['\u2019]s?$")
_BRACKET = re.compile(r"\s*\([^()]*\)\s*$")
_WITHIN_TITLE = re.compile(
    r"\s*[,():;\u2013\u2014/]\s*"
    r"|\s+(?:of|in|at|and|for|from|by|with|on|during|to|vs\.?|versus|between|under|against"
    r"|de|du|der|von|le|la)\s+(?:the\s+)?"
)


def clean_name(text: str) -> str:
    """Strip a leading article, a possessive ending, quotes, outer punctuation, line breaks.

    >>> clean_name("the  Curie Institute's")
    'Curie Institute'
    """
    name = _strip(" ".join(text.split()))
    name = _strip(_ARTICLE.sub("", _POSSESSIVE.sub("", name)))
    if name.count("(") != name.count(")"):
        name = _strip(name.strip("()").split("(")[0])
    return name


def _strip(name: str) -> str:
    name = _EDGE.sub("", name)
    return _EDGE.sub("", name[::-1])[::-1]


def is_name(name: str) -> bool:
    """Tell whether a cleaned string can name a thing.

    It has 2 to 100 characters and a letter, and is not all in lower case.
    """
    if not 2 <= len(name) <= MAX_NAME or name.islower():
        return False
    return any(character.isalpha() for character in name)


def without_bracket(title: str) -> str:
    """Return a title without its parenthetical disambiguation.

    >>> without_bracket("Hello Love (album)")
    'Hello Love'
    """
    return _BRACKET.sub("", title) or title


def names_in_title(title: str) -> list[str]:
    """A title as a whole, then its parts between commas, brackets and prepositions.

    Parts begin with a capital or a digit.

    >>> names_in_title("Governors of the Bank of England")
    ['Governors of the Bank of England', 'Governors', 'Bank', 'England']
    """
    parts = (part.strip() for part in _WITHIN_TITLE.split(title))
    named = (part for part in parts if part and (part[0].isupper() or part[0].isdigit()))
    return list(dict.fromkeys((title, *named))) if title else []
