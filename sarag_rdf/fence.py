"""Fences: how a text of unknown origin stands in a prompt as data that cannot end its own fence."""

from __future__ import annotations

from sarag_rdf.iris import sha256_hex


def fence_for(*texts: str, length: int = 20) -> str:
    """Return hexadecimal digits, 20 by default, that occur in none of the texts.

    They are a function of the texts.

    The digits are a hash of the very texts that they enclose: a text that holds its own fence
    would be a fixed point of SHA-256, and if one is found the next hash is taken.
    """
    fence = sha256_hex(*texts)[:length]
    while any(fence in text.casefold() for text in texts):
        fence = sha256_hex(fence, *texts)[:length]
    return fence
