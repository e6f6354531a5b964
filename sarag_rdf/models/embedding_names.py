"""Names of embedding models with their prompts, short texts before queries and passages.

Models such as E5 and BGE were trained with a prompt before each question, and some with one before
each passage (Wang et al., "Text Embeddings by Weakly-Supervised Contrastive Pre-training", 2022,
section 3.2). sentence-transformers stores prompts with a model; others are given after its name:

>>> ModelName.parse("intfloat/e5-small-v2?query=query: &passage=passage: ")
ModelName(model='intfloat/e5-small-v2', prompts=Prompts(query='query: ', passage='passage: '))
>>> str(_)
'intfloat/e5-small-v2?query=query:%20&passage=passage:%20'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, unquote

from sarag_rdf.base.errors import UsageError

_OPTIONS: Final = ("query", "passage")
_ESCAPED: Final = re.compile(r"[%&\s\x00-\x1f\x7f]")
_QUERY: Final = ("query",)
_PASSAGE: Final = ("document", "passage", "corpus")
"""Names of a model's prompts in sentence-transformers; the first that is not empty counts."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of queries and passages; None is the model's default, an empty text none."""

    query: str | None = None
    passage: str | None = None

    @property
    def are_given(self) -> bool:
        """Whether there is a prompt, even an empty one."""
        return self != Prompts()


@dataclass(frozen=True, slots=True)
class ModelName:
    """The name of an embedding model with its prompts: ``MODEL?query=TEXT&passage=TEXT``."""

    model: str
    prompts: Prompts = Prompts()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a name; percent escapes are decoded. Raises `UsageError`."""
        model, mark, rest = text.partition("?")
        if not mark or Path(text).expanduser().is_dir():
            return cls(text)
        options: dict[str, str] = {}
        for part in rest.split("&"):
            key, is_given, value = part.partition("=")
            if not model or not is_given or key not in _OPTIONS or key in options:
                raise UsageError(
                    f"not an embedding model: '{text}': write MODEL?query=TEXT&passage=TEXT to "
                    "give its prompts, with %26 for & in a text"
                )
            options[key] = unquote(value)
        return cls(model, Prompts(**options))

    def __str__(self) -> str:
        given = {key: getattr(self.prompts, key) for key in _OPTIONS}
        parts = (f"{key}={_escaped(text)}" for key, text in given.items() if text is not None)
        return "?".join(filter(None, (self.model, "&".join(parts))))


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: quote(match[0]), text)


def effective_prompts(given: Prompts, config: Mapping[str, Any]) -> Prompts:
    """The prompts `given`, else those in the model's own configuration, else None."""
    own = config.get("prompts") or {}
    default = own.get(config.get("default_prompt_name")) or ""
    query, passage = (
        next((str(own[name]) for name in names if own.get(name)), None)
        for names in (_QUERY, _PASSAGE)
    )
    query = query if given.query is None else given.query
    passage = passage if given.passage is None else given.passage
    if query is None and passage is None:
        return Prompts()
    if default:
        return Prompts(query or "", passage or "")
    return Prompts(query or None, passage or None)
