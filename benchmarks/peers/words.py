"""A tokenizer for peers that would download theirs: words with the white space before them.

Only budgets depend on it, such as the greatest length of a chunk, which no passage reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

_PARTS = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


class Words:
    """Encodes a text as numbers, and decodes it without loss."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._parts: list[str] = []

    def __deepcopy__(self, _: object) -> Words:
        return self

    def encode(self, content: str) -> list[int]:
        numbers = []
        for part in _PARTS.findall(content):
            if part not in self._numbers:
                self._numbers[part] = len(self._parts)
                self._parts.append(part)
            numbers.append(self._numbers[part])
        return numbers

    def encode_batch(self, contents: Iterable[str], **_: Any) -> list[list[int]]:
        return [self.encode(content) for content in contents]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self._parts[token] for token in tokens)

    def decode_batch(self, batch: Iterable[Sequence[int]]) -> list[str]:
        return [self.decode(tokens) for tokens in batch]
