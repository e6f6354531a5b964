"""Prompts from templates, with protection against injection, and the JSON schemas of replies.

A fence is a code that occurs in none of the texts that it encloses, so no text can end its own
fence. Special tokens of chat templates, such as ``<|im_end|>``, are interpreted by the tokenizer of
a server; in a prompt, a zero width space after their first character makes them ordinary text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

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
    """A fence of hexadecimal digits, the SHA-256 of the texts, that occurs in none of them."""
    fence = sha256_hex(*texts)[:length]
    while any(fence in text.casefold() for text in texts):
        fence = sha256_hex(fence, *texts)[:length]
    return fence


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompt templates of a folder, ``NAME.j2``, which may include the core's."""

    folder: Path

    def render(self, name: str, **values: Any) -> str:
        """Render a template with special tokens defused; a missing variable raises."""
        return defused(_prompt_templates(self.folder).get_template(f"{name}.j2").render(**values))

    def has(self, name: str) -> bool:
        """Whether the folder itself has a template of that name."""
        return (self.folder / f"{name}.j2").is_file()

    def digest(self, *names: str) -> str:
        """SHA-256 of templates of the folder, or else the core's, for the identity of replies."""
        digest = hashlib.sha256()
        for name in names:
            paths = (folder / f"{name}.j2" for folder in (self.folder, *_CORE))
            digest.update(next(path for path in paths if path.is_file()).read_bytes() + b"\0")
        return digest.hexdigest()


_CORE = [Path(__file__).parents[1] / room / "prompts" for room in ("answering", "models")]
CORE_PROMPTS = Prompts(_CORE[0])
render_prompt = CORE_PROMPTS.render
"""`Prompts.render` of the core's templates."""
prompt_hash = CORE_PROMPTS.digest
"""`Prompts.digest` of the core's templates."""


@cache
def _prompt_templates(folder: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, *_CORE]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - prompts are plain text
        keep_trailing_newline=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


# ----------------------------- Schemas of replies: closed objects with bounded strings and arrays


def object_of(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """A closed object that requires all properties; models write them in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def string(max_length: int) -> dict[str, Any]:
    """A string of at most `max_length` characters."""
    return {"type": "string", "maxLength": max_length}


def one_of(values: Iterable[str]) -> dict[str, Any]:
    """One of these strings."""
    return {"type": "string", "enum": list(values)}


def array_of(
    items: Mapping[str, Any], max_items: int, *, min_items: int | None = 0
) -> dict[str, Any]:
    """An array of `min_items` to `max_items` items; None leaves the minimum out."""
    minimum = {} if min_items is None else {"minItems": min_items}
    return {"type": "array", "items": dict(items), **minimum, "maxItems": max_items}


def boolean() -> dict[str, Any]:
    """True or false."""
    return {"type": "boolean"}
