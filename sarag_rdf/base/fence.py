"""Protection against prompt injection: fences around untrusted text, and inert special tokens.

A fence is a code that occurs in none of the texts that it encloses, so no text can end its own
fence. Special tokens of chat templates, such as ``<|im_end|>``, are interpreted by the tokenizer of
a server; in a prompt, a zero width space after their first character makes them ordinary text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sarag_rdf.base.iris import sha256_hex

BREAK: Final = "\u200b"
"""Inserted after the first character of a special token."""

_ANGLED: Final = (
    r"\|[^\s|<>]{1,60}\|",  # ChatML, Llama 3, Phi, Cohere, GPT: <|im_start|>, <|eot_id|>
    r"\uff5c[^\s\uff5c<>]{1,60}\uff5c",  # DeepSeek, whose bars are of full width
    r"</?SYS>",  # Llama 2, within a further pair
    r"/?[A-Za-z]+(?:_[A-Za-z0-9]+)+",  # Gemma, StarCoder, T5: <start_of_turn>, <file_sep>
    r"/?(?:s|bos|eos|pad|unk|cls|sep|mask|eod|eop|sop|think|reponame|filename|unused\d{1,6})",
)
_SQUARED: Final = (
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)|CALL_ID|ARGS|THINK)",
    r"/?(?:MODEL_SETTINGS|IMG(?:_BREAK|_END)?|(?:BEGIN_)?AUDIO|TRANSCRIBE|PREFIX|MIDDLE|SUFFIX)",
    r"CLS|SEP|[gs]?MASK|PAD|UNK|BOS|EOS|(?:control|CONTROL)_\d{1,6}|multimodal",
)


def _opening(after: str) -> re.Pattern[str]:
    """A pattern for the first character of a special token, followed by `after`."""
    angled, squared = "|".join(_ANGLED), "|".join(_SQUARED)
    return re.compile(rf"<{after}(?=(?:{angled})>)|\[{after}(?=(?:{squared})\])")


_TOKEN: Final = _opening("")
_BROKEN: Final = _opening(BREAK)


def defused(text: str) -> str:
    """The text with special tokens made inert; idempotent."""
    return _TOKEN.sub(rf"\g<0>{BREAK}", text)


def restored(value: Any) -> Any:
    """Undo `defused` in all strings of a JSON value, such as a model's reply."""
    if isinstance(value, str):
        return _BROKEN.sub(lambda match: match[0].removesuffix(BREAK), value)
    if isinstance(value, Mapping):
        return {restored(key): restored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [restored(item) for item in value]
    return value


def fence_for(*texts: str, length: int = 20) -> str:
    """A deterministic fence of `length` hexadecimal digits that occurs in none of the texts.

    The fence is a SHA-256 hash of the texts that it encloses; in the unlikely case that a text
    contains it, the hash is iterated.
    """
    fence = sha256_hex(*texts)[:length]
    while any(fence in text.casefold() for text in texts):
        fence = sha256_hex(fence, *texts)[:length]
    return fence
