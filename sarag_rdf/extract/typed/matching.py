"""Equality of names and values up to their spelling."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"\s*([-+]?[\d,]*\.?\d+)(?:\s?[a-z%°/]+)?\s*")


def exact_text(text: str) -> str:
    """Text without spaces, underscores and quotes, in lower case."""
    return re.sub(r'[_\s"]+', "", text).lower()


def soft_text(text: str) -> str:
    """Text without accents, brackets and their content, quotes, units after numbers and ".0".

    >>> soft_text('"69.0"(minutes)'), soft_text("Émile_Borel_(mathematician)")
    ('69', 'emileborel')
    """
    text = text.replace("_", " ").replace('"', "")
    text = re.sub(r"\s*\([^()]*\)", "", text) or text
    text = "".join(
        c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
    ).lower()
    if number := _NUMBER.fullmatch(text):
        return re.sub(r"\.0+$", "", number[1].replace(",", ""))
    return re.sub(r"[\s.,'’`]+", "", re.sub(r"^(?:the|an?)\s+", "", text.strip()))
