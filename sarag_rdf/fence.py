"""How a text of unknown origin stands in a prompt as data: it cannot end its own fence, nor a turn.

A fence is a code that occurs in none of the texts. The special tokens of chat templates, such as
``<|im_end|>``, would be read by a server's tokenizer as what separates system, user and model; so
in a prompt a zero width space stands behind their first character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sarag_rdf.iris import sha256_hex

BREAK: Final = "\u200b"
"""What stands behind the first character of a special token in a prompt."""

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
    """The first character of a special token, and what stands behind it."""
    angled, squared = "|".join(_ANGLED), "|".join(_SQUARED)
    return re.compile(rf"<{after}(?=(?:{angled})>)|\[{after}(?=(?:{squared})\])")


_TOKEN: Final = _opening("")
_BROKEN: Final = _opening(BREAK)


def defused(text: str) -> str:
    """A text for a prompt, none of whose special tokens is one any more.

    A text without any stays as it is, and so does one that was defused before.
    """
    return _TOKEN.sub(rf"\g<0>{BREAK}", text)


def restored(value: Any) -> Any:
    """A JSON value of a model's reply, with special tokens as they stand in documents."""
    if isinstance(value, str):
        return _BROKEN.sub(lambda found: found[0].removesuffix(BREAK), value)
    if isinstance(value, Mapping):
        return {restored(key): restored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [restored(item) for item in value]
    return value


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
